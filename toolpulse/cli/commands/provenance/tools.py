"""``toolpulse tools``: fingerprints of tool schemas, what differs, and pins to check them against."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shlex
import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

from toolpulse.cli._kit.arguments import file_name, json_argument, risks
from toolpulse.cli._kit.command import Command
from toolpulse.cli._kit.exits import Exit
from toolpulse.cli._kit.inputs import document
from toolpulse.cli._kit.output import Output, print_json, writing
from toolpulse.cli._kit.text import file_label
from toolpulse.cli._views.comparisons import print_comparison
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.judgement.rules import Risk
from toolpulse.provenance.schemas.mcp_server import list_tools
from toolpulse.provenance.tools import PIN, ToolSet, check, load_pin, pin, tools_diff

T = TypeVar("T")

_SERVER: Final = "mcp:"
_LIVE: Final = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)")
_FAIL_ON: Final = frozenset({Risk.HIGH, Risk.AVAILABILITY, Risk.INVESTIGATE})


def _fingerprint(args: argparse.Namespace) -> int:
    fingerprint = _use(args.tools, lambda tools: ToolSet.of(tools).fingerprint())
    if args.json:
        print_json(fingerprint)
    else:
        from toolpulse.cli._views.printer import Printer

        rows = [
            f"{name}  contract {row['contract'][:12]}  description {row['description'][:12]}"
            for name, row in fingerprint["tools"].items()
        ]
        Printer(Output()).lines([*rows, f"all of them  {fingerprint['digest'][:12]}"])
    return Exit.OK


def _diff(args: argparse.Namespace) -> int:
    old, new = (_use(source, ToolSet.of) for source in (args.old, args.new))
    return print_comparison(tools_diff(old, new), as_json=args.json)


def _pin(args: argparse.Namespace) -> int:
    tools = _use(args.tools, ToolSet.of)
    with writing("--pin", args.pin):
        pinned = pin(args.pin, tools)
    if args.json:
        print_json(pinned)
    else:
        from toolpulse.cli._views.printer import Printer

        Printer(Output()).lines([f"pinned {len(tools.tools)} tools as {pinned['digest'][:12]} in {args.pin}"])
    return Exit.OK


def _check(args: argparse.Namespace) -> int:
    comparison = _use(args.tools, lambda tools: check(args.pin, tools))
    code = comparison.exit_code
    risks_of_changes = {getattr(change, "risk", None) for change in comparison.changes}
    # what is below --fail-on is printed, and passes
    if code == Exit.DIFFERENT and not risks_of_changes & args.fail_on:
        code = Exit.OK
    return print_comparison(comparison, as_json=args.json, code=code)


def _use(source: str, function: Callable[[Any], T]) -> T:
    """Call a function with the tools of a source. Raises InputError with the source's name in front."""
    tools = _tools(source)
    try:
        return function(tools)
    except InputError as error:
        raise InputError(f"{file_label(source)}: {error}") from None


def _tools(source: str) -> object:
    """The tools that an argument names: a file of definitions or a pin, ``module:name``, or ``mcp:COMMAND``."""
    if source.startswith(_SERVER):
        return list_tools(_command_words(source))
    # a file may be named like module:name, and then the file is meant
    live = _LIVE.fullmatch(source)
    if live is not None and not os.path.lexists(source):
        return _imported(source, *live.groups())
    plain = document(source)
    return load_pin(source) if isinstance(plain, dict) and plain.get("kind") == PIN else plain


def _command_words(source: str) -> list[str]:
    try:
        return shlex.split(source.removeprefix(_SERVER))
    except ValueError as error:
        raise ConfigurationError(f"{source}: {error}") from None


def _imported(source: str, module: str, name: str) -> object:
    sys.path.insert(0, "")  # as ``python -m`` has it
    try:
        value: Any = importlib.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except Exception as error:  # noqa: BLE001 - what a module raises when it is imported may be anything
        raise InputError(f"{source}: cannot be imported ({type(error).__name__})") from None
    finally:
        sys.path.remove("")
    return [value] if callable(value) else value


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


_ACTIONS: Final = (
    Command(
        name="fingerprint",
        summary="print the digests of each tool, and of all of them",
        usage="[--json] TOOLS",
        exits=(Exit.OK, Exit.INPUT),
        arguments=_fingerprint_arguments,
        run=_fingerprint,
    ),
    Command(
        name="diff",
        summary="tell what differs between two sets of tools, and what it means to callers",
        usage="[--json] TOOLS TOOLS",
        exits=(Exit.OK, Exit.DIFFERENT, Exit.INPUT),
        arguments=_diff_arguments,
        run=_diff,
    ),
    Command(
        name="pin",
        summary="write a pin: contracts, and digests of descriptions",
        usage="[--pin FILE] [--json] TOOLS",
        exits=(Exit.OK, Exit.INPUT),
        arguments=_pin_arguments,
        run=_pin,
    ),
    Command(
        name="check",
        summary="compare tools with their pin",
        usage="[--pin FILE] [--fail-on RISKS] [--json] TOOLS",
        exits=(Exit.OK, Exit.DIFFERENT, Exit.PRECONDITION, Exit.INPUT),
        arguments=_check_arguments,
        run=_check,
    ),
)

TOOLS: Final = Command(
    name="tools",
    summary="fingerprint tool schemas, and check them against a pin",
    usage="fingerprint|diff|pin|check ...",
    about="Fingerprints of tool definitions (OpenAI, Anthropic, MCP, OpenTelemetry, live functions): of what each\n"
    "accepts, and of what is said about it. A renamed argument is reported as that.",
    example="toolpulse tools check tools.json",
    exits=(Exit.OK, Exit.DIFFERENT, Exit.PRECONDITION, Exit.INPUT),
    actions=_ACTIONS,
)
