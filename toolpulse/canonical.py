"""Canonical bytes, digests, and strict and tolerant JSON reading. The one place that knows the hash.

Two canonical forms exist and must not be mixed: the one for shapes is ASCII-escaped JSON with sorted keys and
no spaces, ``json.dumps(x, sort_keys=True, separators=(",", ":"))``; the one for provenance is raw UTF-8.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, NoReturn

import msgspec

from toolpulse.errors import InputError

_decode = msgspec.json.Decoder().decode

escape = json.encoder.encode_basestring_ascii
"""A string as an ASCII JSON string, quotes included."""


def digest(data: bytes) -> str:
    """SHA-256 of ``data`` as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def ascii_json(value: object) -> bytes:
    """The canonical bytes of a shape's normal form: ASCII JSON, sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


class JSONError(InputError):
    """The text is no JSON document.

    ``reason`` says why and never quotes the text, ``line`` and ``column`` where (1-based; None where unknown),
    ``unfinished`` whether the text stopped before its document did, so that more text could complete it.
    """

    def __init__(
        self, reason: str, line: int | None = None, column: int | None = None, *, unfinished: bool = False
    ) -> None:
        self.reason = reason
        self.line = line
        self.column = column
        self.unfinished = unfinished
        place = "" if line is None else f"line {line}: " if column is None else f"line {line} column {column}: "
        super().__init__(place + reason)


def load_strict(data: bytes | str) -> Any:
    """Read one JSON document as RFC 8259 has it; the last of duplicate keys wins.

    Read are also lone surrogates in escapes (the grammar has them) and, as infinity, numbers beyond a double.
    Raises JSONError saying what is wrong and at which line and column; the text itself is never quoted. A
    byte order mark is refused, as is what Python cannot hold: an integer of more than 4,300 digits (CPython's
    default limit), nesting beyond its recursion limit.
    """
    try:
        return _decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _load_slowly(data)


def load_tolerant(data: bytes | str) -> Any:
    """Read JSON text found inside a response: as ``load_strict``, but ``NaN`` and ``Infinity`` are numbers.

    Raises JSONError where the text is no JSON.
    """
    try:
        return _decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _load_slowly(data, constants=float)


_BLANK = " \t\r\n"
_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|(-?Infinity|NaN)')


class _ConstantError(Exception):
    """Python's parser met ``NaN`` or ``Infinity``, which are not JSON."""


def _refuse_constant(name: str) -> NoReturn:
    raise _ConstantError(name)


def _load_slowly(data: bytes | str, constants: Any = _refuse_constant) -> Any:
    """What msgspec refuses may still be JSON: lone surrogates, numbers beyond a double. And its errors have no line."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise JSONError(f"not UTF-8 (byte {error.start})", line) from None
    try:
        return json.loads(text, parse_constant=constants)
    except json.JSONDecodeError as error:
        reason = "not JSON: " + error.msg.removesuffix(": ").removesuffix(" at")
        unfinished = error.pos >= len(text.rstrip(_BLANK))
        raise JSONError(reason, error.lineno, error.colno, unfinished=unfinished) from None
    except _ConstantError as error:
        raise _constant_error(text, str(error)) from None
    except RecursionError:
        raise JSONError("nested too deeply to read") from None
    except ValueError:
        raise JSONError("an integer of more digits than Python converts") from None


def _constant_error(text: str, name: str) -> JSONError:
    """The parser does not say where it met the constant; up to there the text is sound, so that tokens are enough."""
    for match in _CONSTANT.finditer(text):
        if match[1]:
            start = match.start(1)
            line = text.count("\n", 0, start) + 1
            return JSONError(f"{name} is not JSON", line, start - text.rfind("\n", 0, start))
    return JSONError(f"{name} is not JSON")
