"""Ledgers and pins as files made to be committed: sorted JSON, one line a fact, so that two branches merge.

The one way to keep something in a file. Every object carries an integer ``schema`` and the ``kind`` it is; both are
asked before its content is looked at.
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
    """The bytes of the file of a document: ``schema`` and ``kind`` stamped, keys sorted, ASCII.

    Raises CanonicalError where the document is no JSON.
    """
    return laid_out(ascii_json(plain({**document, "schema": schema, "kind": kind})))


def save(path: str | os.PathLike[str], document: dict[str, Any], *, kind: str, schema: int = 1) -> None:
    """Write a document; the file is replaced whole or not at all.

    Raises CanonicalError where the document is no JSON, OSError where the folder does not take it.
    """
    files.replace(path, encode(document, kind=kind, schema=schema))


def load(path: str | os.PathLike[str], *, kind: str, schema: int = 1) -> dict[str, Any]:
    """Read a document that ``save`` wrote, ``schema`` and ``kind`` included.

    Raises InputError, the file's name in front, where it cannot be read, is no JSON, says another ``kind``, or says no
    ``schema`` (SchemaMissing) or another one (SchemaUnsupported).
    """
    found = load_document(path)
    try:
        check_schema(found, schema, kind)
        if found.get("kind") != kind:
            raise InputError(f"not a {kind}: kind says otherwise")
    except InputError as error:
        raise files.named(path, error) from None
    checked: dict[str, Any] = found
    return checked


def load_document(path: str | os.PathLike[str]) -> Any:
    """Read one JSON document of any kind, exactly; a byte order mark in front is passed over.

    Raises InputError, the file's name in front, where it cannot be read or is no JSON; CanonicalError keeps its path.
    """
    data = files.read(path).removeprefix(b"\xef\xbb\xbf")
    try:
        return load_exact(data)
    except InputError as error:
        raise files.named(path, error) from None
