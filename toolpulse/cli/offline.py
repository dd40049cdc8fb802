"""``toolpulse learn``, ``check`` and ``show``: baselines as files, and responses from files."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from toolpulse.cli._command import Command, file_name, new_file, one_glob, risks
from toolpulse.cli._examine import Report, coverage, examine
from toolpulse.cli._exit import Exit
from toolpulse.cli._output import Output
from toolpulse.cli._text import plural, safe_json
from toolpulse.cli._tree import tree
from toolpulse.cli.inputs import Source, responses, shown
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.judgement.consumer import DEFAULT, Consumer
from toolpulse.judgement.rules import NULL, NUMERIC, Risk
from toolpulse.shape import Truncation, Walker
from toolpulse.shape.envelopes import MODES
from toolpulse.state.baseline import Baseline


def load(file: str) -> Baseline:
    """A baseline from its file. Raises InputError where it is none."""
    try:
        baseline = Baseline.load(file)
        _ = baseline.profile
    except RecursionError:
        raise InputError(f"{shown(file)}: not a baseline: nested too deeply") from None
    return baseline


def _read(args: argparse.Namespace) -> Iterator[tuple[Source, object]]:
    from toolpulse.cli._render import progress

    yield from progress(responses(args.files, args.select), "response")


def _learn(args: argparse.Namespace) -> int:
    from toolpulse.cli._render import Printer, learned

    cuts: set[Truncation] = set()
    errors = 0
    walker = Walker(maps=args.map, records=args.record)

    def watched() -> Iterator[object]:
        nonlocal errors
        for _, response in _read(args):
            # a baseline keeps where something was cut and not how much
            seen = walker.observe(response, args.unwrap)
            cuts.update(seen.truncations)
            errors += seen.outcome == "error"
            yield response

    baseline = Baseline.learn(watched(), maps=args.map, records=args.record, unwrap=args.unwrap)
    try:
        baseline.save(args.output)
    except OSError as error:
        raise ConfigurationError(f"-o {shown(args.output)}: {error.strerror or type(error).__name__}") from None
    Printer(Output()).lines(learned(tree(baseline), coverage(cuts), errors, args.output))
    return Exit.OK


def _check(args: argparse.Namespace) -> int:
    from toolpulse.cli._render import Printer, check_report

    stored = load(args.baseline)
    baseline = _copy(stored, _consumers(stored, args), args.unwrap or stored.unwrap)
    report = examine(baseline, _read(args))
    verdict = report.verdict
    if verdict.errors == verdict.responses:
        raise InputError(f"nothing to check: {plural(verdict.errors, 'response')}, every one says it is an error")
    out = Output()
    if args.json:
        out.write(_one_object(_plain(report)))
    else:
        Printer(out).lines(check_report(report, baseline.observations, coverage(verdict.truncations)))
    return Exit.DIFFERENT if any(finding.risk in args.fail_on for finding in verdict.findings) else Exit.OK


def _consumers(baseline: Baseline, args: argparse.Namespace) -> tuple[Consumer, ...]:
    """The readers that are asked for, with what the flags say laid over their own settings."""
    known = baseline.consumers or (DEFAULT,)
    chosen = tuple(one for one in known if args.consumer in (None, one.name))
    if not chosen:
        names = ", ".join(one.name for one in known)
        raise ConfigurationError(f"--consumer: {args.consumer!r} is not one of the baseline's ({names})")
    return tuple(_laid_over(consumer, args) for consumer in chosen)


def _laid_over(consumer: Consumer, args: argparse.Namespace) -> Consumer:
    plain = consumer.plain()
    for name in ("numeric", "null"):
        if getattr(args, name) is not None:
            plain[name] = getattr(args, name)
    for name, globs in (("ignore", args.ignore), ("requires", args.require)):
        if globs:
            plain[name] = [*plain.get(name, ()), *globs]
    return Consumer(**plain)


def _copy(baseline: Baseline, consumers: tuple[Consumer, ...], unwrap: str) -> Baseline:
    return Baseline(
        baseline.rows,
        maps_learned=baseline.maps_learned,
        consumers=consumers,
        limits=baseline.limits,
        maps=baseline.walker.maps,
        records=baseline.walker.records,
        unwrap=unwrap,
        merged=baseline.merged,
    )


def _plain(report: Report) -> dict[str, Any]:
    """A report as the one object that ``--json`` prints."""
    return {
        "schema": 1,
        "verdict": report.verdict.risk.value,
        "responses": report.verdict.responses,
        "errors": report.verdict.errors,
        "findings": [
            {
                **msgspec.to_builtins(finding),
                "responses": report.sightings[finding].responses,
                "file": report.sightings[finding].first.file,
                "line": report.sightings[finding].first.line,
            }
            for finding in report.verdict.findings
        ],
        "truncations": msgspec.to_builtins(report.verdict.truncations),
    }


def _one_object(plain: dict[str, Any]) -> str:
    return safe_json(json.dumps(plain, ensure_ascii=True)) + "\n"


def _show(args: argparse.Namespace) -> int:
    from toolpulse.cli._render import Printer, shape_tree

    found = tree(load(args.baseline))
    out = Output()
    if args.json:
        out.write(_one_object(found.plain()))
    else:
        Printer(out).lines(shape_tree(found))
    return Exit.OK


def _input_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILES", nargs="+", help="JSON, or JSON lines; gzip too; - reads stdin")
    parser.add_argument("--select", metavar="PATH", help="where the response is in each document, as in calls[].result")


def _learn_arguments(parser: argparse.ArgumentParser) -> None:
    _input_arguments(parser)
    parser.add_argument(
        "-o",
        metavar="FILE",
        dest="output",
        type=new_file,
        required=True,
        help="the baseline; replaced whole or not at all",
    )
    parser.add_argument(
        "--unwrap", choices=MODES, default="none",
        help="auto: look through JSON text, MCP results and framework messages (default none)",
    )  # fmt: skip
    parser.add_argument("--map", metavar="GLOB", type=one_glob, action="append", default=[],
                        help="objects here have keys that are data; may be repeated")  # fmt: skip
    parser.add_argument("--record", metavar="GLOB", type=one_glob, action="append", default=[],
                        help="objects here have keys that are fields; may be repeated")  # fmt: skip


def _check_arguments(parser: argparse.ArgumentParser) -> None:
    _input_arguments(parser)
    parser.add_argument("--baseline", metavar="FILE", type=file_name, required=True, help="a baseline that learn wrote")
    parser.add_argument("--fail-on", metavar="RISKS", type=risks, default=frozenset({Risk.HIGH}),
                        help="end with 1 at a finding of one of these risks: high, availability, investigate, info, "
                        "with commas between (default high)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--numeric", choices=tuple(NUMERIC),
                        help="lenient: integers and numbers are one; strict: a number where only integers were "
                        "is high; exact: the other way too")  # fmt: skip
    parser.add_argument("--null", choices=NULL, help="the risk of a first null")
    parser.add_argument("--ignore", metavar="GLOB", type=one_glob, action="append", default=[],
                        help="paths that give no finding; may be repeated")  # fmt: skip
    parser.add_argument("--require", metavar="GLOB", type=one_glob, action="append", default=[],
                        help="paths that are read: a change elsewhere is info at most; may be repeated")  # fmt: skip
    parser.add_argument("--consumer", metavar="NAME", help="one of the baseline's consumers (default: all of them)")
    parser.add_argument("--unwrap", choices=MODES, help="in place of the baseline's own setting")


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("baseline", metavar="baseline.json", type=file_name, help="a baseline that learn wrote")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


LEARN: Final = Command(
    "learn",
    "learn a baseline from recorded responses",
    "FILES ... -o FILE [--unwrap auto|none] [--select PATH] [--map GLOB] [--record GLOB]",
    "Learns from responses in files and writes a baseline, made to be committed: shapes and counts\nand no value.",
    "toolpulse learn recorded.jsonl -o baseline.json",
    (Exit.OK, Exit.INPUT),
    _learn_arguments,
    _learn,
)

CHECK: Final = Command(
    "check",
    "check responses against a baseline",
    "--baseline FILE FILES ... [--fail-on RISKS] [--json] [--numeric POLICY] [--null RISK]\n"
    "                       [--ignore GLOB] [--require GLOB] [--consumer NAME] [--unwrap auto|none] [--select PATH]",
    "Judges responses in files against a baseline. Nothing is taught. The policy flags are laid over\n"
    "the settings of the baseline's consumers.",
    "toolpulse check --baseline baseline.json today.jsonl --fail-on high,availability",
    (Exit.OK, Exit.DIFFERENT, Exit.INPUT),
    _check_arguments,
    _check,
)

SHOW: Final = Command(
    "show",
    "show what a baseline knows",
    "baseline.json [--json]",
    "Shows a baseline as a tree: each path with its presence (of the records around it), its kinds\n"
    "(of the responses that reach it), what is null or empty how often, and which objects are maps.",
    "toolpulse show baseline.json",
    (Exit.OK, Exit.INPUT),
    _show_arguments,
    _show,
)
