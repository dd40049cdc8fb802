"""Whether two runs had the same environment, by their manifests; what differs, and what then is to be done."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from toolpulse._base.files import check_schemas
from toolpulse.documents import compare
from toolpulse.judgement.diff import Change
from toolpulse.provenance import manifest as manifests
from toolpulse.provenance.manifest import RETURNED, WHAT, Manifest, manifest_of
from toolpulse.verdicts import Cause, Code, Ruling


class Advice(NamedTuple):
    """What a verdict asks for."""

    verdict: str
    fields: tuple[str, ...]
    """The fields that lead to it; of ENV_DRIFT all others too."""
    first: str
    """What to look at first."""
    action: str
    """What usually is to be done."""


ADVICE: Final = (
    Advice(
        "MODEL_DRIFT",
        ("model_requested", RETURNED, "model_params"),
        "which model answered (model_returned) and what the provider announced for it",
        "pin the recorded model and parameters, or record a new baseline with the new one; leave the prompt alone",
    ),
    Advice(
        "SCHEMA_DRIFT",
        ("tool_schemas",),
        "the difference of the tool schemas: toolpulse tools diff",
        "restore the recorded schemas, or migrate both sides and record again",
    ),
    Advice(
        "CODE_DRIFT",
        ("prompts", "lockfile"),
        "the history of the prompts and of the lock file since the recorded run",
        "check out the recorded revision and run again; if that passes, bisect",
    ),
    Advice(
        "ENV_DRIFT",
        ("python", "tool_timeout_s"),
        "interpreter, time-outs, flags, variables and row versions",
        "rebuild the recorded environment and run again before reading the difference",
    ),
    Advice(
        "SAME_ENV",
        (),
        "the first step at which the two runs differ",
        "the environment is not the reason: compare the steps, and only then touch the prompt",
    ),
)
"""The table of decisions, the first that applies is the verdict."""

UNVERIFIED: Final = Advice(
    "UNVERIFIED",
    (),
    "whether the provider returns the name of the model that answered",
    "record model_returned with each call (TraceWriter.note_returned)",
)


def advice(verdict: str) -> Advice:
    """What a verdict asks for. Raises KeyError for another word."""
    return {one.verdict: one for one in (*ADVICE, UNVERIFIED)}[verdict]


def classify(
    recorded: Manifest | Mapping[str, Any],
    current: Manifest | Mapping[str, Any],
    *,
    recorded_models: Collection[str] = (),
    current_models: Collection[str] = (),
    strict: bool = False,
    values: bool = False,
) -> Ruling:
    """Whether two runs had the same environment, and everything in which they had not.

    ``primary`` is the first verdict of ``ADVICE`` that applies, ``causes`` are all of them with their fields. The
    models that calls are known to have returned are given beside the manifests and count as theirs. Where neither side
    knows one, that is ``unverified``, and with ``strict`` not good enough; where one side does, it is MODEL_DRIFT. The
    code is OK for the same environment, else PRECONDITION. ``values`` shows the values of what differs.

    Raises as ``manifest_of``; the schema versions of both sides are looked at first (SchemaMissing, SchemaUnsupported,
    SchemaMismatch).
    """
    if not isinstance(recorded, Manifest) or not isinstance(current, Manifest):
        check_schemas(_document(recorded), _document(current), manifests.SUPPORTED, WHAT)
    one, other = _manifest(recorded), _manifest(current)
    models = _models(one, recorded_models), _models(other, current_models)
    changes = compare(_compared(one), _compared(other), values=values)
    differing = {_field(change) for change in changes}
    if models[0] != models[1]:
        differing.add(RETURNED)
        changes += (_returned(*models, values=values),)
    causes = tuple(Cause(a.verdict, names=names) for a in ADVICE if (names := _names(a, differing)))
    unverified = () if all(models) else (RETURNED,)
    verdict = causes[0].reason if causes else "UNVERIFIED" if strict and unverified else "SAME_ENV"
    return Ruling(
        Code.OK if verdict == "SAME_ENV" else Code.PRECONDITION,
        verdict,
        causes,
        changes,
        unverified,
        _message(verdict, causes, models),
    )


def _document(side: Manifest | Mapping[str, Any]) -> object:
    return side.to_json() if isinstance(side, Manifest) else side


def _manifest(side: Manifest | Mapping[str, Any]) -> Manifest:
    return side if isinstance(side, Manifest) else manifest_of(side)


def _models(manifest: Manifest, observed: Collection[str]) -> frozenset[str]:
    return frozenset(observed) | ({manifest.model_returned} if manifest.model_returned else set())


def _compared(manifest: Manifest) -> dict[str, Any]:
    """What is compared field by field: all but the returned model, which calls may have told."""
    return {name: value for name, value in {**manifest.fields, "extra": manifest.extra}.items() if name != RETURNED}


def _field(change: Change) -> str:
    first = [step for step in change.path if isinstance(step, str)][:2]
    return ".".join(first) if first[0] == "extra" else first[0]


def _names(verdict: Advice, differing: set[str]) -> tuple[str, ...]:
    """Those of the fields that lead to a verdict; to ENV_DRIFT all that lead to no other."""
    elsewhere = {name for one in ADVICE for name in one.fields}
    rest = differing - elsewhere if verdict.verdict == "ENV_DRIFT" else set()
    return tuple(sorted(differing & set(verdict.fields) | rest))


def _returned(one: frozenset[str], other: frozenset[str], *, values: bool) -> Change:
    before, after = ((", ".join(sorted(side)) if values else "string") if side else "missing" for side in (one, other))
    evidence = "the models that answered differ" if one and other else "recorded on one side only"
    return Change((RETURNED,), "value", before, after, evidence)


def _message(verdict: str, causes: tuple[Cause, ...], models: tuple[frozenset[str], frozenset[str]]) -> str:
    told = advice(verdict)
    several = any(len(side) > 1 for side in models)
    head = "; ".join(map(str, causes)) or "the recorded fields are equal"
    note = " More than one model answered in one run." if several else ""
    return f"{head}.{note} Check first: {told.first}. Usual action: {told.action}."
