from __future__ import annotations

import json
import random

import pytest
from cli_runs import one_line, ran
from cli_stores import BAD, GOOD, HOSTILE, as_json, broken, change, files, fill, printed, refused, sqlite
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import json_with_maps, tool_responses

from toolpulse import Baseline, Consumer, Limits, Monitor
from toolpulse.state.learning.live_baseline import MOST_SHAPES
from toolpulse.stores import open_store

TOOL = "app.search_docs"


def exported(capsys, url, file, tool=TOOL, *flags) -> bytes:
    """What a tool has learned, as the bytes of its file."""
    printed(capsys, url, "baseline", "export", tool, "-o", file, *flags)
    return file.read_bytes()


def known(url, tool=TOOL, key=""):
    """What a store knows of a tool."""
    store = open_store(url)
    try:
        return store.load(tool, key)
    finally:
        store.close()


def test_there_and_back(any_db, tmp_path, capsys):
    """What production learned is committed, reviewed, and started from elsewhere."""
    broken(any_db)
    file = tmp_path / "committed.json"
    assert printed(capsys, any_db, "baseline", "export", "search_docs", "-o", file) == [
        "app.search_docs: 20 responses, 1 distinct shape",
        f"  exported to {file}",
    ]
    elsewhere = sqlite(tmp_path, "elsewhere.db")
    assert printed(capsys, elsewhere, "baseline", "import", TOOL, file) == [
        "app.search_docs: 20 responses, 1 distinct shape",
        f"  imported from {file}; running processes follow within one flush interval",
    ]
    assert exported(capsys, elsewhere, tmp_path / "again.json") == file.read_bytes()
    assert ran(capsys, "show", file).code == 0


def test_a_file_that_is_committed_is_one_for_check(db, tmp_path, capsys):
    """The pipeline judges recorded responses by what production learned."""
    broken(db)
    exported(capsys, db, tmp_path / "b.json")
    for name, response in (("good", GOOD), ("bad", BAD)):
        (tmp_path / name).write_text(json.dumps(response))
    assert ran(capsys, "check", "--baseline", tmp_path / "b.json", tmp_path / "good").code == 0
    assert ran(capsys, "check", "--baseline", tmp_path / "b.json", tmp_path / "bad").code == 1


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.lists(tool_responses | json_with_maps, min_size=1, max_size=20),
    st.builds(Limits, depth=st.integers(2, 40), elements=st.integers(1, 100)),
)
def test_no_traffic_is_lost_on_the_way(tmp_path_factory, capsys, responses, limits):
    """Exported, imported into an empty store and exported again, the bytes are the same, whatever was seen."""
    folder = tmp_path_factory.mktemp("stores")
    fill(sqlite(folder), *[(response, 1) for response in responses], limits=limits)
    data = exported(capsys, sqlite(folder), folder / "a.json")
    printed(capsys, sqlite(folder, "b.db"), "baseline", "import", TOOL, folder / "a.json")
    assert exported(capsys, sqlite(folder, "b.db"), folder / "b.json") == data


def test_the_evidence_of_shapes_let_go_comes_along(db, tmp_path, capsys):
    """Of more than two hundred shapes the rarest are statistics only; those are most of what such a tool knows."""
    numbers = random.Random(7).sample(range(4096), MOST_SHAPES + 60)
    fill(
        db,
        *[({"id": 1, **{f"field_{c}": 1 for at, c in enumerate("abcdefghijkl") if n >> at & 1}}, 1) for n in numbers],
    )
    assert known(db).merged is not None
    data = exported(capsys, db, tmp_path / "a.json")
    assert len(json.loads(data)["rows"]) == MOST_SHAPES
    assert "merged" in json.loads(data)
    other = sqlite(tmp_path, "other.db")
    printed(capsys, other, "baseline", "import", TOOL, tmp_path / "a.json")
    assert exported(capsys, other, tmp_path / "b.json") == data
    assert known(other).merged == known(db).merged
    assert known(other).observations == known(db).observations


