"""What every kind of watched callable is asked, and how its result is made comparable."""

from __future__ import annotations

import asyncio
import inspect

import pytest
import watched_functions
import watched_future

MODULES = pytest.mark.parametrize("module", [watched_functions, watched_future], ids=["plain", "pep563"])


QUESTIONS = (
    inspect.isfunction,
    inspect.ismethod,
    inspect.isroutine,
    inspect.iscoroutinefunction,
    inspect.isgeneratorfunction,
    inspect.isasyncgenfunction,
    inspect.isbuiltin,
    callable,
)


def outcome(result):
    """Drive what a tool returned to its end and make it comparable."""
    if inspect.isawaitable(result):

        async def wait():
            return await result

        return outcome(asyncio.run(wait()))
    if inspect.isasyncgen(result):

        async def drain():
            return [item async for item in result]

        return asyncio.run(drain())
    if inspect.isgenerator(result):
        found = []
        while True:
            try:
                found.append(next(result))
            except StopIteration as stop:
                return found, stop.value
    return vars(result) if hasattr(result, "city") else result
