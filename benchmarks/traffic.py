"""Synthetic traffic with planted changes: what is told, and after how many calls.

    python -m benchmarks.traffic [--seeds 3] [--quick] [--curves]

Each scenario is a seeded stream of responses through a live monitor, one call at a time. Beside the incidents it prints
what two plain rules would have said: an alert for every whole-response shape not seen before (hash), and an alert for
every field that was in all of the last 20 responses and is absent now (presence).
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from toolpulse import Monitor, fingerprint
from toolpulse.events import DriftEvent

Responses = Iterator[Any]


class Scenario(NamedTuple):
    """A stream, when the planted change comes (the call it first may show at; 0: never), and what is wanted of it."""

    name: str
    make: Callable[[random.Random], Responses]
    changed: int = 0
    least: int = 0
    most: int = 0
    """Incidents worse than info that are wanted: from ``least`` to ``most``."""
    median: int = 0
    """The median delay in calls that is wanted at most; 0: none is set."""
    longest: int = 0


class Result(NamedTuple):
    """What one run gave."""

    incidents: int
    delay: int | None
    events: tuple[DriftEvent, ...]
    infos: int
    hashes: int
    presence: int


def item(rng: random.Random, **more: Any) -> dict[str, Any]:
    """A search hit."""
    return {"id": f"doc_{rng.randrange(999)}", "score": rng.random(), "title": "t", **more}


def optional(rate: float, calls: int, *, gone_after: int = 0) -> Callable[[random.Random], Responses]:
    """A record whose field ``note`` is there at a rate, and never after some call."""

    def make(rng: random.Random) -> Responses:
        for call in range(calls):
            there = rng.random() < rate and not (gone_after and call >= gone_after)
            yield {"id": "x", "total": call, **({"note": "n"} if there else {})}

    return make


def twelve_optional(rng: random.Random) -> Responses:
    """Twelve fields that come and go on their own, at 5 to 60%."""
    rates = [0.05 + 0.05 * index for index in range(12)]
    for _ in range(20_000):
        yield {"id": "x", "kind": "k", **{f"f{i}": 1 for i, rate in enumerate(rates) if rng.random() < rate}}


def array_empty(rate: float, calls: int, *, always_after: int = 0) -> Callable[[random.Random], Responses]:
    """A list of hits that is empty at a rate, and always after some call."""

    def make(rng: random.Random) -> Responses:
        for call in range(calls):
            empty = rng.random() < rate or (always_after and call >= always_after)
            yield {"total": call, "results": [] if empty else [item(rng)]}

    return make


def value_null(rate: float, calls: int, *, always_after: int = 0) -> Callable[[random.Random], Responses]:
    """A field that is null at a rate, and always after some call."""

    def make(rng: random.Random) -> Responses:
        for call in range(calls):
            # the warm-up sees one null; where it saw none, the first null later is the incident already
            null = rng.random() < rate or (always_after and (call >= always_after or call == 3))
            yield {"id": "x", "price": None if null else rng.random()}

    return make


def numbers_alternate(rng: random.Random) -> Responses:
    """Whole and fractional numbers in one field."""
    for _ in range(5_000):
        yield {"id": "x", "price": rng.choice([1, 1.5])}


def map_of(size: int) -> Callable[[random.Random], Responses]:
    """A map with that many keys, most of them new in each response."""

    def make(rng: random.Random) -> Responses:
        for _ in range(2_000):
            yield {"id": "x", "scores": {_word(rng): {"a": 1, "b": rng.random()} for _ in range(size)}}

    return make


def _word(rng: random.Random) -> str:
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(8))


def forty_stable(rng: random.Random) -> Responses:
    """A wide record of one kind: no map, for its keys stay."""
    for _ in range(2_000):
        yield {f"metric_{chr(97 + i % 26)}{chr(97 + i // 26)}": rng.random() for i in range(40)}


def map_gains_field(rng: random.Random) -> Responses:
    """The values of a map gain a field."""
    for call in range(3_000):
        more = {"c": 1} if call >= 1_500 else {}
        yield {"id": "x", "scores": {_word(rng): {"a": 1, "b": 2, **more} for _ in range(rng.randrange(1, 9))}}


def slow_drip(rng: random.Random) -> Responses:
    """Forty fields are added over time."""
    for call in range(8_000):
        yield {"id": "x", **{f"added{i}": 1 for i in range(min(40, call // 150))}}


def starts_empty(rng: random.Random) -> Responses:
    """The first ten calls find nothing."""
    for call in range(3_000):
        yield {"results": [] if call < 10 else [item(rng) for _ in range(rng.randrange(4))]}


def object_added_later(rng: random.Random) -> Responses:
    """An object with optional fields inside is added to a known response."""
    for call in range(6_000):
        inner = {"k": 1, **({"o": 1} if rng.random() < 0.3 else {}), **({"p": "x"} if rng.random() < 0.1 else {})}
        yield {"id": "x", **({"extra": inner} if call >= 1_000 else {})}


def rare_parent(rng: random.Random) -> Responses:
    """An object in 3% of responses, with a child in half of them."""
    for _ in range(20_000):
        child = {"code": 1, **({"hint": "h"} if rng.random() < 0.5 else {})}
        yield {"id": "x", **({"warning": child} if rng.random() < 0.03 else {})}


def required_removed(rng: random.Random) -> Responses:
    """A field that was always there goes."""
    for call in range(1_500):
        yield {"id": "x", **({"score": 1.0} if call < 1_000 else {})}


def added_then_removed(rng: random.Random) -> Responses:
    """A field is added, stays in every response, and goes again."""
    for call in range(3_000):
        yield {"id": "x", **({"later": 1} if 1_000 <= call < 2_000 else {})}


def rollout(rng: random.Random) -> Responses:
    """A changed shape takes over, from 5 to 100% of responses."""
    for call in range(4_000):
        share = 0 if call < 1_000 else 0.05 + 0.95 * min(1.0, (call - 1_000) / 2_000)
        yield {"id": "x", "score": "high" if rng.random() < share else 0.5}


def union_member(rng: random.Random) -> Responses:
    """A new kind of block appears in a list of five kinds, beside known ones."""
    blocks: list[dict[str, Any]] = [{"type": t, t: {"v": 1}} for t in ("text", "image", "table", "quote", "code")]
    for call in range(2_000):
        page = rng.sample(blocks, rng.randrange(1, 5))
        yield {"blocks": [*page, {"type": "embed", "embed": {"url": "u"}}] if call >= 1_000 and call % 7 == 0 else page}


def error_object(rng: random.Random) -> Responses:
    """An error object in place of the data, its own fields optional."""
    for call in range(2_000):
        if call >= 1_000 and rng.random() < 0.2:
            yield {"error": {"code": 5, **({"hint": "h"} if rng.random() < 0.5 else {})}}
        else:
            yield {"id": "x", "data": [item(rng)], **({"next": "n"} if rng.random() < 0.5 else {})}


def two_shapes(rng: random.Random) -> Responses:
    """Two kinds of response under one name, one of them rare."""
    for _ in range(10_000):
        yield {"error_code": 1, "reason": "r"} if rng.random() < 0.02 else {"id": "x", "score": 0.5}


def twelve_bits(rng: random.Random) -> Responses:
    """Every combination of twelve fields: 4,096 shapes."""
    for _ in range(20_000):
        bits = rng.getrandbits(12)
        yield {"id": "x", "kind": "k", **{f"f{i}": 1 for i in range(12) if bits >> i & 1}}


SCENARIOS = (
    Scenario("optional field at 30%", optional(0.3, 20_000)),
    Scenario("12 optional fields at 5 to 60%", twelve_optional),
    Scenario("array empty in 60%", array_empty(0.6, 10_000)),
    Scenario("null in 40%", value_null(0.4, 10_000)),
    Scenario("integer and number alternate", numbers_alternate),
    Scenario("map with 3 changing keys", map_of(3)),
    Scenario("map with 30 changing keys", map_of(30)),
    Scenario("map with 300 changing keys", map_of(300)),
    Scenario("record of 40 stable keys", forty_stable),
    Scenario("map gains an inner field", map_gains_field),
    Scenario("slow drip of 40 added fields", slow_drip),
    Scenario("first 10 calls are empty", starts_empty),
    Scenario("object added with optional fields", object_added_later),
    Scenario("rare parent, optional child", rare_parent),
    Scenario("4,096 combinations of fields", twelve_bits),
    Scenario("required field removed", required_removed, 1_000, 1, 1, 1, 1),
    Scenario("30% field gone", optional(0.3, 4_000, gone_after=2_000), 2_000, 1, 1, 45),
    Scenario("1% field gone", optional(0.01, 8_000, gone_after=5_000), 5_000, 1, 1, 1_300, 1_800),
    Scenario("array always empty", array_empty(0.6, 2_000, always_after=1_000), 1_000, 1, 1, 30, 30),
    Scenario("always null", value_null(0.15, 2_000, always_after=1_000), 1_000, 1, 1, 10, 10),
    Scenario("added field removed", added_then_removed, 2_000, 1, 1, 1, 1),
    Scenario("rollout of a changed shape", rollout, 1_000, 1, 1),
    Scenario("new member of a union", union_member, 1_000, 1, 1),
    Scenario("error object for data", error_object, 1_000, 1, 1),
    Scenario("null in 1%", value_null(0.01, 10_000), 0, 0, 1),
    Scenario("array empty in 2%", array_empty(0.02, 10_000), 0, 0, 1),
    Scenario("two top-level shapes, 2%", two_shapes, 0, 0, 2),
)


class _Events:
    def __init__(self) -> None:
        self.seen: list[tuple[int, DriftEvent]] = []
        self.call = 0

    def emit(self, event: DriftEvent) -> None:
        self.seen.append((self.call, event))


def run(scenario: Scenario, seed: int, *, confirm: int = 1, plain: bool = True) -> Result:
    """Play one scenario once. The delay is that of the first incident after the change, in calls, 1 for at once."""
    sink = _Events()
    monitor = Monitor("memory:", sinks=[sink], background=False, confirm=confirm)
    known: set[str] = set()
    hashes = presence = 0
    recent: deque[frozenset[str]] = deque(maxlen=20)
    for call, response in enumerate(scenario.make(random.Random(seed))):
        sink.call = call
        monitor.observe("tool", response, unwrap="none")
        if plain:
            mark = fingerprint(response)
            hashes += mark not in known and call >= 10
            known.add(mark)
            keys = frozenset(response)
            always = frozenset.intersection(*recent) if len(recent) == 20 else frozenset()
            presence += bool(always - keys)
            recent.append(keys)
    monitor.close()
    opened = [(call, e) for call, e in sink.seen if e.status == "open"]
    news = [(call, e) for call, e in opened if e.risk.is_news]
    after = [call - scenario.changed + 1 for call, _ in news if call >= scenario.changed]
    delay = min(after) if scenario.changed and after else None
    infos = sum(e.status == "noted" for _, e in sink.seen)
    return Result(len(news), delay, tuple(e for _, e in news), infos, hashes, presence)


RATES = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
CONFIRM = (1, 2, 5, 10)


def curves(seeds: int, calls: int = 2_000) -> None:
    """The known cost: how often a field that is nearly always there raises one ``high``, by ``confirm``; and the delay.

    Such a field can be there ten times running and then be taken for one that always is. ``confirm=k`` waits for k
    observations, which makes it rarer and tells of a real removal k calls after it.
    """
    print(f"{'field there in':16}" + "".join(f"{f'confirm={k}':>16}" for k in CONFIRM))
    for rate in RATES:
        cells = []
        for confirm in CONFIRM:
            scenario = Scenario("", optional(rate, calls))
            counts = [run(scenario, seed, confirm=confirm, plain=False).incidents for seed in range(seeds)]
            cells.append(f"{sum(c > 0 for c in counts) / seeds:.0%}, at most {max(counts)}")
        print(f"{rate:<16.0%}" + "".join(f"{cell:>16}" for cell in cells))
    delays = [run(Scenario("", required_removed, 1_000), 0, confirm=k, plain=False).delay for k in CONFIRM]
    print(f"{'delay, removed':16}" + "".join(f"{f'{d} calls':>16}" for d in delays))


def main(argv: list[str] | None = None) -> int:
    """Print the table; 1 where a scenario is not as wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one seed, without the plain rules")
    parser.add_argument("--curves", action="store_true", help="only the known cost over the rate of a field")
    options = parser.parse_args(argv)
    if options.curves:
        curves(options.seeds)
        return 0
    seeds = range(1) if options.quick else range(options.seeds)
    print(f"{'scenario':36}{'wanted':>8}{'incidents':>14}{'delay':>16}{'info':>6}{'hash':>8}{'presence':>10}")
    wrong = 0
    for scenario in SCENARIOS:
        results = [run(scenario, seed, plain=not options.quick) for seed in seeds]
        ok = all(scenario.least <= r.incidents <= scenario.most for r in results)
        delays = [r.delay for r in results if r.delay is not None]
        median = statistics.median(delays) if delays else 0
        ok &= not (scenario.median and (median > scenario.median or len(delays) < len(results)))
        ok &= not (scenario.longest and max(delays, default=0) > scenario.longest)
        wrong += not ok
        wanted = str(scenario.most) if scenario.least == scenario.most else f"{scenario.least}..{scenario.most}"
        told = "/".join(str(r.incidents) for r in results)
        shown = f"{median:g} (max {max(delays)})" if delays else ""
        last = results[-1]
        mark = "" if ok else "  <- not as wanted"
        plain = f"{last.infos:>6}{last.hashes:>8}{last.presence:>10}"
        print(f"{scenario.name:36}{wanted:>8}{told:>14}{shown:>16}{plain}{mark}")
        if not ok:
            for result in results:
                for event in result.events[:3]:
                    print(f"    {event.risk}: {event.summary} ({event.changes[0].evidence})")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