def test_check_knows_what_was_let_go(tmp_path, capsys):
    """A field that only rare shapes had is no news to a pipeline, either, also where a flag changes the policy."""
    learned = Baseline.learn([{"id": 1}] * 20)
    rare = Baseline.learn([{"id": 1, "rare": "x"}])
    Baseline(learned.rows, merged=rare.profile).save(tmp_path / "b.json")
    (tmp_path / "new").write_text('{"id": 1, "rare": "y"}')
    for flags in ([], ["--numeric", "strict"]):
        argv = ["check", "--baseline", tmp_path / "b.json", tmp_path / "new", "--fail-on", "info", *flags]
        assert ran(capsys, *argv).code == 0


def test_how_responses_are_read_comes_along(db, tmp_path, capsys):
    """A baseline read another way than it was learned would be another baseline."""
    with Monitor(db, background=False, sinks=[]) as monitor:

        @monitor.watch(tool=TOOL, maps=["by.*"], records=["r"], limits=Limits(elements=7), unwrap="none")
        def search():
            return {"by": {"a": {"x": 1}}, "r": {}}

        for _ in range(12):
            search()
    plain = json.loads(exported(capsys, db, tmp_path / "a.json"))
    assert (plain["maps"], plain["records"], plain["unwrap"]) == (["by.*"], ["r"], "none")
    assert plain["limits"]["elements"] == 7
    other = sqlite(tmp_path, "other.db")
    printed(capsys, other, "baseline", "import", TOOL, tmp_path / "a.json")
    assert known(other).reading == known(db).reading


def test_a_process_goes_on_from_it(any_db, tmp_path, capsys):
    """A new deployment does not learn what is known: nothing is announced, and a break is a break at its first call."""
    Baseline.learn([GOOD] * 30).save(tmp_path / "b.json")
    printed(capsys, any_db, "baseline", "import", TOOL, tmp_path / "b.json")
    fill(any_db, (GOOD, 1), (BAD, 1))
    lines = [json.loads(line) for line in printed(capsys, any_db, "log", "--json")]
    assert [(event["status"], event["risk"]) for event in lines] == [("open", "high")]
    assert known(any_db).observations == 32
    assert as_json(capsys, any_db, "status")["tools"][0]["state"] == "watching"


def test_a_running_process_follows(any_db, tmp_path, capsys):
    """What is imported replaces what a process believed, at its next flush."""
    Baseline.learn([BAD] * 30).save(tmp_path / "b.json")
    with Monitor(any_db, background=False, sinks=[]) as monitor:
        for _ in range(20):
            monitor.observe(TOOL, GOOD)
        printed(capsys, any_db, "baseline", "import", TOOL, tmp_path / "b.json", "--replace")
        monitor.observe(TOOL, BAD)
        assert monitor.incidents() == ()
        monitor.observe(TOOL, GOOD)
        assert [incident.status for incident in monitor.incidents()] == ["open"]
    assert known(any_db).observations == 32


def test_what_is_there_is_not_replaced_unasked(db, tmp_path, capsys):
    """Weeks of learning are not overwritten by a slip; when they are, the audit trail stays."""
    broken(db)
    printed(capsys, db, "reject", "search_docs", "--reason", "x")
    Baseline.learn([GOOD] * 30).save(tmp_path / "b.json")
    before = known(db)
    assert "--replace" in refused(capsys, 64, db, "baseline", "import", "search_docs", tmp_path / "b.json")
    assert known(db) == before
    printed(capsys, db, "baseline", "import", "search_docs", tmp_path / "b.json", "--replace")
    after = known(db)
    assert (after.observations, after.quarantined) == (30, {})
    assert [row.count for row in after.rows.values()] == [30]
    assert after.decisions == before.decisions
    assert after.incidents.keys() == before.incidents.keys()
    assert after.calls == before.calls
    assert printed(capsys, db, "doctor")[0] == "HEALTHY"


def test_what_was_only_called_has_no_baseline(db, tmp_path, capsys):
    """A tool that failed from its first call has nothing to replace."""
    fill(db, fail=3)
    Baseline.learn([GOOD] * 3).save(tmp_path / "b.json")
    assert "nothing was learned" in refused(capsys, 4, db, "baseline", "export", TOOL, "-o", tmp_path / "x.json")
    assert not (tmp_path / "x.json").exists()
    printed(capsys, db, "baseline", "import", TOOL, tmp_path / "b.json")
    assert known(db).calls.errors == 3


