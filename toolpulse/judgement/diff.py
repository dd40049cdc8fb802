"""What is different: facts with paths and evidence, a new shape against a profile. No judgement is made here.

Compared is with everything known at a path, never with another shape: a new combination of known parts is no change,
a kind not seen this time is none, and only the outermost path of an added or removed subtree is a fact. Here is what
concerns the response as a whole; ``path_diff`` goes down from path to path. Pure. ``judge`` calls it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpulse._base.paths import ROOT, Path
from toolpulse.evidence.shape_paths import rewrite_as_maps
from toolpulse.evidence.stats import CONTAINERS, PathStats
from toolpulse.judgement.changes import Change
from toolpulse.judgement.path_diff import PathDiff, share
from toolpulse.shape.map_keys import data_like
from toolpulse.shape.nodes import Object, Shape, is_empty

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolpulse.evidence.profile import Profile


def align(profile: Profile, shape: Shape, limit: int) -> Shape:
    """The shape with records read as maps where the profile knows a map and they fit it.

    ``limit`` is how many different shapes a map's values may have (``Limits.shapes``).

    They fit when they are empty, when all their keys look like data, or when their values are like the map's.
    """

    def as_map(path: Path, record: Object) -> bool:
        stats = profile.at(path)
        if stats is None or stats.values is None or stats.fields:
            return False
        return not record.names or data_like(record.names) or _like(stats.values, record.fields.values())

    return rewrite_as_maps(shape, as_map, limit) if profile.has_maps else shape


def _like(values: PathStats, shapes: Iterable[Shape]) -> bool:
    always = {name for name, field in values.fields.items() if field.always.count == values.objects.count}
    return all(
        shape.kind in values.kinds and (not isinstance(shape, Object) or always <= shape.fields.keys())
        for shape in shapes
    )


def diff(
    profile: Profile,
    shape: Shape,
    *,
    encoding: str = "native",
    cuts: frozenset[Path] = frozenset(),
    sealed: bool = True,
) -> tuple[Change, ...]:
    """The facts by which ``shape`` differs from ``profile``, outermost and first by path.

    ``cuts`` are the paths where the walk over this response stopped short. ``sealed`` says that the profile is
    complete: a field is required where all it learned had it; else where it was there since it first appeared, at
    least ten times. A profile that knows nothing differs in nothing.
    """
    root = profile.root
    if not root.kinds:
        return ()
    comparison = PathDiff(cuts, sealed=sealed)
    if not (_response_empty(comparison, root, shape) or _encoding_changed(comparison, profile, shape, encoding)):
        comparison.compare(root, frozenset((shape,)), ROOT)
    unique = {(change.path, change.fact, change.before, change.after): change for change in comparison.changes}
    return tuple(sorted(unique.values(), key=lambda change: (change.where, change.fact, change.after)))


def _encoding_changed(comparison: PathDiff, profile: Profile, shape: Shape, encoding: str) -> bool:
    """A container known here, encoded in a way never seen: a parser written for one breaks on the other."""
    known = profile.encodings
    if shape.kind not in profile.root.kinds or shape.kind not in CONTAINERS or not known or encoding in known:
        return False
    commonest = max(sorted(known), key=lambda name: known[name].count)
    seen = profile.root.seen.count
    comparison.state(ROOT, "encoding", commonest, encoding, share(known[commonest].count, seen), seen)
    return True


def _response_empty(comparison: PathDiff, root: PathStats, shape: Shape) -> bool:
    """None at the root, or an empty container of a kind not known as empty, where the root said something.

    True wherever the response is empty: there is nothing below to compare.
    """
    if not (root.known or "unknown" in root.kinds):
        return False
    seen = root.seen.count
    if shape.kind == "null":
        if "null" not in root.kinds:
            comparison.state(ROOT, "empty", root.printed_kind, "null", share(seen, seen), seen)
        return True
    if not is_empty(shape) or not (root.filled.count or root.known - CONTAINERS):
        return False
    if not root.empty.count or shape.kind not in root.kinds:
        comparison.state(ROOT, "empty", "non-empty", "empty", share(root.filled.count, seen), seen)
    return True
