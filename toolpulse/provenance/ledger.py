"""The ledger of releases: which fingerprint a prompt had under which label, without its text.

One file a prompt, made to be committed. Two mistakes show: a label that was used before for something else, and a new
label on what did not change.
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
from toolpulse.documents import compare, kind
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.judgement.diff import Change
from toolpulse.provenance.prompt import checked
from toolpulse.stores import files
from toolpulse.verdicts import Cause, Code, Ruling

SCHEMA: Final = 1
KIND: Final = "release"
"""What a ledger file says it is."""

# a name is a file's; what a file system folds or forbids is not taken
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}", re.ASCII)
_SHORTEST: Final = 8


class _Release(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    fields: dict[str, str]
    labels: list[str] = []
    spec: dict[str, Any] | None = None


class _Entry(msgspec.Struct):
    """The file of one prompt: its releases by their full digest."""

    name: str
    current: str
    releases: dict[str, _Release]
    key_id: str | None = None

    def labelled(self, label: str) -> list[str]:
        """The digests that a label was used for."""
        return sorted(d for d, release in self.releases.items() if label in release.labels)


class Ledger:
    """Releases in a folder, one file a prompt.

    With a ``key`` all digests in it are HMACs and confirm no guess; a ledger is written and asked with one key.
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
    ) -> Ruling:
        """Record a release as the current one of a prompt.

        ``name``: lower-case letters, digits, ``.``, ``_`` and ``-``. ``label``: the version as people call it.
        ``keep_text`` stores the spec itself, so that later differences are told by path. The ruling's ``primary`` is
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
        known = entry.releases.setdefault(full, release)
        if word == "same" and _is_bump(known, label):
            causes = (Cause("empty_bump", name, tuple(known.labels)),)
            return Ruling(Code.OK, "empty_bump", causes, message=_RECORDED["empty_bump"].format(name, full[:12]))
        if label is not None:
            known.labels = sorted({*known.labels, label})
        if keep_text:
            known.spec = checked(spec, partial=partial)
        entry.current = full
        self._write(entry)
        return Ruling(Code.OK, word, message=_RECORDED[word].format(name, full[:12]))

    def check(self, name: str, spec: Mapping[str, Any], *, label: str | None = None, partial: bool = False) -> Ruling:
        """Compare a spec with the current release of a prompt. Nothing is written.

        Code 0 ``same``, with the cause ``empty_bump`` where the label is new; 1 ``changed`` or ``label_reused``, with
        the fields that differ; 3 ``no_record``. Raises as ``record``.
        """
        entry, full, release = self._read(name), *self._release(spec, partial)
        if entry is None:
            return Ruling(Code.PRECONDITION, "no_record", message=f"{name}: no release is recorded")
        reused = self._reused(entry, full, label)
        current = entry.releases[entry.current]
        if same_digest(entry.current, full):
            bump = _is_bump(current, label)
            bumped = (Cause("empty_bump", name, tuple(current.labels)),) if bump else ()
            said = f"{name}: the release {full[:12]} did not change" + (", its label did" if bump else "")
            return reused or Ruling(Code.OK, "same", bumped, message=said)
        changes = _changes(current, release, checked(spec, partial=True))
        causes = [Cause("changed", name, tuple(sorted({str(change.path[0]) for change in changes})))]
        known = entry.releases.get(full)
        if known is not None:
            causes.append(Cause("earlier_release", name, tuple(known.labels)))
        said = f"{name}: {entry.current[:12]} is recorded, this is {full[:12]}"
        if reused is not None:
            return msgspec.structs.replace(reused, causes=(*reused.causes, *causes), changes=changes)
        return Ruling(Code.DIFFERENT, "changed", tuple(causes), changes, message=said)

    def find(self, fingerprint: str) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """The releases of a fingerprint, short (8 digits or more) or full: name, full digest, labels.

        Raises ConfigurationError for what is no fingerprint.
        """
        if not re.fullmatch(rf"[0-9a-f]{{{_SHORTEST},64}}", fingerprint):
            raise ConfigurationError(f"a fingerprint has {_SHORTEST} to 64 hex digits")
        found = []
        for file in sorted(self._folder.glob("*.json")):
            entry = self._read(file.stem)
            for full, release in sorted(entry.releases.items() if entry else ()):
                if same_digest(full[: len(fingerprint)], fingerprint):
                    found.append((file.stem, full, tuple(release.labels)))
        return tuple(found)

    def _release(self, spec: Mapping[str, Any], partial: bool) -> tuple[str, _Release]:
        exact = checked(spec, partial=partial)
        fields = {name: digest_of(value, key=self._key) for name, value in exact.items()}
        return digest_of(exact, key=self._key), _Release(fields)

    def _reused(self, entry: _Entry | None, full: str, label: str | None) -> Ruling | None:
        others = [other for other in entry.labelled(label) if other != full] if entry and label else []
        if not others:
            return None
        cause = Cause("label_reused", entry.name if entry else "", (str(label),))
        said = f"{cause.where}: the label {label} stands for the release {others[0][:12]} already, this is {full[:12]}"
        return Ruling(Code.DIFFERENT, "label_reused", (cause,), message=said)

    def _path(self, name: str) -> Path:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ConfigurationError(f"name: lower-case letters, digits, '.', '_' and '-' are taken, not {name!r}")
        return self._folder / f"{name}.json"

    def _read(self, name: str) -> _Entry | None:
        path = self._path(name)
        if not os.path.lexists(path):
            return None
        plain = files.load(path, kind=KIND, schema=SCHEMA)
        try:
            entry = msgspec.convert(plain, _Entry)
        except msgspec.ValidationError as error:
            raise InputError(f"{path}: not a ledger: {error}") from None
        if entry.name != name or entry.current not in entry.releases:
            raise InputError(f"{path}: not the ledger of {name}, or without its current release")
        if entry.key_id != self._key_id:
            raise InputError(f"{path}: written with another key, or with none; its digests cannot be compared")
        return entry

    def _write(self, entry: _Entry) -> None:
        make_folder(self._folder)
        plain: dict[str, Any] = msgspec.to_builtins(entry)
        files.save(self._path(entry.name), plain, kind=KIND, schema=SCHEMA)


_RECORDED: Final = {
    "first": "{}: {} is its first release",
    "new": "{}: {} is its new release",
    "same": "{}: {} was recorded already",
    "empty_bump": "{}: a new label, but {} did not change; not recorded",
}


def _is_bump(release: _Release, label: str | None) -> bool:
    """Whether the label is a new one for a release that has one."""
    return label is not None and bool(release.labels) and label not in release.labels


def _check_label(label: str) -> None:
    if not isinstance(label, str) or not 0 < len(label) <= 100 or not label.isprintable():
        raise ConfigurationError("label: up to 100 printable characters are taken")


def _changes(recorded: _Release, now: _Release, spec: dict[str, Any]) -> tuple[Change, ...]:
    """By path where the text was kept, else by field: digests do not tell more."""
    if recorded.spec is not None:
        return compare(recorded.spec, spec)
    return tuple(_by_field(change, spec) for change in compare(recorded.fields, now.fields))


def _by_field(change: Change, spec: dict[str, Any]) -> Change:
    name = str(change.path[0])
    before = "missing" if change.fact == "added" else "recorded"
    after = "missing" if change.fact == "missing" else kind(spec[name])
    evidence = "the text was not kept" if change.fact == "value" else change.evidence
    return msgspec.structs.replace(change, before=before, after=after, evidence=evidence)
