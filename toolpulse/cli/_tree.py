"""A baseline as rows of a tree: every path with its presence, kinds and rates. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from toolpulse._base.paths import ITEMS, ROOT, VALUES, Path, Segment, format_path, glob
from toolpulse.cli._text import percent
from toolpulse.evidence.profile import PathStats
from toolpulse.evidence.shape_paths import map_paths
from toolpulse.shape import DEFAULT_LIMITS
from toolpulse.state.baseline import Baseline


class TreeRow(NamedTuple):
    """One path of a tree, in words."""

    path: Path
    place: PathStats
    parent: PathStats | None

    @property
    def depth(self) -> int:
        """How many levels below the root."""
        return len(self.path)

    @property
    def label(self) -> str:
        """The last segment of the path, printed."""
        return format_path(self.path[-1:])

    @property
    def container(self) -> bool:
        """Whether something lies below it."""
        return bool(self.place.fields or self.place.items or self.place.values)

    @property
    def of(self) -> int:
        """Of a field: the observations that show a record around it. 0 of what is no field."""
        return self.parent.objects.count if self.parent and isinstance(self.path[-1], str) else 0

    @property
    def optional(self) -> bool:
        """Whether it is a field that some record lacks."""
        return self.place.always.count < self.of

    @property
    def presence(self) -> str:
        """``always``, or how often all records have it and how often only some: ``87%, in some 5%``."""
        if not self.of:
            return ""
        if not self.optional:
            return "always"
        partly = self.place.in_some.count
        return percent(self.place.always.count, self.of) + (f", in some {percent(partly, self.of)}" if partly else "")

    @property
    def kinds(self) -> list[str]:
        """Each kind with the share of observations that show it, null last, and how often it was empty."""
        place, total = self.place, self.place.seen.count
        order = sorted(place.kinds, key=lambda kind: (kind == "null", -place.kinds[kind].count, kind))
        found = [_rated(kind, place.kinds[kind].count, total) for kind in order]
        held = place.empty.count + place.filled.count
        return found + ([f"empty {percent(place.empty.count, held)}"] if place.empty.count else [])

    def plain(self) -> dict[str, Any]:
        """The same as plain data; counts are observations."""
        place = self.place
        found: dict[str, Any] = {"path": format_path(self.path), "seen": place.seen.count}
        if self.of:
            found |= {"always": place.always.count, "in_some": place.in_some.count, "of": self.of}
        found["kinds"] = {kind: place.kinds[kind].count for kind in sorted(place.kinds)}
        if place.empty.count or place.filled.count:
            found |= {"empty": place.empty.count, "filled": place.filled.count}
        return found


def _rated(kind: str, count: int, total: int) -> str:
    return kind if count >= total else f"{kind} {percent(count, total)}"


class Tree(NamedTuple):
    """A baseline, laid out."""

    responses: int
    shapes: int
    rows: list[TreeRow]
    maps: list[tuple[str, str]]
    """Each path that is a map, and why it is read as one."""
    cuts: list[str]
    """Where responses were not seen in full."""
    settings: list[tuple[str, str]]
    """How it was learned, where that is not the default."""

    @property
    def paths(self) -> int:
        """How many paths lie below the root."""
        return len(self.rows) - 1

    @property
    def optional(self) -> int:
        """How many of them are fields that some record lacks."""
        return sum(row.optional for row in self.rows)

    def plain(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "schema": 1,
            "responses": self.responses,
            "shapes": self.shapes,
            "paths": [row.plain() for row in self.rows],
            "maps": [{"path": path, "why": why} for path, why in self.maps],
            "truncations": self.cuts,
            "settings": dict(self.settings),
        }


def tree(baseline: Baseline) -> Tree:
    """Lay a baseline out."""
    return Tree(
        baseline.observations,
        len({row.shape for row in baseline.rows}),
        list(_rows(baseline.profile.root, None, ROOT)),
        _maps(baseline),
        _cuts(baseline),
        _settings(baseline),
    )


def _rows(place: PathStats, parent: PathStats | None, path: Path) -> Iterator[TreeRow]:
    yield TreeRow(path, place, parent)
    below: list[tuple[Segment, PathStats | None]] = [(name, place.fields[name]) for name in sorted(place.fields)]
    below += [(ITEMS, place.items), (VALUES, place.values)]
    for segment, inner in below:
        if inner is not None and (inner.seen.count or isinstance(segment, str)):
            yield from _rows(inner, place, (*path, segment))


def _maps(baseline: Baseline) -> list[tuple[str, str]]:
    learned = {decision.path: decision.why for decision in baseline.maps_learned}
    named = [glob(text) for text in baseline.walker.maps]
    found = map_paths(row.shape for row in baseline.rows) | learned.keys()
    return [(format_path(path), learned.get(path) or _why(path, named)) for path in sorted(found, key=format_path)]


def _why(path: Path, named: list[Any]) -> str:
    if any(pattern.matches(path) for pattern in named):
        return "named by --map"
    return "its keys look like data (ids, dates, codes), or there are too many for a record"


def _cuts(baseline: Baseline) -> list[str]:
    # a row holds the cuts of all its responses together, so how many were cut is not known
    paths = {format_path(path) for row in baseline.rows for path in row.cuts}
    return [f"{path}: not always seen in full" for path in sorted(paths)]


def _settings(baseline: Baseline) -> list[tuple[str, str]]:
    found = [("unwrap", baseline.unwrap)] if baseline.unwrap != "none" else []
    found += [("map", text) for text in baseline.walker.maps] + [("record", text) for text in baseline.walker.records]
    for name, value in msgspec.structs.asdict(baseline.limits).items():
        if value != getattr(DEFAULT_LIMITS, name):
            found.append((f"limits.{name}", str(value)))
    encodings = sorted(baseline.profile.encodings)
    found += [("encodings", ", ".join(encodings))] if encodings not in ([], ["native"]) else []
    return found + [("consumer", repr(consumer)) for consumer in baseline.consumers]
