"""Words and figures as commands print them. Names come from responses and files, so they are hostile."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

_SECRETS: Final = re.compile(r"(?<=://)([^\s:/@]*):\S*@|(?<=password=)[^\s&]+", re.IGNORECASE)


def safe(text: str) -> str:
    """The text on one line and without what a terminal acts on: controls, escapes, bidirectional overrides."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def without_secrets(text: str) -> str:
    """The text without the passwords of URLs in it."""
    return _SECRETS.sub(lambda match: "***" if match[1] is None else f"{match[1]}:***@", text)


def safe_json(line: str) -> str:
    """A JSON text on one line of printable ASCII that means the same."""
    out = []
    for c in line.strip():
        if " " <= c <= "~":
            out.append(c)
        elif c in "\t\r\n":  # between tokens only; a string has them escaped
            out.append(" ")
        else:
            units = c.encode("utf-16-be", "surrogatepass")
            out.extend(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
    return "".join(out)


def plural(count: int, word: str) -> str:
    """``1 call``, ``1,204 calls``."""
    if count == 1:
        return f"1 {word}"
    return f"{count:,} {word[:-1]}ies" if word.endswith("y") and word[-2] not in "aeo" else f"{count:,} {word}s"


def listed(names: Sequence[str], most: int, what: str = "") -> str:
    """``a, b and 3 more``: at most so many names, with commas between; the others are ``3 more pairs`` with a word."""
    more = len(names) - most
    others = plural(more, f"more {what}") if what else f"{more:,} more"
    return ", ".join(names[:most]) + (f" and {others}" if more > 0 else "")


def percent(count: int, total: int) -> str:
    """A share, never rounded to all or to nothing."""
    if total <= 0 or count <= 0:
        return "0%"
    if count >= total:
        return "100%"
    share = 100 * count / total
    if share < 1:
        return "<1%"
    return ">99%" if share > 99 else f"{share:.0f}%"


def short_names(tools: Iterable[str]) -> dict[str, str]:
    """Each tool with the shortest dotted ending of its name that no other one has."""
    names = sorted(set(tools))
    by_name = {name: endings(name) for name in names}
    taken = Counter(ending for found in by_name.values() for ending in found)
    return {name: next((e for e in by_name[name] if taken[e] == 1), name) for name in names}


def endings(name: str) -> list[str]:
    """The dotted endings of a name, the shortest first and the whole last."""
    parts = name.split(".")
    return [".".join(parts[start:]) for start in range(len(parts) - 1, 0, -1) if parts[start]] + [name]


def with_key(tool: str, key: str) -> str:
    """A tool's name with the variant of the call."""
    return f"{tool} [{key}]" if key else tool


def is_named(tool: str, pattern: str | None) -> bool:
    """Whether a glob stands for the tool's name or for one of its endings; each tool where there is none."""
    return pattern is None or any(fnmatchcase(name, pattern) for name in endings(tool))
