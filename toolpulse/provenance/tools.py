"""Fingerprints of tool schemas: per tool one of what it accepts and one of what is said about it.

A caller is an agent whose prompt, traces and cached calls were made for the old schema, so a difference is judged by
the input column of the rule table: new reader, old writer. Output schemas are judged as responses are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from toolpulse._base.canonical import digest_of
from toolpulse._base.paths import ROOT, Path, format_path, parse_path
from toolpulse.documents import compare, renames
from toolpulse.errors import InputError
from toolpulse.judgement.consumer import Finding
from toolpulse.judgement.diff import Change, Fact
from toolpulse.judgement.rules import Risk, classify_schema
from toolpulse.provenance._arguments import schema_changes, words_path
from toolpulse.provenance._definitions import Definition, definitions
from toolpulse.provenance._functions import of_function as definition_of
from toolpulse.provenance._schemas import contract, whole_numbers, words
from toolpulse.stores import files
from toolpulse.verdicts import Cause, Code, Ruling

__all__ = [
    "PIN", "SCHEMA", "ToolSet", "check", "definition_of", "load_pin", "pin", "tools_diff", "tools_fingerprint",
    "whole_numbers",
]  # fmt: skip

SCHEMA: Final = 1
PIN: Final = "tool pin"
"""What a pin file says it is."""

_CAME_OR_WENT: Final = frozenset({"field-added", "field-added-in-some", "field-removed"})


class Tool(msgspec.Struct, frozen=True):
    """One tool, reduced."""

    accepts: dict[str, Any]
    """``parameters`` and, where it has one, ``output``: schemas without their words."""
    words: dict[str, str]
    """A digest for each thing that is said about it, by where it stands."""

    @property
    def contract(self) -> str:
        """The digest of what it accepts."""
        return digest_of(self.accepts)

    @property
    def description(self) -> str:
        """The digest of what is said."""
        return digest_of(self.words)


class ToolSet(msgspec.Struct, frozen=True):
    """The tools that an agent was given, in their order, without a word of text."""

    tools: dict[str, Tool]
    """In the order in which the model is shown them."""

    @classmethod
    def of(cls, tools: object) -> ToolSet:
        """Reduce definitions. Raises as ``tools_fingerprint``."""
        return tools if isinstance(tools, cls) else cls({one.name: _reduced(one) for one in definitions(tools)})

    def fingerprint(self) -> dict[str, Any]:
        """``{"schema", "tools": {name: {"contract", "description"}}, "order", "digest"}``, digests of 64 digits."""
        found = {
            "tools": {n: {"contract": t.contract, "description": t.description} for n, t in self.tools.items()},
            "order": list(self.tools),
        }
        return {"schema": SCHEMA, **found, "digest": digest_of(found)}


def tools_fingerprint(tools: object) -> dict[str, Any]:
    """The fingerprint of tool definitions: ``schema``, ``tools`` (name to ``contract`` and ``description``), ``order``
    (the names), ``digest``; digests are 64 hex digits.

    ``tools``: a list of definitions as OpenAI (chat, responses), Anthropic, MCP or OpenTelemetry write them, of live
    functions, or an MCP ``tools/list`` result as object or dict. A contract is the parameters (and the output schema)
    without descriptions, titles, examples and comments; key order is irrelevant, ``required``, ``enum`` and ``type``
    are sets, ``1.0`` is ``1``. The same tool has the same contract in every one of those forms. The description covers
    the words that were left out, and MCP's annotations. ``digest`` covers all of it and the order.

    Raises InputError for two tools of one name and for a tool whose parameters were not written down (OpenTelemetry
    leaves them out by default), CanonicalError where a schema is no JSON.
    """
    return ToolSet.of(tools).fingerprint()


def tools_diff(one: object, other: object) -> Ruling:
    """What differs between two sets of tools: ``one`` is what callers know, ``other`` what they meet.

    Either is anything ``tools_fingerprint`` takes, or a ToolSet. The ruling is ``DIFFERENT`` with any difference, and
    then never without changes: an argument's path begins with its tool (``search_docs.q``). ``primary`` is the first of
    the causes ``removed``, ``contract``, ``added``, ``description``, ``reordered``; each names its tools.
    """
    old, new = ToolSet.of(one), ToolSet.of(other)
    found = tuple(sorted(_findings(old, new), key=lambda finding: finding.risk.rank))
    causes = tuple(_causes(old, new))
    if not causes:
        return Ruling(Code.OK, "same", message="the same tools")
    return Ruling(Code.DIFFERENT, causes[0].reason, causes, found, message="; ".join(map(str, causes)))


def pin(path: str | os.PathLike[str], tools: object) -> dict[str, Any]:
    """Write a pin file: the contracts, and digests of the words. Made to be committed. Returns the fingerprint.

    Raises as ``tools_fingerprint``, and OSError where the folder does not take the file.
    """
    known = ToolSet.of(tools)
    fingerprint = known.fingerprint()
    rows = {
        name: {**fingerprint["tools"][name], "accepts": tool.accepts, "words": tool.words}
        for name, tool in known.tools.items()
    }
    files.save(path, {**fingerprint, "tools": rows}, kind=PIN, schema=SCHEMA)
    return fingerprint


def load_pin(path: str | os.PathLike[str]) -> ToolSet:
    """Read a pin file. Raises InputError where it is none, or its contracts are not those of its digests."""
    plain = files.load(path, kind=PIN, schema=SCHEMA)
    try:
        rows = {name: msgspec.convert(plain["tools"][name], Tool) for name in plain["order"]}
        known = ToolSet(rows)
        written = {n: {k: row[k] for k in ("contract", "description")} for n, row in plain["tools"].items()}
        sound = known.fingerprint() == {
            "schema": SCHEMA, "tools": written, "order": plain["order"], "digest": plain["digest"],
        }  # fmt: skip
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError):
        raise InputError(f"{os.fspath(path)}: not a {PIN}") from None
    if not sound:
        raise InputError(f"{os.fspath(path)}: edited: its digests are not those of its contracts; pin the tools anew")
    return known


def check(path: str | os.PathLike[str], tools: object) -> Ruling:
    """Compare tools with a pin file. Without the file the ruling is ``PRECONDITION``, ``no_pin``.

    Raises as ``load_pin`` and ``tools_fingerprint``.
    """
    known = ToolSet.of(tools)
    if not os.path.lexists(path):
        message = f"no pin at {os.fspath(path)}; toolpulse tools pin writes one"
        return Ruling(Code.PRECONDITION, "no_pin", message=message)
    return tools_diff(load_pin(path), known)


def _reduced(one: Definition) -> Tool:
    said: Iterable[tuple[Path, Any]] = [((word,), text) for word, text in one.words.items()]
    if not one.own:
        return Tool({"provider": whole_numbers(one.parameters)}, _digests(said))
    accepts = {"parameters": contract(one.parameters)}
    if one.output is not None:
        accepts["output"] = contract(one.output)
    said = [*said, *words(one.parameters, ("parameters",)), *words(one.output, ("output",))]
    return Tool(accepts, _digests(said))


def _digests(said: Iterable[tuple[Path, Any]]) -> dict[str, str]:
    return {format_path(path): digest_of(text) for path, text in said}


def _causes(old: ToolSet, new: ToolSet) -> Iterator[Cause]:
    both = [name for name in old.tools if name in new.tools]
    classes = {
        "removed": [name for name in old.tools if name not in new.tools],
        "contract": [name for name in both if old.tools[name].contract != new.tools[name].contract],
        "added": [name for name in new.tools if name not in old.tools],
        "description": [name for name in both if old.tools[name].description != new.tools[name].description],
        "reordered": both if both != [name for name in new.tools if name in old.tools] else [],
    }
    for reason, names in classes.items():
        if names:
            yield Cause(reason, names=tuple(sorted(names)) if reason != "reordered" else ())


def _findings(old: ToolSet, new: ToolSet) -> Iterator[Finding]:
    yield from map(_judged, _came_and_went(old.tools, new.tools))
    for name in sorted(old.tools.keys() & new.tools.keys()):
        yield from _one(name, old.tools[name], new.tools[name])
    both = [name for name in old.tools if name in new.tools]
    if both != [name for name in new.tools if name in old.tools]:
        yield _judged(Change(ROOT, "order", "order", "another order", "the model is shown them in this order"))


def _came_and_went(old: Mapping[str, Tool], new: Mapping[str, Tool]) -> Iterator[Change]:
    gone = {name: old[name].accepts for name in old if name not in new}
    come = {name: new[name].accepts for name in new if name not in old}
    renamed = renames(gone, come)
    back = {after: before for before, after in renamed.items()}
    for name in sorted(gone):
        yield _tool(name, "missing", renamed.get(name))
    for name in sorted(come):
        yield _tool(name, "added", back.get(name))


def _tool(name: str, fact: Fact, counterpart: str | None) -> Change:
    before, after = ("tool", "missing") if fact == "missing" else ("missing", "tool")
    there = None if counterpart is None else format_path((counterpart,))
    evidence = "callers still call it" if fact == "missing" else "nobody calls it yet"
    pattern = "renamed" if counterpart is not None else None
    return Change(
        (name,),
        fact,
        before,
        after,
        evidence,
        partly=fact == "added",
        pattern=pattern,
        counterpart=there,
    )


def _one(name: str, old: Tool, new: Tool) -> Iterator[Finding]:
    """What differs in one tool."""
    found = []
    if old.contract != new.contract:
        for side in ("parameters", "output", "provider"):
            one, other = old.accepts.get(side), new.accepts.get(side)
            output = side == "output"
            at = (name,)
            some = _settings(one, other, at) if side == "provider" else schema_changes(one, other, at, output=output)
            found += [_judged(change, output=output) for change in some]
        # two schemas that mean nothing may differ in a way that no argument shows
        found = found or [_judged(Change((name,), "value", "schema", "schema", "the schema differs"))]
    yield from found
    told = {finding.path for finding in found if finding.rule_id in _CAME_OR_WENT}
    for change in compare(old.words, new.words):
        said = _judged(_said(name, change))
        if said.path not in told:  # what came or went has its words with it
            yield said


def _settings(one: Any, other: Any, at: Path) -> tuple[Change, ...]:
    return tuple(
        Change((*at, *change.path), "value", change.before, change.after, change.evidence)
        for change in compare(one, other)
    )


def _said(name: str, change: Change) -> Change:
    """A difference of words, at the argument they are about."""
    if not change.path:
        return Change((name,), "text", "words", "words", change.evidence)
    where = parse_path(str(change.path[0]))
    side, word = where[0], where[-1]
    argument = words_path(where[1:]) if len(where) > 1 else ROOT
    sides = {"missing": ("text", "missing"), "added": ("missing", "text")}
    before, after = sides.get(change.fact, ("text", "other text"))
    about = f"{word} of the output" if side == "output" else str(word)
    return Change((name, *argument), "text", before, after, about)


def _judged(change: Change, *, output: bool = False) -> Finding:
    """By the input column of the rules, of an output schema by the one for responses."""
    rule = classify_schema(change)
    risk = rule.risk if output else rule.input_risk or Risk.INVESTIGATE
    evidence = f"output: {change.evidence}" if output else change.evidence
    return Finding(
        format_path(change.path), rule.id, change.before, change.after, risk, evidence, change.pattern,
        change.counterpart,
    )  # fmt: skip
