"""``toolpulse manifest``: what a run was started with, and which runs had the same environment."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from typing import Any, Final

from toolpulse._base.canonical import canonical_utf8
from toolpulse.cli import _actions
from toolpulse.cli._actions import Action, json_argument
from toolpulse.cli._causes import report
from toolpulse.cli._command import Command, file_name, new_file
from toolpulse.cli._exit import Exit
from toolpulse.cli._output import Output
from toolpulse.cli._rulings import print_json
from toolpulse.cli._text import plural
from toolpulse.cli.inputs import shown
from toolpulse.errors import ConfigurationError
from toolpulse.provenance import record_files
from toolpulse.provenance.configured import manifest_from
from toolpulse.provenance.environment import advice
from toolpulse.provenance.environment.runs import Group, classify_files, group, load_run
from toolpulse.provenance.manifest import SCHEMA, WHAT, Manifest


def _build(args: argparse.Namespace) -> int:
    manifest = manifest_from(args.config, os.environ)
    if args.output is not None:
        try:
            record_files.save(args.output, manifest.to_json(), kind=WHAT, schema=SCHEMA)
        except OSError as error:
            raise ConfigurationError(f"-o {shown(args.output)}: {error.strerror or type(error).__name__}") from None
    _tell(manifest, (), as_json=args.json)
    return Exit.OK


def _show(args: argparse.Namespace) -> int:
    run = load_run(args.trace)
    _tell(run.manifest, run.models, as_json=args.json)
    return Exit.OK


def _tell(manifest: Manifest, models: tuple[str, ...], *, as_json: bool) -> None:
    plain = manifest.to_json()
    if as_json:
        print_json(plain | ({"models_returned": list(models)} if models else {}))
        return
    from rich.text import Text

    from toolpulse.cli._render import Printer, columns

    rows = [[Text(name), Text(_text(value))] for name, value in plain.items() if name not in {"schema", "manifest_id"}]
    rows += [[Text("returned by calls"), Text(_text(list(models)))]] if models else []
    several = ["  more than one model answered in this run"] if len(models) > 1 else []
    Printer(Output()).lines([f"manifest {manifest.manifest_id}", *columns(rows, "  "), *several])


def _text(value: Any) -> str:
    shown_ = value if isinstance(value, str) else canonical_utf8(value).decode("utf-8")
    return json.dumps(shown_)[1:-1].replace('\\"', '"')


def _classify(args: argparse.Namespace) -> int:
    ruling = classify_files(args.trace, args.current, strict=args.strict, values=args.values)
    told = advice(ruling.primary)
    if args.json:
        print_json({**ruling.to_json(), "check_first": told.first, "action": told.action})
    else:
        from toolpulse.cli._render import Printer

        lines = [f"check first: {told.first}", f"usual action: {told.action}"]
        Printer(Output()).lines(report(ruling.primary, ruling, lines, values=args.values))
    return ruling.exit_code


def _group(args: argparse.Namespace) -> int:
    found = group(load_run(args.reference), [load_run(file) for file in args.traces], strict=args.strict)
    if args.json:
        print_json({"schema": 1, "reference": args.reference, "groups": [_plain(one) for one in found]})
    else:
        from toolpulse.cli._render import Printer

        Printer(Output()).lines(line for one in found for line in _lines(one))
    return Exit.OK if all(one.verdict == "SAME_ENV" for one in found) else Exit.PRECONDITION


def _plain(found: Group) -> dict[str, Any]:
    runs = [{"file": file, **ruling.to_json()} for file, ruling in found.runs]
    told = advice(found.verdict)
    return {"verdict": found.verdict, "check_first": told.first, "action": told.action, "runs": runs}


def _lines(found: Group) -> Iterator[str]:
    told = advice(found.verdict)
    stable = "a stable environment" if found.verdict == "SAME_ENV" else "another environment"
    yield f"{found.verdict}  {plural(len(found.runs), 'run')} with {stable}"
    for file, ruling in found.runs:
        causes = "; ".join(map(str, ruling.causes))
        yield f"  {file}" + (f"  {causes}" if causes else "")
    yield f"  check first: {told.first}"
    yield f"  usual action: {told.action}"


def _build_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", type=file_name, required=True,
                        help="JSON or TOML: model_requested, model_params, tool_timeout_s, tools, prompts, lockfile, "
                        "and if wanted extra, variables, python, model_returned")  # fmt: skip
    parser.add_argument("-o", metavar="FILE", dest="output", type=new_file, help="write the manifest to a file")
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


ACTIONS: Final[tuple[Action, ...]] = (
    Action(
        "build", "build the manifest of a run that is about to start", "--config FILE [-o FILE] [--json]",
        (Exit.OK, Exit.INPUT), _build_arguments, _build,
    ),
    Action(
        "show", "show the manifest on the first line of a trace", "TRACE [--json]",
        (Exit.OK, Exit.INPUT), _show_arguments, _show,
    ),
    Action(
        "classify", "tell whether two runs had the same environment, and in what they had not",
        "TRACE CURRENT [--strict] [--values] [--json]",
        (Exit.OK, Exit.PRECONDITION, Exit.INPUT), _classify_arguments, _classify,
    ),
    Action(
        "group", "tell which failing runs had a stable environment", "REFERENCE TRACE ... [--strict] [--json]",
        (Exit.OK, Exit.PRECONDITION, Exit.INPUT), _group_arguments, _group,
    ),
)  # fmt: skip

MANIFEST: Final = Command(
    "manifest",
    "tell whether two runs had the same environment",
    "build|show|classify|group ...",
    "Everything a run was started with stands on the first line of its trace: model, parameters, tool schemas,\n"
    "prompts, lock file, interpreter, flags. 3 says that runs differ in it, so their results do not compare.",
    "toolpulse manifest classify good.jsonl bad.jsonl",
    (Exit.OK, Exit.PRECONDITION, Exit.INPUT),
    _actions.arguments_of("manifest", ACTIONS),
    _actions.run,
)
