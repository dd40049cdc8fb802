"""The manifest of a run: what it was started with, on the first line of its trace; and what differs between two."""

from __future__ import annotations

import math
import platform
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from toolpulse._files import check_schema, check_schemas, named
from toolpulse.canonical import digest_of, plain
from toolpulse.diff import Change
from toolpulse.documents import compare
from toolpulse.errors import InputError
from toolpulse.provenance import _folders
from toolpulse.provenance.prompt import typed_parameters
from toolpulse.verdicts import Cause, Code, Ruling

SCHEMA: Final = 1
SUPPORTED: Final = (SCHEMA,)
WHAT: Final = "run manifest"
LENGTH: Final = 16
"""Hex digits of a ``manifest_id``."""

ENVELOPE: Final = frozenset({"span_type", "schema", "kind", "manifest_id", "sampled"})
"""What stands on the line of a manifest and is no part of it: the same run has the same id wherever it is written."""

RETURNED: Final = "model_returned"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was started with. Digests in place of texts; no prompt and no schema is kept."""

    model_requested: str
    model_returned: str | None = None
    """What the provider says has answered; None before the first call, or where it does not say."""
    model_params: dict[str, Any]
    """Sampling parameters, each of its one type."""
    tool_timeout_s: int | float
    tool_schemas: str
    prompts: str
    lockfile: str
    python: str
    extra: dict[str, Any] = {}
    """Flags, variables, versions of rows: whatever else has to be equal for two runs to be comparable."""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields as JSON; ``extra`` only where there is something in it."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found if self.extra else {k: v for k, v in found.items() if k != "extra"}

    @property
    def manifest_id(self) -> str:
        """16 hex digits of the digest of the fields."""
        return digest_of(self.fields, length=LENGTH)

    def to_json(self) -> dict[str, Any]:
        """The manifest as one JSON object: ``schema`` and ``manifest_id`` first."""
        return {"schema": SCHEMA, "manifest_id": self.manifest_id, **self.fields}


_KNOWN: Final = frozenset(Manifest.__struct_fields__)
_REQUIRED: Final = _KNOWN - {"extra"}


def manifest_of(document: object) -> Manifest:
    """Read a manifest, or the first line of a trace. Fields that nobody here knows count as ``extra``.

    Raises InputError where it is none, a field is missing or of a wrong type, or it was edited after it was written
    (``manifest_id`` no longer fits); SchemaMissing and SchemaUnsupported before any of that is looked at.
    """
    check_schema(document, SUPPORTED, WHAT)
    assert isinstance(document, dict)
    return _read({name: value for name, value in document.items() if name not in ENVELOPE}, document.get("manifest_id"))


def _read(fields: dict[str, Any], claimed: object) -> Manifest:
    missing = sorted(_REQUIRED - fields.keys())
    if missing:
        raise InputError(f"not a {WHAT}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    if claimed is not None and claimed not in (digest_of(fields, length=LENGTH), _made(fields).manifest_id):
        raise InputError(f"this {WHAT} was edited: manifest_id does not fit its fields")
    return _made(fields)


def _made(fields: Mapping[str, Any]) -> Manifest:
    beside = {name: value for name, value in fields.items() if name not in _KNOWN}
    given = fields.get("extra", {})
    if not isinstance(given, Mapping):
        raise InputError(f"{WHAT}: extra must be an object, not {type(given).__name__}")
    doubled = sorted(beside.keys() & given.keys())
    if doubled:
        raise InputError(f"{WHAT}: {', '.join(doubled)} stands beside extra and in it")
    known = {name: fields[name] for name in _REQUIRED}
    try:
        made = msgspec.convert({**plain(known), "extra": plain({**given, **beside})}, Manifest, strict=True)
    except msgspec.ValidationError as error:
        raise InputError(f"not a {WHAT}: {error}") from None
    if not made.model_requested.strip():
        raise InputError(f"{WHAT}: model_requested is blank")
    return msgspec.structs.replace(
        made, model_params=_parameters(made.model_params), tool_timeout_s=_seconds(made.tool_timeout_s)
    )


def _parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return typed_parameters(given)
    except InputError as error:
        raise named("model_params", error) from None


def _seconds(value: float) -> float:
    """A time-out: 30 and 30.0 are one, and it is written as the whole number."""
    if not math.isfinite(value) or value < 0:
        raise InputError(f"{WHAT}: tool_timeout_s must be a number of seconds")
    return int(value) if value == int(value) else value


def build_manifest(
    *,
    model_requested: str,
    model_params: Mapping[str, Any],
    tool_timeout_s: float,
    tools: _folders.Folder | Mapping[str, Any],
    prompts: _folders.Folder,
    lockfile: _folders.Folder,
    model_returned: str | None = None,
    python: str | None = None,
    extra: Mapping[str, Any] | None = None,
    allow_empty: bool = False,
) -> Manifest:
    """The manifest of a run that is about to start.

    ``tools``: a folder of JSON schemas, one a file, or a mapping of name to schema. ``prompts``: a folder, all files of
    which count but hidden ones; order and times of files do not, line ends do. ``lockfile``: the file that pins the
    dependencies. ``python``: its version, by default that of this interpreter. ``extra`` is kept as it is, so it must
    hold no secret. A folder in which nothing is found is refused unless ``allow_empty``: two voids must not look equal.

    Raises InputError where a file cannot be read or a schema is no JSON, SpecError for a parameter of a wrong type.
    """
    schemas = _folders.schemas(tools, allow_empty=allow_empty)
    return _made(
        {
            "model_requested": model_requested,
            RETURNED: model_returned,
            "model_params": dict(model_params),
            "tool_timeout_s": tool_timeout_s,
            "tool_schemas": digest_of(schemas),
            "prompts": digest_of(_folders.contents(prompts, allow_empty=allow_empty)),
            "lockfile": _folders.content(lockfile),
            "python": platform.python_version() if python is None else python,
            "extra": dict(extra or {}),
        }
    )


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
        check_schemas(_document(recorded), _document(current), SUPPORTED, WHAT)
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
