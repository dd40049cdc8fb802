from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType

import pytest
from snapshots import (
    POOL,
    accepted,
    called,
    decision_rewritten,
    events_of,
    everything,
    finding,
    held,
    let_go,
    map_learned,
    reread,
    taught,
    worsened,
)
from store_kinds import KINDS

from toolpulse import Monitor
from toolpulse.errors import ConfigurationError, StoreError
from toolpulse.state.snapshot import EMPTY, Snapshot
from toolpulse.stores import SCHEMES, open_store
from toolpulse.stores.base import LEASE, Store, missing_methods
from toolpulse.stores.memory import MemoryStore
from toolpulse.stores.sql.schema import SCHEMA
from toolpulse.stores.sql.store import SqlStore
from toolpulse.stores.sqlite import SqliteEngine

NAMES = ["", "t", "a.b", "é\n", "nul\0", "\0", "\ud800", "x" * 10_000, "'; drop table toolpulse_tools; --", "%s ? $1"]


def save(store, tool="t", key="", happened=taught, *, writer="w", batch=1, events=()):
    """One transaction in which something happened; what is known then."""
    with store.transaction(tool, key, writer) as transaction:
        after = happened(transaction.now)
        transaction.save(after, events, batch)
    return after


def incident(now, tool="t", key=""):
    """Something was found."""
    return held(now, tool, key)


def test_it_is_a_store(store):
    """The protocol is what a monitor asks for."""
    assert isinstance(store, Store)
    assert missing_methods(store) == []


def test_every_scheme_is_of_a_store_that_passes_through_here():
    """A store that nobody registered would be held to nothing."""
    assert set(SCHEMES.values()) == {f"toolpulse.stores.{kind.module}" for kind in KINDS.values()}


def test_a_scheme_is_one_line(monkeypatch):
    """A new store is a file and a line: nothing else has to know of it."""
    mine = ModuleType("mine")
    mine.open_url = lambda url, existing, clock: (url, existing, MemoryStore(clock))
    monkeypatch.setitem(sys.modules, "mine", mine)
    monkeypatch.setitem(SCHEMES, "mine", "mine")
    assert open_store("Mine://x", existing=True)[:2] == ("Mine://x", True)
    with pytest.raises(ConfigurationError, match=r"memory:, .* and mine:// are"):
        open_store("yours:")


def test_methods_that_are_missing_are_named():
    """Whoever writes a store should read what is missing, not find out at the first flush."""

    class Half:
        def __getattr__(self, name):
            if name in {"renew", "sent", "__name__"}:
                raise AttributeError(name)
            return print

    said = r"store: Half is no URL and lacks the methods renew\(\), sent\(\); see toolpulse.stores.base.Store"
    with pytest.raises(ConfigurationError, match=said):
        Monitor(Half())
    with pytest.raises(ConfigurationError, match="MemoryStore is a class"):
        Monitor(MemoryStore)


def test_a_new_store_knows_nothing(store):
    """The first start of a program must not look like an error."""
    assert store.load("t", "") is None
    assert (store.tools(), store.events(), store.incidents(), store.decided()) == ([], [], [], 0)
    with store.transaction("t", "", "w") as transaction:
        assert transaction.now is EMPTY
        assert transaction.saved == 0
    assert store.tools() == []


def test_what_was_saved_is_known_to_all(pair):
    """A store is what processes share, every part of it."""
    one, other = pair
    after = save(one, happened=lambda now: everything())
    assert one.load("t", "") == other.load("t", "") == after
    assert list(other.load("t", "").decisions) == list(after.decisions)
    with other.transaction("t", "") as transaction:
        assert transaction.now == after


def test_tools_and_keys_are_kept_apart(store):
    """A store that mixes up two variants of a call judges one by the other."""
    for count, (tool, key) in enumerate([("t", ""), ("t", "k"), ("", "tk"), ("tk", "")], 1):
        save(store, tool, key, lambda now, count=count: taught(now, count=count))
    assert [store.load(*names).observations for names in store.tools()] == [3, 1, 2, 4]


