"""``toolpulse accept``, ``reject`` and ``ignore``: decisions about incidents, for all who share the store."""

from __future__ import annotations

import argparse
import getpass
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from toolpulse._base.times import iso_time
from toolpulse.cli._actions import json_argument
from toolpulse.cli._command import DASH, Command
from toolpulse.cli._exit import Exit
from toolpulse.cli._output import Output
from toolpulse.cli._rulings import print_json
from toolpulse.cli._store import FOLLOW, db_argument, opened
from toolpulse.cli._targets import BY_NAME, one_path, target_of, words
from toolpulse.cli._text import plural, short_names
from toolpulse.runtime.decisions import decide, targets
from toolpulse.state.incidents import DECIDED, Action, Decision

if TYPE_CHECKING:
    from toolpulse.state.snapshot import Snapshot
    from toolpulse.stores.base import Store

_THEN: Final[dict[Action, str]] = {
    "accept": "what shows it teaches",
    "reject": "it stays a break, and what shows it never teaches",
    "ignore": "it is counted and told of no more",
}

_AFTER_ACCEPT: Final[dict[Action, str]] = {
    "reject": "it is rejected from now on",
    "ignore": _THEN["ignore"],
}

_STAYS: Final = (
    "what taught while it was accepted stays known, until `toolpulse baseline import --replace` puts another baseline "
    "in its place or `toolpulse forget` drops it"
)


def _decide(args: argparse.Namespace) -> int:
    action: Action = args.action
    who = _login() if args.who is None else args.who
    with opened(args) as store:
        target = target_of(store, args.target)
        places = _places(store, target)
        before = _known(store, places)
        taken = decide(store, action, target, args.changes, reason=args.reason, who=who, time=iso_time(time.time()))
        after = _held(_known(store, places))
        names = short_names(tool for tool, _ in store.tools())
    teach = sum(count for key, count in _held(before).items() if action == "accept" and key not in after)
    then = _then(action, teach, taught=_was_accepted(before, taken))
    if args.json:
        decisions = msgspec.to_builtins(taken)
        print_json({"schema": 1, "action": action, "target": target, "decisions": decisions, "teach": teach})
    else:
        from toolpulse.cli._render import Printer
        from toolpulse.cli._store_views import decided

        Printer(Output()).lines(decided(taken, DECIDED[action], names, _tail(action, target, taken, then)))
    return Exit.OK


def _tail(action: Action, target: str, taken: Sequence[Decision], then: str) -> str:
    if not taken:
        return f"nothing of {target} was left to {action}: it was decided before, or nothing is open"
    return f"{then}; {FOLLOW}"


def _then(action: Action, teach: int, *, taught: bool) -> str:
    if teach:
        return f"{plural(teach, 'held response')} {'teaches' if teach == 1 else 'teach'} now"
    return f"{_AFTER_ACCEPT[action]}; {_STAYS}" if taught and action in _AFTER_ACCEPT else _THEN[action]


def _places(store: Store, target: str) -> list[tuple[str, str]]:
    """The tools and keys that a target speaks of, those of which no incident can be read included."""
    named = {(tool, key) for tool, key in store.tools() if tool == target}
    return sorted(named | {(incident.tool, incident.key) for incident in targets(store, target)})


def _known(store: Store, places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Snapshot]:
    """What is known of some tools and keys. Raises StoreUnreadable where that of one cannot be read."""
    found = {place: store.load(*place) for place in places}
    return {place: now for place, now in found.items() if now is not None}


def _held(known: Mapping[tuple[str, str], Snapshot]) -> dict[object, int]:
    """What is held of some tools and keys: how many responses, by place and shape."""
    return {(place, key): held.row.count for place, now in known.items() for key, held in now.held.items()}


def _was_accepted(before: Mapping[tuple[str, str], Snapshot], taken: Sequence[Decision]) -> bool:
    """Whether any of the changes that were decided about was accepted at some time before."""
    changes = {(decision.incident, change) for decision in taken for change in decision.changes}
    return any(
        decision.action == "accept" and any((decision.incident, change) in changes for change in decision.changes)
        for now in before.values()
        for decision in now.decisions.values()
    )


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
                            f"tool, {BY_NAME}; {DASH}")  # fmt: skip
        parser.add_argument("changes", metavar="CHANGE", nargs="*", type=one_path, default=(),
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
