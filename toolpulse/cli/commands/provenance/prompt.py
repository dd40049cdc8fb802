"""``toolpulse prompt``: fingerprints of prompts, what differs between two, and the ledger of releases."""

from __future__ import annotations

import argparse
import os
from typing import Final

from toolpulse.cli._kit.arguments import json_argument
from toolpulse.cli._kit.command import Command
from toolpulse.cli._kit.exits import Exit
from toolpulse.cli._kit.inputs import document, text
from toolpulse.cli._kit.output import Output, print_json, print_notes, writing
from toolpulse.cli._views.comparisons import print_comparison
from toolpulse.errors import ConfigurationError
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.comparison.result import Cause, Comparison
from toolpulse.provenance.ledger import Ledger
from toolpulse.provenance.prompt import LENGTH, prompt_diff, release_fingerprint, remarks, request_fingerprint


def _fingerprint(args: argparse.Namespace) -> int:
    length = 64 if args.full else args.length
    key = _key(args)
    notes: tuple[str, ...] = ()
    if args.rendered:
        fingerprint = request_fingerprint(text(args.spec), length=length, key=key)
    else:
        spec = document(args.spec)
        fingerprint = release_fingerprint(spec, length=length, key=key, partial=args.partial)
        notes = remarks(spec)
    print_notes(notes)
    if args.json:
        kind = "request" if args.rendered else "release"
        plain = {"schema": 1, "kind": kind, "fingerprint": fingerprint, "keyed": key is not None, "notes": list(notes)}
        print_json(plain)
    else:
        Output().write(f"{fingerprint}\n")
    return Exit.OK


def _diff(args: argparse.Namespace) -> int:
    one, other = document(args.one), document(args.other)
    # two parts of a spec can be compared, too
    before, after = (release_fingerprint(spec, partial=True) for spec in (one, other))
    changes = prompt_diff(one, other, values=args.values)
    if changes:
        fields = tuple(sorted({str(change.path[0]) for change in changes}))
        causes = (Cause("changed", names=fields),)
        comparison = Comparison(Code.DIFFERENT, "changed", causes, changes, message=f"{before} -> {after}")
    else:
        comparison = Comparison(Code.OK, "same", message=f"both are {before}")
    return print_comparison(comparison, as_json=args.json)


def _record(args: argparse.Namespace) -> int:
    spec = document(args.spec)
    print_notes(remarks(spec) if isinstance(spec, dict) else ())
    ledger = Ledger(args.store, key=_key(args))
    with writing("--store", args.store):
        comparison = ledger.record(args.name, spec, label=args.label, keep_text=args.keep_text, partial=args.partial)
    return print_comparison(comparison, as_json=args.json)


def _check(args: argparse.Namespace) -> int:
    ledger = Ledger(args.store, key=_key(args))
    comparison = ledger.check(args.name, document(args.spec), label=args.label, partial=args.partial)
    return print_comparison(comparison, as_json=args.json)


def _key(args: argparse.Namespace) -> str | None:
    """The key that ``--key-env`` names. Raises ConfigurationError where the variable is empty or not set."""
    if args.key_env is None:
        return None
    key = os.environ.get(args.key_env, "")
    if not key:
        raise ConfigurationError(f"--key-env: {args.key_env} is empty or not set")
    return key


def _spec_argument(parser: argparse.ArgumentParser, name: str = "spec") -> None:
    parser.add_argument(name, metavar="spec.json", help="model, system, template, parameters; - reads stdin")


def _partial_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--partial", action="store_true", help="take a spec without model, system or template")


def _key_argument(parser: argparse.ArgumentParser) -> None:
    # others can read a command line, so the key itself is never on it
    parser.add_argument("--key-env", metavar="NAME", help="HMAC with the key in this environment variable")


def _fingerprint_arguments(parser: argparse.ArgumentParser) -> None:
    _spec_argument(parser)
    parser.add_argument("--rendered", action="store_true", help="the file is rendered text: the request's fingerprint")
    parser.add_argument("--length", metavar="N", type=_length, default=LENGTH, help=f"hex digits (default {LENGTH})")
    parser.add_argument("--full", action="store_true", help="all 64 digits, for look-ups")
    _partial_argument(parser)
    _key_argument(parser)
    json_argument(parser)


def _length(word: str) -> int:
    # no more than three digits are read: `int` takes long for thousands
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
    _key_argument(parser)
    json_argument(parser)


def _record_arguments(parser: argparse.ArgumentParser) -> None:
    _ledger_arguments(parser)
    parser.add_argument("--keep-text", action="store_true",
                        help="store the spec too, so that differences are shown by path")  # fmt: skip


_FLAGS: Final = "[--label LABEL] [--store DIR] [--partial] [--key-env NAME] [--json]"

_ACTIONS: Final = (
    Command(
        name="fingerprint",
        summary="print the fingerprint of a spec, or of rendered text",
        usage="[--rendered] [--length N | --full] [--partial] [--key-env NAME] [--json] spec.json",
        exits=(Exit.OK, Exit.INPUT),
        arguments=_fingerprint_arguments,
        run=_fingerprint,
    ),
    Command(
        name="diff",
        summary="tell what differs between two specs, by path",
        usage="[--values] [--json] spec.json spec.json",
        exits=(Exit.OK, Exit.DIFFERENT, Exit.INPUT),
        arguments=_diff_arguments,
        run=_diff,
    ),
    Command(
        name="record",
        summary="record a release in the ledger",
        usage=f"{_FLAGS} [--keep-text] NAME spec.json",
        exits=(Exit.OK, Exit.DIFFERENT, Exit.INPUT),
        arguments=_record_arguments,
        run=_record,
    ),
    Command(
        name="check",
        summary="compare a spec with the release that is recorded",
        usage=f"{_FLAGS} NAME spec.json",
        exits=(Exit.OK, Exit.DIFFERENT, Exit.PRECONDITION, Exit.INPUT),
        arguments=_ledger_arguments,
        run=_check,
    ),
)

PROMPT: Final = Command(
    name="prompt",
    summary="fingerprint prompts, and keep a ledger of releases",
    usage="fingerprint|diff|record|check ...",
    about="Fingerprints of what was written (a spec: model, system, template, parameters) and of what was sent.\n"
    "A ledger of releases holds fingerprints and no text, and finds a label that was used twice.",
    example="toolpulse prompt check answer spec.json --label v7",
    exits=(Exit.OK, Exit.DIFFERENT, Exit.PRECONDITION, Exit.INPUT),
    actions=_ACTIONS,
)