def test_names_are_taken_as_they_are(pair):
    """Names come from outside: no character in them breaks a statement, is lost, or makes two of them one."""
    one, other = pair
    for number, name in enumerate(NAMES, 1):
        save(one, name, name[::-1], lambda now, number=number: taught(now, count=number), events=())
    assert other.tools() == sorted((name, name[::-1]) for name in NAMES)
    assert [other.load(name, name[::-1]).observations for name in NAMES] == list(range(1, len(NAMES) + 1))


@pytest.mark.parametrize("name", ["nul\0", "\ud800", "x" * 10_000, "%s"])
def test_incidents_and_events_keep_such_names(pair, name):
    """What is found in a tool of such a name is told like any other."""
    one, other = pair
    after = held(EMPTY, name, name)
    events = events_of(EMPTY, after)
    save(one, name, name, lambda now: after, events=events)
    assert other.incidents(name) == list(after.incidents.values())
    assert other.events() == events


def test_an_error_in_the_block_undoes_it(pair):
    """A flush that fails half-way must not be half there, events included, and must not spoil what is remembered."""
    one, other = pair
    before = save(one)
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            _fail(one, error)
    assert one.load("t", "") == other.load("t", "") == before
    assert other.events() == []
    with one.transaction("t", "", "w") as transaction:
        assert (transaction.now, transaction.saved) == (before, 1)


def _fail(store, error):
    with store.transaction("t", "", "w") as transaction:
        after = incident(transaction.now)
        transaction.save(after, events_of(transaction.now, after), 2)
        raise error


def test_a_block_that_saves_nothing_changes_nothing(store):
    """A flush that finds its batch saved already leaves it at that."""
    before = save(store, batch=0)
    with store.transaction("t", "", "w"):
        pass
    assert store.load("t", "") is before
    assert store.decided() == 1


def test_a_writer_finds_the_number_of_its_newest_batch(pair):
    """Who does not learn whether a commit arrived must not count it twice."""
    one, other = pair
    save(one, batch=1)
    save(one, batch=2)
    save(other, writer="v", batch=7)
    save(one, writer="w", batch=0)
    for writer, number in {"w": 2, "v": 7, "u": 0}.items():
        with other.transaction("t", "", writer) as transaction:
            assert transaction.saved == number
    with other.transaction("t", "k", "w") as transaction:
        assert transaction.saved == 0


def test_counts_of_two_stores_add_up(pair):
    """Any number of processes teach the same shape; not one observation gets lost or counted twice."""
    for turn in range(6):
        save(pair[turn % 2], happened=lambda now, turn=turn: taught(incident(now), count=turn + 1))
    (row,) = pair[0].load("t", "").rows.values()
    (one,) = pair[1].load("t", "").quarantined.values()
    (found,) = pair[1].load("t", "").incidents.values()
    assert (row.count, row.first, row.last) == (21, 2, 27)
    assert (one.row.count, found.count) == (6, 6)
    assert pair[0].load("t", "") == pair[1].load("t", "")


def test_a_shape_that_was_let_go_counts_anew(pair):
    """A count that falls is no addition, and its first ordinal is the new one."""
    one, other = pair
    after = save(one, happened=lambda now: held(held(now, "t", "", count=5), "t", "", POOL[3]))
    other.load("t", "")
    key = next(iter(after.quarantined))

    def again(now):
        without = {other: found for other, found in now.quarantined.items() if other != key}
        return held(type(now)(**{**_fields(now), "quarantined": without}), "t", "", key.shape)

    after = save(one, happened=again)
    assert other.load("t", "") == after
    assert other.load("t", "").quarantined[key].row.count == 1


def _fields(now):
    return {name: getattr(now, name) for name in now.__struct_fields__}


