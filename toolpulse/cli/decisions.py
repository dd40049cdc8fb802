"""``toolpulse accept``, ``reject`` and ``ignore``: decisions about incidents, for all who share the store."""

from __future__ import annotations

import argparse
import getpass
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import msgspec

from toolpulse.cli._actions import json_argument
from toolpulse.cli._command import Command
from toolpulse.cli._exit import Exit
from toolpulse.cli._output import Output
from toolpulse.cli._rulings import print_json
from toolpulse.cli._store import FOLLOW, db_argument, opened
from toolpulse.cli._targets import one_path, target_of, words
from toolpulse.cli._text import plural, short_names
from toolpulse.decide import decide, targets
from toolpulse.incident import DECIDED, Action, Decision

if TYPE_CHECKING:
    from toolpulse.stores.base import Store

_THEN: Final[dict[Action, str]] = {
    "accept": "what shows it teaches",
    "reject": "it stays a break, and what shows it never teaches",
    "ignore": "it is counted and told of no more",
}


def _decide(args: argparse.Namespace) -> int:
    action: Action = args.action
    who = _login() if args.who is None else args.who
    now = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    with opened(args) as store:
        target = target_of(store, args.target)
        places = sorted({(incident.tool, incident.key) for incident in targets(store, target)})
        before = _held(store, places)
        taken = decide(store, action, target, args.changes, reason=args.reason, who=who, time=now)
        after = _held(store, places)
        names = short_names(tool for tool, _ in store.tools())
    teach = sum(count for key, count in before.items() if action == "accept" and key not in after)
    if args.json:
        decisions = msgspec.to_builtins(taken)
        print_json({"schema": 1, "action": action, "target": target, "decisions": decisions, "teach": teach})
    else:
        from toolpulse.cli._render import Printer
        from toolpulse.cli._store_views import decided

        Printer(Output()).lines(decided(taken, DECIDED[action], names, _tail(action, target, taken, teach)))
    return Exit.OK


def _tail(action: Action, target: str, taken: Sequence[Decision], teach: int) -> str:
    if not taken:
        return f"nothing of {target} was left to {action}: it was decided before, or nothing is open"
    then = f"{plural(teach, 'held response')} {'teaches' if teach == 1 else 'teach'} now" if teach else _THEN[action]
    return f"{then}; {FOLLOW}"


def _held(store: Store, places: Sequence[tuple[str, str]]) -> dict[object, int]:
    """What is held of some tools and keys: how many responses, by place and shape."""
    found: dict[object, int] = {}
    for place in places:
        now = store.load(*place)
        found |= {(place, key): held.row.count for key, held in now.held.items()} if now else {}
    return found


def _login() -> str:
    try:
        name = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container may know no name for its user
        return ""
    return name.encode("utf-8", "replace").decode()


def _arguments(action: Action) -> Callable[[argparse.ArgumentParser], None]:
    def arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("target", metavar="INCIDENT|TOOL",
                            help="an incident, by its id or the first 4 or more digits of it; or all that stand of a "
                            "tool, by its name or its end where no other has it")  # fmt: skip
        parser.add_argument("changes", metavar="CHANGE", nargs="*", type=one_path,
                            help="paths of an incident's changes (default: all of them)")  # fmt: skip
        parser.add_argument("--reason", metavar="TEXT", type=words, required=True, help="why; kept with the decision")
        parser.add_argument("--who", metavar="NAME", type=words, help="who decides (default: the login name)")
        db_argument(parser)
        json_argument(parser)
        parser.set_defaults(action=action)

    return arguments


def _command(action: Action, summary: str, about: str, example: str) -> Command:
    usage = "INCIDENT|TOOL [CHANGE ...] --reason TEXT [--who NAME] [--db URL] [--json]"
    return Command(action, summary, usage, about, example, (Exit.OK, Exit.INPUT), _arguments(action), _decide)


_AUDIT: Final = "The decision is kept with its reason, and reaches running\nprocesses within one flush interval."

ACCEPT: Final = _command(
    "accept",
    "take a change for the new normal",
    f"Accepts an incident, some of its changes, or all incidents that stand of a tool: what was held for them\n"
    f"teaches now, with its counts. {_AUDIT}",
    'toolpulse accept search_docs --reason "the new release of the search"',
)

REJECT: Final = _command(
    "reject",
    "keep a change out of the baseline for good",
    f"Rejects an incident, some of its changes, or all incidents that stand of a tool: it is a break, and what\n"
    f"shows it never teaches. {_AUDIT}",
    'toolpulse reject 3f2a9c --reason "the invoice must be in cents"',
)

IGNORE: Final = _command(
    "ignore",
    "be told of a change no more",
    f"Mutes an incident, some of its changes, or all incidents that stand of a tool: it is counted, and told of\n"
    f"no more. {_AUDIT}",
    "toolpulse ignore 3f2a9c 'pages[].error' --reason 'known; ticket 4711'",
)
