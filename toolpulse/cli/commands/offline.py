"""``toolpulse learn``, ``check`` and ``show``: baselines as files, and responses from files. No store is needed."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from toolpulse.cli._kit.arguments import file_name, json_argument, one_glob, output_argument, risks
from toolpulse.cli._kit.command import Command
from toolpulse.cli._kit.exits import Exit
from toolpulse.cli._kit.inputs import Source, responses
from toolpulse.cli._kit.inputs import baseline as read_baseline
from toolpulse.cli._kit.output import Output, print_json, writing
from toolpulse.cli._kit.text import plural
from toolpulse.cli._views.findings import Report, coverage, examine
from toolpulse.cli._views.tree import tree
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.judgement.consumer import DEFAULT, Consumer
from toolpulse.judgement.rules import NULL, NUMERIC, Risk
from toolpulse.shape import Truncation, Walker
from toolpulse.shape.envelopes import MODES
from toolpulse.state.baseline import Baseline


def _responses(args: argparse.Namespace) -> Iterator[tuple[Source, object]]:
    from toolpulse.cli._views.printer import progress

    yield from progress(responses(args.files, args.select), "response")


def _learn(args: argparse.Namespace) -> int:
    from toolpulse.cli._views.baselines import learned
    from toolpulse.cli._views.printer import Printer

    cuts: set[Truncation] = set()
    errors = 0
    walker = Walker(maps=args.map, records=args.record)

    def counted() -> Iterator[object]:
        nonlocal errors
        for _, response in _responses(args):
            # observed here as well: a baseline keeps where something was cut, and not how much
            observation = walker.observe(response, args.unwrap)
            cuts.update(observation.truncations)
            errors += observation.outcome == "error"
            yield response

    baseline = Baseline.learn(counted(), maps=args.map, records=args.record, unwrap=args.unwrap)
    with writing("-o", args.output):
        baseline.save(args.output)
    Printer(Output()).lines(learned(tree(baseline), coverage(cuts), errors, args.output))
    return Exit.OK


def _check(args: argparse.Namespace) -> int:
    from toolpulse.cli._views.baselines import check_report
    from toolpulse.cli._views.printer import Printer

    stored = read_baseline(args.baseline)
    baseline = _copy(stored, _consumers(stored, args), args.unwrap or stored.unwrap)
    report = examine(baseline, _responses(args))
    verdict = report.verdict
    if verdict.errors == verdict.responses:
        raise InputError(f"nothing to check: {plural(verdict.errors, 'response')}, every one says it is an error")
    if args.json:
        print_json(_plain(report))
    else:
        Printer(Output()).lines(check_report(report, baseline.observations, coverage(verdict.truncations)))
    return Exit.DIFFERENT if any(finding.risk in args.fail_on for finding in verdict.findings) else Exit.OK


def _consumers(baseline: Baseline, args: argparse.Namespace) -> tuple[Consumer, ...]:
    """The baseline's consumers that were asked for, with the policy that the flags give them."""
    known = baseline.consumers or (DEFAULT,)
    chosen = tuple(one for one in known if args.consumer in (None, one.name))
    if not chosen:
        names = ", ".join(one.name for one in known)
        raise ConfigurationError(f"--consumer: {args.consumer!r} is not one of the baseline's ({names})")
    return tuple(_with_flags(consumer, args) for consumer in chosen)


def _with_flags(consumer: Consumer, args: argparse.Namespace) -> Consumer:
    """The consumer with the flags' settings: single values replace its own, globs are added to its own."""
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
    """A report as plain data."""
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


def _show(args: argparse.Namespace) -> int:
    from toolpulse.cli._views.baselines import shape_tree
    from toolpulse.cli._views.printer import Printer

    laid_out = tree(read_baseline(args.baseline))
    if args.json:
        print_json(laid_out.plain())
    else:
        Printer(Output()).lines(shape_tree(laid_out))
    return Exit.OK


def _input_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILES", nargs="+", help="JSON, or JSON lines; gzip too; - reads stdin")
    parser.add_argument("--select", metavar="PATH", help="where the response is in each document, as in calls[].result")


def _learn_arguments(parser: argparse.ArgumentParser) -> None:
    _input_arguments(parser)
    output_argument(parser, "the baseline; replaced whole or not at all", required=True)
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
    json_argument(parser)
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
    json_argument(parser)


LEARN: Final = Command(
    name="learn",
    summary="learn a baseline from recorded responses",
    usage="FILES ... -o FILE [--unwrap auto|none] [--select PATH] [--map GLOB] [--record GLOB]",
    about="Learns from responses in files and writes a baseline, made to be committed: shapes and counts\n"
    "and no value.",
    example="toolpulse learn recorded.jsonl -o baseline.json",
    exits=(Exit.OK, Exit.INPUT),
    arguments=_learn_arguments,
    run=_learn,
)

CHECK: Final = Command(
    name="check",
    summary="check responses against a baseline",
    usage="--baseline FILE FILES ... [--fail-on RISKS] [--json] [--numeric POLICY] [--null RISK]\n"
    "                       [--ignore GLOB] [--require GLOB] [--consumer NAME] [--unwrap auto|none] [--select PATH]",
    about="Judges responses in files against a baseline, which stays as it is. --numeric and --null replace the\n"
    "settings of the baseline's consumers, --ignore and --require are added to them.",
    example="toolpulse check --baseline baseline.json today.jsonl --fail-on high,availability",
    exits=(Exit.OK, Exit.DIFFERENT, Exit.INPUT),
    arguments=_check_arguments,
    run=_check,
)

SHOW: Final = Command(
    name="show",
    summary="show what a baseline knows",
    usage="baseline.json [--json]",
    about="Shows a baseline as a tree: each path with its presence (of the records around it), its kinds\n"
    "(of the responses that reach it), what is null or empty how often, and which objects are maps.",
    example="toolpulse show baseline.json",
    exits=(Exit.OK, Exit.INPUT),
    arguments=_show_arguments,
    run=_show,
)
