"""How large shapes are beside the responses they come from, on recorded responses.

``payload`` is the response as JSON without spaces, ``shapes`` the normal form of each response's shape, ``kept`` that
of the distinct shapes only: what a baseline holds. ``median`` is that of the responses' own ratios. Long strings were
cut when the responses were collected, so the true payloads are larger.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.corpus import corpus, lines
from benchmarks.timing import options, table
from toolpulse import shape_of


class Sizes(NamedTuple):
    """Bytes of one family's responses and shapes."""

    responses: int
    payload: int
    shapes: int
    kept: int
    median: float
    """Of the responses' own ratios."""

    @property
    def ratio(self) -> float:
        """Shape bytes to payload bytes."""
        return self.shapes / self.payload


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table by family and in total."""
    options(__doc__, argv)
    folder = corpus()
    if folder is None:
        return 0
    found = {name: list(responses) for name, responses in families(folder)}
    rows = {name: measure(responses) for name, responses in found.items()}
    rows["total"] = measure([response for responses in found.values() for response in responses])
    head = ("family", "responses", "payload", "shapes", "kept", "shapes/payload", "kept/payload", "median")
    table(
        "bytes of shapes beside bytes of responses",
        head,
        ((name, *sizes[:4], sizes.ratio, sizes.kept / sizes.payload, sizes.median) for name, sizes in rows.items()),
    )
    return 0


def measure(responses: Sequence[Any]) -> Sizes:
    """The sizes of some responses together."""
    payloads = list(map(_json_bytes, responses))
    shapes = [shape_of(response).shape for response in responses]
    lengths = [len(shape.text) for shape in shapes]
    kept = sum(len(shape.text) for shape in set(shapes))
    ratios = [length / payload for length, payload in zip(lengths, payloads, strict=True)]
    return Sizes(len(responses), sum(payloads), sum(lengths), kept, statistics.median(ratios))


def _json_bytes(response: Any) -> int:
    text = json.dumps(response, separators=(",", ":"), ensure_ascii=False)
    return len(text.encode("utf-8", "surrogatepass"))


def families(folder: Path) -> Iterator[tuple[str, Iterator[Any]]]:
    """Recorded responses by where they come from, envelopes as they are."""
    for family in ("quicktype", "octokit_webhooks", "nativejson"):
        paths = sorted(folder.joinpath("responses", family).rglob("*.json"))
        yield family, (json.loads(path.read_bytes()) for path in paths)
    yield "slack", (line["response"] for line in lines(folder / "responses" / "slack_api_samples.jsonl"))
    over_time = folder / "over_time"
    yield "octokit_fixtures", (line["response"] for line in _all(over_time / "octokit_fixtures"))
    yield "tau_bench_airline", (line["result"] for line in _all(over_time / "tau_bench_airline"))
    yield "toolbench", (line["result"] for line in _all(over_time / "toolbench"))
    yield "livemcpbench", (line["result"] for line in _all(over_time / "livemcpbench"))


def _all(folder: Path) -> Iterator[Any]:
    for path in sorted(folder.glob("*.jsonl")):
        yield from lines(path)


if __name__ == "__main__":
    raise SystemExit(main())
