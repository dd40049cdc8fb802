"""Writing a trace: its run manifest on the first line, and every span with the id of that manifest.

Called by users' programs; it writes one file, line by line. ``readers.formats.native`` reads what it writes.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import IO, Any, Final, Self

from toolpulse._base.canonical import plain
from toolpulse._base.files import private
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance.manifest import Manifest
from toolpulse.provenance.model_calls import attributes as names

MODES: Final = ("x", "w")
"""As ``open`` has them: a new file, or one that is replaced."""


class TraceWriter:
    """A trace on its way to a file, JSON lines; a context manager. Each line is written at once and whole.

    By default an existing file is refused with FileExistsError, because traces are evidence; ``mode="w"`` replaces it.
    ``sampled`` says on the first line that not every call is written, so that nobody compares by this trace. Any thread
    may write. A new file is for this user alone. Raises ConfigurationError for another ``mode``, OSError where the file
    cannot be opened.
    """

    def __init__(
        self, path: str | os.PathLike[str], manifest: Manifest, *, mode: str = "x", sampled: bool = False
    ) -> None:
        if mode not in MODES:
            raise ConfigurationError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
        self.manifest_id: Final = manifest.manifest_id
        self._lock = threading.Lock()
        # closed by close; a Path has no opener
        self._file: IO[bytes] = open(path, f"{mode}b", buffering=0, opener=private)  # noqa: SIM115
        head: dict[str, Any] = {"span_type": "run_manifest", **manifest.to_json()}
        self._put(head | ({"sampled": True} if sampled else {}))

    def write(self, span: Mapping[str, Any]) -> None:
        """Write a span as one line; what is passed in is not changed.

        Raises InputError where it names the manifest of another run, because a trace is of one run; CanonicalError
        where it is no JSON.
        """
        line: dict[str, Any] = plain(dict(span))
        if line.get(names.MANIFEST_ID, self.manifest_id) != self.manifest_id:
            raise InputError(f"{names.MANIFEST_ID} is that of another run")
        self._put({**line, names.MANIFEST_ID: self.manifest_id})

    def note_returned(self, model: str, generation_id: str | None = None) -> None:
        """Write down which model answered a call, as an event of its own: a span is stamped before there is an answer.

        ``generation_id`` names the call. Raises ConfigurationError where ``model`` is no name.
        """
        if not isinstance(model, str) or not model.strip():
            raise ConfigurationError("model must be the name of a model")
        event = {"kind": "event", "name": "model_returned", names.NATIVE_RETURNED_MODEL: model}
        self.write(event | ({names.GENERATION_ID: generation_id} if generation_id else {}))

    def _put(self, line: Mapping[str, Any]) -> None:
        data = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            self._file.write(data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
