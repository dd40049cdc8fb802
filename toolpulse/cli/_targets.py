"""What a person types for an incident or a tool: the start of an id, the end of a name."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from toolpulse._base.paths import format_path, parse_path
from toolpulse.cli._text import endings, listed
from toolpulse.errors import ConfigurationError

if TYPE_CHECKING:
    from toolpulse.stores.base import Store

_ID: Final = re.compile(r"[0-9a-f]{4,}")
_MOST_NAMED: Final = 8


def tool_of(store: Store, text: str) -> str:
    """The tool of that name, or of which that is a dotted ending. Raises ConfigurationError for none, or several."""
    return _one(text, _tools(store, text), "a tool that was watched")


def target_of(store: Store, text: str) -> str:
    """The incident of that id, or whose id starts so, or the tool as ``tool_of`` has it.

    Raises ConfigurationError for none, or several.
    """
    ids = {incident.id for incident in store.incidents()}
    if text in ids:
        return text
    tools = _tools(store, text)
    if tools == {text}:
        return text
    starting = {name for name in ids if name.startswith(text)} if _ID.fullmatch(text) else set()
    return _one(text, tools | starting, "an incident or a tool that was watched")


def _tools(store: Store, text: str) -> set[str]:
    names = {tool for tool, _ in store.tools()}
    return {text} if text in names else {tool for tool in names if text in endings(tool)}


def _one(text: str, found: Iterable[str], what: str) -> str:
    names = sorted(found)
    if not names:
        raise ConfigurationError(f"{text!r} is not {what}")
    if len(names) > 1:
        raise ConfigurationError(f"{text!r} may be {listed(names, _MOST_NAMED)}; say which")
    return names[0]


BY_NAME: Final = "by its name or its end where no other has it"
"""How a tool is named."""


def tool_argument(parser: argparse.ArgumentParser, name: str = "tool", *, optional: bool = False) -> None:
    """``TOOL``, a tool that was watched; it becomes ``args.tool``, or what ``name`` says."""
    parser.add_argument(name, metavar="TOOL", nargs="?" if optional else None, help=f"a tool, {BY_NAME}")


def glob_argument(parser: argparse.ArgumentParser) -> None:
    """``--tool``: a glob of names of tools."""
    parser.add_argument("--tool", metavar="GLOB", help="tools of this name, as in search_*")


def key_argument(parser: argparse.ArgumentParser, default: str) -> None:
    """``--key``: a variant of a tool's calls."""
    parser.add_argument("--key", metavar="KEY", help=f"the variant of the call (default: {default})")


def one_path(text: str) -> str:
    """An argument that is a path, as paths are printed."""
    try:
        return format_path(parse_path(text))
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def words(text: str) -> str:
    """An argument that is text for people."""
    if not text.strip() or text.encode("utf-8", "replace").decode() != text:
        raise argparse.ArgumentTypeError("it must be text, and not blank")
    return text
