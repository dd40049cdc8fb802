from __future__ import annotations

import pytest
from cli_stores import broken, files, known, printed, refused

from toolpulse._base.canonical import digest


def test_the_start_of_an_id(db, capsys):
    """Nobody types twelve digits; four are enough where they say which."""
    broken(db)
    _, incident = known(db)
    assert "is not an incident" in refused(capsys, 64, db, "accept", incident.id[:3], "--reason", "x")
    assert printed(capsys, db, "accept", incident.id[:4], "--reason", "x")[0].endswith(incident.id)


def test_what_stands_for_several_is_refused(db, capsys, monkeypatch):
    """A decision about the wrong thing is worse than none: all candidates are named."""
    monkeypatch.setattr("toolpulse.state.incidents.digest", lambda data: f"abcd{digest(data)}")
    broken(db, tool="app.get")
    broken(db, tool="web.get")
    ids = sorted(known(db, tool)[1].id for tool in ("app.get", "web.get"))
    assert all(name.startswith("abcd") for name in ids)
    for text, names in (("abcd", ids), ("get", ["app.get", "web.get"])):
        line = refused(capsys, 64, db, "reject", text, "--reason", "x")
        assert f"{', '.join(names)}; say which" in line
    broken(db, tool="its.abcd")
    assert "its.abcd" in refused(capsys, 64, db, "reject", "abcd", "--reason", "x")
    broken(db, tool="abcd")
    assert printed(capsys, db, "reject", "abcd", "--reason", "x")[0].split()[1] == "abcd"


@pytest.mark.parametrize("target", ["nothing", "abc", "0000", "0" * 12, "", "search", "docs", "\x1b[2J"])
def test_an_unknown_target_is_wrong_use(db, tmp_path, capsys, target):
    """Nothing is decided, nothing is written."""
    broken(db)
    before = files(tmp_path)
    assert "is not an incident or a tool" in refused(capsys, 64, db, "accept", target, "--reason", "x")
    assert files(tmp_path) == before
