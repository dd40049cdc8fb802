"""``toolpulse manifest``: what a run was started with, and which runs had the same environment."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from typing import Any, Final

from toolpulse._base.canonical import canonical_utf8
from toolpulse.cli._kit.arguments import file_name, json_argument, output_argument
from toolpulse.cli._kit.command import Command
from toolpulse.cli._kit.exits import Exit
from toolpulse.cli._kit.output import Output, print_json, writing
from toolpulse.cli._kit.text import plural
from toolpulse.cli._views.comparisons import cause_lines
from toolpulse.provenance import record_files
from toolpulse.provenance.configured import manifest_from
from toolpulse.provenance.environment import advice
from toolpulse.provenance.environment.runs import Group, classify_files, group, load_run
from toolpulse.provenance.manifest import SCHEMA, WHAT, Manifest


def _build(args: argparse.Namespace) -> int:
    manifest = manifest_from(args.config, os.environ)
    if args.output is not None:
        with writing("-o", args.output):
            record_files.save(args.output, manifest.to_json(), kind=WHAT, schema=SCHEMA)
    _print(manifest, (), as_json=args.json)
    return Exit.OK


def _show(args: argparse.Namespace) -> int:
    run = load_run(args.trace)
    _print(run.manifest, run.models, as_json=args.json)
    return Exit.OK


def _print(manifest: Manifest, models: tuple[str, ...], *, as_json: bool) -> None:
    """Print a manifest; ``models`` are those that the calls of the run returned."""
    plain = manifest.to_json()
    if as_json:
        print_json(plain | ({"models_returned": list(models)} if models else {}))
        return
    from rich.text import Text

    from toolpulse.cli._views.printer import Printer, columns

    rows = [[Text(name), Text(_text(value))] for name, value in plain.items() if name not in {"schema", "manifest_id"}]
    rows += [[Text("returned by calls"), Text(_text(list(models)))]] if models else []
    several = ["  more than one model answered in this run"] if len(models) > 1 else []
    Printer(Output()).lines([f"manifest {manifest.manifest_id}", *columns(rows, "  "), *several])


def _text(value: Any) -> str:
    """A value on one line, with the escapes of JSON but for quotation marks."""
    plain = value if isinstance(value, str) else canonical_utf8(value).decode("utf-8")
    return json.dumps(plain)[1:-1].replace('\\"', '"')


def _classify(args: argparse.Namespace) -> int:
    comparison = classify_files(args.trace, args.current, strict=args.strict, values=args.values)
    what_to_do = advice(comparison.primary)
    if args.json:
        print_json({**comparison.to_json(), "check_first": what_to_do.first, "action": what_to_do.action})
    else:
        from toolpulse.cli._views.printer import Printer

        lines = [f"check first: {what_to_do.first}", f"usual action: {what_to_do.action}"]
        Printer(Output()).lines(cause_lines(comparison.primary, comparison, lines, values=args.values))
    return comparison.exit_code


def _group(args: argparse.Namespace) -> int:
    groups = group(load_run(args.reference), [load_run(file) for file in args.traces], strict=args.strict)
    if args.json:
        print_json({"schema": 1, "reference": args.reference, "groups": [_plain(one) for one in groups]})
    else:
        from toolpulse.cli._views.printer import Printer

        Printer(Output()).lines(line for one in groups for line in _lines(one))
    return Exit.OK if all(one.verdict == "SAME_ENV" for one in groups) else Exit.PRECONDITION


def _plain(runs: Group) -> dict[str, Any]:
    what_to_do = advice(runs.verdict)
    return {
        "verdict": runs.verdict,
        "check_first": what_to_do.first,
        "action": what_to_do.action,
        "runs": [{"file": file, **comparison.to_json()} for file, comparison in runs.runs],
    }


def _lines(runs: Group) -> Iterator[str]:
    """The runs with one and the same verdict: a headline, a line for each run, and what to do."""
    what_to_do = advice(runs.verdict)
    environment = "a stable environment" if runs.verdict == "SAME_ENV" else "another environment"
    yield f"{runs.verdict}  {plural(len(runs.runs), 'run')} with {environment}"
    for file, comparison in runs.runs:
        causes = "; ".join(map(str, comparison.causes))
        yield f"  {file}" + (f"  {causes}" if causes else "")
    yield f"  check first: {what_to_do.first}"
    yield f"  usual action: {what_to_do.action}"


def _build_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", type=file_name, required=True,
                        help="JSON or TOML: model_requested, model_params, tool_timeout_s, tools, prompts, lockfile, "
                        "and if wanted extra, variables, python, model_returned")  # fmt: skip
    output_argument(parser, "write the manifest to a file", required=False)
    json_argument(parser)


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", type=file_name, help="a trace, or a manifest that build wrote")
    json_argument(parser)


def _classify_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", type=file_name, help="the recorded trace, or its manifest")
    parser.add_argument("current", metavar="CURRENT", type=file_name, help="the trace or manifest of now")
    parser.add_argument("--values", action="store_true", help="show values instead of kinds")
    _strict_argument(parser)
    json_argument(parser)


def _strict_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--strict", action="store_true", help="a returned model that nobody recorded is no SAME_ENV")


def _group_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", metavar="REFERENCE", type=file_name, help="the trace of a run that was good")
    parser.add_argument("traces", metavar="TRACE", nargs="+", type=file_name, help="the traces of runs that failed")
    _strict_argument(parser)
    json_argument(parser)


_ACTIONS: Final = (
    Command(
        name="build",
        summary="build the manifest of a run that is about to start",
        usage="--config FILE [-o FILE] [--json]",
        exits=(Exit.OK, Exit.INPUT),
        arguments=_build_arguments,
        run=_build,
    ),
    Command(
        name="show",
        summary="show the manifest on the first line of a trace",
        usage="TRACE [--json]",
        exits=(Exit.OK, Exit.INPUT),
        arguments=_show_arguments,
        run=_show,
    ),
    Command(
        name="classify",
        summary="tell whether two runs had the same environment, and in what they differ",
        usage="TRACE CURRENT [--strict] [--values] [--json]",
        exits=(Exit.OK, Exit.PRECONDITION, Exit.INPUT),
        arguments=_classify_arguments,
        run=_classify,
    ),
    Command(
        name="group",
        summary="tell which failing runs had a stable environment",
        usage="REFERENCE TRACE ... [--strict] [--json]",
        exits=(Exit.OK, Exit.PRECONDITION, Exit.INPUT),
        arguments=_group_arguments,
        run=_group,
    ),
)

MANIFEST: Final = Command(
    name="manifest",
    summary="tell whether two runs had the same environment",
    usage="build|show|classify|group ...",
    about="Everything a run was started with stands on the first line of its trace: model, parameters, tool schemas,\n"
    "prompts, lock file, interpreter, flags. 3 says that runs differ in it, so their results do not compare.",
    example="toolpulse manifest classify good.jsonl bad.jsonl",
    exits=(Exit.OK, Exit.PRECONDITION, Exit.INPUT),
    actions=_ACTIONS,
)
