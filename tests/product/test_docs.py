from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")

RUN = re.compile(r"<!-- run -->\n```python\n(.*?)```\n\n<!-- output -->\n```text\n(.*?)```", re.DOTALL)
PAGES = [
    page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if RUN.search(page.read_text("utf-8"))
]


def _log_of_quickstart(folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TZ": "UTC"}
    subprocess.run([sys.executable, ROOT / "examples/quickstart.py"], cwd=folder, env=environment, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "toolpulse", "log", "drift.jsonl"],
        cwd=folder, env=environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout


def _timeless(text: str) -> str:
    return re.sub(r"\d\d:\d\d", "14:02", text).strip()


def test_the_twenty_lines_are_the_example():
    """What a newcomer copies from the page is the file that is run here."""
    shown = re.search(r"<!-- file: examples/quickstart.py -->\n```python\n(.*?)```", README, re.DOTALL)[1]
    source = (ROOT / "examples/quickstart.py").read_text("utf-8")
    assert shown == source[source.index("import toolpulse\n") :]


def test_the_log_on_the_page_is_what_is_printed(tmp_path):
    """The first thing a reader judges is real output, not how somebody hopes it looks."""
    shown = re.search(r"<!-- output: examples/quickstart.py -->\n```text\n(.*?)```", README, re.DOTALL)[1]
    assert _timeless(_log_of_quickstart(tmp_path)) == _timeless(shown)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_snippet_prints_what_the_page_shows(page):
    """Documentation that runs cannot go stale; the snippets of a page share their names, in order."""
    names: dict[str, object] = {}
    for code, shown in RUN.findall(page.read_text("utf-8")):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, page.name, "exec"), names)
        assert out.getvalue().strip() == shown.strip(), code


def test_every_snippet_that_is_marked_is_run():
    """A marker whose neighbours are misspelled would leave its snippet unread."""
    for page in PAGES:
        text = page.read_text("utf-8")
        assert text.count("<!-- run -->") == text.count("<!-- output -->") == len(RUN.findall(text))


def test_the_risk_table_is_the_rules():
    """A rule that moves to another risk moves on the page too."""
    from toolpulse.judgement.rules import RULES

    table = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|$", README, re.MULTILINE))
    by_policy = re.search(r"^\| by the consumer \| (.*?) \|$", README, re.MULTILINE)[1]
    for rule in RULES:
        row = by_policy if rule.policy == "numeric" else table[rule.risk]
        assert f"`{rule.id}`" in row, f"{rule.id} is missing from the row of {rule.risk}"
    assert len(re.findall(r"`[a-z-]+`", by_policy + "".join(table.values()))) == len(RULES)
