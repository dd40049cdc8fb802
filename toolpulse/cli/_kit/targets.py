"""How a person names a tool, a key or an incident: the end of a name or the start of an id will do."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from toolpulse.cli._kit.text import endings, listed
from toolpulse.errors import ConfigurationError

if TYPE_CHECKING:
    from toolpulse.stores.base import Store

_ID: Final = re.compile(r"[0-9a-f]{4,}")
"""The start of an incident's id, of at least four digits."""

_MOST_NAMED: Final = 8
"""Names that a message lists."""


def tool_of(store: Store, text: str) -> str:
    """The full name of the tool that ``text`` names: its name, or a dotted ending that only one tool has.

    Raises ConfigurationError where no tool or several tools fit.
    """
    return _one(text, _tools(store, text), "a tool that was watched")


def target_of(store: Store, text: str) -> str:
    """The id of the incident that ``text`` names, by its id or the start of it; or a tool, as ``tool_of`` has it.

    Raises ConfigurationError where nothing or several fit.
    """
    ids = {incident.id for incident in store.incidents()}
    if text in ids:
        return text
    tools = _tools(store, text)
    # a tool's full name stands before the start of an id
    if tools == {text}:
        return text
    starting = {name for name in ids if name.startswith(text)} if _ID.fullmatch(text) else set()
    return _one(text, tools | starting, "an incident or a tool that was watched")


def _tools(store: Store, text: str) -> set[str]:
    names = {tool for tool, _ in store.tools()}
    return {text} if text in names else {tool for tool in names if text in endings(tool)}


def _one(text: str, candidates: Iterable[str], what: str) -> str:
    names = sorted(candidates)
    if not names:
        raise ConfigurationError(f"{text!r} is not {what}")
    if len(names) > 1:
        raise ConfigurationError(f"{text!r} may be {listed(names, _MOST_NAMED)}; say which")
    return names[0]


BY_NAME: Final = "by its name, or by the end of it if no other tool's name ends so"
"""How a tool is named, for a help text."""


def tool_argument(parser: argparse.ArgumentParser, name: str = "tool", *, optional: bool = False) -> None:
    """``TOOL``, a tool that was watched; it becomes ``args.tool``, or the attribute that ``name`` says."""
    parser.add_argument(name, metavar="TOOL", nargs="?" if optional else None, help=f"a tool, {BY_NAME}")


def glob_argument(parser: argparse.ArgumentParser) -> None:
    """``--tool``: a glob that tools' names match; it becomes ``args.tool``."""
    parser.add_argument("--tool", metavar="GLOB", help="tools of this name, as in search_*")


def key_argument(parser: argparse.ArgumentParser, default: str) -> None:
    """``--key``: a variant of a tool's calls; ``default`` says in the help what is taken without one."""
    parser.add_argument("--key", metavar="KEY", help=f"the variant of the call (default: {default})")
