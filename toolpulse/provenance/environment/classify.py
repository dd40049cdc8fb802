"""Whether two runs had the same environment, by their manifests; what differs, and what then is to be done. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from toolpulse._base.files import check_schemas
from toolpulse.provenance import manifest as manifests
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.comparison.difference import Difference
from toolpulse.provenance.comparison.documents import compare
from toolpulse.provenance.comparison.result import Cause, Comparison
from toolpulse.provenance.environment.advice import ADVICE, Advice, advice
from toolpulse.provenance.manifest import RETURNED, WHAT, Manifest, manifest_of


def classify(
    recorded: Manifest | Mapping[str, Any],
    current: Manifest | Mapping[str, Any],
    *,
    recorded_models: Collection[str] = (),
    current_models: Collection[str] = (),
    strict: bool = False,
    values: bool = False,
) -> Comparison:
    """Whether two runs had the same environment, and everything in which they had not.

    ``primary`` is the first verdict of ``ADVICE`` that applies; ``causes`` are all that apply, with their fields. The
    models that are known to have answered calls are given beside the manifests and count as theirs. Where neither side
    knows one, ``model_returned`` is ``unverified``, and with ``strict`` the verdict is UNVERIFIED; where one side does,
    it is MODEL_DRIFT. The code is OK for the same environment, else PRECONDITION. ``values`` shows the values of what
    differs.

    Raises as ``manifest_of``. The schema versions of both sides are checked first (SchemaMissing, SchemaUnsupported,
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
    causes = tuple(Cause(a.verdict, names=names) for a in ADVICE if (names := _fields_of(a, differing)))
    unverified = () if all(models) else (RETURNED,)
    verdict = causes[0].reason if causes else "UNVERIFIED" if strict and unverified else "SAME_ENV"
    return Comparison(
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
    """What is compared field by field: all but the returned model, which calls may have shown too."""
    return {name: value for name, value in {**manifest.fields, "extra": manifest.extra}.items() if name != RETURNED}


def _field(change: Difference) -> str:
    """The field of a manifest that a difference is in; of ``extra`` the field inside it."""
    first = [step for step in change.path if isinstance(step, str)][:2]
    return ".".join(first) if first[0] == "extra" else first[0]


def _fields_of(verdict: Advice, differing: set[str]) -> tuple[str, ...]:
    """Those of the fields that lead to a verdict; to ENV_DRIFT also all that lead to no other."""
    elsewhere = {name for one in ADVICE for name in one.fields}
    rest = differing - elsewhere if verdict.verdict == "ENV_DRIFT" else set()
    return tuple(sorted(differing & set(verdict.fields) | rest))


def _returned(one: frozenset[str], other: frozenset[str], *, values: bool) -> Difference:
    before, after = ((", ".join(sorted(side)) if values else "string") if side else "missing" for side in (one, other))
    evidence = "the models that answered differ" if one and other else "recorded on one side only"
    return Difference((RETURNED,), "value", before, after, evidence)


def _message(verdict: str, causes: tuple[Cause, ...], models: tuple[frozenset[str], frozenset[str]]) -> str:
    row = advice(verdict)
    several = any(len(side) > 1 for side in models)
    head = "; ".join(map(str, causes)) or "the recorded fields are equal"
    note = " More than one model answered in one run." if several else ""
    return f"{head}.{note} Check first: {row.first}. Usual action: {row.action}."
