"""JSON text inside a response, decoded within a budget: decoding happens in the caller's thread.

What a text costs is counted, never timed, so that the same response is read the same way in every process.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from toolpulse._base.canonical import JSONError, load_tolerant

MOST: Final = 196_608
"""Characters of JSON text that are decoded in a response: 6 ms for the densest ones known (empty lists), 1 ms for
records. By length alone, because asking how dense a text is takes as long as decoding it."""

_PLAIN: Final = 2_048
"""Characters of a response's first texts that are decoded by msgspec alone. That takes 20 microseconds for a number
like 1e300, where Python takes one; but handing all numbers with a point to Python costs more for ordinary ones."""

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

    __slots__ = ("left", "plain")

    def __init__(self, characters: int = MOST) -> None:
        self.left = characters
        self.plain = _PLAIN

    def decoded(self, text: str) -> object:
        """The JSON object or array that the text holds, else the text; ``UnreadText`` where it is too long."""
        if not _CONTAINER.match(text):
            return text
        size = len(text)
        if size > self.left:
            return self._unread(text)
        self.left -= size
        self.plain -= size
        try:
            return _decode(text) if self.plain >= 0 else _decode_floats_apart(text)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            # what follows a whole document makes it none for any parser
            if "trailing characters" in str(error) or not _is_closed(text):
                return text
        if size * _SLOWER > self.left:
            return self._unread(text)
        self.left -= size * _SLOWER
        try:
            return load_tolerant(text)
        except JSONError:
            return text

    def _unread(self, text: str) -> object:
        return UnreadText(len(text)) if _is_closed(text) and _JSON.match(text) else text


def _is_closed(text: str) -> bool:
    return text[-_LONGEST_END:].rstrip(" \t\r\n")[-1:] in _ENDS