def test_what_did_not_change_is_the_same_object(sql_pair):
    """Whoever goes on from a snapshot looks only at what is another object; a fleet could not afford more."""
    one, other = sql_pair
    save(one, happened=lambda now: everything())
    before = other.load("t", "")
    assert other.load("t", "") is before
    save(one, happened=lambda now: called(taught(now, POOL[1])))
    now = other.load("t", "")
    changed = [key for key, row in now.rows.items() if before.rows.get(key) is not row]
    assert [key[0] for key in changed] == [POOL[1]]
    assert all(now.quarantined[key] is one for key, one in before.quarantined.items())
    assert all(now.incidents[name] is found for name, found in before.incidents.items())
    assert now.decisions["d99"] is before.decisions["d99"]
    assert now.merged is before.merged
    assert now.reading is before.reading


def test_what_is_gone_is_gone_for_all(sql_pair):
    """A shape that was let go, or an incident that is over, must not live on in another process."""
    one, other = sql_pair
    save(one, happened=lambda now: held(accepted(incident(taught(now, POOL[0])), "t", ""), "t", "", POOL[3]))
    before = other.load("t", "")
    after = save(one, happened=lambda now: type(now)(**{**_fields(let_go(now)), "incidents": {}}))
    now = other.load("t", "")
    assert now == after
    assert now.incidents == {}
    assert now.quarantined
    assert all(row is before.rows[key] for key, row in now.rows.items())
    assert all(one is before.quarantined[key] for key, one in now.quarantined.items())


def test_a_loaded_snapshot_is_a_base_to_go_on_from(sql_pair):
    """What a store gives out is what it compares with later, whoever wrote in between."""
    one, other = sql_pair
    for turn in range(4):
        writer, reader = (one, other) if turn % 2 else (other, one)
        after = save(writer, happened=lambda now: taught(incident(now), POOL[1]))
        assert reader.load("t", "") == after


def test_forgetting_leaves_nothing(pair):
    """Whoever has a tool forgotten wants it learned anew, by every process, and its events gone."""
    one, other = pair
    after = save(one, happened=incident, events=events_of(EMPTY, incident(EMPTY)))
    kept = held(EMPTY, "u", "")
    save(one, "u", happened=lambda now: kept, events=events_of(EMPTY, kept))
    assert other.load("t", "") == after
    decided = other.decided()
    assert other.forget("t", "") is True
    assert one.decided() > decided
    assert other.forget("t", "") is False
    assert one.load("t", "") is None
    assert one.tools() == [("u", "")]
    assert one.events() == events_of(EMPTY, kept)
    with one.transaction("t", "", "w") as transaction:
        assert (transaction.now, transaction.saved) == (Snapshot(generation=1), 0)
    again = save(one, happened=lambda now: taught(now, POOL[4]))
    assert other.load("t", "") == again


@pytest.mark.parametrize("flushes", [1, 2])
def test_a_tool_that_came_again_is_not_taken_for_the_one_before(pair, flushes):
    """Forgotten and learned anew between two looks, it has as many flushes as before, or more, and shares nothing."""
    one, other = pair
    save(one, happened=incident)
    other.load("t", "")
    one.forget("t", "")
    for _ in range(flushes):
        after = save(one, happened=lambda now: held(now, "t", "", count=3))
    assert other.load("t", "") == after


def test_a_commit_that_fails_is_not_remembered(tmp_path):
    """What did not reach the database must not be given out as known."""

    class Failing(SqliteEngine):
        fails = False

        @contextmanager
        def transaction(self, lock=""):
            with super().transaction(lock) as db:
                yield db
                if self.fails:
                    raise OSError

    store = SqlStore(Failing(str(tmp_path / "t.db")))
    before = save(store)
    Failing.fails = True
    with pytest.raises(OSError):  # noqa: PT011 - it has no text
        save(store, batch=2)
    assert store.load("t", "") is before
    store.close()


def test_a_lower_number_of_a_batch_does_not_take_back_a_higher_one(store):
    """The number says up to where a writer's batches are saved."""
    save(store, batch=5)
    save(store, batch=3)
    with store.transaction("t", "", "w") as transaction:
        assert transaction.saved == 5


