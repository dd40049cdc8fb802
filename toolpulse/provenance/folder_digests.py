"""Digests of what is in folders: the same for the same contents, whatever the order and the times of the files.

Reads files and follows links inside the folder. Called by ``manifest``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from toolpulse._base import files
from toolpulse._base.canonical import digest, load_exact, plain
from toolpulse.errors import InputError

Folder: TypeAlias = str | os.PathLike[str]
"""The path of a folder, or of a file."""


def content(path: Folder) -> str:
    """The digest of a file's bytes. Raises InputError where it cannot be read."""
    return digest(files.read(path))


def schemas(tools: Folder | Mapping[str, Any], *, allow_empty: bool) -> dict[str, Any]:
    """The tool schemas of a folder, by the path of each ``*.json`` file without its ending, or those of a mapping.

    Raises InputError naming the file where one is no JSON, and where there are none unless ``allow_empty``.
    """
    if isinstance(tools, Mapping):
        documents: dict[str, Any] = plain(dict(tools))
    else:
        walked = _walked(Path(tools))
        documents = {path.removesuffix(".json"): _document(file) for path, file in walked if path.endswith(".json")}
    if not documents and not allow_empty:
        raise InputError(f"{tools if not isinstance(tools, Mapping) else 'tools'}: no tool schema is there")
    return documents


def _document(file: Path) -> Any:
    data = files.read(file).removeprefix(b"\xef\xbb\xbf")
    try:
        return load_exact(data)
    except InputError as error:
        raise files.named(file, error) from None


def contents(folder: Folder, *, allow_empty: bool) -> list[list[str]]:
    """``[path below the folder, digest of the bytes]`` of each file, sorted; hidden files are left out.

    It is a list and no joined text, so that no file's name can pass for the contents of another file. Raises InputError
    where one cannot be read or a link leads out of the folder, and where there are none unless ``allow_empty``.
    """
    rows = sorted([path, content(file)] for path, file in _walked(Path(folder)))
    if not rows and not allow_empty:
        raise InputError(f"{os.fspath(folder)}: no file is there")
    return rows


def _walked(root: Path) -> Iterator[tuple[str, Path]]:
    """Each file below a folder, as its path from there with ``/`` between, and itself."""
    try:
        real = root.resolve(strict=True)
        yield from _below(root, real, "", (real,))
    except (OSError, RuntimeError) as error:  # RuntimeError: a link that leads to itself, before Python 3.13
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(f"{getattr(error, 'filename', None) or root}: {reason}") from None


def _below(folder: Path, root: Path, prefix: str, parents: tuple[Path, ...]) -> Iterator[tuple[str, Path]]:
    """``parents`` are the real folders that are being walked, by which a link that leads back is known."""
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        real = entry.resolve(strict=True)
        if not real.is_relative_to(root):
            raise InputError(f"{entry}: the link leads out of {root.name}")
        if not real.is_dir():
            yield prefix + entry.name, entry
        elif real in parents:
            raise InputError(f"{entry}: the link leads back to where it is")
        else:
            yield from _below(entry, root, f"{prefix}{entry.name}/", (*parents, real))
