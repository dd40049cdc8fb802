"""The grammar of paths and globs: print, parse, match.

A path is a tuple of segments: a ``str`` is a field, ``ITEMS`` the elements of an array, ``VALUES`` the values
of a map. ``results[].score``, the root ``$``, map values ``series.*.a``; a field that is not
``[A-Za-z_][A-Za-z0-9_]*`` is written ``["..."]`` with JSON escaping: ``["a.b"]["c.d"]``, ``[""]``.
Printing and parsing round-trip for every string.

A glob has the same segments plus ``*`` (any one segment) and ``**`` (any number of them, none included).
"""

from __future__ import annotations

import json
import re
from enum import Enum
from functools import lru_cache
from typing import Final, TypeAlias

from toolpulse._base.canonical import escape
from toolpulse.errors import ConfigurationError


class Step(Enum):
    """A segment that is not a field."""

    ITEMS = "[]"
    VALUES = "*"
    ANY_DEPTH = "**"


ITEMS: Final = Step.ITEMS
VALUES: Final = Step.VALUES
ANY_DEPTH: Final = Step.ANY_DEPTH

Segment: TypeAlias = str | Step
Path: TypeAlias = tuple[Segment, ...]

ROOT: Final[Path] = ()

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_TOKEN = re.compile(
    r"""(?P<items>\[\])
      | (?P<quoted>\["(?:[^"\\\x00-\x1f]|\\.)*"\])
      | (?P<dot>\.)?(?P<word>\*\*|\*|[A-Za-z_][A-Za-z0-9_]*)""",
    re.VERBOSE | re.ASCII,
)


def format_path(path: Path) -> str:
    """Print a path on one line of printable ASCII, whatever its fields contain."""
    if not path:
        return "$"
    out: list[str] = []
    for segment in path:
        if segment is ITEMS:
            out.append("[]")
        elif isinstance(segment, Step):
            out.append(f".{segment.value}" if out else segment.value)
        elif _NAME.fullmatch(segment):
            out.append(f".{segment}" if out else segment)
        else:
            out.append(f"[{escape(segment)}]")
    return "".join(out)


def parse_path(text: str) -> Path:
    """Read a path or a glob as ``format_path`` prints it; ``$`` alone or in front is the root.

    Raises ConfigurationError that shows the text and where it stops making sense.
    """
    if not isinstance(text, str):
        raise ConfigurationError(f"a path must be a string, not {type(text).__name__}")
    rest = text.removeprefix("$")
    if not text or (rest and text is not rest and rest[0] not in ".["):
        raise ConfigurationError(f"{text!r} is not a path; an example is results[].score")
    path: list[Segment] = []
    at = 0
    while at < len(rest):
        match = _TOKEN.match(rest, at)
        # a dot stands before every word but the first of a path without "$", and nowhere else
        dotted = bool(path) or text is not rest
        if match is None or (match["word"] and bool(match["dot"]) is not dotted):
            where = at + len(text) - len(rest)
            raise ConfigurationError(f"{text!r} is not a path: it stops making sense at character {where + 1}")
        path.append(_segment(match, text))
        at = match.end()
    return tuple(path)


def _segment(match: re.Match[str], text: str) -> Segment:
    if match["items"]:
        return ITEMS
    if match["quoted"]:
        try:
            return str(json.loads(match["quoted"][1:-1]))
        except json.JSONDecodeError:
            raise ConfigurationError(f"{text!r} is not a path: bad escape in {match['quoted']}") from None
    word = match["word"]
    return Step(word) if word in {"*", "**"} else word


class Glob:
    """A compiled glob. Matching is a table walk: no backtracking, whatever the pattern."""

    __slots__ = ("pattern", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.pattern = parse_path(text)

    def matches(self, path: Path) -> bool:
        """Whether the whole path fits the glob."""
        return len(self.pattern) in self._reached(path)

    def touches(self, path: Path) -> bool:
        """Whether the path lies at, above or below a path that fits the glob."""
        reached: frozenset[int] = self._closure({0})
        for segment in path:
            if len(self.pattern) in reached:
                return True
            reached = self._step(reached, segment)
            if not reached:
                return False
        return True

    def _reached(self, path: Path) -> frozenset[int]:
        reached = self._closure({0})
        for segment in path:
            reached = self._step(reached, segment)
        return reached

    def _step(self, reached: frozenset[int], segment: Segment) -> frozenset[int]:
        out: set[int] = set()
        for at in reached:
            if at == len(self.pattern):
                continue
            want = self.pattern[at]
            if want is ANY_DEPTH:
                out.add(at)
            elif want is VALUES or want == segment:
                out.add(at + 1)
        return self._closure(out)

    def _closure(self, reached: set[int]) -> frozenset[int]:
        for at in sorted(reached):
            end = at
            while end < len(self.pattern) and self.pattern[end] is ANY_DEPTH:
                end += 1
                reached.add(end)
        return frozenset(reached)

    def __repr__(self) -> str:
        return f"Glob({self.text!r})"


def glob(text: str) -> Glob:
    """The compiled glob of ``text``. Raises ConfigurationError where it is none."""
    return _compiled(text) if isinstance(text, str) else Glob(text)


_compiled = lru_cache(maxsize=1024)(Glob)
