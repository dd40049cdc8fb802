"""What is known of a response that is still to come: awaitables, futures, async generators not yet begun."""

from __future__ import annotations

import sys
import types
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, Final

from toolpulse._base.classes import attribute, has_own_access, module, mro, own_dict
from toolpulse.decorator.probe import Probe
from toolpulse.errors import DriftError


def is_awaitable(kind: type) -> bool:
    """Tell whether instances of ``kind`` can be awaited and followed, without touching one or asking its metaclass."""
    return attribute(kind, "__await__") is not None and not has_own_access(kind)


def is_coroutine(kind: type) -> bool:
    """Tell whether instances of an awaitable type are driven as coroutines are."""
    return all(attribute(type(attribute(kind, key)), "__call__") is not None for key in ("send", "throw", "close"))


def future_of(kind: type) -> type | None:
    """The class whose methods say how a future of type ``kind`` stands; None where it is none that can be followed.

    Where one of the standard library is among its bases it is that one: what a subclass overrides is not run.
    """
    if has_own_access(kind):
        return None
    if issubclass(kind, Future):
        return Future
    if attribute(kind, "_asyncio_future_blocking") is None:
        return None
    return next((base for base in mro(kind) if module(base) in _ASYNCIO), kind)


_ASYNCIO: Final = ("_asyncio", "asyncio.tasks", "asyncio.futures")


def is_promise(kind: type) -> bool:
    """Tell whether an instance of ``kind`` stands for a response that is still to come."""
    generator = kind is types.GeneratorType or kind is types.AsyncGeneratorType
    return generator or is_awaitable(kind) or future_of(kind) is not None


def when_done(future: Any, base: type, probe: Probe, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Tell ``probe`` the end of a future of asyncio or of a thread pool, at once if it is there already.

    ``base`` is what ``future_of`` gave. A future that fails when it is asked is told as a finished response.
    """

    def observe() -> None:
        try:
            error, result = _ended(future, base)
        except Exception as failure:  # noqa: BLE001 - of a future of some other library
            error, result = failure, None
        if error is not None:
            probe.raised(error, args, kwargs)
        elif not is_promise(type(result)):
            probe.returned(result, args, kwargs)

    def observe_later(_: object) -> None:
        # Nobody waits here, and the event loop would log the error with the result's repr.
        with suppress(DriftError):
            observe()

    try:
        ready = attribute(base, "done")(future)
        if not ready:
            attribute(base, "add_done_callback")(future, observe_later)
    except Exception:  # noqa: BLE001 - as above
        probe.returned(future, args, kwargs)
        return
    if ready:
        observe()


def _ended(future: Any, base: type) -> tuple[BaseException | None, Any]:
    """How a future that is done ended: its error, or its result."""
    if attribute(base, "cancelled")(future):
        return _cancellation(base), None
    # Not exception(): asking a task marks its error as retrieved and silences the warning about it.
    found = attribute(base, "_exception")
    error = found.__get__(future) if type(found) is types.GetSetDescriptorType else own_dict(future).get("_exception")
    return (error, None) if error is not None else (None, attribute(base, "result")(future))


def _cancellation(base: type) -> BaseException:
    if base is Future:
        return CancelledError()
    from asyncio import CancelledError as AsyncioCancelledError

    return AsyncioCancelledError()


def first_step(inner: AsyncGenerator[Any, Any]) -> Callable[[object], Awaitable[Any]]:
    """Return ``inner.asend`` for the first time, which does not tell the event loop of ``inner``.

    The loop closes at its end every async generator it was told of. Of two nested ones, closed at the same time, one
    would fail; the outer one is known to it and closes the inner one.
    """

    def step(sent: object) -> Awaitable[Any]:
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(None, None)
        try:
            return inner.asend(sent)
        finally:
            sys.set_asyncgen_hooks(*hooks)

    return step
