"""Words and figures as commands print them.

Names of tools, keys and files come from outside, so they may hold anything, control characters of a terminal included.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

STDIN: Final = "-"
"""The file name that stands for standard input."""

_SECRETS: Final = re.compile(r"(?<=://)([^\s:/@]*):\S*@|(?<=password=)[^\s&]+", re.IGNORECASE)


def safe(text: str) -> str:
    """The text on one line, with escapes for what a terminal acts on: control and bidirectional characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def file_label(file: str) -> str:
    """A file's name for a message, on one printable line; ``<stdin>`` for standard input."""
    return "<stdin>" if file == STDIN else safe(file)


def without_secrets(text: str) -> str:
    """The text with ``***`` in place of the passwords in URLs: ``//user:password@`` and ``?password=``."""
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
            # JSON escapes UTF-16 code units; a lone surrogate is one of them
            units = c.encode("utf-16-be", "surrogatepass")
            out.extend(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
    return "".join(out)


def plural(count: int, word: str) -> str:
    """``1 call``, ``1,204 calls``."""
    if count == 1:
        return f"1 {word}"
    # `replies`, but `keys`
    return f"{count:,} {word[:-1]}ies" if word.endswith("y") and word[-2] not in "aeo" else f"{count:,} {word}s"


def listed(names: Sequence[str], most: int, what: str = "") -> str:
    """At most ``most`` names and the number of the others: ``a, b and 3 more``; with ``what``, ``3 more pairs``."""
    more = len(names) - most
    others = plural(more, f"more {what}") if what else f"{more:,} more"
    return ", ".join(names[:most]) + (f" and {others}" if more > 0 else "")


def percent(count: int, total: int) -> str:
    """A share in whole percents. Only nothing is ``0%``, and only all is ``100%``; else it is ``<1%`` or ``>99%``."""
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
    owners = Counter(ending for of_one in by_name.values() for ending in of_one)
    return {name: next((e for e in by_name[name] if owners[e] == 1), name) for name in names}


def endings(name: str) -> list[str]:
    """The dotted endings of a name, the shortest first and the whole last: ``c``, ``b.c``, ``a.b.c``."""
    parts = name.split(".")
    return [".".join(parts[start:]) for start in range(len(parts) - 1, 0, -1) if parts[start]] + [name]


def with_key(tool: str, key: str) -> str:
    """A tool's name with the variant of the call, if it has one: ``search [images]``."""
    return f"{tool} [{key}]" if key else tool


def is_named(tool: str, pattern: str | None) -> bool:
    """Whether a glob matches the tool's name or one of its dotted endings; None matches every tool."""
    return pattern is None or any(fnmatchcase(name, pattern) for name in endings(tool))
