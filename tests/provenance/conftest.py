from __future__ import annotations

import pytest
from traces import write

from toolpulse.provenance.gate import gate


@pytest.fixture
def parts(tmp_path):
    """A folder with what a run is started with."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "search.json").write_text('{"name": "search", "parameters": {}}', "utf-8")
    (tmp_path / "prompts" / "sub").mkdir(parents=True)
    (tmp_path / "prompts" / "answer.md").write_text("Answer.\n", "utf-8")
    (tmp_path / "prompts" / "sub" / "größe.md").write_text("Groß.\n", "utf-8")
    (tmp_path / "lock").write_bytes(b"httpx==0.28.1\n")
    return tmp_path


@pytest.fixture
def gated(tmp_path):
    """The comparison on two lists of lines."""

    def rule(one, other, **options):
        return gate(write(tmp_path / "a.jsonl", *one), write(tmp_path / "b.jsonl", *other), **options)

    return rule
