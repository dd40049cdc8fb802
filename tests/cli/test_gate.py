from __future__ import annotations

import json

import pytest
from cli_runs import one_line, ran
from traces import SEARCH, renamed, stamped, write


@pytest.fixture
def gated(capsys, tmp_path):
    """Run the command on two lists of lines."""

    def gated(one, other, *flags):
        return ran(capsys, "gate", write(tmp_path / "a.jsonl", *one), write(tmp_path / "b.jsonl", *other), *flags)

    return gated


TOOL = {"kind": "tool", "name": "a"}


@pytest.mark.parametrize(
    ("one", "other", "code"),
    [
        ([stamped()], [stamped()], 0),
        ([stamped()], [stamped(user="x")], 2),
        ([{"kind": "generation"}], [{"kind": "generation"}], 2),
        ([stamped()], [stamped() | {"sampled": True}], 2),
        ([TOOL], [TOOL], 3),
        ([stamped()], [], 4),
        ([stamped()], [[]], 4),
        ([stamped()], [stamped() | {"fingerprint.schema": 2}], 4),
        ([stamped() | {"generation_id": "a"}], [stamped()], 4),
    ],
)
def test_each_answer_has_its_code(gated, one, other, code):
    """A pipeline branches on the code alone; it is the same with and without JSON."""
    assert gated(one, other).code == code
    done = gated(one, other, "--json")
    assert done.code == code
    assert done.out == "" if code == 4 else json.loads(done.out)["code"] == code


def test_a_renamed_argument_is_the_tool_s_and_not_the_prompt_s(gated):
    """The example everybody starts with: q becomes query, and somebody edits the prompt."""
    done = gated([stamped()], [stamped(tools=[renamed()])])
    assert done.code == 2
    assert "tools_changed  search_docs" in done.out
    assert "prompt" not in done.out.replace("a prompt or", "")
    assert "attribution: tool surface" in done.out


def test_a_refusal_says_what_it_means(gated):
    """Exit 2 is about the set-up; without that sentence people tune the prompt."""
    done = gated([stamped()], [stamped(temperature=0.3)])
    assert "about the set-up, not the product" in done.out
    assert "restore the fingerprint before touching a prompt or a temperature" in done.out
    assert "(A:1, B:1)" in done.out


def test_one_object_holds_it_all(gated):
    """A program reads reasons, places and pairing, not sentences."""
    plain = json.loads(gated([stamped()], [stamped(model=None, tools=[])], "--json").out)
    assert plain["schema"] == 1
    assert plain["primary"] == "missing_model"
    assert [cause["reason"] for cause in plain["causes"]] == ["missing_model", "tools_changed"]
    assert plain["causes"][0] == {
        "reason": "missing_model",
        "where": "generation 1 (A:1, B:1)",
        "names": ["B: gen_ai.request.model"],
    }
    assert plain["alignment"] == "index"
    assert plain["attribution"].startswith("tool surface")


def test_many_pairs_with_one_reason_are_shown_once(gated):
    """Fifty steps with another model are one line, not fifty."""
    done = gated([stamped()] * 50, [stamped(model="m")] * 50)
    assert len(done.out.splitlines()) < 8
    assert "and 46 more pairs" in done.out
    assert len(json.loads(gated([stamped()] * 50, [stamped(model="m")] * 50, "--json").out)["causes"]) == 50


def test_strict_refuses_what_nobody_recorded(gated):
    """For a release two unknowns are not one known."""
    lines = [stamped(params=None)]
    assert (gated(lines, lines).code, gated(lines, lines, "--strict").code) == (0, 2)
    assert "unverified: sampling parameters" in gated(lines, lines).out


def test_pairing_can_be_demanded(gated):
    """Whoever relies on ids wants to hear that there are none."""
    assert gated([stamped()], [stamped()], "--align", "generation_id").code == 4
    ids = [stamped() | {"generation_id": "a"}]
    assert "alignment: index" in gated(ids, ids, "--align", "index").out
    assert "weak" not in gated(ids, ids).out


def test_a_format_can_be_forced(gated):
    """A file of another format is an error then, and not an empty trace."""
    assert gated([stamped()], [stamped()], "--format", "native").code == 0
    assert gated([stamped()], [stamped()], "--format", "langfuse").code == 4
    assert gated([stamped()], [stamped()], "--format", "xml").code == 64


def test_values_are_shown_on_demand(gated):
    """By default only what differs, not to what."""
    sides = [stamped()], [stamped(model="model-y")]
    assert "model-y" not in gated(*sides).out
    assert '"model-x-2025-01" -> "model-y"' in gated(*sides, "--values").out


def test_hostile_names_stay_on_their_line(gated):
    """A tool's name comes from elsewhere and may hold what a terminal acts on."""
    tool = SEARCH | {"name": "a\x1b[31m\nb"}
    out = gated([stamped(tools=[])], [stamped(tools=[tool])]).out
    assert "\x1b" not in out
    assert "a\\x1b[31m\\nb added" in out


def test_wrong_use_is_64(gated, capsys):
    """D11: the parser's own 2 would read as incomparable."""
    assert gated([stamped()], [stamped()], "--align", "name").code == 64
    done = ran(capsys, "gate", "only-one.jsonl")
    assert done.code == 64
    assert one_line(done.err)