def test_keys(db, tmp_path, capsys):
    """The variants of a tool are files of their own."""
    fill(db, (GOOD, 12), key="a")
    fill(db, (BAD, 12), key="b")
    line = refused(capsys, 64, db, "baseline", "export", TOOL, "-o", tmp_path / "x.json")
    assert "2 keys, so --key has to name one: 'a', 'b'" in line
    data = exported(capsys, db, tmp_path / "b.json", TOOL, "--key", "b")
    printed(capsys, db, "baseline", "import", TOOL, tmp_path / "b.json", "--key", "c")
    assert exported(capsys, db, tmp_path / "c.json", TOOL, "--key", "c") == data
    assert known(db) is None


def test_figures_as_an_object(db, tmp_path, capsys):
    """For the job that exports every night."""
    broken(db)
    found = as_json(capsys, db, "baseline", "export", "search_docs", "-o", tmp_path / "b.json")
    expected = {"schema": 1, "tool": TOOL, "key": "", "observations": 20, "shapes": 1, "file": str(tmp_path / "b.json")}
    assert found == expected
    assert Baseline.load(tmp_path / "b.json").observations == 20
    found = as_json(capsys, db, "baseline", "import", "new.tool", tmp_path / "b.json")
    assert found == {**expected, "tool": "new.tool"}


def test_figures_are_those_of_the_file(db, tmp_path, capsys):
    """What is held was counted and is not in the file; whoever commits it must not read that it is."""
    broken(db)
    fill(db, (GOOD, 1))
    assert known(db).observations == 28
    for argv in (("export", TOOL, "-o"), ("import", "new.tool")):
        assert as_json(capsys, db, "baseline", *argv, tmp_path / "b.json")["observations"] == 21


def test_standard_output_is_no_file(db, tmp_path, capsys, monkeypatch):
    """A file named - would appear, and what was to be read by a program would be missing from its input."""
    monkeypatch.chdir(tmp_path)
    broken(db)
    before = files(tmp_path)
    assert "standard output" in refused(capsys, 64, db, "baseline", "export", TOOL, "-o", "-")
    for argv in (["learn", "x.jsonl", "-o", "-"], ["manifest", "build", "--config", "x.toml", "-o", "-"]):
        code, out, err = ran(capsys, *argv)
        assert (code, out) == (64, "")
        assert "standard output" in one_line(err)
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "not a baseline"),
        ('{"rows": []}', "schema is missing"),
        ('{"schema": 2}', "schema 2"),
        ('{"schema": true}', "whole number"),
        ('{"schema": 1}', "not a baseline"),
        (None, "No such file"),
    ],
)
@pytest.mark.parametrize("there", [True, False])
def test_a_bad_file_changes_nothing(db, tmp_path, capsys, text, reason, there):
    """A file of a newer version, or none at all: one line, and the store is what it was, or still none."""
    if there:
        broken(db)
    file = tmp_path / "b.json"
    if text is not None:
        file.write_text(text)
    before = files(tmp_path)
    line = refused(capsys, 4, db, "baseline", "import", TOOL, file, "--replace")
    assert line.startswith(f"toolpulse: {file}: ")
    assert reason in line
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rows": []}, "cannot import this baseline: it is empty"),
        ("count", "cannot import this baseline: it counts more than 2**53 observations"),
        ("merged", "not a baseline"),
    ],
    ids=["empty", "count", "merged"],
)
def test_a_file_that_cannot_be_gone_on_from(db, tmp_path, capsys, change, reason):
    """Edited by hand, it may be well-formed and still no baseline."""
    plain = json.loads(Baseline.learn([GOOD]).to_json())
    if change == "count":
        plain["rows"][0] |= {"count": 10**30, "last": 10**30}
    elif change == "merged":
        plain["merged"] = {"encodings": {}, "root": {"seen": [1, 2]}}
    else:
        plain |= change
    (tmp_path / "b.json").write_text(json.dumps(plain))
    line = refused(capsys, 4, db, "baseline", "import", TOOL, tmp_path / "b.json")
    assert reason in line
    assert not (tmp_path / "toolpulse.db").exists()


