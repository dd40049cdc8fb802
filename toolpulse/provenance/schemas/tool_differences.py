"""What differs between two sets of tools, judged by the rules of schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolpulse._base.paths import ROOT, Path, format_path, parse_path
from toolpulse.judgement.findings import Finding
from toolpulse.provenance.comparison.difference import Difference, Fact
from toolpulse.provenance.comparison.documents import compare, renames
from toolpulse.provenance.comparison.result import Cause
from toolpulse.provenance.schemas.argument_differences import schema_differences
from toolpulse.provenance.schemas.argument_paths import argument_of_word
from toolpulse.provenance.schemas.rules import classify
from toolpulse.provenance.schemas.tool_set import Tool, ToolSet

_CAME_OR_WENT: Final = frozenset({"field-added", "field-added-in-some", "field-removed"})


def causes(old: ToolSet, new: ToolSet) -> Iterator[Cause]:
    """The reasons why two sets are not the same, each with the tools it is about, the gravest first.

    They are ``removed``, ``contract`` (what is accepted), ``added``, ``description`` (what is said) and ``reordered``,
    which names no tool.
    """
    both = [name for name in old.tools if name in new.tools]
    tools_by_reason = {
        "removed": [name for name in old.tools if name not in new.tools],
        "contract": [name for name in both if old.tools[name].contract != new.tools[name].contract],
        "added": [name for name in new.tools if name not in old.tools],
        "description": [name for name in both if old.tools[name].description != new.tools[name].description],
        "reordered": both if _is_reordered(old, new) else [],
    }
    for reason, names in tools_by_reason.items():
        if names:
            yield Cause(reason, names=tuple(sorted(names)) if reason != "reordered" else ())


def findings(old: ToolSet, new: ToolSet) -> Iterator[Finding]:
    """Every difference between two sets, judged. A path begins with the tool: ``search_docs.q``."""
    yield from map(_judged, _came_and_went(old.tools, new.tools))
    for name in sorted(old.tools.keys() & new.tools.keys()):
        yield from _of_one_tool(name, old.tools[name], new.tools[name])
    if _is_reordered(old, new):
        yield _judged(Difference(ROOT, "order", "order", "another order", "the model is shown them in this order"))


def _is_reordered(old: ToolSet, new: ToolSet) -> bool:
    """Whether the tools that both have are in another order."""
    return [name for name in old.tools if name in new.tools] != [name for name in new.tools if name in old.tools]


def _came_and_went(old: Mapping[str, Tool], new: Mapping[str, Tool]) -> Iterator[Difference]:
    gone = {name: old[name].accepts for name in old if name not in new}
    come = {name: new[name].accepts for name in new if name not in old}
    new_names = renames(gone, come)
    old_names = {after: before for before, after in new_names.items()}
    for name in sorted(gone):
        yield _one_sided(name, "missing", new_names.get(name))
    for name in sorted(come):
        yield _one_sided(name, "added", old_names.get(name))


def _one_sided(name: str, fact: Fact, counterpart: str | None) -> Difference:
    """A tool that only one side has; ``counterpart`` is its name on the other side where it was renamed."""
    before, after = ("tool", "missing") if fact == "missing" else ("missing", "tool")
    return Difference(
        (name,),
        fact,
        before,
        after,
        "callers still call it" if fact == "missing" else "nobody calls it yet",
        partly=fact == "added",
        pattern=None if counterpart is None else "renamed",
        counterpart=None if counterpart is None else format_path((counterpart,)),
    )


def _of_one_tool(name: str, old: Tool, new: Tool) -> Iterator[Finding]:
    of_contract = list(_of_contract(name, old, new)) if old.contract != new.contract else []
    yield from of_contract
    with_their_words = {finding.path for finding in of_contract if finding.rule_id in _CAME_OR_WENT}
    for difference in compare(old.words, new.words):
        of_words = _judged(_of_words(name, difference))
        if of_words.path not in with_their_words:
            yield of_words


def _of_contract(name: str, old: Tool, new: Tool) -> Iterator[Finding]:
    is_empty = True
    for side in ("parameters", "output", "provider"):
        one, other = old.accepts.get(side), new.accepts.get(side)
        output = side == "output"
        at = (name,)
        some = _of_settings(one, other, at) if side == "provider" else schema_differences(one, other, at, output=output)
        for difference in some:
            is_empty = False
            yield _judged(difference, output=output)
    if is_empty:
        # two schemas that mean nothing may differ in a way that no argument shows
        yield _judged(Difference((name,), "value", "schema", "schema", "the schema differs"))


def _of_settings(one: Any, other: Any, at: Path) -> tuple[Difference, ...]:
    """Of a provider's own tool, which has settings and no schema."""
    return tuple(
        Difference((*at, *setting.path), "value", setting.before, setting.after, setting.evidence)
        for setting in compare(one, other)
    )


def _of_words(name: str, difference: Difference) -> Difference:
    """A difference of words, at the argument they are about."""
    if not difference.path:
        return Difference((name,), "text", "words", "words", difference.evidence)
    where = parse_path(str(difference.path[0]))
    side, word = where[0], where[-1]
    argument = argument_of_word(where[1:]) if len(where) > 1 else ROOT
    before, after = {"missing": ("text", "missing"), "added": ("missing", "text")}.get(
        difference.fact, ("text", "other text")
    )
    about = f"{word} of the output" if side == "output" else str(word)
    return Difference((name, *argument), "text", before, after, about)


def _judged(one: Difference, *, output: bool = False) -> Finding:
    """With its rule, and the risk to callers; of an output the risk to readers."""
    rule = classify(one)
    return Finding(
        format_path(one.path),
        rule.id,
        one.before,
        one.after,
        rule.to_readers if output else rule.to_callers,
        f"output: {one.evidence}" if output else one.evidence,
        one.pattern,
        one.counterpart,
    )
