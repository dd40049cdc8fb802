"""The worst single responses found so far: milliseconds in the caller's thread, met for the first time and known.

Families of responses that are built to cost much: trees of shapes that all differ, records that share nothing, long
and odd field names, wide objects, JSON text of every density. ``first`` is a walk by a walker that knows nothing, on
shapes that no walker met before; ``known`` is the same walk again. Both include looking through envelopes.
"""

from __future__ import annotations

import dataclasses
import gc
import itertools
import json
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from benchmarks.timing import options, table, verdict
from toolpulse.shape import Walker
from toolpulse.shape import text as text_limits
from toolpulse.shape.text import decoding_work

MOST: Final = 25.0
"""Milliseconds of processor time that any response may cost, first or known, the least of the rounds."""

_KINDS: Final = (1, 2.5, "a", None, True)
_ITEMS: Final = {
    "records": '{"id":1,"name":"abcdefgh","score":0.25}',
    "tiny records": '{"a":1}',
    "empty lists": "[]",
    "empty objects": "{}",
    "lists in lists": "[[[[[]]]]]",
    "digits": "7",
    "decimals": "0.1234567890123456789",
    "decimals with exponents": "1.7976931348623157e308",
    "great exponents": "1e300",
    "huge integers": "9" * 4_000,
    "integers of 250 digits": "9" * 250,
    "short text": '"ab"',
    "short text not ASCII": '"\u20ac\u20ac"',
    "long text": '"' + "lorem ipsum " * 100 + '"',
}
_NO_END: Final = 1 << 60
_serial = itertools.count()
"""Makes each response new: shapes that were met before are remembered by the whole process."""


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; with ``--check`` the exit code says whether the target is met."""
    args = options(__doc__, argv, rounds=(5, "rounds, of which the least counts"))
    rounds = 1 if args.quick else args.rounds
    found = {name: measure(make, rounds, quick=args.quick) for name, make in families().items()}
    table(
        "milliseconds of processor time a response, the least of the rounds",
        ("family", "first", "known", "cuts"),
        ((name, *row) for name, row in found.items()),
    )
    worst = max(max(first, known) for first, known, _ in found.values())
    return verdict((("the worst response, in milliseconds", worst, MOST),), check=args.check)


def measure(make: Callable[[], Any], rounds: int, *, quick: bool = False) -> tuple[float, float, str]:
    """The least milliseconds of a first walk and of a known one, and which limits cut it."""
    first, known = [], []
    cuts: set[str] = set()
    for _ in range(rounds):
        value, walker = make(), Walker()
        seconds, seen = _timed(walker, value)
        first.append(seconds)
        known.append(min(_timed(walker, value)[0] for _ in range(1 if quick else 3)))
        cuts = {cut.limit for cut in seen.truncations}
    return min(first) * 1e3, min(known) * 1e3, " ".join(sorted(cuts))


def _timed(walker: Walker, value: Any) -> tuple[float, Any]:
    gc.collect()
    start = time.thread_time()  # what others do on the machine is left out, as far as it can be
    seen = walker.observe(value, "auto")
    return time.thread_time() - start, seen


def families() -> dict[str, Callable[[], Any]]:
    """What makes each response, by name."""
    return {
        "distinct lists, 27 a level": lambda: _lists(27, 3),
        "distinct lists, 100 a level": lambda: _lists(100, 2),
        "distinct lists, 21 a level": lambda: _lists(21, 3),
        "distinct lists below 30 levels": lambda: _under(_lists(100, 2), 29),
        "100 x 100 nested records": _nested_records,
        "100 x 100 distinct records": lambda: _records(100, 100, 1),
        "100 x 60 distinct records of 3": lambda: _records(100, 60, 3),
        "100 x 100 records, names of 256": lambda: _records(100, 100, 1, "n" * 240),
        "100 x 100 records, names in escapes": lambda: _records(100, 100, 1, "\u0001" * 240),
        "100 x 100 records, names not ASCII": lambda: _records(100, 100, 1, "\U0001f600" * 240),
        "wide records, names of 256": _wide_records,
        "wide records below 30 levels": lambda: _under_distinct(_wide_records(), 29),
        "unions at every level": lambda: _unions(8, 3),
        "chains of 30 levels": _chains,
        "chains of 30 records": _record_chains,
        "names of 1 MB": lambda: [{"n" * 1_000_000 + str(next(_serial)): 1}] * 100,
        "names of 1 MB not ASCII": lambda: [{"\u20ac" * 1_000_000 + str(next(_serial)): 1}] * 100,
        "names like e-mail addresses": lambda: [_odd("a@" + "." * 500 + "{}/") for _ in range(100)],
        "names like hex": lambda: [[_odd("a" * 500 + "{}_") for _ in range(100)] for _ in range(100)],
        "maps of 256 long keys": lambda: [_map(256, "https://" + "a" * 490) for _ in range(100)],
        "maps of 256 stems": lambda: [[_map(256, "a_" * 240) for _ in range(20)] for _ in range(20)],
        "maps of 1,000 keys": lambda: [[_map(1_000, "k") for _ in range(20)] for _ in range(20)],
        "a map of 500,000 keys": lambda: _map(500_000, "key"),
        "integers as keys": lambda: [[dict.fromkeys(range(256)) for _ in range(20)] for _ in range(20)],
        "huge integers as keys": lambda: [{(1 << 8_100) + n: n for n in range(250)}] * 100,
        "lists of one, 20,000": lambda: [[_under(1, 10) for _ in range(20)] for _ in range(100)],
        "records in any order": lambda: _shuffled(7),
        "wide records in any order": lambda: _orders(80, 250),
        "256 places cut, 31 levels": lambda: _wide_chain(31),
        "a dataclass tree": _dataclasses,
        "a cycle of 100 lists": _cycle,
        **{f"text: {what}": partial(_filled, item) for what, item in _ITEMS.items()},
        "text: new keys": lambda: _fitting(_keys),
        "text: new keys in records": lambda: _fitting(_nested_keys),
        "text: one long escape": lambda: _fitting(lambda size: '["' + "\\u20ac" * (size // 6) + '"]'),
        "text: NaN behind lists": lambda: _fitting(lambda size: _text("[]", "NaN", size // 4)),
        "text: broken behind lists": lambda: _fitting(lambda size: _text("[]", "!", size)),
        "text: NaN behind 60 KB": lambda: _text("[]", "NaN", 60_000),
        "text: 4 MB of empty lists": lambda: _text("[]"),
        "text: 200 levels": lambda: "[" * 200 + "]" * 200,
        "text: a million open brackets": lambda: "[" * 1_000_000,
        "text: 4 MB of logs": lambda: "[INFO] started\n" * 280_000,
        "text: 40 MB": lambda: _text("[1]", size=40_000_000),
        "text: 1,000 blocks": lambda: _blocks(1_000, 4_000),
        "text: broken in 1,000 blocks": lambda: _blocks(1_000, 4_000, "!"),
        "text: in text, four times": lambda: _wrapped(_text("[]", size=60_000)),
        "text: distinct lists": lambda: json.dumps(_lists(24, 3)),
        "text: distinct records": lambda: json.dumps(_records(30, 30, 1, "n" * 240)),
    }


def _lists(width: int, levels: int) -> list[Any]:
    """A tree in which no two lists have the same shape: each leaf holds records of its own."""
    if levels == 0:
        return [{f"k{next(_serial)}": _KINDS[0]}]
    return [_lists(width, levels - 1) for _ in range(width)]


def _under(value: Any, levels: int) -> Any:
    for _ in range(levels):
        value = [value]
    return value


def _under_distinct(value: Any, levels: int) -> Any:
    """Below levels of lists that each hold more shapes than are kept, so that all of them are sorted."""
    for _ in range(levels):
        value = [value, *({f"z{next(_serial)}": 1} for _ in range(25))]
    return value


def _nested_records() -> list[Any]:
    return [[{"a": {"b": {"c": n}}, "d": [n, "x"], "e": {"f": None}} for n in range(100)] for _ in range(100)]


def _records(width: int, each: int, fields: int, stem: str = "") -> list[Any]:
    """Lists of records of which no two have a field in common."""
    return [[{f"{stem}f{next(_serial)}": n for n in range(fields)} for _ in range(each)] for _ in range(width)]


def _wide_records() -> list[Any]:
    return [{f"{'w' * 240}{next(_serial)}": 1 for _ in range(250)} for _ in range(80)]


def _unions(width: int, levels: int) -> Any:
    """A tree of records whose every list holds more than 20 shapes, some of them trees again."""
    if levels == 0:
        return {f"u{next(_serial)}": 1}
    leaves = [{f"u{next(_serial)}": kind} for kind in _KINDS * 4]
    return [{f"i{next(_serial)}": _unions(width, levels - 1), "j": leaves} for _ in range(width)] + leaves


def _chains() -> list[Any]:
    return [_under({f"c{next(_serial)}": 1}, 29) for _ in range(100)] * 100


def _record_chains() -> list[Any]:
    def chain() -> Any:
        value: Any = 1
        for _ in range(29):
            value = {f"{'r' * 240}{next(_serial)}": value, "s": [value]} if value == 1 else {f"{'r' * 240}": value}
        return value

    return [[chain() for _ in range(100)] for _ in range(100)]


def _shuffled(fields: int) -> list[Any]:
    orders = itertools.permutations(f"p{letter}" for letter in "abcdefgh"[:fields])
    return [[dict.fromkeys(next(orders), 1) for _ in range(50)] for _ in range(100)]


def _orders(records: int, fields: int) -> list[dict[str, Any]]:
    names, rng = [f"w{n}x" for n in range(fields)], random.Random(next(_serial))
    return [dict.fromkeys(rng.sample(names, fields), 1) for _ in range(records)]


def _wide_chain(levels: int) -> Any:
    """Records of 256 fields in each other; when the nodes are used up in the last one, all fields left are cut."""
    value: Any = {f"a{next(_serial)}b": [1, [2]] for _ in range(250)}
    for _ in range(levels):
        value = {"a": value} | {f"b{next(_serial)}c": {"d": [[]]} for _ in range(250)}
    return value


def _odd(pattern: str) -> dict[str, Any]:
    return {pattern.format(next(_serial)): 1}


def _map(keys: int, stem: str) -> dict[str, Any]:
    start = 10**7 + next(_serial) * keys
    return {f"{stem}{start + n}": n for n in range(keys)}


@dataclasses.dataclass
class _Node:
    name: str
    size: int
    inner: list[Any]


def _dataclasses() -> _Node:
    leaves = [_Node("a", 1, [{f"d{next(_serial)}": 1}]) for _ in range(100)]
    return _Node("root", 1, [_Node("b", 2, leaves) for _ in range(100)])


def _cycle() -> list[Any]:
    lists: list[list[Any]] = [[] for _ in range(100)]
    for one in lists:
        one.extend(lists)
    return lists


def _text(item: str, last: str = "1", size: int = 4_000_000) -> str:
    return "[" + (item + ",") * (size // (len(item) + 1)) + last + "]"


def _fitting(make: Callable[[int], str]) -> str:
    """About the longest text that is still decoded, where ``make`` gives one of at most so many characters."""
    size = text_limits.MOST - 16
    text = make(size)
    while (work := decoding_work(text, _NO_END)) > text_limits.WORK:
        size = int(0.99 * size * text_limits.WORK / work)
        text = make(size)
    return text


def _filled(item: str) -> str:
    return _fitting(lambda size: _text(item, size=size))


def _keys(size: int) -> str:
    return "{" + ",".join(f'"{n:x}":0' for n in range(size // 9)) + "}"


def _nested_keys(size: int) -> str:
    return "[" + ",".join(f'{{"{n:x}":{{"{n:x}":{{}}}}}}' for n in range(size // 22)) + "]"


def _blocks(blocks: int, size: int, last: str = "1") -> dict[str, Any]:
    content = [{"type": "text", "text": _text("[]", last, size)} for _ in range(blocks)]
    return {"content": content, "isError": False}


def _wrapped(text: str) -> str:
    for _ in range(3):
        text = json.dumps({"content": [{"type": "text", "text": text}], "isError": False})
    return text


if __name__ == "__main__":
    raise SystemExit(main())