@pytest.mark.parametrize("every", [1, 2, 3])
def test_what_changes_about_a_part_is_known_to_all(pair, every):
    """Counts go another way than the rest, so that the rest must not be left behind: the incidents a held shape counts
    to, an incident's findings, evidence that stays while counts move, the order of decisions."""
    one, other = pair
    steps = [
        lambda now: held(taught(now), "t", ""),
        lambda now: held(now, "t", "", found=(finding("b"),)),
        worsened,
        let_go,
        taught,
        lambda now: accepted(now, "t", ""),
        lambda now: accepted(held(now, "t", ""), "t", ""),
        decision_rewritten,
        reread,
    ]
    for number, step in enumerate(steps, 1):
        after = save(one, happened=step)
        if number % every == 0:
            assert other.load("t", "") == after
            assert list(other.load("t", "").decisions) == list(after.decisions)
    assert len(after.decisions) == 2


def test_decisions_are_counted(pair):
    """Every process asks within an interval whether somebody decided, and only that."""
    one, other = pair
    save(one, happened=incident, batch=1)
    assert other.decided() == 0
    save(one, happened=lambda now: accepted(now, "t", ""), batch=0)
    assert one.decided() == other.decided() == 1


def test_incidents_are_found_oldest_first(store):
    """A list of what is open begins with what waits longest."""
    save(store, happened=lambda now: held(taught(now), "t", ""))
    save(store, "t", "k", lambda now: held(now, "t", "k"))
    save(store, "u", "", lambda now: held(held(now, "u", ""), "u", "", found=(finding("b"),)))
    assert [(i.tool, i.key, i.opened) for i in store.incidents("t")] == [("t", "k", 1), ("t", "", 2)]
    assert [i.opened for i in store.incidents()] == [1, 1, 2, 2]
    assert store.incidents("v") == []


def _events(number):
    now = EMPTY
    for place in range(number):
        now = held(now, "t", "", found=(finding(f"p{place}"),))
    return now, events_of(EMPTY, now)


def test_events_wait_until_they_were_sent(pair, clock):
    """A crash between commit and sink repeats an event and never loses it."""
    one, other = pair
    after, events = _events(3)
    save(one, happened=lambda now: after, events=events)
    assert other.claim("v", 10) == []
    clock.now += LEASE
    assert other.claim("v", 2) == events[:2]
    assert one.claim("w", 10) == events[2:]
    other.sent([event.id for event in events[:1]])
    clock.now += LEASE
    assert one.claim("w", 10) == events[1:]
    one.sent([event.id for event in events])
    clock.now += LEASE
    assert other.claim("v", 10) == []
    assert one.events() == other.events() == events


def test_events_without_a_writer_are_for_whoever_claims_them(store):
    """A decision is taken in a program that ends at once."""
    after, events = _events(1)
    save(store, happened=lambda now: after, writer="", batch=0, events=events)
    assert store.claim("w", 10) == events
    assert store.claim("v", 10) == []


def test_a_lease_can_be_renewed_by_who_has_it(pair, clock):
    """A sink that takes long must not have its events told by another process as well."""
    one, other = pair
    after, events = _events(2)
    save(one, happened=lambda now: after, events=events)
    clock.now += LEASE / 2
    one.renew("w", [events[0].id])
    other.renew("v", [events[1].id])
    clock.now += LEASE / 2
    assert other.claim("v", 10) == events[1:]
    clock.now += LEASE / 2
    one.renew("w", [event.id for event in events])
    assert one.claim("w", 10) == []
    clock.now += LEASE / 2
    assert one.claim("w", 10) == events[1:]


def test_an_event_is_kept_once(pair):
    """An event told again has the same id, and is the same event."""
    one, other = pair
    after, events = _events(1)
    save(one, happened=lambda now: after, events=events)
    save(other, writer="v", happened=taught, events=events)
    assert one.events() == events


