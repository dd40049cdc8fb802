"""URLs of stores. What is shown of one never holds a password."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from toolpulse.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,31}", re.ASCII)

_BEGINS = {"memory": ":", "sqlite": ":///"}
"""What follows these schemes; ``://`` follows the others."""

_FORMS_OF_SQLITE = "sqlite:///relative.db or sqlite:////absolute.db"


def scheme(url: str, known: Collection[str]) -> str:
    """The scheme of a URL, what stands before its colon, in lower case: one of those ``known``.

    Raises ConfigurationError where it is none of them. No more of the URL than a scheme is shown: a password may be
    anywhere in what somebody took for one.
    """
    before, colon, _ = url.partition(":")
    if colon and before.lower() in known:
        return before.lower()
    shown = repr(before) if colon and _SCHEME.fullmatch(before) else "none"
    raise ConfigurationError(f"store: URL scheme {shown} is not known; {_listed(known)} are")


def _listed(known: Collection[str]) -> str:
    """The schemes as they begin a URL; an alias, the start of another name, is left out."""
    names = [name for name in known if not any(other.startswith(name) and other != name for other in known)]
    written = [f"{name}{_BEGINS.get(name, '://')}" for name in names]
    return f"{', '.join(written[:-1])} and {written[-1]}"


def sqlite_path(url: str) -> str:
    """The path in a URL of SQLite; what follows ``sqlite:///`` is taken letter by letter.

    Raises ConfigurationError where there is none.
    """
    rest = url.partition(":")[2]
    if not rest.startswith("///"):
        raise ConfigurationError(f"store: the URL of a SQLite file is {_FORMS_OF_SQLITE}")
    path = rest[3:]
    if not path or path.endswith("/") or path == ":memory:":
        raise ConfigurationError(f"store: the URL names no file; {_FORMS_OF_SQLITE} does, and memory: needs none")
    if "\0" in path or "?" in path:
        raise ConfigurationError("store: the URL of a SQLite file is a path and no more: no NUL, no ?")
    return path


def shown(settings: dict[str, object]) -> str:
    """A PostgreSQL database as it may be shown, of the settings that a URL stands for: those that are no secret."""
    user, host, port, name = (
        quote(str(settings.get(part) or ""), "/:,") for part in ("user", "host", "port", "dbname")
    )
    return f"postgresql://{user}{'@' if user else ''}{host}{':' if port else ''}{port}/{name}"
