"""JSON text inside a response, decoded within a budget: decoding happens in the caller's thread.

What a text costs is counted, never timed, so that the same response is read the same way in every process.
"""

from __future__ import annotations

import re
from typing import Final

from toolpulse._base.canonical import JSONError, decode_quickly, decode_slowly

MOST: Final = 2_000_000
"""Units that the texts of one response may cost; a character is one."""

FREE: Final = 65_536
"""Characters of a response's first texts that are decoded without asking what they cost, since that takes time too."""

# As many characters cost what one of these begins: a container to make and to collect, a value, a key.
_A_BRACKET: Final = 32
_A_SEPARATOR: Final = 8
# Numbers that take longer than others, as they look with each digit a 0: decimals, exponents, more digits than fit in a
# machine's integer; and how many characters each counts for.
_SLOW_NUMBERS: Final = ((b"0.0", 32), (b"0e0", 100), (b"0e-", 100), (b"0e+", 100), (b"0" * 20, 60))
_LONG_NUMBER: Final = b"0" * 300
_A_LONG_NUMBER: Final = 4
"""For each character where an integer has hundreds of digits: converting it takes the square of its length."""

_FORM: Final = bytes.maketrans(b"123456789{:E", b"000000000[,e")

_SLOWER: Final = 5
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

    __slots__ = ("free", "left")

    def __init__(self, units: int = MOST) -> None:
        self.free = min(units, FREE)
        self.left = units

    def decoded(self, text: str) -> object:
        """The JSON object or array that the text holds, else the text; ``UnreadText`` where that costs too much."""
        if not _CONTAINER.match(text) or text[-_LONGEST_END:].rstrip(" \t\r\n")[-1:] not in _ENDS:
            return text
        cost = self._spend(text)
        if cost is None:
            return _unread(text)
        try:
            return decode_quickly(text)
        except JSONError as error:
            # reading it again costs more, and what follows a whole document makes it none
            if "trailing" in error.reason:
                return text
            if cost * _SLOWER > self.left:
                return _unread(text)
            self.left -= cost * _SLOWER
        try:
            return decode_slowly(text)
        except JSONError:
            return text

    def _spend(self, text: str) -> int | None:
        """What decoding the text costs, taken off; None where that is more than is left."""
        if len(text) <= self.free:
            self.free -= len(text)
            return len(text)
        cost = cost_of(text) if len(text) <= self.left else self.left + 1
        if cost > self.left:
            self.free = self.left = 0
            return None
        self.left -= cost
        return cost


def cost_of(text: str) -> int:
    """What decoding a text costs, in units of a few nanoseconds; ``Limits.text`` is as many."""
    form = text.encode("utf-8", "surrogatepass").translate(_FORM)
    cost = len(form) + _A_BRACKET * form.count(b"[") + _A_SEPARATOR * form.count(b",")
    cost += sum(characters * form.count(number) for number, characters in _SLOW_NUMBERS)
    return cost * _A_LONG_NUMBER if _LONG_NUMBER in form else cost


def _unread(text: str) -> object:
    return UnreadText(len(text)) if _JSON.match(text) else text
