"""A baseline as rows of a tree: every path with its presence, kinds and rates. Values only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from toolpulse._base.paths import ITEMS, ROOT, VALUES, Path, Segment, format_path, glob
from toolpulse.cli._kit.text import percent
from toolpulse.evidence.profile import PathStats
from toolpulse.evidence.shape_paths import map_paths
from toolpulse.shape import DEFAULT_LIMITS
from toolpulse.state.baseline import Baseline


class TreeRow(NamedTuple):
    """One path of a tree, with its statistics and those of the path above it."""

    path: Path
    stats: PathStats
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
        return bool(self.stats.fields or self.stats.items or self.stats.values)

    @property
    def of(self) -> int:
        """For a field, the number of observations with a record around it; 0 for anything else."""
        return self.parent.objects.count if self.parent and isinstance(self.path[-1], str) else 0

    @property
    def optional(self) -> bool:
        """Whether it is a field that some records lack."""
        return self.stats.always.count < self.of

    @property
    def presence(self) -> str:
        """``always``, or how often all records have it and how often only some: ``87%, in some 5%``."""
        if not self.of:
            return ""
        if not self.optional:
            return "always"
        in_some = self.stats.in_some.count
        always = percent(self.stats.always.count, self.of)
        return always + (f", in some {percent(in_some, self.of)}" if in_some else "")

    @property
    def kinds(self) -> list[str]:
        """Each kind with the share of observations that show it, null last, and how often it was empty."""
        stats, total = self.stats, self.stats.seen.count
        order = sorted(stats.kinds, key=lambda kind: (kind == "null", -stats.kinds[kind].count, kind))
        rates = [_rated(kind, stats.kinds[kind].count, total) for kind in order]
        containers = stats.empty.count + stats.filled.count
        return rates + ([f"empty {percent(stats.empty.count, containers)}"] if stats.empty.count else [])

    def plain(self) -> dict[str, Any]:
        """The same as plain data; counts are observations."""
        stats = self.stats
        plain: dict[str, Any] = {"path": format_path(self.path), "seen": stats.seen.count}
        if self.of:
            plain |= {"always": stats.always.count, "in_some": stats.in_some.count, "of": self.of}
        plain["kinds"] = {kind: stats.kinds[kind].count for kind in sorted(stats.kinds)}
        if stats.empty.count or stats.filled.count:
            plain |= {"empty": stats.empty.count, "filled": stats.filled.count}
        return plain


def _rated(kind: str, count: int, total: int) -> str:
    return kind if count >= total else f"{kind} {percent(count, total)}"


class Tree(NamedTuple):
    """A baseline, laid out for showing."""

    responses: int
    shapes: int
    rows: list[TreeRow]
    maps: list[tuple[str, str]]
    """Each path that is a map, and why it is read as one."""
    cuts: list[str]
    """Where responses were not always seen in full, a sentence each."""
    settings: list[tuple[str, str]]
    """Names and values of the settings it was learned with, where they are not the default."""

    @property
    def paths(self) -> int:
        """How many paths lie below the root."""
        return len(self.rows) - 1

    @property
    def optional(self) -> int:
        """How many of them are fields that some records lack."""
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
    """Lay a baseline out for showing."""
    return Tree(
        baseline.observations,
        len({row.shape for row in baseline.rows}),
        list(_rows(baseline.profile.root, None, ROOT)),
        _maps(baseline),
        _cuts(baseline),
        _settings(baseline),
    )


def _rows(stats: PathStats, parent: PathStats | None, path: Path) -> Iterator[TreeRow]:
    """The row of a path and those below it, in the order they are printed."""
    yield TreeRow(path, stats, parent)
    below: list[tuple[Segment, PathStats | None]] = [(name, stats.fields[name]) for name in sorted(stats.fields)]
    below += [(ITEMS, stats.items), (VALUES, stats.values)]
    for segment, inner in below:
        # below an array or a map that was always empty there is nothing to show
        if inner is not None and (inner.seen.count or isinstance(segment, str)):
            yield from _rows(inner, stats, (*path, segment))


def _maps(baseline: Baseline) -> list[tuple[str, str]]:
    learned = {decision.path: decision.why for decision in baseline.maps_learned}
    named = [glob(text) for text in baseline.walker.maps]
    paths = map_paths(row.shape for row in baseline.rows) | learned.keys()
    return [(format_path(path), learned.get(path) or _why(path, named)) for path in sorted(paths, key=format_path)]


def _why(path: Path, named: list[Any]) -> str:
    if any(pattern.matches(path) for pattern in named):
        return "named by --map"
    return "its keys look like data (ids, dates, codes), or there are too many for a record"


def _cuts(baseline: Baseline) -> list[str]:
    # a row keeps the cuts of all its responses together, so how many responses were cut is not known
    paths = {format_path(path) for row in baseline.rows for path in row.cuts}
    return [f"{path}: not always seen in full" for path in sorted(paths)]


def _settings(baseline: Baseline) -> list[tuple[str, str]]:
    settings = [("unwrap", baseline.unwrap)] if baseline.unwrap != "none" else []
    settings += [("map", text) for text in baseline.walker.maps] + [
        ("record", text) for text in baseline.walker.records
    ]
    for name, value in msgspec.structs.asdict(baseline.limits).items():
        if value != getattr(DEFAULT_LIMITS, name):
            settings.append((f"limits.{name}", str(value)))
    encodings = sorted(baseline.profile.encodings)
    settings += [("encodings", ", ".join(encodings))] if encodings not in ([], ["native"]) else []
    return settings + [("consumer", repr(consumer)) for consumer in baseline.consumers]
