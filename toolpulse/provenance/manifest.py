"""The manifest of a run: what it was started with, on the first line of its trace.

``build_manifest`` reads the files of a run; everything else is pure. Called by users' programs, by the readers of
traces, by ``environment`` and by ``toolpulse manifest``.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from toolpulse._base.canonical import digest_of, plain
from toolpulse._base.files import check_schema, named
from toolpulse.errors import InputError
from toolpulse.provenance import folder_digests
from toolpulse.provenance.prompt import typed_parameters

SCHEMA: Final = 1
SUPPORTED: Final = (SCHEMA,)
WHAT: Final = "run manifest"
"""What messages call it, and the ``kind`` of its file."""
LENGTH: Final = 16
"""Hex digits of a ``manifest_id``."""

ENVELOPE: Final = frozenset({"span_type", "schema", "kind", "manifest_id", "sampled"})
"""Fields on the line of a manifest that are no part of it: the same run has the same id wherever it is written."""

RETURNED: Final = "model_returned"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was started with. Prompts and schemas are here as digests, 64 hex digits each; no text is kept."""

    model_requested: str
    model_returned: str | None = None
    """What the provider says has answered; None before the first call, or where it does not say."""
    model_params: dict[str, Any]
    """Sampling parameters, each of its one type."""
    tool_timeout_s: int | float
    """Seconds."""
    tool_schemas: str
    prompts: str
    lockfile: str
    python: str
    extra: dict[str, Any] = {}
    """Flags, variables, versions of rows: whatever else has to be equal for two runs to be comparable."""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields as JSON; ``extra`` only where there is something in it."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        return fields if self.extra else {k: v for k, v in fields.items() if k != "extra"}

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
    """Read a manifest, or the first line of a trace. Fields that a manifest does not have count as ``extra``.

    Raises InputError where it is none, a field is missing or of a wrong type, or it was edited after it was written
    (``manifest_id`` no longer fits); SchemaMissing and SchemaUnsupported before any of that is looked at.
    """
    check_schema(document, SUPPORTED, WHAT)
    assert isinstance(document, dict)
    fields = {name: value for name, value in document.items() if name not in ENVELOPE}
    return _unedited(fields, document.get("manifest_id"))


def _unedited(fields: dict[str, Any], claimed_id: object) -> Manifest:
    """The manifest of fields, where the id that stands beside them fits."""
    missing = sorted(_REQUIRED - fields.keys())
    if missing:
        raise InputError(f"not a {WHAT}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    # other programs digest the fields as they wrote them, before parameters have their types
    accepted_ids = (digest_of(fields, length=LENGTH), _from_fields(fields).manifest_id)
    if claimed_id is not None and claimed_id not in accepted_ids:
        raise InputError(f"this {WHAT} was edited: manifest_id does not fit its fields")
    return _from_fields(fields)


def _from_fields(fields: Mapping[str, Any]) -> Manifest:
    """Fields checked and typed; those that a manifest does not have go into ``extra``."""
    beside = {name: value for name, value in fields.items() if name not in _KNOWN}
    extra = fields.get("extra", {})
    if not isinstance(extra, Mapping):
        raise InputError(f"{WHAT}: extra must be an object, not {type(extra).__name__}")
    doubled = sorted(beside.keys() & extra.keys())
    if doubled:
        raise InputError(f"{WHAT}: {', '.join(doubled)} stands beside extra and in it")
    known = {name: fields[name] for name in _REQUIRED}
    try:
        manifest = msgspec.convert({**plain(known), "extra": plain({**extra, **beside})}, Manifest, strict=True)
    except msgspec.ValidationError as error:
        raise InputError(f"not a {WHAT}: {error}") from None
    if not manifest.model_requested.strip():
        raise InputError(f"{WHAT}: model_requested is blank")
    return msgspec.structs.replace(
        manifest, model_params=_parameters(manifest.model_params), tool_timeout_s=_seconds(manifest.tool_timeout_s)
    )


def _parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return typed_parameters(given)
    except InputError as error:
        raise named("model_params", error) from None


def _seconds(value: float) -> float:
    """A time-out: 30 and 30.0 are the same, and are written as the whole number."""
    if not math.isfinite(value) or value < 0:
        raise InputError(f"{WHAT}: tool_timeout_s must be a number of seconds")
    return int(value) if value == int(value) else value


def build_manifest(
    *,
    model_requested: str,
    model_params: Mapping[str, Any],
    tool_timeout_s: float,
    tools: folder_digests.Folder | Mapping[str, Any],
    prompts: folder_digests.Folder,
    lockfile: folder_digests.Folder,
    model_returned: str | None = None,
    python: str | None = None,
    extra: Mapping[str, Any] | None = None,
    allow_empty: bool = False,
) -> Manifest:
    """The manifest of a run that is about to start.

    ``tools``: a folder of JSON schemas, one a file, or a mapping of name to schema. ``prompts``: a folder, all files of
    which count but hidden ones; order and times of files do not, line ends do. ``lockfile``: the file that pins the
    dependencies. ``python``: its version, by default that of this interpreter. ``extra`` is kept as it is, so it must
    hold no secret. A folder without a file is refused unless ``allow_empty`` is set, because two runs of which nothing
    was recorded must not look equal.

    Raises InputError where a file cannot be read, a schema is no JSON or a parameter is of a wrong type.
    """
    schemas = folder_digests.schemas(tools, allow_empty=allow_empty)
    return _from_fields(
        {
            "model_requested": model_requested,
            RETURNED: model_returned,
            "model_params": dict(model_params),
            "tool_timeout_s": tool_timeout_s,
            "tool_schemas": digest_of(schemas),
            "prompts": digest_of(folder_digests.contents(prompts, allow_empty=allow_empty)),
            "lockfile": folder_digests.content(lockfile),
            "python": platform.python_version() if python is None else python,
            "extra": dict(extra or {}),
        }
    )
