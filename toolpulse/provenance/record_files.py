"""Ledgers, pins and manifests as files made to be committed: sorted JSON, one line a fact, so that two branches merge.

This is the one way in which provenance keeps a document in a file. Every document carries an integer ``schema`` and a
``kind``; both are checked before anything else of it is looked at.
"""

from __future__ import annotations

import os
from typing import Any

from toolpulse._base import files
from toolpulse._base.canonical import ascii_json, laid_out, load_exact, plain
from toolpulse._base.files import check_schema, check_schemas
from toolpulse.errors import InputError

__all__ = ["check_schema", "check_schemas", "encode", "load", "load_document", "save"]


def encode(document: dict[str, Any], *, kind: str, schema: int = 1) -> bytes:
    """The bytes of the file of a document: ``schema`` and ``kind`` are added, keys are sorted, all is ASCII.

    Raises CanonicalError where the document is no JSON.
    """
    return laid_out(ascii_json(plain({**document, "schema": schema, "kind": kind})))


def save(path: str | os.PathLike[str], document: dict[str, Any], *, kind: str, schema: int = 1) -> None:
    """Write a document. The file is replaced whole or not at all.

    Raises CanonicalError where the document is no JSON, OSError where the file cannot be written.
    """
    files.replace(path, encode(document, kind=kind, schema=schema))


def load(path: str | os.PathLike[str], *, kind: str, schema: int = 1) -> dict[str, Any]:
    """Read a document that ``save`` wrote, ``schema`` and ``kind`` included.

    Raises InputError, the file's name in front, where it cannot be read, is no JSON, or is of another ``kind``;
    SchemaMissing and SchemaUnsupported where it has no ``schema`` or another one.
    """
    document = load_document(path)
    try:
        check_schema(document, schema, kind)
        if document.get("kind") != kind:
            raise InputError(f"not a {kind}: kind says otherwise")
    except InputError as error:
        raise files.named(path, error) from None
    checked: dict[str, Any] = document
    return checked


def load_document(path: str | os.PathLike[str]) -> Any:
    """Read one JSON document of any kind, exactly. A byte order mark at its beginning is skipped.

    Raises InputError, the file's name in front, where it cannot be read or is no JSON; of a CanonicalError the path
    inside the document is kept.
    """
    data = files.read(path).removeprefix(b"\xef\xbb\xbf")
    try:
        return load_exact(data)
    except InputError as error:
        raise files.named(path, error) from None
