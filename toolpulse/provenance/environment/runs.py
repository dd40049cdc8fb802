"""Runs, read from their traces or manifests, and which of them had the environment of another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from toolpulse._base.files import check_schemas, named
from toolpulse.errors import InputError
from toolpulse.provenance.comparison.result import Comparison
from toolpulse.provenance.environment.advice import ADVICE, UNVERIFIED
from toolpulse.provenance.environment.classify import classify
from toolpulse.provenance.manifest import SUPPORTED, WHAT, Manifest, manifest_of
from toolpulse.provenance.readers import load_trace
from toolpulse.provenance.readers.json_documents import documents

_VERDICTS: Final = ("SAME_ENV", *(one.verdict for one in ADVICE[:-1]), UNVERIFIED.verdict)


class Run(msgspec.Struct, frozen=True):
    """A run: its file, its manifest, and the models that are known to have answered its calls."""

    file: str
    manifest: Manifest
    models: tuple[str, ...] = ()


class Group(msgspec.Struct, frozen=True):
    """The runs to which one verdict applies, each as its file and its comparison with the reference."""

    verdict: str
    runs: tuple[tuple[str, Comparison], ...]


def load_run(path: str | os.PathLike[str]) -> Run:
    """Read the manifest on the first line of a trace, or one that stands alone in a file.

    Raises InputError naming the file where the first line is no manifest or was edited, where the trace mixes runs, and
    as ``load_trace`` does; SchemaMissing and SchemaUnsupported.
    """
    head = _head(path)
    try:
        manifest = manifest_of(head)
    except InputError as error:
        raise named(path, error) from None
    models = load_trace(path, "native").returned_models if head.get("span_type") == "run_manifest" else ()
    return Run(os.fspath(path), manifest, models)


def _head(path: str | os.PathLike[str]) -> dict[str, Any]:
    _, first = next(documents(path), ("", None))
    if not isinstance(first, dict) or not {"span_type", "kind", "model_requested"} & first.keys():
        raise InputError(f"{os.fspath(path)}: no {WHAT} on the first line")
    if first.get("span_type", "run_manifest") != "run_manifest" or first.get("kind", WHAT) != WHAT:
        raise InputError(f"{os.fspath(path)}: no {WHAT} on the first line")
    return first


def classify_runs(recorded: Run, current: Run, *, strict: bool = False, values: bool = False) -> Comparison:
    """Whether two runs had the same environment: ``classify`` with the models that answered their calls."""
    return classify(
        recorded.manifest,
        current.manifest,
        recorded_models=recorded.models,
        current_models=current.models,
        strict=strict,
        values=values,
    )


def classify_files(
    recorded: str | os.PathLike[str], current: str | os.PathLike[str], *, strict: bool = False, values: bool = False
) -> Comparison:
    """``classify_runs`` of two files, a trace or a manifest each; the versions of both sides are checked first.

    Raises as ``load_run``, and SchemaMissing where neither side has a version, SchemaMismatch where they differ.
    """
    heads = [_head(side) for side in (recorded, current)]
    versions = ["schema" in head for head in heads]
    if all(versions) or not any(versions):
        try:
            check_schemas(heads[0], heads[1], SUPPORTED, WHAT)
        except InputError as error:
            raise named(f"{os.fspath(recorded)} and {os.fspath(current)}", error) from None
    return classify_runs(load_run(recorded), load_run(current), strict=strict, values=values)


def group(reference: Run, runs: Iterable[Run], *, strict: bool = False) -> tuple[Group, ...]:
    """Runs by what their environment was, compared with that of ``reference``, those with the same one first.

    Given the runs that failed, it answers which of them had the environment of a run that passed: only those failures
    are the agent's own. Raises as ``classify``.
    """
    compared = [(run.file, classify_runs(reference, run, strict=strict)) for run in runs]
    return tuple(_groups(compared))


def _groups(compared: list[tuple[str, Comparison]]) -> Iterator[Group]:
    for verdict in _VERDICTS:
        runs = tuple(one for one in compared if one[1].primary == verdict)
        if runs:
            yield Group(verdict, runs)
