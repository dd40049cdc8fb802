"""What watching adds to a call, by kind of callable and size of response.

``off`` is a watched call while the switch is off, ``background`` one with a worker that judges beside it, ``inline``
one that judges, tells and saves before the call returns. All judge against a memory store, after the warm-up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from benchmarks.payloads import payloads
from benchmarks.timing import Side, Timed, compare, options, table
from toolpulse import Monitor, set_active

PAYLOADS = ("tiny", "54 KB search")
_WARM_UP = 20


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    args = options(__doc__, argv, rounds=(25, "rounds, of which the median counts"))
    rounds = 1 if args.quick else args.rounds
    rows = []
    for payload in PAYLOADS:
        calls = 2 if args.quick else max(5, 20_000 // payloads()[payload].bytes)
        for kind in KINDS:
            off, watched = measure(kind, payload, rounds, calls)
            plain = watched.micros[-1]
            added = [off.micros[0] - off.micros[-1], *(micros - plain for micros in watched.micros[:-1])]
            rows.append((f"{kind}, {payload}", plain, *added, watched.ratios[0]))
    head = ("callable", "plain", "+ off", "+ background", "+ inline", "background/plain")
    table("microseconds a call, and what watching adds", head, rows)
    return 0


def measure(kind: str, payload: str, rounds: int, calls: int) -> tuple[Timed, Timed]:
    """Time off beside plain, then background and inline beside plain."""
    make, call = KINDS[kind]
    response = payloads()[payload]
    with Monitor("memory:", sinks=[]) as beside, Monitor("memory:", sinks=[], background=False) as inline:
        plain, *watched = (partial(call, tool) for tool in (make(_unwatched), make(beside.watch), make(inline.watch)))
        for side in watched:
            for _ in range(_WARM_UP):
                side(response.fresh())
        beside.flush()
        with set_active(False):
            off = _compare((watched[0], plain), response.many, rounds, calls)
        return off, _compare((*watched, plain), response.many, rounds, calls)


def _compare(sides: Sequence[Side], many: Callable[[int], list[Any]], rounds: int, calls: int) -> Timed:
    return compare(lambda count: [many(count) for _ in sides], sides, rounds, calls)


def _unwatched(tool: Any) -> Any:
    return tool


def _sync(watch: Callable[[Any], Any]) -> Any:
    @watch
    def tool(value: Any) -> Any:
        return value

    return tool


def _async(watch: Callable[[Any], Any]) -> Any:
    @watch
    async def tool(value: Any) -> Any:
        return value

    return tool


def _method(watch: Callable[[Any], Any]) -> Any:
    class Tools:
        @watch
        def tool(self, value: Any) -> Any:
            return value

    return Tools().tool


def _generator(watch: Callable[[Any], Any]) -> Any:
    @watch
    def tool(value: Any) -> Any:
        yield from value.get("results", (value,))

    return tool


def _call(tool: Any, value: Any) -> Any:
    return tool(value)


def _await(tool: Any, value: Any) -> Any:
    """Run a coroutine that waits for nothing; an event loop would cost more than what is measured."""
    try:
        tool(value).send(None)
    except StopIteration as stop:
        return stop.value


def _drain(tool: Any, value: Any) -> Any:
    for _ in tool(value):
        pass


KINDS: dict[str, tuple[Callable[[Callable[[Any], Any]], Any], Callable[[Any, Any], Any]]] = {
    "function": (_sync, _call),
    "async function": (_async, _await),
    "method": (_method, _call),
    "generator": (_generator, _drain),
}


if __name__ == "__main__":
    raise SystemExit(main())
