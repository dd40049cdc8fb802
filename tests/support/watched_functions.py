# ruff: noqa: A001, D102, D103
"""Tools of every kind, in a module that is not the decorator's.

``watched_future`` runs the same source under ``from __future__ import annotations``.
"""

import abc
import asyncio
import functools
import types
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Generic, TypeVar

T = TypeVar("T")


class Forecast:
    def __init__(self, city):
        self.city = city


def plain(city: str, days: "int" = 2, *, unit: Annotated[str, "C or F"] = "C", **more: int) -> Forecast:
    """Say the weather.

    >>> plain("Oslo").city
    'Oslo'
    """
    return Forecast(city)


async def awaited(city: str, days: int = 2, *, unit: str = "C") -> Forecast:
    await asyncio.sleep(0)
    return Forecast(city)


def items(city: str, days: int = 2) -> Iterator[dict]:
    for day in range(days):
        yield {"city": city, "day": day}
    return "done"


async def async_items(city: str, days: int = 2) -> AsyncIterator[dict]:
    for day in range(days):
        await asyncio.sleep(0)
        yield {"city": city, "day": day}


def promised(city: str) -> "Forecast":
    return awaited(city)


def handed_items(city: str) -> Iterator[dict]:
    return items(city)


def handed_async_items(city: str) -> AsyncIterator[dict]:
    return async_items(city)


@types.coroutine
def iterable(city: str) -> Forecast:
    yield
    return Forecast(city)


def closure_over(prefix):
    def inner(city: str) -> Forecast:
        return Forecast(prefix + city)

    return inner


def countdown(n: int) -> list:
    return [n, *(countdown(n - 1) if n else [])]


def failing(error):
    raise error


async def failing_later(error):
    await asyncio.sleep(0)
    raise error


class Base(abc.ABC, Generic[T]):
    def method(self, city: str, days: int = 2) -> Forecast:
        return Forecast(city)

    async def async_method(self, city: str) -> Forecast:
        return Forecast(city)

    def method_items(self, city: str) -> Iterator[str]:
        yield city

    @classmethod
    def of_class(cls, city: str) -> Forecast:
        return Forecast(f"{cls.__name__} {city}")

    @staticmethod
    def of_none(city: str) -> Forecast:
        return Forecast(city)


class Child(Base[int]):
    def method(self, city: str, days: int = 3) -> Forecast:
        return super().method(city.upper(), days)


class CallableTool:
    def __call__(self, city: str, days: int = 2) -> Forecast:
        return Forecast(city)


class AsyncCallableTool:
    async def __call__(self, city: str) -> Forecast:
        await asyncio.sleep(0)
        return Forecast(city)


class GeneratorTool:
    def __call__(self, city: str) -> Iterator[str]:
        yield city


def partial_of(function, *args, **kwargs):
    return functools.partial(function, *args, **kwargs)


@functools.lru_cache
def cached(city: str) -> Forecast:
    return Forecast(city)


@functools.singledispatch
def dispatched(value) -> str:
    return "something"


@dispatched.register
def _(value: int) -> str:
    return "integer"


# A tool's module may use any name, and watched functions run with its globals.
BaseException = GeneratorExit = StopIteration = StopAsyncIteration = None
isinstance = type = watched = call = None
