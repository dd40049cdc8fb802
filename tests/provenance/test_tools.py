from __future__ import annotations

import json

import pytest
from tool_definitions import SEARCH, SHAPES, Q, edited, tool

from toolpulse.errors import InputError, SchemaMissing, SchemaUnsupported
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.tools import (
    ToolSet,
    check,
    load_pin,
    pin,
    tools_fingerprint,
)

# pins


def test_a_pin_is_checked(tmp_path):
    """No pin, the same, a change: as the committed file says."""
    file = tmp_path / "tools.pin.json"
    assert (check(file, tool()).code, check(file, tool()).primary) == (Code.PRECONDITION, "no_pin")
    assert pin(file, tool()) == tools_fingerprint(tool())
    assert check(file, [SHAPES["mcp object"]]).code is Code.OK
    comparison = check(file, edited(lambda p: p["properties"].pop("limit")))
    assert [(c.path, c.rule_id) for c in comparison.changes] == [("search_docs.limit", "field-removed")]


def test_a_pin_keeps_no_words(tmp_path):
    """A description is prompt text; its digest is enough to see that it changed, and at which argument."""
    file = tmp_path / "pin.json"
    pin(file, tool())
    assert "Search docs" not in file.read_text("ascii")
    assert "What to look for" not in file.read_text("ascii")
    changed = check(file, edited(lambda p: p["properties"]["q"].update(description="x")))
    assert [(c.path, c.rule_id) for c in changed.changes] == [(Q, "description-changed")]


def test_a_pin_reads_back(tmp_path):
    """What was pinned and what is loaded are the same set, provider tools and order included."""
    file = tmp_path / "pin.json"
    tools = [{"type": "web_search", "name": "z"}, SEARCH, {"name": "a", "parameters": None, "outputSchema": {}}]
    pin(file, tools)
    assert load_pin(file) == ToolSet.of(tools)
    assert list(load_pin(file).tools) == ["z", "search_docs", "a"]
    before = file.read_bytes()
    pin(file, load_pin(file))
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("edit", "error", "message"),
    [
        (lambda p: p["tools"]["search_docs"]["accepts"]["parameters"].pop("required"), InputError, "edited"),
        (lambda p: p["tools"]["search_docs"].update(contract="0" * 64), InputError, "edited"),
        (lambda p: p.update(digest="0" * 64), InputError, "edited"),
        (lambda p: p.update(order=[]), InputError, "edited"),
        (lambda p: p.update(order=["other"]), InputError, "not a tool pin"),
        (lambda p: p.pop("tools"), InputError, "not a tool pin"),
        (lambda p: p.update(tools=3), InputError, "not a tool pin"),
        (lambda p: p.pop("schema"), SchemaMissing, "schema is missing"),
        (lambda p: p.update(schema=2), SchemaUnsupported, "schema 2"),
        (lambda p: p.update(kind="release"), InputError, "not a tool pin"),
    ],
)
def test_a_pin_that_was_edited_is_refused(tmp_path, edit, error, message):
    """A pin whose digests are not those of its contracts vouches for nothing."""
    file = tmp_path / "pin.json"
    pin(file, tool())
    plain = json.loads(file.read_bytes())
    edit(plain)
    file.write_text(json.dumps(plain), "utf-8")
    with pytest.raises(error, match=message):
        check(file, tool())
