"""Stores: many processes on one, what a call pays, and what flushing, loading and keeping a baseline takes.

SQLite is a file in a temporary folder. PostgreSQL is the server that the tests bring, on the same machine by a socket,
with ``fsync`` on; without the dev extra it is left out.
"""

from __future__ import annotations

import gc
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.bench_judge import rows_of
from benchmarks.payloads import payloads
from benchmarks.timing import once, options, table, verdict
from toolpulse import Monitor, shape_of
from toolpulse.evidence.rows import Row
from toolpulse.judgement.consumer import DEFAULT
from toolpulse.shape import Walker
from toolpulse.state.pending import TallyKey
from toolpulse.state.snapshot import EMPTY, Quarantined, Snapshot
from toolpulse.state.tool_state import ToolState
from toolpulse.stores import open_store

CALLER_RATIO: Final = 1.1
"""What a call may take with a durable store, to one with the store in memory."""

_PATIENCE: Final = 60.0
_OPTIONAL: Final = ("author", "rank", "clicks", "likes", "shares")

Urls = dict[str, Callable[[], str]]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    args = options(
        __doc__, argv, processes=(8, "processes"), calls=(20_000, "calls of each"), rounds=(9, "rounds, of medians")
    )
    if args.quick:
        args.processes, args.calls, args.rounds = 2, 200, 2
    shapes, paths = (5, 20) if args.quick else (200, 1000)
    with databases() as urls:
        fleets = [(name, *fleet(url(), args.processes, args.calls)) for name, url in urls.items()]
        table("processes on one store", ("store", "processes", "calls", "seconds", "calls/s", "counted"), fleets)
        called = [calling(urls, name, 300 if args.quick else 200_000, args.rounds) for name in ("tiny", "10 fields")]
        table("microseconds a call", ("payload", "memory", *(f"{n} (ratio)" for n in urls)), [row for row, _ in called])
        flushed = [(name, *flushing(url(), args.rounds)) for name, url in urls.items()]
        table("milliseconds a flush", ("store", "of 1 tool", "of 50 tools, each"), flushed)
        seconds = 0.1 if args.quick else 2.0
        crowd = args.processes
        ways = ((1, True), (crowd, True), (crowd, False))
        turns = [(name, *(turning(url(), *how, seconds) for how in ways)) for name, url in urls.items()]
        table("transactions a second", ("store", "1 writer", f"{crowd} writers", f"{crowd} on a tool each"), turns)
        loaded = [(name, *loading(url(), shapes, paths)) for name, url in urls.items()]
        steps = ("store", "save", "load", "fold", "follow none", "follow a row")
        table(f"milliseconds for {shapes} shapes of {paths} paths", steps, loaded)
        kept = [(name, *(keeping(url(), *what) for what in _kept(shapes, paths))) for name, url in urls.items()]
        table("kilobytes a tool", ("store", *(f"{s} x {p}{' twice' * t}" for s, p, t in _kept(shapes, paths))), kept)
    worst = max(ratio for _, ratios in called for ratio in ratios)
    return verdict([("a call to one in memory", worst, CALLER_RATIO)], check=args.check)


