"""``toolpulse accept``, ``reject`` and ``ignore``: decisions about incidents, for all who share the store."""

from __future__ import annotations

import argparse
import getpass
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from toolpulse._base.times import iso_time
from toolpulse.cli._kit.arguments import json_argument, one_path, words
from toolpulse.cli._kit.command import DASH, Command
from toolpulse.cli._kit.exits import Exit
from toolpulse.cli._kit.output import Output, print_json
from toolpulse.cli._kit.store import FOLLOW, db_argument, opened
from toolpulse.cli._kit.targets import BY_NAME, target_of
from toolpulse.cli._kit.text import plural, short_names
from toolpulse.runtime.decisions import decide, targets
from toolpulse.state.incidents import DECIDED, Action, Decision

if TYPE_CHECKING:
    from toolpulse.state.snapshot import Snapshot
    from toolpulse.stores.base import Store

_THEN: Final[dict[Action, str]] = {
    "accept": "responses that show it are learned",
    "reject": "it stays a break, and responses that show it are never learned",
    "ignore": "it is counted, and no longer reported",
}
"""What follows from a decision."""

_AFTER_ACCEPT: Final[dict[Action, str]] = {
    "reject": "it is rejected from now on",
    "ignore": _THEN["ignore"],
}
"""The same, about something that was accepted before."""

_STAYS: Final = (
    "what was learned while it was accepted stays known, until `toolpulse baseline import --replace` puts another "
    "baseline in its place or `toolpulse forget` drops it"
)


def _decide(args: argparse.Namespace) -> int:
    action: Action = args.action
    who = _login() if args.who is None else args.who
    with opened(args) as store:
        target = target_of(store, args.target)
        tool_keys = _tool_keys(store, target)
        before = _snapshots(store, tool_keys)
        decisions = decide(store, action, target, args.changes, reason=args.reason, who=who, time=iso_time(time.time()))
        after = _quarantined(_snapshots(store, tool_keys))
        names = short_names(tool for tool, _ in store.tools())
    learned = sum(count for key, count in _quarantined(before).items() if action == "accept" and key not in after)
    if args.json:
        plain = msgspec.to_builtins(decisions)
        print_json({"schema": 1, "action": action, "target": target, "decisions": plain, "learned": learned})
    else:
        from toolpulse.cli._views.printer import Printer
        from toolpulse.cli._views.store_views import decision_lines

        then = _consequence(action, learned, accepted_before=_accepted_before(before, decisions))
        nothing = f"nothing of {target} was left to {action}: it was decided before, or nothing is open"
        follows = f"{then}; {FOLLOW}" if decisions else nothing
        Printer(Output()).lines(decision_lines(decisions, DECIDED[action], names, follows))
    return Exit.OK


def _consequence(action: Action, learned: int, *, accepted_before: bool) -> str:
    if learned:
        return f"{plural(learned, 'quarantined response')} {'is' if learned == 1 else 'are'} learned now"
    if accepted_before and action in _AFTER_ACCEPT:
        return f"{_AFTER_ACCEPT[action]}; {_STAYS}"
    return _THEN[action]


def _tool_keys(store: Store, target: str) -> list[tuple[str, str]]:
    """The tools and keys that a target means, also those of which no incident can be read."""
    named = {(tool, key) for tool, key in store.tools() if tool == target}
    return sorted(named | {(incident.tool, incident.key) for incident in targets(store, target)})


def _snapshots(store: Store, tool_keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Snapshot]:
    """The snapshot of each tool and key. Raises StoreUnreadable where one cannot be read."""
    loaded = {tool_key: store.load(*tool_key) for tool_key in tool_keys}
    return {tool_key: snapshot for tool_key, snapshot in loaded.items() if snapshot is not None}


def _quarantined(snapshots: Mapping[tuple[str, str], Snapshot]) -> dict[object, int]:
    """How many responses are quarantined, by tool, key and shape."""
    return {
        (tool_key, key): shape.row.count
        for tool_key, snapshot in snapshots.items()
        for key, shape in snapshot.quarantined.items()
    }


def _accepted_before(before: Mapping[tuple[str, str], Snapshot], decisions: Sequence[Decision]) -> bool:
    """Whether any of the changes that were decided on had been accepted at some time."""
    changes = {(decision.incident, change) for decision in decisions for change in decision.changes}
    return any(
        decision.action == "accept" and any((decision.incident, change) in changes for change in decision.changes)
        for snapshot in before.values()
        for decision in snapshot.decisions.values()
    )


def _login() -> str:
    try:
        name = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container may know no name for its user
        return ""
    # a name that is no UTF-8 cannot be stored
    return name.encode("utf-8", "replace").decode()


def _arguments(action: Action) -> Callable[[argparse.ArgumentParser], None]:
    def arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("target", metavar="INCIDENT|TOOL",
                            help="an incident, by its id or the first 4 or more digits of it; or all open or resolved "
                            f"ones of a tool, {BY_NAME}; {DASH}")  # fmt: skip
        parser.add_argument("changes", metavar="CHANGE", nargs="*", type=one_path, default=(),
                            help="paths of an incident's changes (default: all of them)")  # fmt: skip
        parser.add_argument("--reason", metavar="TEXT", type=words, required=True, help="why; kept with the decision")
        parser.add_argument("--who", metavar="NAME", type=words, help="who decides (default: the login name)")
        db_argument(parser)
        json_argument(parser)
        parser.set_defaults(action=action)

    return arguments


def _command(action: Action, summary: str, about: str, example: str) -> Command:
    """The three commands differ in their words only."""
    return Command(
        name=action,
        summary=summary,
        usage="INCIDENT|TOOL [CHANGE ...] --reason TEXT [--who NAME] [--db URL] [--json]",
        about=f"{about} The decision is kept with its reason, and reaches\n"
        "running processes within one flush interval.",
        example=example,
        exits=(Exit.OK, Exit.INPUT),
        arguments=_arguments(action),
        run=_decide,
    )


ACCEPT: Final = _command(
    "accept",
    "accept a change as the new normal",
    "Accepts an incident, some of its changes, or all open or resolved incidents of a tool: the responses that were\n"
    "quarantined for them are learned now, with their counts.",
    'toolpulse accept search_docs --reason "the new release of the search"',
)

REJECT: Final = _command(
    "reject",
    "keep a change out of the baseline for good",
    "Rejects an incident, some of its changes, or all open or resolved incidents of a tool: it is a break, and\n"
    "responses that show it are never learned.",
    'toolpulse reject 3f2a9c --reason "the invoice must be in cents"',
)

IGNORE: Final = _command(
    "ignore",
    "stop reporting a change",
    "Mutes an incident, some of its changes, or all open or resolved incidents of a tool: it is counted, and\n"
    "no longer reported.",
    "toolpulse ignore 3f2a9c 'pages[].error' --reason 'known; ticket 4711'",
)
