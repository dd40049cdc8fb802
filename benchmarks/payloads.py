"""Fixed responses to measure with: seeded, so that every run on every machine measures the same data.

A payload is kept as JSON text. ``fresh`` parses it anew for each call that is timed, as a client library would:
equal objects that share no container, no number and no key with those before, so that nothing is known of them by
identity.
"""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any, Final

SEED: Final = 20240501

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz     "

_ONE_THOUSAND: Final = 1_000


class Payload:
    """One response: its name in the tables, its text, and how often its elements are repeated."""

    def __init__(self, name: str, value: Any, times: int = 1) -> None:
        self.name = name
        self.text = json.dumps(value)
        self.times = times

    @property
    def bytes(self) -> int:
        """The length of its JSON."""
        return len(self.text) * self.times

    def fresh(self) -> Any:
        """An equal object that shares nothing with the last one."""
        value = json.loads(self.text)
        # A million parsed records would take more memory than the walk ever sees; only list slots are multiplied.
        return value * self.times if self.times > 1 else value

    def many(self, count: int) -> list[Any]:
        """``count`` of them."""
        return [self.fresh() for _ in range(count)]


@cache
def payloads() -> dict[str, Payload]:
    """All payloads by name, smallest first where that means something."""
    rng = random.Random(SEED)
    thousand = [{"id": index, "score": rng.random(), "name": _words(rng, 12)} for index in range(_ONE_THOUSAND)]
    made = (
        Payload("tiny", {"ok": True, "id": "req_f31a", "count": 3}),
        Payload("10 fields", _flat(rng, 0)),
        Payload("54 KB search", _search(rng, nested=False)),
        Payload("54 KB nested", _search(rng, nested=True)),
        Payload("100 optional", [_optional(rng) for _ in range(100)]),
        Payload("depth 50", _deep(50)),
        Payload("map of 1,000", {f"user_{90_000 + index}": _flat(rng, index) for index in range(_ONE_THOUSAND)}),
        Payload("1,000 elements", thousand),
        Payload("1,000,000 elements", thousand, times=1_000),
    )
    return {payload.name: payload for payload in made}


def _words(rng: random.Random, length: int) -> str:
    return "".join(rng.choices(_LETTERS, k=length))


def _flat(rng: random.Random, index: int) -> dict[str, Any]:
    return {
        "id": f"doc_{index}",
        "title": _words(rng, 40),
        "score": rng.random(),
        "rank": index,
        "cached": rng.random() < 0.5,
        "kind": "page",
        "language": "en",
        "published": "2024-05-01T09:30:00Z",
        "clicks": rng.randrange(10_000),
        "parent": None,
    }


def _search(rng: random.Random, *, nested: bool) -> dict[str, Any]:
    """A page of 100 results. ``nested`` ones hold a record and an array each, so that no result is scalars only."""
    results = []
    for index in range(100):
        result = _flat(rng, index) | {"snippet": _words(rng, 240 if nested else 318)}
        if nested:
            result["source"] = {"name": _words(rng, 10), "country": "ch", "trust": rng.random()}
            result["tags"] = [_words(rng, 6).strip() for _ in range(3)]
        results.append(result)
    return {"query": "retry budgets", "total": 4812, "took_ms": 12.5, "results": results, "request_id": "req_f31a"}


def _optional(rng: random.Random) -> dict[str, Any]:
    """A record of which any of ten fields may be absent: nearly every one has a shape of its own."""
    return {"id": rng.randrange(10**6)} | {name: 1.5 for name in "abcdefghij" if rng.random() < 0.5}


def _deep(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = {"level": level, "inner": value}
    return value
