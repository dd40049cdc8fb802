"""Baselines, traces, recordings and logs that somebody else made, given to the command line."""

from __future__ import annotations

import gzip
import json

import pytest
from cli_runs import one_line, ran, write_lines

from toolpulse import Baseline

pytestmark = [pytest.mark.attack, pytest.mark.quick]

GOOD = {"id": 1, "name": "x"}
ESCAPE = "\x1b]0;owned\x07\u202e\x9b"
SECRET = "s3cr3t"

FILES = {
    "nothing": b"",
    "bytes": bytes(range(256)) * 100,
    "zeros": bytes(100_000),
    "a lone surrogate in UTF-8": b'{"a": "\xed\xa0\x80"}',
    "an array 100,000 deep": b"[" * 100_000 + b"]" * 100_000,
    "an object 100,000 deep": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "an array that never ends": b"[" * 1_000_000,
    "text that never ends": b'{"a": "' + b"x" * 1_000_000,
    "a number of a million digits": b'{"schema": ' + b"9" * 1_000_000 + b"}",
    "a schema that is true": b'{"schema": true, "rows": []}',
    "a schema that is a name with escapes": json.dumps({"schema": ESCAPE}).encode(),
    "keys that are given twice": b'{"schema": 1, "schema": 1, "kind": "a", "kind": "b"}',
    "no number": b'{"schema": NaN}',
    "a compressed file that breaks off": gzip.compress(b'{"a": 1}\n' * 10_000)[:-20],
    "a compressed file that is no JSON": gzip.compress(bytes(1000)),
    "a pickle": b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R.",
    "a database": b"SQLite format 3\x00" + bytes(4080),
}
"""Seventeen that neither a baseline, a trace nor a log can be made of."""

BASELINES = {
    "a count below zero": lambda b: b["rows"][0].update(count=-1),
    "a shape of 1,000 levels": lambda b: b["rows"][0].update(shape=json.loads("[" * 900 + "]" * 900)),
    "a shape that is not its fingerprint's": lambda b: b["rows"][0].update(shape={"other": "string"}),
    "a path that is none": lambda b: b.update(maps=[ESCAPE + "["]),
    "a limit below zero": lambda b: b["limits"].update(nodes=-1),
    "a setting that nobody knows": lambda b: b.update({ESCAPE: SECRET}),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a good baseline and good responses, in which commands run."""
    monkeypatch.chdir(tmp_path)
    Baseline.learn([GOOD] * 12).save(tmp_path / "good.json")
    write_lines(tmp_path / "good.jsonl", GOOD)
    return tmp_path


def commands(file):
    """Each command that reads a file, with the file in each place."""
    return [
        ["show", file],
        ["check", "--baseline", file, "good.jsonl"],
        ["log", file],
        ["gate", file, file],
        ["manifest", "show", file],
        ["tools", "fingerprint", file],
        ["prompt", "fingerprint", file],
    ]


def refused(capsys, folder, argv):
    """The command ends with one line of text that no terminal acts on, and leaves the folder as it was."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code, out, err = ran(capsys, *argv)
    assert code in {3, 4, 64}, (argv, code, err)
    assert "\x1b" not in out
    line = one_line(err)
    assert len(line) < 1000
    assert SECRET not in line
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_none_of_ours_is_refused_in_one_line(name, folder, capsys):
    """Whoever is given such a file needs to know which one and why, and no traceback."""
    (folder / "bad").write_bytes(FILES[name])
    for argv in commands("bad"):
        if name in {"nothing", "a lone surrogate in UTF-8"} and argv[0] in {"log", "prompt", "tools"}:
            continue  # an empty log is one without events, and text is a prompt
        refused(capsys, folder, argv)


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_that_was_tampered_with_is_refused(name, folder, capsys):
    """A pull request may bring one; what it says must not be judged by."""
    stored = json.loads((folder / "good.json").read_text("utf-8"))
    BASELINES[name](stored)
    (folder / "bad").write_text(json.dumps(stored), "utf-8")
    for argv in commands("bad")[:2]:
        refused(capsys, folder, argv)


def test_a_recording_full_of_escapes_is_shown_harmless(folder, capsys):
    """A recorded session holds whatever servers sent: names reach the terminal printable, and no value does."""
    interaction = {"request": {"uri": SECRET}, "response": {ESCAPE: SECRET, "body": {"string": SECRET}}}
    write_lines(folder / "cassette.json", {"interactions": [interaction] * 12})
    code, out, err = ran(capsys, "learn", "cassette.json", "--select", "interactions[].response", "-o", "learned.json")
    assert (code, err) == (0, "")
    code, shown, err = ran(capsys, "show", "learned.json")
    assert (code, err) == (0, "")
    for text in (out, shown, (folder / "learned.json").read_text("utf-8")):
        assert SECRET not in text
        assert all(line.isprintable() for line in text.splitlines())
