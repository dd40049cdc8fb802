"""``toolpulse tools``: fingerprints of tool schemas, what differs, and pins to check them against."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shlex
import sys
from typing import Any, Final

from toolpulse.cli import _actions
from toolpulse.cli._actions import Action, json_argument
from toolpulse.cli._command import Command, file_name, risks
from toolpulse.cli._exit import Exit
from toolpulse.cli._output import Output
from toolpulse.cli._rulings import print_json, tell
from toolpulse.cli.inputs import document, shown
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.judgement.rules import Risk
from toolpulse.provenance.schemas.mcp_server import list_tools
from toolpulse.provenance.tools import PIN, ToolSet, check, load_pin, pin, tools_diff

_SERVER: Final = "mcp:"
_LIVE: Final = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)")
_FAIL_ON: Final = frozenset({Risk.HIGH, Risk.AVAILABILITY, Risk.INVESTIGATE})


def tools_of(source: str) -> object:
    """The tools that an argument names: a file of definitions or a pin, ``module:name``, or ``mcp:COMMAND``."""
    if source.startswith(_SERVER):
        return list_tools(_words(source))
    live = _LIVE.fullmatch(source)
    if live is not None and not os.path.lexists(source):
        return _live(source, *live.groups())
    plain = document(source)
    return load_pin(source) if isinstance(plain, dict) and plain.get("kind") == PIN else plain


def _words(source: str) -> list[str]:
    try:
        return shlex.split(source.removeprefix(_SERVER))
    except ValueError as error:
        raise ConfigurationError(f"{source}: {error}") from None


def _live(source: str, module: str, name: str) -> object:
    sys.path.insert(0, "")  # as ``python -m`` has it
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # noqa: BLE001 - what a module raises when it is imported may be anything
        raise InputError(f"{source}: cannot be imported ({type(error).__name__})") from None
    finally:
        sys.path.remove("")
    return [found] if callable(found) else found


def _fingerprint(args: argparse.Namespace) -> int:
    found = _named(args.tools, lambda tools: ToolSet.of(tools).fingerprint())
    if args.json:
        print_json(found)
    else:
        rows = [
            f"{name}  contract {row['contract'][:12]}  description {row['description'][:12]}"
            for name, row in found["tools"].items()
        ]
        from toolpulse.cli._render import Printer

        Printer(Output()).lines([*rows, f"all of them  {found['digest'][:12]}"])
    return Exit.OK


def _named(source: str, use: Any) -> Any:
    """Use the tools of a source; what is wrong with them is told with its name."""
    tools = tools_of(source)
    try:
        return use(tools)
    except InputError as error:
        raise InputError(f"{shown(source)}: {error}") from None


def _diff(args: argparse.Namespace) -> int:
    old, new = (_named(source, ToolSet.of) for source in (args.old, args.new))
    return tell(tools_diff(old, new), as_json=args.json)


def _pin(args: argparse.Namespace) -> int:
    known = _named(args.tools, ToolSet.of)
    try:
        found = pin(args.pin, known)
    except OSError as error:
        raise ConfigurationError(f"--pin {shown(args.pin)}: {error.strerror or type(error).__name__}") from None
    if args.json:
        print_json(found)
    else:
        from toolpulse.cli._render import Printer

        Printer(Output()).lines([f"pinned {len(known.tools)} tools as {found['digest'][:12]} in {args.pin}"])
    return Exit.OK


def _check(args: argparse.Namespace) -> int:
    ruling = _named(args.tools, lambda tools: check(args.pin, tools))
    code = ruling.exit_code
    if code == Exit.DIFFERENT and not any(getattr(change, "risk", None) in args.fail_on for change in ruling.changes):
        code = Exit.OK
    return tell(ruling, as_json=args.json, code=code)


def _tools_argument(parser: argparse.ArgumentParser, name: str = "tools") -> None:
    parser.add_argument(
        name, metavar="TOOLS", type=file_name,
        help="a file of definitions, an MCP tools/list result, or a pin (- reads stdin); module:name of live "
        "functions; 'mcp:COMMAND' of an MCP server over stdio",
    )  # fmt: skip


def _fingerprint_arguments(parser: argparse.ArgumentParser) -> None:
    _tools_argument(parser)
    json_argument(parser)


def _diff_arguments(parser: argparse.ArgumentParser) -> None:
    _tools_argument(parser, "old")
    _tools_argument(parser, "new")
    json_argument(parser)


def _pin_arguments(parser: argparse.ArgumentParser) -> None:
    _tools_argument(parser)
    parser.add_argument("--pin", metavar="FILE", type=file_name, default="tools.pin.json",
                        help="the pin, made to be committed (default tools.pin.json)")  # fmt: skip
    json_argument(parser)


def _check_arguments(parser: argparse.ArgumentParser) -> None:
    _pin_arguments(parser)
    parser.add_argument("--fail-on", metavar="RISKS", type=risks, default=_FAIL_ON,
                        help="end with 1 at one of these (default high,availability,investigate)")  # fmt: skip


ACTIONS: Final[tuple[Action, ...]] = (
    Action(
        "fingerprint", "print the digests of each tool, and of all of them", "[--json] TOOLS",
        (Exit.OK, Exit.INPUT), _fingerprint_arguments, _fingerprint,
    ),
    Action(
        "diff", "tell what differs between two sets of tools, and what it means to callers", "[--json] TOOLS TOOLS",
        (Exit.OK, Exit.DIFFERENT, Exit.INPUT), _diff_arguments, _diff,
    ),
    Action(
        "pin", "write a pin: contracts, and digests of descriptions", "[--pin FILE] [--json] TOOLS",
        (Exit.OK, Exit.INPUT), _pin_arguments, _pin,
    ),
    Action(
        "check", "compare tools with their pin", "[--pin FILE] [--fail-on RISKS] [--json] TOOLS",
        (Exit.OK, Exit.DIFFERENT, Exit.PRECONDITION, Exit.INPUT), _check_arguments, _check,
    ),
)  # fmt: skip

TOOLS: Final = Command(
    "tools",
    "fingerprint tool schemas, and check them against a pin",
    "fingerprint|diff|pin|check ...",
    "Fingerprints of tool definitions (OpenAI, Anthropic, MCP, OpenTelemetry, live functions): of what each\n"
    "accepts, and of what is said about it. A renamed argument is reported as that.",
    "toolpulse tools check tools.json",
    (Exit.OK, Exit.DIFFERENT, Exit.PRECONDITION, Exit.INPUT),
    _actions.arguments_of("tools", ACTIONS),
    _actions.run,
)
