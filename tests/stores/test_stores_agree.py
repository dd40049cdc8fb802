# ruff: noqa: D102
from __future__ import annotations

from contextlib import suppress

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from snapshots import after, events_of, happenings

from toolpulse.stores import open_store
from toolpulse.stores.memory import MemoryStore

NAMES = st.sampled_from(["t", "", "nul\0 \ud800 é\n '; drop table toolpulse_rows; --"])
WRITERS = st.sampled_from(["", "w", "v"])
TURNS = st.integers(0, 1)


class _UndoneError(Exception):
    """Raised to undo a transaction."""


class StoresAgree(RuleBasedStateMachine):
    """The same operations on every store; two stores on each database take turns, and all agree with the one in memory.

    What is known next is made from what each store itself gives out, as a flush does.
    """

    def __init__(self, server, folder):
        super().__init__()
        self.server = server
        self.database = server.new_database()
        number = next(folder.numbers)
        self.urls = {"sqlite": f"sqlite:///{folder.path}/{number}.db", "postgresql": server.url(self.database)}
        self.now = 1_800_000_000.0
        self.batch = 0
        self.memory = MemoryStore(self.clock)
        self.stores = {name: [self.open(url), self.open(url)] for name, url in self.urls.items()}

    def clock(self):
        return self.now

    def open(self, url):
        return open_store(url, clock=self.clock)

    def each(self, turn):
        """The store in memory, and of each database the store whose turn it is."""
        return [self.memory, *(pair[turn] for pair in self.stores.values())]

    def agree(self, turn, ask):
        """Ask each store the same; the one answer they give."""
        answers = [ask(store) for store in self.each(turn)]
        assert all(answer == answers[0] for answer in answers), answers
        return answers[0]

    @rule(
        tool=NAMES, key=st.just(""), writer=WRITERS, turn=TURNS, undone=st.booleans(), decides=st.booleans(),
        happened=st.lists(happenings, min_size=1, max_size=4),
    )  # fmt: skip
    def flush(self, tool, key, writer, turn, undone, decides, happened):
        self.batch += not decides
        batch = 0 if decides else self.batch

        def save(store):
            with suppress(_UndoneError), store.transaction(tool, key, writer) as transaction:
                found = transaction.now, transaction.saved
                now = after(transaction.now, happened, tool, key)
                transaction.save(now, events_of(transaction.now, now), batch)
                if undone:
                    raise _UndoneError
            return found

        self.agree(turn, save)

    @rule(tool=NAMES, turn=TURNS)
    def forget(self, tool, turn):
        self.agree(turn, lambda store: store.forget(tool, ""))

    @rule(writer=WRITERS, turn=TURNS, most=st.integers(1, 3), sent=st.booleans())
    def claim(self, writer, turn, most, sent):
        events = self.agree(turn, lambda store: store.claim(writer, most))
        if sent:
            self.agree(turn, lambda store: store.sent([event.id for event in events]))

    @rule(writer=WRITERS, turn=TURNS)
    def renew(self, writer, turn):
        events = [event.id for event in self.memory.events()]
        self.agree(turn, lambda store: store.renew(writer, events))

    @rule(seconds=st.sampled_from([1.0, 30.0, 61.0]), turn=TURNS)
    def time_passes(self, seconds, turn):
        self.now += seconds
        self.agree(turn, lambda store: store.tidy())

    @rule(turn=TURNS)
    def open_again(self, turn):
        for name, pair in self.stores.items():
            pair[turn].close()
            pair[turn] = self.open(self.urls[name])

    @rule(turn=TURNS)
    def look(self, turn):
        """One of two looks: what the other one remembers may be many transactions old."""
        for names in self.agree(turn, lambda store: store.tools()):
            known = self.agree(turn, lambda store, names=names: store.load(*names))
            for store in self.each(turn):
                assert list(store.load(*names).decisions) == list(known.decisions)
                assert store.load(*names) is store.load(*names)

    @invariant()
    def tell_the_same(self):
        self.agree(0, lambda store: store.tools())
        self.agree(0, lambda store: store.events())
        self.agree(0, lambda store: store.incidents())
        self.agree(0, lambda store: store.decided())

    def teardown(self):
        self.look(0)
        self.look(1)
        for pair in self.stores.values():
            assert pair[0].check() == []
            for store in pair:
                store.close()
        self.server.drop_database(self.database)


class _Folder:
    def __init__(self, path):
        self.path = path
        self.numbers = iter(range(10**6))


def test_all_stores_agree(postgres, tmp_path):
    """A store that forgets, mixes up or invents is told from the one in memory, and one process from another."""
    folder = _Folder(tmp_path)
    few = settings(max_examples=max(10, settings.default.max_examples // 10), stateful_step_count=30)
    run_state_machine_as_test(lambda: StoresAgree(postgres, folder), settings=few)