def test_events_that_name_keys_of_a_map_go_when_it_is_learned(pair):
    """Keys of a map are nowhere kept, neither in an event that waits nor in one that was sent."""
    one, other = pair
    after = held(held(EMPTY, "t", "", found=(finding("series.k"),)), "t", "", found=(finding("other.k"),))
    events = events_of(EMPTY, after)
    save(one, happened=lambda now: after, events=events)
    elsewhere = held(EMPTY, "u", "", found=(finding("series.k"),))
    save(one, "u", "", lambda now: elsewhere, events=events_of(EMPTY, elsewhere))
    save(other, happened=map_learned)
    assert one.events() == [events[1], *events_of(EMPTY, elsewhere)]


def test_old_things_are_let_go(sql_pair, clock):
    """A store that runs for years holds a month of events, counts per hour and marks of writers."""
    one, other = sql_pair
    after, events = _events(2)
    save(one, happened=lambda now: after, events=events)
    one.sent([events[0].id])
    hour = int(clock.now // 3600)
    clock.now += 31 * 24 * 3600.0
    save(one, "u", "", taught)
    other.tidy()
    assert other.events() == []
    assert other.traffic("t", "", 0) == {}
    assert other.traffic("u", "", 0) == {hour + 31 * 24: 1}
    with other.transaction("t", "", "w") as transaction:
        assert transaction.saved == 0
    assert other.load("t", "") == after


def test_only_so_many_events_are_kept(sql_pair, monkeypatch):
    """A tool that changes every minute does not fill a disk, nor do events where nobody has a sink."""
    monkeypatch.setattr("toolpulse.stores.sql.outbox.MOST_EVENTS", 2)
    one, _ = sql_pair
    after, events = _events(6)
    save(one, happened=lambda now: after, events=events)
    one.sent([event.id for event in events[1:4]])
    one.tidy()
    assert one.events() == events[-2:]


def test_traffic_is_counted_by_the_hour(sql_pair, clock):
    """How often a tool was called, and since when it is quiet, can be asked later; moved shapes are counted once."""
    one, other = sql_pair
    hour = int(clock.now // 3600)
    save(one, happened=lambda now: held(taught(now, count=3), "t", "", count=2))
    clock.now += 3600
    save(other, happened=lambda now: taught(now, count=4))
    save(other, happened=lambda now: accepted(now, "t", ""), batch=0)
    save(one, happened=lambda now: let_go(taught(now, POOL[4], count=2)))
    save(one, happened=lambda now: reread(taught(now, POOL[5])))
    assert one.traffic("t", "", 0) == {hour: 5, hour + 1: 7}
    assert one.traffic("t", "", hour + 1) == {hour + 1: 7}
    assert one.traffic("u", "", 0) == {}


def test_a_transaction_inside_another_is_refused(sql_pair):
    """Two transactions of one store would wait for each other, or end each other."""
    one, _ = sql_pair
    for inner in (lambda: save(one), lambda: one.load("t", ""), lambda: one.forget("u", "")):
        with pytest.raises(StoreError, match="open already"), one.transaction("t", ""):
            inner()
    save(one)


def test_what_is_whole_passes_the_check(sql_pair):
    """A check that cries wolf is not run twice."""
    one, other = sql_pair
    assert other.check() == []
    save(one, happened=lambda now: everything())
    save(one, "u", "\0", incident)
    assert other.check() == []
    assert one.size() > 0
    assert one.schema == SCHEMA


def test_a_store_describes_itself(sql_pair):
    """Whoever runs several wants to see which one this is, and never the password."""
    one, _ = sql_pair
    told = one.describe()
    assert told["engine"] in {"sqlite", "postgresql"}
    assert told["version"][0].isdigit()
    assert "correct-horse" not in str(told)


def test_it_works_on_after_it_was_closed(sql_pair):
    """A monitor that comes back opens it again, and a second close does no harm."""
    one, _ = sql_pair
    after = save(one)
    one.close()
    assert one.load("t", "") == after
    one.close()
    one.close()
