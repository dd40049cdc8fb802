"""What is known of a response that is still to come: awaitables, futures, async generators not yet begun."""

from __future__ import annotations

import sys
import types
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from toolpulse.decorator.probe import Probe
from toolpulse.errors import DriftError


def is_awaitable(kind: type) -> bool:
    """Tell whether instances of ``kind`` can be awaited, without touching one."""
    # The first question is quick and answers nearly always; a metaclass may lie to it, or raise.
    try:
        return hasattr(kind, "__await__") and issubclass(kind, Awaitable)
    except Exception:  # noqa: BLE001 - a hostile metaclass must not fail the tool
        return False


def is_promise(kind: type) -> bool:
    """Tell whether an instance of ``kind`` stands for a response that is still to come."""
    return kind in {types.GeneratorType, types.AsyncGeneratorType} or issubclass(kind, Future) or is_awaitable(kind)


def when_done(
    future: Any, cancellation: type[BaseException], probe: Probe, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Tell ``probe`` the end of a future of asyncio or of a thread pool, at once if it is there already."""

    def observe() -> None:
        if future.cancelled():
            probe.raised(cancellation(), args, kwargs)
        # Not exception(): asking a task marks its error as retrieved and silences the warning about it.
        elif (error := future._exception) is not None:  # noqa: SLF001
            probe.raised(error, args, kwargs)
        elif not is_promise(type(result := future.result())):
            probe.returned(result, args, kwargs)

    def observe_later(_: object) -> None:
        # Nobody waits here, and the event loop would log the error with the result's repr.
        with suppress(DriftError):
            observe()

    if future.done():
        observe()
    else:
        future.add_done_callback(observe_later)


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
