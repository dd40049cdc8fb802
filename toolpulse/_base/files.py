"""Files that are kept: read whole, written whole or not at all, and asked for their version before anything else."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from toolpulse.errors import InputError, SchemaMismatch, SchemaMissing, SchemaUnsupported


def read(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file. Raises InputError naming the file where it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: {error.strerror or type(error).__name__}") from None
    except ValueError:  # a NUL in it
        raise InputError(f"{os.fspath(path)!r}: not a file name") from None


def private(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file, for ``open(opener=...)``; where that makes it, only this user may read and write it."""
    return os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o600)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, where they are not there, for this user alone."""
    try:
        path.mkdir(0o700, exist_ok=True)
    except FileNotFoundError:
        if path.parent == path:
            raise
        make_folder(path.parent)
        path.mkdir(0o700, exist_ok=True)


def replace(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file beside its place, let it reach the disk, and move it there: readers see the old one or the new one.

    A new file is for this user alone, one that was there keeps its mode. Raises OSError where the folder does not take
    it; what was there before is then untouched.
    """
    target = Path(path)
    draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "xb", opener=private) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Let the new name reach the disk too. Not every system opens a folder."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def named(path: str | os.PathLike[str], error: InputError) -> InputError:
    """The error again, of its own class and with the file's name in front of its message."""
    error.args = (f"{os.fspath(path)}: {error}",)
    return error


def check_schema(plain: object, supported: int | Collection[int], what: str) -> None:
    """Check a persisted object's ``schema`` in the order present, integer, supported.

    ``supported``: the version that is read, or all of them; ``what``: the object's name in messages. Raises InputError
    where it is no object, SchemaMissing, SchemaUnsupported.
    """
    _supported(_version(plain, what), supported, what)


def check_schemas(one: object, other: object, supported: int | Collection[int], what: str) -> None:
    """Check both sides of a comparison, and last that they are of one version, before any content is compared.

    Raises as ``check_schema`` does for either side, or SchemaMismatch.
    """
    if isinstance(one, dict) and isinstance(other, dict) and "schema" not in one and "schema" not in other:
        raise SchemaMissing(f"schema of the {what} is missing on both sides")
    versions = _version(one, what), _version(other, what)
    for version in versions:
        _supported(version, supported, what)
    if versions[0] != versions[1]:
        raise SchemaMismatch(what, *versions)


def _version(plain: object, what: str) -> int:
    if not isinstance(plain, dict):
        raise InputError(f"not a {what}: a {type(plain).__name__} stands where an object should")
    if "schema" not in plain:
        raise SchemaMissing(f"not a {what}: schema is missing")
    version = plain["schema"]
    if type(version) is not int:
        raise SchemaMissing(f"schema of the {what} must be a whole number, not {type(version).__name__}")
    return version


def _supported(version: int, supported: int | Collection[int], what: str) -> None:
    known = (supported,) if isinstance(supported, int) else tuple(supported)
    if version not in known:
        raise SchemaUnsupported(what, version, known)
