"""Recorded versions of three public APIs: learn the older response, check the newer, compare with the listed changes.

``python tests/version_pairs.py`` prints the figures. The lists were made by another program than this library.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from corpus import folder

from toolpulse import Baseline, Consumer, Risk
from toolpulse._base.paths import VALUES, parse_path

SOURCES = ("octokit_webhooks", "slack_samples", "stripe")


_EXACT = Consumer("exact", numeric="exact")  # the lists tell integers from numbers


class Pair(NamedTuple):
    """One response at two dates, and the changes listed between them."""

    name: str
    older: Any
    newer: Any
    changes: list[dict[str, Any]]


class Outcome(NamedTuple):
    """What became of one pair: listed changes that had to be found, those that were not, and highs beyond the list."""

    listed: list[dict[str, Any]]
    missed: list[dict[str, Any]]
    unexpected: list[str]


def pairs(source: str) -> Iterator[Pair]:
    """The pairs of one source of which both versions are there."""
    here = folder() / "corpus" / "version_pairs" / source
    for entry in json.loads((here / "changes.json").read_text(encoding="utf-8")):
        if source == "stripe":
            older, newer = (_stripe(here / f"fixtures3_{entry[side]}.json") for side in ("from", "to"))
            for resource, changes in entry["changes"].items():
                name = f"{resource} {entry['from']}..{entry['to']}"
                yield Pair(name, older[resource], newer[resource], changes)
            continue
        name = entry.get("method") or entry["payload"].replace("/", "__")
        versions = _lines(here / f"{name}.jsonl")
        if (entry["from"], entry["from_commit"]) in versions and (entry["to"], entry["to_commit"]) in versions:
            sides = (versions[entry[side], entry[f"{side}_commit"]] for side in ("from", "to"))
            yield Pair(f"{name} {entry['from']}..{entry['to']}", *sides, entry["changes"])


@cache
def _stripe(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))["resources"]


@cache
def _lines(path: Path) -> dict[tuple[str, str], Any]:
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(row["date"], row["commit"]): row["response"] for row in rows}


def outcome(pair: Pair) -> Outcome:
    """Learn the older side, check the newer."""
    findings = Baseline.learn([pair.older]).check([pair.newer], consumer=_EXACT).findings
    listed = [change for change in pair.changes if must_be_found(change)]
    missed = [change for change in listed if not any(covers(f.path, change["path"]) for f in findings)]
    unexpected = [
        f"{f.path}: {f.change}"
        for f in findings
        if f.risk is Risk.HIGH and not any(covers(f.path, change["path"]) for change in listed)
    ]
    return Outcome(listed, missed, unexpected)


def must_be_found(change: dict[str, Any]) -> bool:
    """Whether a listed change is one: an addition, a kind that is not there this time and an empty array are none."""
    if change["change"] == "added":
        return False
    if change["change"] == "removed":
        return not change["path"].endswith("[]")
    return not set(change["now"]) <= set(change["was"])


def covers(found: str, listed: str) -> bool:
    """Whether a finding's path is the listed one or encloses it; the key of a map stands for any field."""
    outer, inner = parse_path(found), parse_path(listed)
    return len(outer) <= len(inner) and all(
        o == i or (o is VALUES and isinstance(i, str)) for o, i in zip(outer, inner, strict=False)
    )


if __name__ == "__main__":
    for source in SOURCES:
        done = [(pair, outcome(pair)) for pair in pairs(source)]
        listed = sum(len(result.listed) for _, result in done)
        missed = [(pair.name, change) for pair, result in done for change in result.missed]
        unexpected = [(pair.name, high) for pair, result in done for high in result.unexpected]
        print(
            f"{source}: {len(done)} pairs, {listed - len(missed)} of {listed} found, {len(unexpected)} unexpected highs"
        )
        for name, what in [*missed, *unexpected]:
            print(f"    {name}: {what}")
