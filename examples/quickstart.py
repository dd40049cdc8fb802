"""Watch a tool, change its responses, and read what changed with `toolpulse log drift.jsonl`."""

from __future__ import annotations

import toolpulse
from toolpulse import Consumer, watch
from toolpulse.sinks.jsonl import JsonlSink

toolpulse.configure(
    sinks=[JsonlSink("drift.jsonl")],
    consumers=[Consumer("ranker", numeric="strict", requires=["results[].score"]), Consumer("reader")],
)


@watch(tool="search_docs")
def search_docs(query: str, version: int = 1) -> dict[str, object]:
    """Stand in for a tool: version 2 is what a deploy made of it."""
    if version == 1:
        return {"results": [{"id": "doc_812", "score": 1, "snippet": query}], "request_id": "req_f31a"}
    return {"results": [{"id": "doc_812", "score": "0.91", "summary": query}], "requestId": "req_f31b"}


for number in range(40):
    search_docs("retry budgets", version=1 if number < 30 else 2)
