"""URLs of stores. What is shown of one never holds a password."""

from __future__ import annotations

import re
from urllib.parse import quote

from toolpulse.errors import ConfigurationError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,31}", re.ASCII)

_PLACE_OF_A_FILE = "sqlite:///relative.db or sqlite:////absolute.db"


def scheme(url: str) -> str:
    """The scheme of a URL in lower case, empty where it has none: ``sqlite`` of ``sqlite:///tools.db``."""
    name, colon, _ = url.partition(":")
    return name.lower() if colon else ""


def rest(url: str) -> str:
    """What follows the colon behind the scheme."""
    return url.partition(":")[2]


def nothing_follows(url: str) -> ConfigurationError:
    """The error for a URL that goes on where its scheme says all. It does not repeat what follows."""
    return ConfigurationError(f'store: the store URL "{scheme(url)}:" takes no path; nothing follows it')


def unknown(url: str, known: list[str]) -> ConfigurationError:
    """The error for a URL that begins like none of ``known``. It shows the scheme and nothing else of the URL."""
    name, colon, _ = url.partition(":")
    shown = repr(name) if colon and _SCHEME.fullmatch(name) else "none"
    return ConfigurationError(f"store: URL scheme {shown} is not known; {', '.join(known[:-1])} and {known[-1]} are")


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
