"""A shape by its paths: which shapes stand where, and the shape with some records read as maps.

A path of a response can show several shapes at once, since the elements of an array are one path. Pure; judgement and
the state of a tool use it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpulse._base.paths import ITEMS, ROOT, VALUES, Path, Segment
from toolpulse.shape.nodes import Array, Map, Object, Shape, fewest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def map_paths(shapes: Iterable[Shape]) -> frozenset[Path]:
    """The paths at which any of the shapes has a map."""
    return frozenset(
        path for shape in shapes for path, here in shapes_by_path(shape) if any(isinstance(s, Map) for s in here)
    )


def shapes_by_path(shape: Shape) -> Iterator[tuple[Path, frozenset[Shape]]]:
    """Every path of a response and the set of shapes it has there, outermost first."""
    waiting: list[tuple[Path, frozenset[Shape]]] = [(ROOT, frozenset((shape,)))]
    while waiting:
        path, shapes = waiting.pop()
        yield path, shapes
        below: dict[Segment, set[Shape]] = {}
        for here in shapes:
            if isinstance(here, Object):
                for name, child in here.fields.items():
                    below.setdefault(name, set()).add(child)
            elif isinstance(here, Array):
                below.setdefault(ITEMS, set()).update(here.elements)
            elif isinstance(here, Map):
                below.setdefault(VALUES, set()).update(here.values)
        waiting.extend(((*path, segment), frozenset(shapes)) for segment, shapes in below.items())


def as_map_values(path: Path, maps: frozenset[Path]) -> Path:
    """A path that was walked before the objects at ``maps`` were read as maps: their keys are ``VALUES`` in it now."""
    read_path: Path = ROOT
    for segment in path:
        read_path = (*read_path, VALUES if read_path in maps and isinstance(segment, str) else segment)
    return read_path


def shapes_at(shape: Shape, path: Path) -> frozenset[Shape]:
    """The shapes a response has at a path; none where the path is not there."""
    here = frozenset((shape,))
    for segment in path:
        if segment is ITEMS:
            here = frozenset(e for s in here if isinstance(s, Array) for e in s.elements)
        elif segment is VALUES:
            here = frozenset(v for s in here if isinstance(s, Map) for v in s.values)
        else:
            name = str(segment)
            here = frozenset(s.fields[name] for s in here if isinstance(s, Object) and name in s.fields)
    return here


def rewrite_as_maps(shape: Shape, as_map: Callable[[Path, Object], bool], limit: int, path: Path = ROOT) -> Shape:
    """The shape with every record for which ``as_map(path, record)`` says so read as a map; its keys are gone then.

    A map, or array, of more than ``limit`` different shapes keeps the smallest, as the walk does.
    """
    if isinstance(shape, Object):
        if as_map(path, shape):
            inner = (*path, VALUES)
            return Map(fewest((rewrite_as_maps(v, as_map, limit, inner) for v in shape.fields.values()), limit))
        return Object({n: rewrite_as_maps(v, as_map, limit, (*path, n)) for n, v in shape.fields.items()})
    if isinstance(shape, Array):
        return Array(fewest((rewrite_as_maps(e, as_map, limit, (*path, ITEMS)) for e in shape.elements), limit))
    if isinstance(shape, Map):
        return Map(fewest((rewrite_as_maps(v, as_map, limit, (*path, VALUES)) for v in shape.values), limit))
    return shape
