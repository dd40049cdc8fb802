"""``toolpulse demo``: a week of a real tool server, watched, in seconds."""

from __future__ import annotations

import argparse
import json
import shlex
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from toolpulse.cli._command import Command
from toolpulse.cli._exit import CommandError, Exit
from toolpulse.cli._output import Output
from toolpulse.cli._text import plural
from toolpulse.errors import ConfigurationError
from toolpulse.events import DriftEvent
from toolpulse.judgement.consumer import Consumer
from toolpulse.runtime.monitor import Monitor
from toolpulse.runtime.switch import set_active
from toolpulse.sinks.jsonl import JsonlSink
from toolpulse.state.baseline import Baseline

_CONFIRM: Final = 3
"""Calls that must show an incident before it is told."""

_FILES: Final = ("drift.jsonl", "toolpulse.db", "before.jsonl", "after.jsonl", "baseline.json")


def _run(args: argparse.Namespace) -> int:
    from toolpulse.cli._render import Printer

    out = Output()
    say = Printer(out).lines
    folder = _folder(args.dir)
    try:
        # TOOLPULSE_DISABLED in the environment would leave nothing to show
        with set_active(True):
            _week(folder, say, calls=16 if args.fast else 30, pause=0.0 if args.fast else 0.3)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise CommandError(Exit.PRECONDITION, f"the demo needs a folder and a socket on 127.0.0.1: {reason}") from None
    _tell(folder, say)
    return Exit.OK


def _folder(named: str | None) -> Path:
    """Where the files go; nothing that lies there already is touched."""
    try:
        folder = Path(named if named is not None else tempfile.mkdtemp(prefix="toolpulse-demo-"))
        folder.mkdir(parents=True, exist_ok=True)
        taken = [name for name in _FILES if (folder / name).exists()]
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"--dir {named}: {getattr(error, 'strerror', None) or 'not a folder'}") from None
    if taken:
        raise ConfigurationError(f"--dir {named}: {taken[0]} is there already; name another folder")
    return folder


def _week(folder: Path, say: Callable[[list[Any]], None], calls: int, pause: float) -> None:
    """Call the tools for seven days. A real server answers; the functions that call it are watched."""
    from toolpulse.cli._demo_server import DAYS, PLANTED, ToolServer

    consumers = [Consumer("billing", numeric="strict"), Consumer("dashboard")]
    opened = _Opened()
    monitor = Monitor(
        _url(folder),
        sinks=[JsonlSink(folder / "drift.jsonl"), opened],
        consumers=consumers,
        confirm=_CONFIRM,
        background=False,
    )
    recorded: dict[str, list[Any]] = {"before.jsonl": [], "after.jsonl": []}
    with monitor, ToolServer() as server:
        tools = _tools(monitor, server.url)
        say([f"Three tools on {server.url}, watched for two consumers: billing (strict numbers), dashboard.", ""])
        for day in range(1, DAYS + 1):
            server.day = day
            before = opened.count
            for _ in range(calls):
                for name, call in tools.items():
                    answer = call()
                    if name == "search_docs" and day != 3:
                        recorded["before.jsonl" if day < 6 else "after.jsonl"].append(answer)
            news = opened.count - before
            told = plural(news, "incident") if news else "quiet"
            say(
                [f"day {day}   {plural(calls * len(tools), 'call')}   {told:<12}{PLANTED.get(day, 'ordinary traffic')}"]
            )
            time.sleep(pause)
    for name, answers in recorded.items():
        (folder / name).write_text("".join(json.dumps(answer) + "\n" for answer in answers), "utf-8")
    Baseline.learn(recorded["before.jsonl"]).save(folder / "baseline.json")


def _url(folder: Path) -> str:
    return f"sqlite:///{folder / 'toolpulse.db'}"


def _tools(monitor: Monitor, url: str) -> dict[str, Callable[[], Any]]:
    """Three functions as an agent has them, watched."""
    from urllib.request import ProxyHandler, build_opener

    opener = build_opener(ProxyHandler({}))

    def get(path: str) -> Any:
        with opener.open(url + path, timeout=5) as response:
            return json.load(response)

    @monitor.watch(tool="demo.search_docs")
    def search_docs() -> Any:
        return get("/search?q=retry+budgets")

    @monitor.watch(tool="demo.fetch_pages")
    def fetch_pages() -> Any:
        return get("/pages")

    @monitor.watch(tool="demo.get_invoice")
    def get_invoice() -> Any:
        return get("/invoice")

    return {"search_docs": search_docs, "fetch_pages": fetch_pages, "get_invoice": get_invoice}


class _Opened:
    """A sink that counts the incidents it is told of."""

    def __init__(self) -> None:
        self.count = 0

    def emit(self, event: DriftEvent) -> None:
        self.count += event.status == "open"


def _tell(folder: Path, say: Callable[[list[Any]], None]) -> None:
    from toolpulse.cli._render import drift_log
    from toolpulse.cli.log import history

    log, baseline, after = (folder / name for name in ("drift.jsonl", "baseline.json", "after.jsonl"))
    say(["", f"The drift log (told once {_CONFIRM} calls show it):", ""])
    say(drift_log(history(str(log))))
    named = [shlex.quote(str(path)) for path in (log, baseline, after)]
    store = shlex.quote(_url(folder))
    say(["", f"Log, store, recorded responses and a baseline are in {folder}", "Try next:"])
    say([
        f"  toolpulse log --risk high {named[0]}",
        f"  toolpulse incidents --db {store}",
        f"  toolpulse show {named[1]}",
        f"  toolpulse check --baseline {named[1]} {named[2]}",
    ])  # fmt: skip


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fast", action="store_true", help="fewer calls and no pauses")
    parser.add_argument("--dir", metavar="DIR", help="where the files go (default: a new folder among temporary files)")


DEMO: Final = Command(
    "demo",
    "watch a tool server for a week, in seconds",
    "[--fast] [--dir DIR]",
    "Starts a small HTTP tool server on 127.0.0.1, calls it through watched functions for seven\n"
    "short days of ordinary variation and planted faults, and shows the drift log.",
    "toolpulse demo --fast",
    (Exit.OK, Exit.PRECONDITION),
    _arguments,
    _run,
)
