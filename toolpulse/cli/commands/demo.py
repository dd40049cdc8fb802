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

from toolpulse.cli._kit.command import Command
from toolpulse.cli._kit.exits import CommandError, Exit
from toolpulse.cli._kit.output import Output
from toolpulse.cli._kit.text import plural
from toolpulse.cli._views.history import history_of
from toolpulse.errors import ConfigurationError
from toolpulse.events import DriftEvent
from toolpulse.judgement.consumer import Consumer
from toolpulse.runtime.monitor import Monitor
from toolpulse.runtime.switch import set_active
from toolpulse.sinks.jsonl import JsonlSink
from toolpulse.state.baseline import Baseline

_CONFIRM: Final = 3
"""Calls that must show an incident before it is reported."""

FILES: Final = ("drift.jsonl", "toolpulse.db", "before.jsonl", "after.jsonl", "baseline.json")
"""What the demo writes into its folder."""


def _run(args: argparse.Namespace) -> int:
    from toolpulse.cli._views.printer import Printer

    say = Printer(Output()).lines
    folder = _folder(args.dir)
    try:
        # TOOLPULSE_DISABLED in the environment would leave nothing to show
        with set_active(True):
            recorded = _week(folder, say, calls=16 if args.fast else 30, pause=0.0 if args.fast else 0.3)
        _save(folder, recorded)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise CommandError(Exit.PRECONDITION, f"the demo needs a folder and a socket on 127.0.0.1: {reason}") from None
    _show_results(folder, say)
    return Exit.OK


def _folder(named: str | None) -> Path:
    """The folder for the files, made if need be. Raises ConfigurationError rather than write over a file."""
    try:
        folder = Path(named if named is not None else tempfile.mkdtemp(prefix="toolpulse-demo-"))
        folder.mkdir(parents=True, exist_ok=True)
        existing = [name for name in FILES if (folder / name).exists()]
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"--dir {named}: {getattr(error, 'strerror', None) or 'not a folder'}") from None
    if existing:
        raise ConfigurationError(f"--dir {named}: {existing[0]} is there already; name another folder")
    return folder


def _week(folder: Path, say: Callable[[list[Any]], None], calls: int, pause: float) -> dict[str, list[Any]]:
    """Call each tool ``calls`` times on each of seven days, with a pause of some seconds after each day.

    A real server answers; the functions that call it are watched. Returns the responses of the search by file name:
    those before the deploy of day six, and those after it.
    """
    from toolpulse.cli.commands._demo_server import DAYS, PLANTED, ToolServer

    opened = _OpenedIncidents()
    recorded: dict[str, list[Any]] = {"before.jsonl": [], "after.jsonl": []}
    with _monitor(folder, opened) as monitor, ToolServer() as server:
        tools = _tools(monitor, server.url)
        say([f"Three tools on {server.url}, watched for two consumers: billing (strict numbers), dashboard.", ""])
        for day in range(1, DAYS + 1):
            server.day = day
            before = opened.count
            responses = _day(tools, calls)
            if day != 3:  # the fault of that day belongs into no baseline
                recorded["before.jsonl" if day < 6 else "after.jsonl"] += responses
            news = opened.count - before
            result = plural(news, "incident") if news else "quiet"
            called = plural(calls * len(tools), "call")
            say([f"day {day}   {called}   {result:<12}{PLANTED.get(day, 'ordinary traffic')}"])
            # so that a person can read along
            time.sleep(pause)
    return recorded


def _monitor(folder: Path, opened: _OpenedIncidents) -> Monitor:
    return Monitor(
        _url(folder),
        sinks=[JsonlSink(folder / "drift.jsonl"), opened],
        consumers=[Consumer("billing", numeric="strict"), Consumer("dashboard")],
        confirm=_CONFIRM,
        background=False,
    )


def _day(tools: dict[str, Callable[[], Any]], calls: int) -> list[Any]:
    """Call the tools in turn; returns what the search answered."""
    searches = []
    for _ in range(calls):
        for name, call in tools.items():
            response = call()
            if name == "search_docs":
                searches.append(response)
    return searches


def _save(folder: Path, recorded: dict[str, list[Any]]) -> None:
    """Write the recorded responses as JSON lines, and a baseline of those before the deploy."""
    for name, responses in recorded.items():
        (folder / name).write_text("".join(json.dumps(response) + "\n" for response in responses), "utf-8")
    Baseline.learn(recorded["before.jsonl"]).save(folder / "baseline.json")


def _url(folder: Path) -> str:
    return f"sqlite:///{folder / 'toolpulse.db'}"


def _tools(monitor: Monitor, url: str) -> dict[str, Callable[[], Any]]:
    """Three functions as an agent has them, watched."""
    from urllib.request import ProxyHandler, build_opener

    # without the environment's proxies, which cannot reach this machine's loopback
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


class _OpenedIncidents:
    """A sink that counts the incidents that are opened."""

    def __init__(self) -> None:
        self.count = 0

    def emit(self, event: DriftEvent) -> None:
        self.count += event.status == "open"


def _show_results(folder: Path, say: Callable[[list[Any]], None]) -> None:
    from toolpulse.cli._views.drift import drift_log

    log, baseline, after = (folder / name for name in ("drift.jsonl", "baseline.json", "after.jsonl"))
    say(["", f"The drift log (an incident is reported once {_CONFIRM} calls show it):", ""])
    say(drift_log(history_of(str(log))))
    quoted = [shlex.quote(str(path)) for path in (log, baseline, after)]
    store = shlex.quote(_url(folder))
    say(["", f"Log, store, recorded responses and a baseline are in {folder}", "Try next:"])
    say([
        f"  toolpulse log --risk high {quoted[0]}",
        f"  toolpulse incidents --db {store}",
        f"  toolpulse show {quoted[1]}",
        f"  toolpulse check --baseline {quoted[1]} {quoted[2]}",
    ])  # fmt: skip


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fast", action="store_true", help="fewer calls and no pauses")
    parser.add_argument("--dir", metavar="DIR", help="where the files go (default: a new folder among temporary files)")


DEMO: Final = Command(
    name="demo",
    summary="watch a tool server for a week, in seconds",
    usage="[--fast] [--dir DIR]",
    about="Starts a small HTTP tool server on 127.0.0.1, calls it through watched functions for seven\n"
    "short days of ordinary variation and planted faults, and shows the drift log.",
    example="toolpulse demo --fast",
    exits=(Exit.OK, Exit.PRECONDITION),
    arguments=_arguments,
    run=_run,
)