def _kept(shapes: int, paths: int) -> list[tuple[int, int, bool]]:
    """Shapes, paths, and whether as many are held again."""
    most = (shapes, paths, False)
    return [(1, 10, False), (5, paths // 20, False), (shapes, paths // 10, False), most, (shapes, paths, True)]


@contextmanager
def databases() -> Iterator[Urls]:
    """Gives, by the name of the store, what makes a new database and tells its URL."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        numbers = iter(range(1_000_000))
        urls: Urls = {"sqlite": lambda: f"sqlite:///{folder}/{next(numbers)}.db"}
        server = _server()
        if server is not None:
            stack.callback(server.close)
            urls["postgresql"] = lambda: server.url(server.new_database())
        yield urls


def _server() -> Any:
    sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
    try:
        from postgres import Server
    except ImportError:
        print("PostgreSQL is left out: the dev extra is not installed")
        return None
    server = Server()
    for statement in ("ALTER SYSTEM SET fsync = on", "SELECT pg_reload_conf()"):
        server.execute("postgres", statement)
    return server


def fleet(url: str, processes: int, calls: int) -> tuple[int, int, float, float, int]:
    """Have processes call one tool at the same time; asserts that the store counts every call and every shape."""
    context = multiprocessing.get_context("fork")
    start = context.Barrier(processes + 1)
    members = [context.Process(target=_member, args=(url, calls, start)) for _ in range(processes)]
    for member in members:
        member.start()
    start.wait(_PATIENCE)
    began = time.perf_counter()
    for member in members:
        member.join()
    seconds = time.perf_counter() - began
    store = open_store(url)
    known = store.load("loaded", "")
    store.close()
    assert known is not None
    expected = [calls * processes // len(_OPTIONAL)] * len(_OPTIONAL)
    assert sorted(row.count for row in known.rows.values()) == expected, "a shape was miscounted"
    assert known.observations == known.calls.calls == processes * calls, "a call was miscounted"
    return processes, processes * calls, seconds, processes * calls / seconds, known.observations


def _member(url: str, calls: int, start: Any) -> None:
    with Monitor(url, sinks=[]) as monitor:
        tool = monitor.watch(tool="loaded")(_tool)
        start.wait(_PATIENCE)
        for number in range(calls):
            tool(number)
        assert monitor.flush(_PATIENCE)


def _tool(number: int) -> dict[str, Any]:
    """One of five shapes."""
    response: dict[str, Any] = {"id": number, "name": "a document", "score": number * 0.5}
    response.update(dict.fromkeys(_OPTIONAL[: number % len(_OPTIONAL)], number))
    return response


def calling(urls: Urls, payload: str, calls: int, rounds: int) -> tuple[tuple[str, ...], list[float]]:
    """What a call takes with each store while its worker flushes: a row of the table, and the ratios to memory.

    The stores take turns, for more than a flush interval each, and the others rest meanwhile; the medians of the rounds
    and of their ratios count.
    """
    stores = {"memory": "memory:", **{name: url() for name, url in urls.items()}}
    monitors = {name: Monitor(url, sinks=[]) for name, url in stores.items()}
    tools = {name: monitor.watch(tool=f"called {payload}")(_given) for name, monitor in monitors.items()}
    times: dict[str, list[float]] = {name: [] for name in stores}
    for number in range(rounds + 1):
        order = list(stores) if number % 2 else list(stores)[::-1]
        for name in order:
            seconds = _calls(tools[name], payloads()[payload].many(calls // 10) * 10)
            assert monitors[name].flush(_PATIENCE)
            if number:  # the first learns
                times[name].append(seconds / calls * 1e6)
    for monitor in monitors.values():
        monitor.close()
    memory = times["memory"]
    ratios = {name: statistics.median(a / b for a, b in zip(times[name], memory, strict=True)) for name in urls}
    micros = {name: statistics.median(taken) for name, taken in times.items()}
    shown = (f"{micros[name]:.2f} ({ratio:.2f})" for name, ratio in ratios.items())
    return (payload, f"{micros['memory']:.2f}", *shown), list(ratios.values())


def _given(response: object) -> object:
    return response


def _calls(tool: Callable[[object], object], responses: Sequence[object]) -> float:
    gc.collect()
    gc.disable()
    try:
        began = time.perf_counter()
        for response in responses:
            tool(response)
        return time.perf_counter() - began
    finally:
        gc.enable()


def flushing(url: str, rounds: int) -> tuple[float, float]:
    """Milliseconds of a flush in which one tool has something to save, and of one with fifty, for each of them."""
    found = []
    for tools in (1, 50):
        with Monitor(url, sinks=[], flush_interval=10_000.0) as monitor:
            times = []
            for _ in range(rounds + 2):
                for tool in range(tools):
                    for number in range(20):
                        monitor.observe(f"tool {tools} {tool}", _tool(number))
                times.append(once(monitor.flush) / tools)
            found.append(statistics.median(times[2:]) * 1e3)
    return found[0], found[1]


def turning(url: str, writers: int, one_tool: bool, seconds: float) -> float:
    """Transactions a second that writers in processes of their own make, on one tool or on a tool each."""
    context = multiprocessing.get_context("fork")
    start = context.Barrier(writers)
    done = context.Array("q", writers)
    store = open_store(url)
    store.tools()  # makes the tables
    store.close()
    processes = [
        context.Process(target=_turns, args=(url, number, 0 if one_tool else number, seconds, start, done))
        for number in range(writers)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert all(process.exitcode == 0 for process in processes)
    return sum(done) / seconds


def _turns(url: str, writer: int, tool: int, seconds: float, start: Any, done: Any) -> None:
    store = open_store(url)
    row = Row(shape_of(_tool(4)).shape, 1, 1, 1)
    start.wait(_PATIENCE)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        with store.transaction(f"t {tool}", "", str(writer)) as transaction:
            transaction.save(_seen(transaction.now, row), (), transaction.saved + 1)
        done[writer] += 1
    store.close()


def _seen(now: Snapshot, row: Row) -> Snapshot:
    """One observation more of a shape."""
    known, last = now.rows.get(row.key), now.observations + 1
    first = known.first if known else last
    seen = msgspec.structs.replace(row, count=(known.count if known else 0) + 1, first=first, last=last)
    return msgspec.structs.replace(now, observations=last, rows={**now.rows, row.key: seen})


def loading(url: str, shapes: int, paths: int) -> tuple[float, ...]:
    """Milliseconds to save a baseline, to load and fold it as a new process does, and to follow what others wrote."""
    store = open_store(url)
    saved = once(partial(_save, store, _snapshot(shapes, paths)))
    store.close()
    gc.collect()  # or loading would find its shapes in memory
    store, other = open_store(url), open_store(url)
    store.tools()
    loaded = once(lambda: store.load("t", ""))
    live = ToolState("t", "", Walker(), (DEFAULT,))
    known = store.load("t", "")
    assert known is not None
    folded = once(lambda: live.follow(known))
    assert len(live.rows) == shapes
    nothing = statistics.median(once(partial(_follow, store, live)) for _ in range(5))
    row = next(iter(known.rows.values()))
    times = []
    for _ in range(5):
        with other.transaction("t", "", "w") as transaction:
            transaction.save(_seen(transaction.now, row), (), transaction.saved + 1)
        times.append(once(partial(_follow, store, live)))
    assert live.observations == known.observations + 5
    return tuple(seconds * 1e3 for seconds in (saved, loaded, folded, nothing, statistics.median(times)))


def _follow(store: Any, live: ToolState) -> None:
    with store.transaction("t", "", "v") as transaction:
        live.follow(transaction.now)


def _save(store: Any, snapshot: Snapshot, tool: str = "t") -> None:
    with store.transaction(tool, "", "w") as transaction:
        transaction.save(snapshot, (), 1)


def _snapshot(shapes: int, paths: int, *, held: bool = False) -> Snapshot:
    rows = rows_of(shapes, paths)
    again = (
        {TallyKey(row.shape, "json-text", (), ()): Quarantined(row, (), frozenset()) for row in rows} if held else {}
    )
    total = sum(row.count for row in rows)
    return msgspec.structs.replace(EMPTY, observations=total, rows={row.key: row for row in rows}, quarantined=again)


def keeping(url: str, shapes: int, paths: int, held: bool) -> float:
    """Kilobytes that a tool takes in a store beside those of an empty one; the mean of several where it is small."""
    tools = max(1, 2000 // (shapes * paths))
    store: Any = open_store(url)
    store.tools()
    store.close()  # SQLite moves what waits beside the file into it
    empty = store.size()
    for tool in range(tools):
        _save(store, _snapshot(shapes, paths, held=held), f"tool {tool}")
    store.close()
    size = store.size()
    store.close()
    return float(size - empty) / 1024 / tools


if __name__ == "__main__":
    raise SystemExit(main())
