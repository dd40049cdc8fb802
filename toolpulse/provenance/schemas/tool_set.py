"""The tools that an agent was given, reduced to what identifies them: what each accepts, and digests of its words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from toolpulse._base.canonical import digest_of
from toolpulse._base.paths import Path, format_path
from toolpulse.provenance.schemas.definitions import Definition, definitions
from toolpulse.provenance.schemas.json_schema import contract, whole_numbers, words

SCHEMA: Final = 1
"""The version of a fingerprint and of a pin file."""


class Tool(msgspec.Struct, frozen=True):
    """One tool, reduced. This is also its form in a pin file."""

    accepts: dict[str, Any]
    """Contracts: ``parameters`` and, where it declares one, ``output``; of a provider's own tool ``provider``."""
    words: dict[str, str]
    """A digest for each thing that is said about it, by the printed path at which it is said."""

    @property
    def contract(self) -> str:
        """The digest of what it accepts, 64 hex digits."""
        return digest_of(self.accepts)

    @property
    def description(self) -> str:
        """The digest of what is said about it, 64 hex digits."""
        return digest_of(self.words)


class ToolSet(msgspec.Struct, frozen=True):
    """The tools that an agent was given, in their order. No text of a description is kept."""

    tools: dict[str, Tool]
    """In the order in which the model is shown them."""

    @classmethod
    def of(cls, tools: object) -> ToolSet:
        """Reduce definitions, whatever their form; a ToolSet is returned as it is. Raises as ``definitions`` does."""
        return tools if isinstance(tools, cls) else cls({one.name: _reduced(one) for one in definitions(tools)})

    def fingerprint(self) -> dict[str, Any]:
        """``{"schema", "tools": {name: {"contract", "description"}}, "order", "digest"}``, digests of 64 hex digits."""
        identity = {
            "tools": {n: {"contract": t.contract, "description": t.description} for n, t in self.tools.items()},
            "order": list(self.tools),
        }
        return {"schema": SCHEMA, **identity, "digest": digest_of(identity)}


def _reduced(one: Definition) -> Tool:
    said: Iterable[tuple[Path, Any]] = [((word,), text) for word, text in one.words.items()]
    if not one.own:
        return Tool({"provider": whole_numbers(one.parameters)}, _digests(said))
    accepts = {"parameters": contract(one.parameters)}
    if one.output is not None:
        accepts["output"] = contract(one.output)
    said = [*said, *words(one.parameters, ("parameters",)), *words(one.output, ("output",))]
    return Tool(accepts, _digests(said))


def _digests(said: Iterable[tuple[Path, Any]]) -> dict[str, str]:
    return {format_path(path): digest_of(text) for path, text in said}
