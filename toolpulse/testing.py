"""Help for tests: of code whose tools are watched, and of sinks, stores and tools that must not leak a value.

``recording`` puts a monitor in place that judges at once and keeps its events. ``canaries`` and ``assert_no_canary``
prove that no value and no map key of a response is kept. ``responses`` and ``shapes`` are Hypothesis strategies; they
need Hypothesis, nothing else here does.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import pickle
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from toolpulse.events import DriftEvent
from toolpulse.runtime.monitor import Monitor
from toolpulse.runtime.process import process
from toolpulse.runtime.settings import MonitorSettings, signature_of, takes
from toolpulse.runtime.switch import set_active
from toolpulse.shape.nodes import UNKNOWN, Array, Map, Object, Scalar, Shape
from toolpulse.stores.base import Store

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "CANARY",
    "CANARY_NUMBERS",
    "Planted",
    "RecordingMonitor",
    "assert_no_canary",
    "canaries",
    "recording",
    "responses",
    "shapes",
]

CANARY: Final = "cAn4ryS1ng5"
"""The text that is planted in values and map keys, and in no field name."""

CANARY_NUMBERS: Final = (7340917263518449, 7340917263.518449)
"""The numbers that are planted."""


class _Kept:
    def __init__(self) -> None:
        self.events: list[DriftEvent] = []

    def emit(self, event: DriftEvent) -> None:
        self.events.append(event)


class RecordingSettings(MonitorSettings, frozen=True, kw_only=True):
    """The settings of ``Monitor`` with the defaults of a test."""

    store: str | Store | None = "memory:"
    background: bool = False
    save_on_signals: bool = False


class RecordingMonitor(Monitor):
    """A monitor that judges inside the call, remembers in memory, and keeps its events.

    Takes the settings of ``Monitor``, by name; sinks that are named are given the events as well.
    """

    @takes(RecordingSettings)
    def __init__(self, settings: RecordingSettings) -> None:
        kept = _Kept()
        self.events = kept.events
        """What was reported so far, in order."""
        sinks = [kept, *(settings.sinks or ())]
        super().__init__(**{**msgspec.structs.asdict(settings), "sinks": sinks})

    @property
    def drift(self) -> list[DriftEvent]:
        """The events that tell of an incident."""
        return [event for event in self.events if event.incident is not None]


@signature_of(RecordingMonitor)
@contextmanager
def recording(**settings: Any) -> Iterator[RecordingMonitor]:
    """Inside the block watched tools report to the monitor it gives, and watching is on; after it all is as before.

    ``settings`` are those of ``Monitor``. Raises ConfigurationError for a wrong one.
    """
    monitor = RecordingMonitor(**settings)
    before = process.set(monitor)
    try:
        with set_active(True):
            yield monitor
    finally:
        process.set(before)
        monitor.close()


@dataclasses.dataclass
class Planted:
    """A record with canaries in its fields, the field that is left out of ``repr`` included."""

    name: str
    number: float
    secret: str = dataclasses.field(default=CANARY, repr=False)


def canaries() -> dict[str, object]:
    """Responses with canaries planted in values and map keys, by what they show; new objects at every call."""
    whole, part = CANARY_NUMBERS
    return {
        "text": CANARY,
        "a number": whole,
        "a fraction": part,
        "bytes": CANARY.encode(),
        "a list": [CANARY, whole, part, CANARY.encode(), None],
        "a record": {"name": CANARY, "number": whole, "share": part, "raw": CANARY.encode()},
        "nested": {"results": [{"title": CANARY, "tags": [[CANARY], [whole]]}, {"title": None, "tags": []}]},
        "JSON text": json.dumps({"name": CANARY, "number": whole}),
        "JSON text inside": {"body": json.dumps([CANARY, {f"{CANARY}@example.org": part}])},
        "broken JSON text": '{"name": "' + CANARY,
        "a map by e-mail": {"people": {f"{CANARY}{n}@example.org": {"age": n} for n in range(3)}},
        "a map by number": {"rows": {whole + n: {"name": CANARY} for n in range(2)}},
        "a map by URL": {f"https://example.org/{CANARY}": [CANARY]},
        "a map by its size": {f"{CANARY}{'x' * n}": n for n in range(300)},
        "a dataclass": Planted(CANARY, part),
        "a tuple in a set": {(CANARY, whole)},
        "an MCP result": {"content": [{"type": "text", "text": json.dumps({"name": CANARY})}], "isError": False},
        "an MCP error": {"content": [{"type": "text", "text": f"no {CANARY} here"}], "isError": True},
        "an exception": ValueError(f"bad value {CANARY}", whole),
    }


def assert_no_canary(*things: object) -> None:
    """Raise AssertionError where a canary is found in one of ``things``, in whatever form.

    Text and bytes are searched as they are, a Path is read (a folder with all its files), and of any other object its
    ``repr``, its pickle where it has one, and everything it refers to.
    """
    for thing in things:
        for where, text in _texts(thing):
            for needle in _NEEDLES:
                if needle in text:
                    raise AssertionError(f"a canary ({needle.decode()}) in {where}")


_NEEDLES: Final = tuple(str(needle).encode() for needle in (CANARY, *CANARY_NUMBERS))

_OUTSIDE: Final = (type, types.ModuleType, types.FunctionType, types.CodeType, types.FrameType)
"""What leads out of an object into the program that made it."""


def _texts(thing: object) -> Iterator[tuple[str, bytes]]:
    """Everything to be searched, and where it was."""
    name = type(thing).__qualname__
    if isinstance(thing, Path):
        for file in sorted(thing.rglob("*")) if thing.is_dir() else [thing]:
            if file.is_file():
                yield str(file), file.read_bytes()
        return
    if not isinstance(thing, str | bytes | bytearray):
        yield f"repr of {name}", repr(thing).encode("utf-8", "backslashreplace")
        with suppress(Exception):  # many objects have no pickle
            yield f"pickle of {name}", pickle.dumps(thing, 0)  # this protocol writes all as text
    for leaf in _leaves(thing):
        yield f"what {name} refers to", leaf


def _leaves(thing: object) -> Iterator[bytes]:
    seen: dict[int, object] = {}
    waiting = [thing]
    while waiting:
        here = waiting.pop()
        if id(here) in seen or isinstance(here, _OUTSIDE):
            continue
        seen[id(here)] = here
        if isinstance(here, str):
            yield str.__str__(here).encode("utf-8", "surrogatepass")
        elif isinstance(here, bytes | bytearray):
            yield bytes(here)
        elif isinstance(here, int | float):
            yield repr(here).encode()
        else:
            waiting.extend(gc.get_referents(here))


def responses(*, max_leaves: int = 20) -> SearchStrategy[Any]:
    """Responses as JSON has them: scalars, arrays, objects with field names, nested. At most ``max_leaves`` scalars."""
    from hypothesis import strategies as st

    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_names(), inner, max_size=5),
        max_leaves=max_leaves,
    )


def shapes(*, max_leaves: int = 10) -> SearchStrategy[Shape]:
    """Shapes of responses: scalars, records, arrays, maps, and what was not looked at."""
    from hypothesis import strategies as st

    kinds = st.sampled_from(["null", "boolean", "integer", "number", "string", "bytes", "datetime"])
    scalars = st.builds(Scalar, kinds) | st.just(UNKNOWN)

    def containers(inner: SearchStrategy[Shape]) -> SearchStrategy[Shape]:
        members = st.frozensets(inner, max_size=3)
        records: SearchStrategy[Shape] = st.builds(Object, st.dictionaries(_names(), inner, max_size=4))
        return records | st.builds(Array, members) | st.builds(Map, members)

    return st.recursive(scalars, containers, max_leaves=max_leaves)


def _names() -> SearchStrategy[str]:
    from hypothesis import strategies as st

    return st.sampled_from(["id", "name", "items", "score", "total", "next", "a.b", "", "é"])
