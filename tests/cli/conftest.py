from __future__ import annotations

import pytest
from cli_baselines import AFTER, BEFORE
from cli_runs import ran, write_lines


@pytest.fixture
def learned(tmp_path, capsys):
    """A folder with before.jsonl, after.jsonl and the baseline of the first."""
    write_lines(tmp_path / "before.jsonl", *BEFORE)
    write_lines(tmp_path / "after.jsonl", *BEFORE[:3], *AFTER)
    assert ran(capsys, "learn", tmp_path / "before.jsonl", "-o", tmp_path / "b.json").code == 0
    return tmp_path
