"""``toolpulse gate``: whether two traces may be compared."""

from __future__ import annotations

import argparse
from typing import Final

from toolpulse.cli._actions import json_argument
from toolpulse.cli._causes import report
from toolpulse.cli._command import Command, file_name
from toolpulse.cli._exit import Exit
from toolpulse.cli._output import Output
from toolpulse.cli._rulings import print_json
from toolpulse.cli._text import plural
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.comparison.result import Comparison
from toolpulse.provenance.gate import ALIGNMENTS, alignment, attribution, gate, refusal
from toolpulse.provenance.readers import FORMATS, load_trace

_HEADS: Final = {Code.OK: "COMPARABLE", Code.INCOMPARABLE: "INCOMPARABLE", Code.PRECONDITION: "NO GENERATIONS"}


def _gate(args: argparse.Namespace) -> int:
    one, other = (load_trace(file, args.format) for file in (args.a, args.b))
    ruling = gate(one, other, align=args.align, strict=args.strict, values=args.values)
    how = alignment(one, other, args.align)
    cause = attribution(ruling.causes)
    if args.json:
        print_json({**ruling.to_json(), "alignment": how, "attribution": cause})
    else:
        from toolpulse.cli._render import Printer

        counts = f"{len(one.generations):,} and {plural(len(other.generations), 'generation')}"
        word = "" if ruling.code is Code.OK else f"  {ruling.primary}"
        head = f"{_HEADS[ruling.code]}{word}  {counts}, alignment: {how}"
        Printer(Output()).lines(report(head, ruling, _advice(ruling, how, cause), values=args.values))
    return ruling.exit_code


def _advice(ruling: Comparison, how: str, cause: str) -> list[str]:
    if ruling.code is Code.PRECONDITION:
        return []
    weak = ["Paired by position, which is weak: one step more or less shifts every pair."] if how == "index" else []
    refused = [refusal(ruling.causes)] if ruling.code is Code.INCOMPARABLE else []
    return [*weak, *refused, f"attribution: {cause}"]


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", type=file_name, help="a trace, the one that is known to be good")
    parser.add_argument("b", metavar="B", type=file_name, help="a trace")
    parser.add_argument("--align", choices=ALIGNMENTS, default="auto",
                        help="how generations are paired (default: by id where each has one, "
                        "else by position)")  # fmt: skip
    parser.add_argument("--strict", action="store_true", help="what neither side recorded makes them incomparable")
    parser.add_argument("--format", choices=FORMATS, default="auto",
                        help="of both files (default: told by what is in them)")  # fmt: skip
    parser.add_argument("--values", action="store_true", help="show models and parameters instead of kinds")
    json_argument(parser)


GATE: Final = Command(
    "gate",
    "refuse to compare traces whose set-up differs",
    "A B [--align generation_id|index] [--strict] [--format FORMAT] [--values] [--json]",
    "Tells whether two traces may be compared: prompt, tools, model and parameters of each generation.\n"
    "2 is about the set-up, not the product: restore the fingerprint before touching a prompt or a temperature.",
    "toolpulse gate good.jsonl bad.jsonl",
    (Exit.OK, Exit.INCOMPARABLE, Exit.PRECONDITION, Exit.INPUT),
    _arguments,
    _gate,
)
