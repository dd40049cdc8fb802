"""The ledger of releases: which fingerprint a prompt had under which label, without its text.

There is one file for each prompt, made to be committed. Two mistakes are reported: a label that was used before for
something else, and a new label on a prompt that did not change. Called by users' programs and by ``toolpulse prompt``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from toolpulse._base.canonical import digest, digest_of, same_digest
from toolpulse._base.files import make_folder
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance import record_files
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.comparison.difference import Difference
from toolpulse.provenance.comparison.documents import compare, kind
from toolpulse.provenance.comparison.result import Cause, Comparison
from toolpulse.provenance.prompt import checked

SCHEMA: Final = 1
KIND: Final = "release"
"""The ``kind`` of a ledger file."""

# a name is that of a file, so what a file system forbids, or takes for another name, is refused
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}", re.ASCII)
_SHORTEST: Final = 8
"""Hex digits with which a release can be looked up."""


class _Release(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One release: a digest for each field of the spec, the labels it was recorded under, and its text where kept."""

    fields: dict[str, str]
    labels: list[str] = []
    spec: dict[str, Any] | None = None


class _Entry(msgspec.Struct):
    """The file of one prompt: its releases by their full digest, and which of them is current."""

    name: str
    current: str
    releases: dict[str, _Release]
    key_id: str | None = None

    def labelled(self, label: str) -> list[str]:
        """The digests that a label was used for."""
        return sorted(d for d, release in self.releases.items() if label in release.labels)


class Ledger:
    """Releases of prompts in a folder, one file for each prompt.

    With a ``key`` all digests in it are HMACs, so that whoever lacks the key cannot confirm a guess of a prompt. A
    ledger is written and read with the same key.
    """

    def __init__(self, folder: str | os.PathLike[str], *, key: bytes | str | None = None) -> None:
        self._folder = Path(folder)
        self._key = key
        self._key_id = None if key is None else digest(b"toolpulse", length=8, key=key)

    def record(
        self,
        name: str,
        spec: Mapping[str, Any],
        *,
        label: str | None = None,
        keep_text: bool = False,
        partial: bool = False,
    ) -> Comparison:
        """Record a release as the current one of a prompt.

        ``name``: lower-case letters, digits, ``.``, ``_`` and ``-``. ``label``: the version as people call it.
        ``keep_text`` stores the spec itself, so that later differences have paths. The comparison's ``primary`` is
        ``first``, ``new`` or ``same``; or, and then nothing is written, ``empty_bump`` (a new label on what is
        current under another one; code 0 too) and ``label_reused`` (it stands for another release; code 1).

        Raises SpecError and CanonicalError as ``release_fingerprint``, ConfigurationError for a bad name or label,
        InputError where the file is no ledger or was written with another key, OSError where it cannot be written.
        """
        entry, full, release = self._read(name), *self._release(spec, partial)
        if label is not None:
            _check_label(label)
        reused = self._reused(entry, full, label)
        if reused is not None:
            return reused
        if entry is None:
            entry, word = _Entry(name, full, {}, self._key_id), "first"
        else:
            word = "same" if same_digest(entry.current, full) else "new"
        recorded = entry.releases.setdefault(full, release)
        if word == "same" and _is_bump(recorded, label):
            return Comparison(Code.OK, "empty_bump", _bump(name, recorded), message=_message("empty_bump", name, full))
        if label is not None:
            recorded.labels = sorted({*recorded.labels, label})
        if keep_text:
            recorded.spec = checked(spec, partial=partial)
        entry.current = full
        self._write(entry)
        return Comparison(Code.OK, word, message=_message(word, name, full))

    def check(
        self, name: str, spec: Mapping[str, Any], *, label: str | None = None, partial: bool = False
    ) -> Comparison:
        """Compare a spec with the current release of a prompt. Nothing is written.

        Code 0 ``same``, with the cause ``empty_bump`` where the label is new; 1 ``changed`` or ``label_reused``, with
        the fields that differ; 3 ``no_record``. Raises as ``record``.
        """
        entry, full, release = self._read(name), *self._release(spec, partial)
        if entry is None:
            return Comparison(Code.PRECONDITION, "no_record", message=f"{name}: no release is recorded")
        reused = self._reused(entry, full, label)
        current = entry.releases[entry.current]
        if same_digest(entry.current, full):
            is_bump = _is_bump(current, label)
            message = f"{name}: the release {full[:12]} did not change" + (", its label did" if is_bump else "")
            return reused or Comparison(Code.OK, "same", _bump(name, current) if is_bump else (), message=message)
        changes = _changes(current, release, checked(spec, partial=True))
        fields = sorted({str(change.path[0]) for change in changes})
        causes: tuple[Cause, ...] = (Cause("changed", name, tuple(fields)),)
        earlier = entry.releases.get(full)
        if earlier is not None:
            causes = (*causes, Cause("earlier_release", name, tuple(earlier.labels)))
        if reused is not None:
            return msgspec.structs.replace(reused, causes=(*reused.causes, *causes), changes=changes)
        message = f"{name}: {entry.current[:12]} is recorded, this is {full[:12]}"
        return Comparison(Code.DIFFERENT, "changed", causes, changes, message=message)

    def find(self, fingerprint: str) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """The releases that have a fingerprint, each as ``(prompt's name, full digest, labels)``.

        ``fingerprint`` is short (8 hex digits or more) or full (64). Raises ConfigurationError for another text.
        """
        if not re.fullmatch(rf"[0-9a-f]{{{_SHORTEST},64}}", fingerprint):
            raise ConfigurationError(f"a fingerprint has {_SHORTEST} to 64 hex digits")
        matches = []
        for file in sorted(self._folder.glob("*.json")):
            entry = self._read(file.stem)
            for full, release in sorted(entry.releases.items() if entry else ()):
                if same_digest(full[: len(fingerprint)], fingerprint):
                    matches.append((file.stem, full, tuple(release.labels)))
        return tuple(matches)

    def _release(self, spec: Mapping[str, Any], partial: bool) -> tuple[str, _Release]:
        """The full digest of a spec, and the release that it is."""
        exact = checked(spec, partial=partial)
        fields = {name: digest_of(value, key=self._key) for name, value in exact.items()}
        return digest_of(exact, key=self._key), _Release(fields)

    def _reused(self, entry: _Entry | None, full: str, label: str | None) -> Comparison | None:
        """What to report where the label was used for another release than ``full``; else None."""
        others = [other for other in entry.labelled(label) if other != full] if entry and label else []
        if not others:
            return None
        cause = Cause("label_reused", entry.name if entry else "", (str(label),))
        message = (
            f"{cause.where}: the label {label} stands for the release {others[0][:12]} already, this is {full[:12]}"
        )
        return Comparison(Code.DIFFERENT, "label_reused", (cause,), message=message)

    def _path(self, name: str) -> Path:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ConfigurationError(f"name: lower-case letters, digits, '.', '_' and '-' are taken, not {name!r}")
        return self._folder / f"{name}.json"

    def _read(self, name: str) -> _Entry | None:
        path = self._path(name)
        if not os.path.lexists(path):
            return None
        document = record_files.load(path, kind=KIND, schema=SCHEMA)
        try:
            entry = msgspec.convert(document, _Entry)
        except msgspec.ValidationError as error:
            raise InputError(f"{path}: not a ledger: {error}") from None
        if entry.name != name or entry.current not in entry.releases:
            raise InputError(f"{path}: not the ledger of {name}, or without its current release")
        if entry.key_id != self._key_id:
            raise InputError(f"{path}: written with another key, or with none; its digests cannot be compared")
        return entry

    def _write(self, entry: _Entry) -> None:
        make_folder(self._folder)
        document: dict[str, Any] = msgspec.to_builtins(entry)
        record_files.save(self._path(entry.name), document, kind=KIND, schema=SCHEMA)


