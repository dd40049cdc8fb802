"""``toolpulse gate``: whether two traces may be compared."""

from __future__ import annotations

import argparse
from typing import Final

from toolpulse.cli._kit.arguments import file_name, json_argument
from toolpulse.cli._kit.command import Command
from toolpulse.cli._kit.exits import Exit
from toolpulse.cli._kit.output import Output, print_json
from toolpulse.cli._kit.text import plural
from toolpulse.cli._views.comparisons import cause_lines
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.comparison.result import Comparison
from toolpulse.provenance.gate import ALIGNMENTS, alignment, attribution, gate, refusal
from toolpulse.provenance.readers import FORMATS, load_trace

_HEADS: Final = {Code.OK: "COMPARABLE", Code.INCOMPARABLE: "INCOMPARABLE", Code.PRECONDITION: "NO GENERATIONS"}


def _gate(args: argparse.Namespace) -> int:
    one, other = (load_trace(file, args.format) for file in (args.a, args.b))
    comparison = gate(one, other, align=args.align, strict=args.strict, values=args.values)
    paired_by = alignment(one, other, args.align)
    cause = attribution(comparison.causes)
    if args.json:
        print_json({**comparison.to_json(), "alignment": paired_by, "attribution": cause})
    else:
        from toolpulse.cli._views.printer import Printer

        counts = f"{len(one.generations):,} and {plural(len(other.generations), 'generation')}"
        word = "" if comparison.code is Code.OK else f"  {comparison.primary}"
        headline = f"{_HEADS[comparison.code]}{word}  {counts}, alignment: {paired_by}"
        advice = _advice(comparison, paired_by, cause)
        Printer(Output()).lines(cause_lines(headline, comparison, advice, values=args.values))
    return comparison.exit_code


def _advice(comparison: Comparison, paired_by: str, cause: str) -> list[str]:
    if comparison.code is Code.PRECONDITION:
        return []
    weak = "Paired by position, which is weak: one step more or less shifts every pair."
    return [
        *([weak] if paired_by == "index" else []),
        *([refusal(comparison.causes)] if comparison.code is Code.INCOMPARABLE else []),
        f"attribution: {cause}",
    ]


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", type=file_name, help="a trace, the one that is known to be good")
    parser.add_argument("b", metavar="B", type=file_name, help="a trace")
    parser.add_argument("--align", choices=ALIGNMENTS, default="auto",
                        help="how generations are paired (default: by id where each has one, "
                        "else by position)")  # fmt: skip
    parser.add_argument("--strict", action="store_true", help="what neither side recorded makes them incomparable")
    parser.add_argument("--format", choices=FORMATS, default="auto",
                        help="of both files (default: recognised by their content)")  # fmt: skip
    parser.add_argument("--values", action="store_true", help="show models and parameters instead of kinds")
    json_argument(parser)


GATE: Final = Command(
    name="gate",
    summary="refuse to compare traces whose set-up differs",
    usage="A B [--align generation_id|index] [--strict] [--format FORMAT] [--values] [--json]",
    about="Says whether two traces may be compared: prompt, tools, model and parameters of each generation.\n"
    "2 is about the set-up, not the product: restore the fingerprint before touching a prompt or a temperature.",
    example="toolpulse gate good.jsonl bad.jsonl",
    exits=(Exit.OK, Exit.INCOMPARABLE, Exit.PRECONDITION, Exit.INPUT),
    arguments=_arguments,
    run=_gate,
)
