"""A scripted agent, run with one thing changed: `python examples/provenance/agent.py bad.jsonl --change prompt`.

What it is started with lies beside it: `run.toml`, `prompts/`, `tools/`, `requirements.lock`. A run copies them,
changes one, and writes its trace. No model is asked: what differs between two traces is what was changed. Traces of
every change lie in `traces/`, `good.jsonl` is the one to compare with.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import tomllib
from pathlib import Path

from toolpulse.provenance.configured import manifest_from
from toolpulse.provenance.generation import completion_event, generation_fingerprint
from toolpulse.provenance.writer import TraceWriter

HERE = Path(__file__).parent
QUESTION = "When is a call retried?"

CHANGES = {
    "nothing": (),
    "prompt": ("prompts/answer.md", "Answer only", "Answer briefly and only"),
    "tool-schema": ("tools/search_docs.json", '"query"', '"q"'),
    "model": ("run.toml", 'model_requested = "model-x"', 'model_requested = "model-y"'),
    "temperature": ("run.toml", "temperature = 0.0", "temperature = 0.7"),
    "lock-file": ("requirements.lock", "httpx==0.28.1", "httpx==0.28.2"),
    "alias": (),  # the provider lets another model answer to the same name
}


def run(trace: Path, change: str = "nothing") -> None:
    """Run the agent once, with one change, and write its trace."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "agent"
        shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("*.py", "*.jsonl", "__pycache__"))
        if CHANGES[change]:
            name, before, after = CHANGES[change]
            file = folder / name
            file.write_text(file.read_text("utf-8").replace(before, after), "utf-8")
        manifest = manifest_from(folder / "run.toml", {})
        with TraceWriter(trace, manifest) as writer:
            answer(folder, writer, dated="2025-04" if change == "alias" else "2025-01")


def answer(folder: Path, writer: TraceWriter, dated: str) -> None:
    """Ask, search, ask again with what was found."""
    settings = tomllib.loads((folder / "run.toml").read_text("utf-8"))
    parameters = dict(settings["model_params"])
    tool = json.loads((folder / "tools/search_docs.json").read_text("utf-8"))
    given = {
        "system": (folder / "prompts/answer.md").read_text("utf-8"),
        "user": QUESTION,
        "tools": [tool],
        "model": settings["model_requested"],
        "temperature": parameters.pop("temperature"),
        "params": parameters,
        "manifest_id": writer.manifest_id,
    }
    for step in ("plan", "answer"):
        # the fingerprint is taken before the model is asked
        writer.write({"kind": "generation", **generation_fingerprint(generation_id=step, **given)})
        completion = {"plan": "search_docs(...)", "answer": "Three times, with a growing pause."}[step]
        writer.write(completion_event(step, completion))
        writer.note_returned(f"{given['model']}-{dated}", step)
        if step == "plan":
            argument = tool["parameters"]["required"][0]
            writer.write(
                {
                    "kind": "tool",
                    "generation_id": step,
                    "gen_ai.tool.name": tool["name"],
                    "gen_ai.tool.call.arguments": {argument: "retry budgets"},
                }
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("--change", choices=CHANGES, default="nothing")
    options = parser.parse_args()
    run(options.trace, options.change)