_RECORDED: Final = {
    "first": "{}: {} is its first release",
    "new": "{}: {} is its new release",
    "same": "{}: {} was recorded already",
    "empty_bump": "{}: a new label, but {} did not change; not recorded",
}


def _message(word: str, name: str, full: str) -> str:
    return _RECORDED[word].format(name, full[:12])


def _bump(name: str, release: _Release) -> tuple[Cause, ...]:
    return (Cause("empty_bump", name, tuple(release.labels)),)


def _is_bump(release: _Release, label: str | None) -> bool:
    """Whether the label is a new one for a release that has one."""
    return label is not None and bool(release.labels) and label not in release.labels


def _check_label(label: str) -> None:
    if not isinstance(label, str) or not 0 < len(label) <= 100 or not label.isprintable():
        raise ConfigurationError("label: up to 100 printable characters are taken")


def _changes(recorded: _Release, now: _Release, spec: dict[str, Any]) -> tuple[Difference, ...]:
    """By path where the text was kept, else by field: digests do not show more."""
    if recorded.spec is not None:
        return compare(recorded.spec, spec)
    return tuple(_by_field(change, spec) for change in compare(recorded.fields, now.fields))


def _by_field(change: Difference, spec: dict[str, Any]) -> Difference:
    name = str(change.path[0])
    before = "missing" if change.fact == "added" else "recorded"
    after = "missing" if change.fact == "missing" else kind(spec[name])
    evidence = "the text was not kept" if change.fact == "value" else change.evidence
    return msgspec.structs.replace(change, before=before, after=after, evidence=evidence)
