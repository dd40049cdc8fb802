"""The manifest of a run: what it was started with, on the first line of its trace."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from toolpulse._base.canonical import digest_of, plain
from toolpulse._base.files import check_schema, named
from toolpulse.errors import InputError
from toolpulse.provenance import _folders
from toolpulse.provenance.prompt import typed_parameters

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
