"""Canonical bytes, digests, and strict and tolerant JSON reading. The one place that knows the hash.

Two canonical forms exist and must not be mixed: the one for shapes is ASCII-escaped JSON with sorted keys and
no spaces, ``json.dumps(x, sort_keys=True, separators=(",", ":"))``; the one for provenance, ``canonical_utf8``, is
the same text in raw UTF-8, over values that are JSON and nothing else, and with negative zero written as ``0.0``.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import re
from typing import Any, Final, NoReturn

import msgspec

from toolpulse.errors import ConfigurationError, InputError

_decode = msgspec.json.Decoder().decode

escape = json.encoder.encode_basestring_ascii
"""A string as an ASCII JSON string, quotes included."""

DEEPEST: Final = 200
"""How many containers may stand inside each other in a document of provenance."""


def digest(data: bytes, *, length: int = 64, key: bytes | str | None = None) -> str:
    """SHA-256 of ``data`` in lower-case hex: its first ``length`` digits, all 64 without one.

    With a ``key`` (text stands for its UTF-8 bytes) it is HMAC-SHA256, which confirms no guess to whoever lacks the
    key. Raises ConfigurationError for a ``length`` outside 1 to 64 and for an empty key.
    """
    if key is None and length == 64:
        return hashlib.sha256(data).hexdigest()
    if type(length) is not int or not 1 <= length <= 64:
        raise ConfigurationError(f"length must be a whole number from 1 to 64, not {length!r}")
    if key is None:
        return hashlib.sha256(data).hexdigest()[:length]
    if not isinstance(key, bytes | str):
        raise ConfigurationError(f"key must be bytes or text, not {type(key).__name__}")
    if not key:
        raise ConfigurationError("key must not be empty")
    return hmac.new(key.encode() if isinstance(key, str) else key, data, hashlib.sha256).hexdigest()[:length]


def digest_of(document: object, *, length: int = 64, key: bytes | str | None = None) -> str:
    """The digest of a document's ``canonical_utf8`` bytes. Raises CanonicalError as that does."""
    return digest(canonical_utf8(document), length=length, key=key)


def same_digest(one: str, other: str) -> bool:
    """Whether two digests are equal, in a time that does not tell how much of them is."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def ascii_json(value: object) -> bytes:
    """The canonical bytes of a shape's normal form: ASCII JSON, sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def laid_out(data: bytes) -> bytes:
    """JSON text as files that are committed have it: one line a fact, indented by one, with a break at its end.

    ``data`` is JSON with its keys in order, which is kept.
    """
    try:
        return msgspec.json.format(data, indent=1) + b"\n"
    except msgspec.DecodeError:
        # a string may hold a lone surrogate, which JSON has and msgspec refuses
        return json.dumps(json.loads(data), indent=1).encode("ascii") + b"\n"


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


def _load_slowly(data: bytes | str, constants: Any = _refuse_constant, pairs: Any = None) -> Any:
    """What msgspec refuses may still be JSON: lone surrogates, numbers beyond a double. And its errors have no line."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise JSONError(f"not UTF-8 (byte {error.start})", line) from None
    try:
        return json.loads(text, parse_constant=constants, object_pairs_hook=pairs)
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


class CanonicalError(InputError):
    """A value has no canonical form. ``path`` says where (``$.a[1].b``), ``reason`` why; neither shows the value."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}")


