"""Proxies, for what is no function: callable objects, partials, builtins, awaitables.

They stand in for the object in every respect but three: a proxy is equal to itself only (frameworks keep caches keyed
by the callable, and would hand out the unwatched one), a copy of it is itself, and it is pickled by its name.
"""

from __future__ import annotations

import copy
import functools
import importlib
import pickle
import sys
import types
from collections.abc import Callable, Generator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

import wrapt

from toolpulse.decorator.probe import Call

if TYPE_CHECKING:
    _Proxy = wrapt.ObjectProxy[Any]
else:
    # Before wrapt 2 there was one class, which makes everything look iterable.
    _Proxy = getattr(wrapt, "BaseObjectProxy", wrapt.ObjectProxy)


class CallableProxy(_Proxy):
    """The base of all proxies of callable objects; see ``proxy``."""

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __copy__(self) -> CallableProxy:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CallableProxy:
        return self

    def __reduce__(self) -> tuple[Call, tuple[str, str]]:
        return _by_name, _importable_name(self)

    def __reduce_ex__(self, protocol: object) -> tuple[Call, tuple[str, str]]:
        return self.__reduce__()


def proxy(target: Any, call: Call, around: Callable[[Call], Call]) -> CallableProxy:
    """Return a stand-in for the callable object ``target`` that is called by ``call``.

    Frameworks ask ``proxy.__call__`` whether an object is async, so that ``call`` is put as it is into a class of its
    own. That class binds like a method only where the target does, for whatever has ``__get__`` counts as a routine
    for ``inspect``; ``around`` then makes the call of what the target binds to.
    """
    body: dict[str, Any] = {"__call__": staticmethod(call), "__module__": __name__}
    if hasattr(type(target), "__get__"):

        def bind(self: CallableProxy, instance: object, owner: type | None = None) -> Any:
            return _bind(self, around, instance, owner)

        body["__get__"] = bind
    made: CallableProxy = type("CallableProxy", (CallableProxy,), body)(target)
    return made


def _bind(self: CallableProxy, around: Callable[[Call], Call], instance: object, owner: type | None) -> Any:
    target = self.__wrapped__
    bound = type(target).__get__(target, instance, owner)
    if bound is target:
        return self
    if type(bound) is types.MethodType and bound.__func__ is target:
        return types.MethodType(cast("Call", self), bound.__self__)
    if instance is None:
        return proxy(bound, around(bound), around)

    # The arguments that are told hold the instance first, as those of every method do.
    def unbound(_: object, /, *args: Any, **kwargs: Any) -> Any:
        return bound(*args, **kwargs)

    return proxy(bound, functools.partial(around(unbound), instance), around)


def _importable_name(watched: CallableProxy) -> tuple[str, str]:
    """Return module and name under which ``watched`` can be imported."""
    own = getattr(watched, "__module__", None)
    name = getattr(watched, "__qualname__", None)
    if isinstance(own, str) and isinstance(name, str) and _looked_up(own, name) is watched:
        return own, name
    for module, contents in list(sys.modules.items()):
        for key, value in list(getattr(contents, "__dict__", {}).items()):
            if value is watched:
                return module, key
    raise pickle.PicklingError(
        f"a watched {type(watched.__wrapped__).__qualname__} is pickled by its name: "
        "keep it in a global variable of an importable module"
    )


def _looked_up(module: str, name: str) -> object:
    try:
        return attrgetter(name)(sys.modules[module])
    except (KeyError, AttributeError):
        return None


def _by_name(module: str, name: str) -> object:
    return attrgetter(name)(importlib.import_module(module))


class AwaitableProxy(_Proxy):
    """Stand in for an awaitable of some library; the first ``await`` goes through ``observed()``.

    Copies and pickles are those of the awaitable itself.
    """

    def __init__(self, awaitable: Any, observed: Callable[[], Any]) -> None:
        super().__init__(awaitable)
        self._self_observed: Callable[[], Any] | None = observed

    def __await__(self) -> Generator[Any, Any, Any]:
        observed, self._self_observed = self._self_observed, None
        awaited: Generator[Any, Any, Any] = (self.__wrapped__ if observed is None else observed()).__await__()
        return awaited

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __copy__(self) -> Any:
        return copy.copy(self.__wrapped__)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self.__wrapped__, memo)

    def __reduce__(self) -> Any:
        return self.__wrapped__.__reduce__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__wrapped__.__reduce_ex__(protocol)