def test_import_moves_no_damaged_file(db, tmp_path, capsys):
    """It makes a store where there is none; what is there and is no store is not its to move."""
    Baseline.learn([GOOD]).save(tmp_path / "b.json")
    (tmp_path / "toolpulse.db").write_bytes(b"no database at all " * 300)
    before = files(tmp_path)
    assert "no SQLite database" in refused(capsys, 4, db, "baseline", "import", TOOL, tmp_path / "b.json")
    assert files(tmp_path) == before


def test_import_makes_the_default_store(tmp_path, capsys, monkeypatch):
    """A deployment begins with what is committed; the folder is the one that a process would make."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOOLPULSE_DB")
    Baseline.learn([GOOD] * 12).save("b.json")
    assert ran(capsys, "baseline", "import", TOOL, "b.json").code == 0
    assert (tmp_path / ".toolpulse" / ".gitignore").read_text() == "*\n"
    assert ran(capsys, "status").out.splitlines()[-1].startswith("1 tool, ")


def test_names_of_tools(db, tmp_path, capsys):
    """A known tool may be named by its end; an unknown one is new, unless its name is the end of several."""
    for tool in ("app.get", "web.get"):
        fill(db, (GOOD, 1), tool=tool)
    fill(db, (GOOD, 1), tool="app.find")
    Baseline.learn([GOOD]).save(tmp_path / "b.json")
    assert "app.get, web.get" in refused(capsys, 64, db, "baseline", "import", "get", tmp_path / "b.json")
    printed(capsys, db, "baseline", "import", "find", tmp_path / "b.json", "--replace")
    printed(capsys, db, "baseline", "import", "brand.new", tmp_path / "b.json")
    tools = [one["tool"] for one in as_json(capsys, db, "status")["tools"]]
    assert tools == ["app.find", "app.get", "brand.new", "web.get"]
    for bad in ("", "caf\udce9"):
        refused(capsys, 64, db, "baseline", "import", bad, tmp_path / "b.json")
    refused(capsys, 64, db, "baseline", "import", "a", tmp_path / "b.json", "--key", "caf\udce9")


def test_consumers_of_a_file_are_left_out(db, tmp_path, capsys):
    """They are a monitor's; whoever relied on them in the file is told."""
    Baseline.learn([GOOD], consumers=[Consumer("billing")]).save(tmp_path / "b.json")
    code, _, err = ran(capsys, "baseline", "import", TOOL, tmp_path / "b.json", "--db", db)
    assert code == 0
    assert "consumers" in one_line(err)


def test_a_folder_that_takes_no_file(db, tmp_path, capsys):
    """Wrong use, as where a baseline is learned."""
    broken(db)
    assert "-o " in refused(capsys, 64, db, "baseline", "export", TOOL, "-o", tmp_path / "no" / "b.json")


def test_hostile_names_are_harmless(db, tmp_path, capsys):
    """Names of tools and files are shown harmless here, too."""
    fill(db, (GOOD, 12), tool=HOSTILE, key=HOSTILE)
    file = tmp_path / "b\x1b[2J\u202e.json"
    for argv in (("export", HOSTILE, "-o", file), ("import", HOSTILE, file)):
        assert all(line.isprintable() for line in printed(capsys, db, "baseline", *argv))
        flags = ["--replace"] if argv[0] == "import" else []
        as_json(capsys, db, "baseline", *argv, "--key", HOSTILE, *flags)


def test_what_cannot_be_read_is_not_exported(db, tmp_path, capsys):
    """Half a baseline would be worse than none."""
    broken(db)
    change(db, "UPDATE toolpulse_rows SET shape = '{' WHERE quarantined = 0")
    assert "toolpulse doctor" in refused(capsys, 4, db, "baseline", "export", TOOL, "-o", tmp_path / "b.json")
    assert not (tmp_path / "b.json").exists()