def canonical_utf8(document: object) -> bytes:
    """The canonical bytes of a document: JSON in raw UTF-8, keys sorted by code point, no spaces.

    A document is None, booleans, integers, finite floats, strings, lists, tuples (as lists) and dicts with string
    keys; an instance of a subclass (``StrEnum``, ``IntEnum``) counts as its value. Floats keep Python's text, so that
    ``0`` and ``0.0`` differ; text is not trimmed and not normalised. Raises CanonicalError for anything else: NaN and
    infinity, other types and keys, lone surrogates, cycles, more than 200 levels, integers beyond Python's digit limit.
    """
    return json.dumps(plain(document), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def load_exact(data: bytes | str) -> Any:
    """Read one JSON document whose fingerprint is wanted, so that no two texts that mean different things read alike.

    Beyond ``load_strict`` it refuses what that forgives: keys given twice, numbers that overflow, lone surrogates, more
    than 200 levels. Raises JSONError where the text is no JSON, CanonicalError, which names the path, where its value
    is not one; ``NaN`` and ``Infinity`` are among the latter.
    """
    return plain(_load_slowly(data, constants=float, pairs=_Pairs))


class _Pairs(dict[str, Any]):
    """An object as it was read, remembering the first key that was given twice."""

    twice: str | None = None

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        if len(self) < len(pairs):
            seen: set[str] = set()
            self.twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]


_Trail = tuple[str | int, ...]


def plain(document: object) -> Any:
    """A copy of a document made of plain ``dict``, ``list``, ``str``, ``int``, ``float``, ``bool`` and None.

    What ``canonical_utf8`` and the typed comparison look at. Raises CanonicalError as ``canonical_utf8`` does.
    """
    return _plain(document, (), set())


def _plain(value: object, at: _Trail, open_: set[int]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _plain_text(value, at)
    if isinstance(value, int):
        return _plain_integer(value, at)
    if isinstance(value, float):
        return _plain_float(value, at)
    if not isinstance(value, dict | list | tuple):
        raise CanonicalError(_place(at), f"{type(value).__name__} is not a JSON type")
    if id(value) in open_:
        raise CanonicalError(_place(at), "cycle")
    if len(open_) >= DEEPEST:
        raise CanonicalError(_place(at), f"nested more than {DEEPEST} levels deep")
    open_.add(id(value))
    copied = _plain_object(value, at, open_) if isinstance(value, dict) else _plain_array(value, at, open_)
    open_.discard(id(value))
    return copied


def _plain_text(value: str, at: _Trail) -> str:
    text = str.__str__(value)
    if not _encodable(text):
        raise CanonicalError(_place(at), "lone surrogate in string")
    return text


def _plain_integer(value: int, at: _Trail) -> int:
    number = int.__int__(value)
    if number.bit_length() > 2_000:  # of few digits by any limit that CPython allows (640 and more)
        try:
            int.__repr__(number)
        except ValueError:
            raise CanonicalError(_place(at), "an integer of more digits than Python converts") from None
    return number


def _plain_float(value: float, at: _Trail) -> float:
    number = float.__float__(value)
    if not math.isfinite(number):
        raise CanonicalError(_place(at), f"{number!r} is not representable in JSON")
    return number or 0.0


def _plain_array(value: list[Any] | tuple[Any, ...], at: _Trail, open_: set[int]) -> list[Any]:
    inside = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
    return [_plain(inner, (*at, index), open_) for index, inner in enumerate(inside)]


def _plain_object(value: dict[Any, Any], at: _Trail, open_: set[int]) -> dict[str, Any]:
    twice = value.twice if isinstance(value, _Pairs) else None
    members: dict[str, Any] = {}
    for key, inner in dict.items(value):
        if not isinstance(key, str):
            shown = repr(key) if key is None or type(key) in {bool, int} else f"of type {type(key).__name__}"
            raise CanonicalError(_place(at), f"object key {shown} is not a string")
        name = str.__str__(key)
        if not _encodable(name):
            raise CanonicalError(_place(at), "lone surrogate in object key")
        if name in members or name == twice:
            raise CanonicalError(_place((*at, name)), "key given twice")
        members[name] = _plain(inner, (*at, name), open_)
    return members


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def _place(at: _Trail) -> str:
    """Where a value stands; with the index of an element, which the paths of shapes do not have."""
    out = ["$"]
    for step in at:
        if isinstance(step, int):
            out.append(f"[{step}]")
        else:
            out.append(f".{step}" if _WORD.fullmatch(step) else f"[{escape(step)}]")
    return "".join(out)
