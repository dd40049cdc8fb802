"""JSON text inside a response, decoded within a budget: decoding happens in the caller's thread.

What a text costs is counted, never timed, so that the same response is read the same way in every process.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from toolpulse._base.canonical import JSONError, load_tolerant

MOST: Final = 4_194_304
"""Characters of JSON text that are decoded in a response, where what they hold does not take too long."""

FREE: Final = 131_072
"""Characters of a response that are decoded whatever they hold: at most some 5 ms, for lists in lists. Counting what
a text holds takes a quarter of decoding it or more."""

WORK: Final = 11_000_000
"""Nanoseconds that decoding all of it may take, by the estimate below."""

_A_TEXT: Final = 5_000
_A_FREE_CHARACTER: Final = 30
_A_CHARACTER: Final = 2
_A_CONTAINER: Final = 250
_A_MEMBER: Final = 40
_A_MEMBER_NOT_ASCII: Final = 150
_A_KEY: Final = 70
_A_LONG_DIGIT: Final = 40
_STEP: Final = 16
_LONG_INTEGER: Final = re.compile(r"[0-9]{12,}")
"""Every 16th character of an integer of some 200 digits or more: reading those takes the square of their length."""

_PART: Final = 262_144
"""Characters that are counted at a time, so that counting ends where the work is more than is left."""

_PLAIN: Final = 2_048
"""Characters of a response's first texts that are decoded by msgspec alone. A number of 1e289 or more takes it 20
microseconds, where Python takes one; but handing every number with a point to Python costs more for ordinary ones."""

_WINDOW: Final = 32
_GREAT: Final = tuple(re.compile(letter + r"\+?[0-9]{3,}[,\]}\s]").search for letter in "eE")  # one letter: memchr

_decode = msgspec.json.Decoder().decode
_decode_floats_apart = msgspec.json.Decoder(float_hook=float).decode

_SLOWER: Final = 3
"""How many times longer it takes to read what only Python's own parser may read, after the quick one refused it."""

_CONTAINER: Final = re.compile(r"[ \t\r\n]*[\[{]")
_ENDS: Final = ("]", "}", "")  # nothing where the text ends in more blanks than are looked at
_LONGEST_END: Final = 64
_JSON: Final = re.compile(
    r"""[ \t\r\n]*
    (?: \{[ \t\r\n]*["}]
      | \[[ \t\r\n]*(?:["\[{\]] | -?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,9})?[ \t\r\n]*[,\]]
          | true | false | null | NaN | -?Infinity) )""",
    re.VERBOSE,
)


class UnreadText:
    """Stands where text is that begins as JSON does and costs more to decode than is left."""

    __slots__ = ("length",)

    def __init__(self, length: int) -> None:
        self.length = length


class TextBudget:
    """What is left for decoding the texts of one response."""

    __slots__ = ("free", "left", "plain", "work")

    def __init__(self, characters: int = MOST) -> None:
        self.left = characters
        self.free = FREE
        self.plain = _PLAIN
        self.work = WORK if characters <= MOST else WORK * characters // MOST

    def decoded(self, text: str) -> object:
        """The JSON object or array that the text holds, else the text; ``UnreadText`` where it takes too long."""
        if not _CONTAINER.match(text):
            return text
        size = len(text)
        self.work -= _A_TEXT
        if size <= self.free and size <= self.left:
            self.free -= size
            self.left -= size
            self.work -= _A_FREE_CHARACTER * size
        elif not self._take(text, size, 1):
            return self._unread(text)
        self.plain -= size
        decode = _decode if self.plain >= 0 or not _has_great_numbers(text) else _decode_floats_apart
        if decode is _decode_floats_apart and size > FREE:
            return self._unread(text)  # the estimate knows nothing of the way through Python
        try:
            return decode(text)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            # what follows a whole document makes it none for any parser
            if "trailing characters" in str(error) or not _is_closed(text):
                return text
        if not self._take(text, size, _SLOWER):
            return self._unread(text)
        try:
            return load_tolerant(text)
        except JSONError:
            return text

    def _take(self, text: str, size: int, times: int) -> bool:
        """Take what decoding a text costs off what is left; whether there was enough."""
        size *= times
        if size > self.left:
            return False
        if size <= self.free:
            self.free -= size
        else:
            self.work -= times * decoding_work(text, self.work // times)
            if self.work < 0:
                self.work = 0  # nor is what another text holds counted
                return False
        self.left -= size
        return True

    def _unread(self, text: str) -> object:
        return UnreadText(len(text)) if _is_closed(text) and _JSON.match(text) else text


def decoding_work(text: str, most: int) -> int:
    """About how many nanoseconds decoding a text takes, by counts that end where it is over ``most``."""
    work = _A_CHARACTER * len(text)
    member = _A_MEMBER if text.isascii() else _A_MEMBER_NOT_ASCII
    for start in range(0, len(text), _PART):
        if work > most:
            break
        part = text[start : start + _PART]
        work += _A_CONTAINER * (part.count("[") + part.count("{"))
        work += member * part.count(",") + _A_KEY * part.count(":")
        work += _A_LONG_DIGIT * _STEP * sum(map(len, _LONG_INTEGER.findall(part[::_STEP])))
    return work


def _has_great_numbers(text: str) -> bool:
    """Whether there is a number as great as msgspec takes long for, by a sample of the text; surely so in a short one.

    Where the sample is drawn depends on where the text lies in memory, which its author cannot know: no text can
    be made to escape it. Either way of decoding gives the same.
    """
    size = len(text)
    if size <= _PLAIN:
        return True
    place = id(text) >> 4
    step = 1_000 + place % 997
    sample = " ".join([text[start : start + _WINDOW] for start in range(place % step, size, step)])
    return any(great(sample) for great in _GREAT)


def _is_closed(text: str) -> bool:
    return text[-_LONGEST_END:].rstrip(" \t\r\n")[-1:] in _ENDS
