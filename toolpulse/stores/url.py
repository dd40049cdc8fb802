"""URLs of stores. What is shown of one never holds a password."""

from __future__ import annotations

import re
from urllib.parse import quote

from toolpulse.errors import ConfigurationError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,31}", re.ASCII)

_PLACE_OF_A_FILE = "sqlite:///relative.db or sqlite:////absolute.db"


def parts(url: str) -> tuple[str, str]:
    """The scheme of a URL (``memory``, ``sqlite``, ``postgresql``), and what follows its colon.

    Raises ConfigurationError where there is no store of that scheme.
    """
    scheme, colon, rest = url.partition(":")
    known = scheme.lower()
    if known == "memory" and rest:
        raise ConfigurationError("store: the URL memory: says it all; nothing follows it")
    if colon and known in {"memory", "sqlite"}:
        return known, rest
    if colon and known in {"postgresql", "postgres"}:
        return "postgresql", rest
    shown = repr(scheme) if colon and _SCHEME.fullmatch(scheme) else "none"
    raise ConfigurationError(f"store: URL scheme {shown} is not known; memory:, sqlite:/// and postgresql:// are")


def sqlite_path(rest: str) -> str:
    """The path in a URL of SQLite, of which ``rest`` is what follows the scheme. It is taken letter by letter.

    Raises ConfigurationError where there is none.
    """
    if not rest.startswith("///"):
        raise ConfigurationError(f"store: the URL of a SQLite file is {_PLACE_OF_A_FILE}")
    path = rest[3:]
    if not path or path.endswith("/") or path == ":memory:":
        raise ConfigurationError(f"store: the URL names no file; {_PLACE_OF_A_FILE} does, and memory: needs none")
    if "\0" in path or "?" in path:
        raise ConfigurationError("store: the URL of a SQLite file is a path and no more: no NUL, no ?")
    return path


def shown(settings: dict[str, object]) -> str:
    """A PostgreSQL database as it may be shown, of the settings that a URL stands for: those that are no secret."""
    user, host, port, name = (
        quote(str(settings.get(part) or ""), "/:,") for part in ("user", "host", "port", "dbname")
    )
    return f"postgresql://{user}{'@' if user else ''}{host}{':' if port else ''}{port}/{name}"
