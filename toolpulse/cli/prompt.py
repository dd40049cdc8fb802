"""``toolpulse prompt``: fingerprints of prompts, what differs between two, and the ledger of releases."""

from __future__ import annotations

import argparse
import os
from typing import Final

from toolpulse.cli import _actions
from toolpulse.cli._actions import Action, json_argument, key_env_argument
from toolpulse.cli._command import Command
from toolpulse.cli._exit import Exit
from toolpulse.cli._output import Output
from toolpulse.cli._rulings import print_json, remark, tell
from toolpulse.cli.inputs import document, shown, text
from toolpulse.errors import ConfigurationError
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.comparison.result import Cause, Comparison
from toolpulse.provenance.ledger import Ledger
from toolpulse.provenance.prompt import LENGTH, prompt_diff, release_fingerprint, remarks, request_fingerprint


def key_of(args: argparse.Namespace) -> str | None:
    """The key that ``--key-env`` names. Raises ConfigurationError where the variable is empty or not set."""
    if args.key_env is None:
        return None
    key = os.environ.get(args.key_env, "")
    if not key:
        raise ConfigurationError(f"--key-env: {args.key_env} is empty or not set")
    return key


def _fingerprint(args: argparse.Namespace) -> int:
    length = 64 if args.full else args.length
    key = key_of(args)
    notes: tuple[str, ...] = ()
    if args.rendered:
        found = request_fingerprint(text(args.spec), length=length, key=key)
    else:
        spec = document(args.spec)
        found = release_fingerprint(spec, length=length, key=key, partial=args.partial)
        notes = remarks(spec)
    remark(notes)
    if args.json:
        kind = "request" if args.rendered else "release"
        plain = {"schema": 1, "kind": kind, "fingerprint": found, "keyed": key is not None, "notes": list(notes)}
        print_json(plain)
    else:
        Output().write(f"{found}\n")
    return Exit.OK


def _diff(args: argparse.Namespace) -> int:
    one, other = document(args.one), document(args.other)
    sides = [release_fingerprint(spec, partial=True) for spec in (one, other)]
    changes = prompt_diff(one, other, values=args.values)
    if not changes:
        return tell(Comparison(Code.OK, "same", message=f"both are {sides[0]}"), as_json=args.json)
    fields = tuple(sorted({str(change.path[0]) for change in changes}))
    causes = (Cause("changed", names=fields),)
    ruling = Comparison(Code.DIFFERENT, "changed", causes, changes, message=f"{sides[0]} -> {sides[1]}")
    return tell(ruling, as_json=args.json)


def _record(args: argparse.Namespace) -> int:
    spec = document(args.spec)
    remark(remarks(spec) if isinstance(spec, dict) else ())
    ledger = Ledger(args.store, key=key_of(args))
    try:
        ruling = ledger.record(args.name, spec, label=args.label, keep_text=args.keep_text, partial=args.partial)
    except OSError as error:
        raise ConfigurationError(f"--store {shown(args.store)}: {error.strerror or type(error).__name__}") from None
    return tell(ruling, as_json=args.json)


def _check(args: argparse.Namespace) -> int:
    ledger = Ledger(args.store, key=key_of(args))
    ruling = ledger.check(args.name, document(args.spec), label=args.label, partial=args.partial)
    return tell(ruling, as_json=args.json)


def _spec_argument(parser: argparse.ArgumentParser, name: str = "spec") -> None:
    parser.add_argument(name, metavar="spec.json", help="model, system, template, parameters; - reads stdin")


def _partial_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--partial", action="store_true", help="take a spec without model, system or template")


def _fingerprint_arguments(parser: argparse.ArgumentParser) -> None:
    _spec_argument(parser)
    parser.add_argument("--rendered", action="store_true", help="the file is rendered text: the request's fingerprint")
    parser.add_argument("--length", metavar="N", type=_length, default=LENGTH, help=f"hex digits (default {LENGTH})")
    parser.add_argument("--full", action="store_true", help="all 64 digits, for look-ups")
    _partial_argument(parser)
    key_env_argument(parser)
    json_argument(parser)


def _length(word: str) -> int:
    if not word.isascii() or not word.isdecimal() or not 1 <= int(word[:3]) <= 64 or len(word) > 2:
        raise argparse.ArgumentTypeError(f"{word!r} is no whole number from 1 to 64")
    return int(word)


def _diff_arguments(parser: argparse.ArgumentParser) -> None:
    _spec_argument(parser, "one")
    _spec_argument(parser, "other")
    parser.add_argument("--values", action="store_true", help="show values, which are prompts, instead of kinds")
    json_argument(parser)


def _ledger_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the prompt: lower-case letters, digits, '.', '_' and '-'")
    _spec_argument(parser)
    parser.add_argument("--store", metavar="DIR", default="prompts.ledger",
                        help="the ledger's folder (default prompts.ledger)")  # fmt: skip
    parser.add_argument("--label", metavar="LABEL", help="the version as people call it")
    _partial_argument(parser)
    key_env_argument(parser)
    json_argument(parser)


def _record_arguments(parser: argparse.ArgumentParser) -> None:
    _ledger_arguments(parser)
    parser.add_argument("--keep-text", action="store_true",
                        help="store the spec too, so that differences are told by path")  # fmt: skip


_FLAGS: Final = "[--label LABEL] [--store DIR] [--partial] [--key-env NAME] [--json]"

ACTIONS: Final[tuple[Action, ...]] = (
    Action(
        "fingerprint", "print the fingerprint of a spec, or of rendered text",
        "[--rendered] [--length N | --full] [--partial] [--key-env NAME] [--json] spec.json",
        (Exit.OK, Exit.INPUT), _fingerprint_arguments, _fingerprint,
    ),
    Action(
        "diff", "tell what differs between two specs, by path", "[--values] [--json] spec.json spec.json",
        (Exit.OK, Exit.DIFFERENT, Exit.INPUT), _diff_arguments, _diff,
    ),
    Action(
        "record", "record a release in the ledger", f"{_FLAGS} [--keep-text] NAME spec.json",
        (Exit.OK, Exit.DIFFERENT, Exit.INPUT), _record_arguments, _record,
    ),
    Action(
        "check", "compare a spec with the release that is recorded", f"{_FLAGS} NAME spec.json",
        (Exit.OK, Exit.DIFFERENT, Exit.PRECONDITION, Exit.INPUT), _ledger_arguments, _check,
    ),
)  # fmt: skip

PROMPT: Final = Command(
    "prompt",
    "fingerprint prompts, and keep a ledger of releases",
    "fingerprint|diff|record|check ...",
    "Fingerprints of what was written (a spec: model, system, template, parameters) and of what was sent.\n"
    "A ledger of releases holds fingerprints and no text, and finds a label that was used twice.",
    "toolpulse prompt check answer spec.json --label v7",
    (Exit.OK, Exit.DIFFERENT, Exit.PRECONDITION, Exit.INPUT),
    _actions.arguments_of("prompt", ACTIONS),
    _actions.run,
)
