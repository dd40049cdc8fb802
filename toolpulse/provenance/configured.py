"""The manifest of a run, built from a configuration file in JSON or TOML that says where its parts are.

Called by users' programs and by ``toolpulse manifest build``; reads the file and what it names.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from toolpulse._base import files
from toolpulse._base.canonical import digest, plain
from toolpulse.errors import InputError
from toolpulse.provenance.manifest import LENGTH, Manifest, build_manifest
from toolpulse.provenance.record_files import load_document

_PATHS: Final = ("tools", "prompts", "lockfile")
"""Keys whose values are paths, from the configuration file's own folder."""
_NEEDED: Final = frozenset({"model_requested", "model_params", "tool_timeout_s", *_PATHS})
_ALLOWED: Final = frozenset({"model_returned", "python", "extra", "variables", "allow_empty"})
_TEXTS: Final = ("model_requested", "model_returned", "python", *_PATHS)


def manifest_from(path: str | os.PathLike[str], environment: Mapping[str, str]) -> Manifest:
    """Build the manifest that a configuration file describes.

    Keys: ``model_requested``, ``model_params``, ``tool_timeout_s``, ``tools``, ``prompts``, ``lockfile`` (paths, from
    the file's own folder), and if wanted ``model_returned``, ``python``, ``extra`` (an object that is kept as it is),
    ``variables`` (names in ``environment``, of whose values digests are kept, as ``extra.variables``) and
    ``allow_empty``. Raises InputError, the file's name in front, for a key that is missing, unknown or of a wrong type;
    and as ``build_manifest``.
    """
    config = _loaded(Path(path))
    try:
        _check(config)
        given = {key: config[key] for key in (_NEEDED | _ALLOWED) - {*_PATHS, "variables", "extra"} if key in config}
        extra = {**config.get("extra", {}), **_variables(config.get("variables", []), environment)}
    except InputError as error:
        raise files.named(path, error) from None
    folder = Path(path).parent
    return build_manifest(**{key: folder / config[key] for key in _PATHS}, extra=extra, **given)


def _loaded(path: Path) -> dict[str, Any]:
    if path.suffix != ".toml":
        config = load_document(path)
    else:
        try:
            config = plain(tomllib.loads(files.read(path).decode("utf-8")))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(f"{path}: not TOML: {getattr(error, 'reason', None) or error}") from None
        except InputError as error:
            raise error if str(path) in str(error) else files.named(path, error) from None
    if not isinstance(config, dict):
        raise InputError(f"{path}: an object is needed, not {type(config).__name__}")
    return config


def _check(config: Mapping[str, Any]) -> None:
    unknown = sorted(config.keys() - _NEEDED - _ALLOWED)
    if unknown:
        raise InputError(f"{', '.join(unknown)}: not known; what else belongs to the run goes into extra")
    missing = sorted(_NEEDED - config.keys())
    if missing:
        raise InputError(f"{', '.join(missing)}: missing")
    types = {**dict.fromkeys(_TEXTS, str), "model_params": dict, "extra": dict, "variables": list, "allow_empty": bool}
    for key, kind in types.items():
        if key in config and not isinstance(config[key], kind):
            raise InputError(f"{key}: {kind.__name__} is needed, not {type(config[key]).__name__}")
    if isinstance(config["tool_timeout_s"], bool) or not isinstance(config["tool_timeout_s"], int | float):
        raise InputError("tool_timeout_s: a number of seconds is needed")
    if "variables" in config and "variables" in config.get("extra", {}):
        raise InputError("variables: stands in extra too")


def _variables(wanted: list[Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """A digest for each variable, null where it is not set: values may be secrets."""
    if not all(isinstance(name, str) for name in wanted):
        raise InputError("variables: names are needed")
    digests = {name: _digest(environment.get(name)) for name in wanted}
    return {"variables": digests} if digests else {}


def _digest(value: str | None) -> str | None:
    return None if value is None else digest(os.fsencode(value), length=LENGTH)
