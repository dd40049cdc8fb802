"""The decorator at the callable boundary: what a tool returns passes by, and the tool does not notice.

``decorate`` finds the function inside whatever it is given, wraps it so that frameworks see what they saw before, and
reports to a probe. What is made of the reports is not decided here.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from toolpulse.decorator.frameworks import framework_of, looks_like_a_tool, refusal, watch_inside
from toolpulse.decorator.functions import rebuild, watched_plain
from toolpulse.decorator.probe import Outcome, Probe, Stream
from toolpulse.errors import DecorationError

__all__ = ["Outcome", "Probe", "ProbeFor", "Stream", "decorate", "tool_name"]

T = TypeVar("T")
ProbeFor = Callable[[Any, str], Probe]

_owners: weakref.WeakKeyDictionary[Any, tuple[object, ...]] = weakref.WeakKeyDictionary()
"""Who watches a callable. Kept beside it: a mark on the callable would be copied by ``functools.wraps``."""


def decorate(target: T, probe_for: ProbeFor, owner: object) -> T:
    """Return ``target`` so that each call is told to a probe; a tool object is changed in place and returned.

    ``probe_for(function, name)`` is called once for each callable that is wrapped, at decoration: ``function`` is what
    ``args`` and ``kwargs`` fit by ``inspect.signature`` (for a callable object its bound ``__call__``), ``name`` is
    ``module.qualname`` of the innermost function. What ``owner`` watches already is returned as it is; another owner
    watches it again.

    Raises DecorationError (a TypeError) for what cannot be watched, and names what to do instead.
    """
    watched: T = _decorated(target, probe_for, owner, None)
    return watched


def tool_name(target: Any) -> str:
    """Return ``module.qualname`` of the function inside ``target``, or of its class if there is none."""
    inner = target
    while (deeper := _inside(inner)) is not None:
        inner = deeper
    named = inner if isinstance(getattr(inner, "__qualname__", None), str) else type(inner)
    module = getattr(named, "__module__", None)
    return f"{module}.{named.__qualname__}" if isinstance(module, str) else str(named.__qualname__)


def _decorated(target: Any, probe_for: ProbeFor, owner: object, name: str | None) -> Any:
    if isinstance(target, (classmethod, staticmethod)):
        inner = _decorated(target.__func__, probe_for, owner, name)
        return target if inner is target.__func__ else type(target)(inner)
    if type(target) is types.MethodType:
        inner = _decorated(target.__func__, probe_for, owner, name)
        return target if inner is target.__func__ else types.MethodType(inner, target.__self__)
    owners = _owners_of(target)
    if any(known is owner for known in owners):
        return target
    watched: Any
    if type(target) is types.FunctionType:
        watched = rebuild(target, probe_for(target, name or tool_name(target)))
    elif framework := framework_of(target):
        watch_inside(
            target, framework, lambda inner, tool: _decorated(inner, probe_for, owner, name or tool), tool_name
        )
        return target
    else:
        _refuse(target)
        watched = _stand_in(target, probe_for, name or tool_name(target))
    _owners[watched] = (*owners, owner)
    return watched


def _stand_in(target: Any, probe_for: ProbeFor, name: str) -> Any:
    from toolpulse.decorator.proxies import proxy

    call = type(target).__call__
    if type(call) is types.FunctionType:
        bound = types.MethodType(call, target)
        probe = probe_for(bound, name)
        return proxy(target, rebuild(bound, probe), lambda inner: watched_plain(inner, probe))
    probe = probe_for(target, name)
    watched = watched_plain(target, probe)
    watched.__wrapped__ = target  # type: ignore[attr-defined]
    return proxy(target, watched, lambda inner: watched_plain(inner, probe))


def _owners_of(target: Any) -> tuple[object, ...]:
    """Who hears of a call of ``target``. Asks no foreign object for its hash."""
    if type(target) is types.FunctionType or _is_proxy(target):
        return _owners.get(target, ())
    inner = _inside(target)
    if inner is None:
        inner = getattr(type(target), "__call__", None)  # noqa: B004
        return _owners.get(inner, ()) if type(inner) is types.FunctionType else ()
    return _owners_of(inner)


def _is_proxy(target: Any) -> bool:
    proxies = sys.modules.get("toolpulse.decorator.proxies")  # where it was never imported there is no proxy
    return proxies is not None and issubclass(type(target), proxies.CallableProxy)


def _inside(target: Any) -> Any:
    """What ``target`` adds arguments to, or None."""
    if issubclass(type(target), functools.partial):
        return target.func
    if type(target) in {types.MethodType, classmethod, staticmethod}:
        return target.__func__
    return None


def _refuse(target: Any) -> None:
    """Raise for what cannot be watched: never accept what would then go unseen."""
    if isinstance(target, str):
        raise DecorationError("watch() takes no name as its argument: write watch(tool=...)")
    if isinstance(target, (property, functools.cached_property)):
        kind = type(target).__name__
        raise DecorationError(f"cannot watch a {kind} from outside: put @{kind} above @watch")
    if isinstance(target, type):
        raise DecorationError(
            f"cannot watch the class {target.__qualname__}: calling it makes an instance, which is no response; "
            "watch a method of it, or a function that returns instances"
        )
    if looks_like_a_tool(target):
        raise refusal(target)
    if not callable(target):
        raise DecorationError(
            "watch() takes a function, a method, a callable object or a framework's tool, "
            f"not a {type(target).__qualname__}"
        )
