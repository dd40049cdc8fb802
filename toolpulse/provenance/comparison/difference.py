"""One difference between two documents or two schemas: a fact with its path, not yet judged."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from toolpulse._base.paths import Path, format_path

Fact: TypeAlias = Literal[
    "missing", "added", "kind", "container", "null", "refined", "value",
    "required", "narrowed", "widened", "text", "order",
]  # fmt: skip
"""What differs. Of any two documents: ``missing`` and ``added`` (one side only), ``kind`` and ``container`` (of another
kind; one of them an object or array), ``null`` and ``refined`` (null now; null before) and ``value`` (one kind, two
values). Of tool schemas also: ``required`` (optional before), ``narrowed`` and ``widened`` (less or more is allowed),
``text`` (descriptions) and ``order`` (of the tools).
"""


class Difference(msgspec.Struct, frozen=True):
    """One path at which two sides differ. It holds no value of either side, unless the comparison was asked for values.

    Provenance has this record beside the kernel's ``Change`` because here each side is one document: there are no
    counts of observations and nothing was cut.
    """

    path: Path
    fact: Fact
    before: str
    """A kind, ``missing``, or the value as JSON where values were asked for."""
    after: str
    evidence: str
    """Why, in words for a person."""
    partly: bool = False
    """Of an argument: it is optional."""
    pattern: str | None = None
    """``renamed`` where a field that is gone and a new one have the same value."""
    counterpart: str | None = None
    """The other path of a rename, printed."""

    @property
    def where(self) -> str:
        """The path, printed."""
        return format_path(self.path)
