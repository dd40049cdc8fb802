"""A consumer's assertions: named predicates on the live payload, called in the tool's thread.

They are the only code of a user that is called with a response. The payload is not kept, and what a predicate raises
counts as no. ``Consumer`` checks them at construction and asks them.
"""

from __future__ import annotations

import inspect
import types
from typing import TYPE_CHECKING, Any

from toolpulse._base.classes import attribute
from toolpulse.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def checked_assertions(
    assertions: Mapping[str, Callable[[Any], object]],
) -> dict[str, Callable[[Any], object]]:
    """A copy of the assertions. Raises ConfigurationError where one is no name with a callable that answers."""
    for name, predicate in assertions.items():
        if not isinstance(name, str) or not callable(predicate):
            raise ConfigurationError(f"consumer: assertions[{name!r}] must be a name and a callable")
        if any(_gives_no_answer(function) for function in (predicate, getattr(predicate, "__call__", None))):  # noqa: B004
            raise ConfigurationError(
                f"consumer: assertions[{name!r}] is an async function or a generator function; "
                "nobody waits for what it gives: take a plain function that returns true or false"
            )
    return dict(assertions)


def _gives_no_answer(function: object) -> bool:
    return (
        inspect.iscoroutinefunction(function)
        or inspect.isasyncgenfunction(function)
        or inspect.isgeneratorfunction(function)
    )


def holds(assertion: Callable[[Any], object], payload: object) -> bool:
    """Whether an assertion says yes to a payload; one that raises, or gives an awaitable or a generator, does not."""
    try:
        answer = assertion(payload)
        return _drop(answer) if _is_promise(type(answer)) else bool(answer)
    except Exception:  # noqa: BLE001 - an assertion that raises does not hold
        return False


def _is_promise(kind: type) -> bool:
    """Whether values of a type stand for an answer still to come; they are all true."""
    generator = kind is types.GeneratorType or kind is types.AsyncGeneratorType
    return generator or any(attribute(kind, key) is not None for key in ("__await__", "add_done_callback"))


def _drop(promise: Any) -> bool:
    """Close what nobody will wait for, so that the interpreter does not complain of it; False."""
    if type(promise) is types.CoroutineType or type(promise) is types.GeneratorType:
        promise.close()
    return False
