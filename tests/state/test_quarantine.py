from __future__ import annotations

import msgspec

from toolpulse import shape_of
from toolpulse.evidence.profile import Profile
from toolpulse.evidence.quarantine import QuarantineLog
from toolpulse.evidence.rows import Row
from toolpulse.state.learning import quarantine as room
from toolpulse.state.learning.quarantine import Quarantine
from toolpulse.state.pending import Tally, TallyKey
from toolpulse.state.snapshot import Quarantined

SHAPE = shape_of({"id": "x"}).shape


def tally(count, last, shape=SHAPE):
    """Observations of one shape, the last of them at an ordinal."""
    return Tally(shape, "native", count, last - count + 1, last, "t")


def entry(count, last, shape=SHAPE):
    """The key of a quarantined shape, and what is kept of it."""
    row = Row(shape, count, last - count + 1, last)
    return TallyKey(shape, "native", (), ()), Quarantined(row, (), frozenset({"i"}))


def test_what_was_learned_elsewhere_counts_as_learned_here():
    """Another process accepted it: from then on its observations hide no absence."""
    quarantine = Quarantine()
    key, one = entry(5, 25)
    before = {key: one}
    quarantine.restore(before, Profile())
    assert quarantine.unlearned.learned_until(25) == 20
    quarantine.grow(before, {}, {one.row.key: one.row}, Profile())
    assert (len(quarantine), quarantine.unlearned.learned_until(25)) == (0, 25)


def test_what_was_let_go_elsewhere_is_still_not_learned():
    """It made room for others; its observations say no more than before about what is absent."""
    quarantine = Quarantine()
    key, one = entry(5, 25)
    quarantine.restore({key: one}, Profile())
    quarantine.grow({key: one}, {}, {}, Profile())
    assert (len(quarantine), quarantine.unlearned.learned_until(25)) == (0, 20)


def test_growing_counts_what_came_meanwhile():
    """Only the difference: what was known is counted already."""
    quarantine = Quarantine()
    key, one = entry(5, 25)
    more = msgspec.structs.replace(one, row=msgspec.structs.replace(one.row, count=8, last=40))
    quarantine.restore({key: one}, Profile())
    quarantine.grow({key: one}, {key: more}, {}, Profile())
    assert quarantine.unlearned.learned_until(40) == 32
    assert quarantine.get(key) is more


def test_what_came_in_several_batches_is_released_from_all():
    """Its row knows only when it came last, so what was counted before that has to go with it."""
    unlearned = QuarantineLog()
    unlearned.add(3, 10)
    unlearned.add(3, 20)
    unlearned.release(6, 20)
    assert (unlearned.learned_until(10), unlearned.learned_until(20)) == (10, 20)


def test_no_more_is_released_than_came():
    """A count that went below none would make more learned than there was."""
    unlearned = QuarantineLog()
    unlearned.add(3, 10)
    unlearned.release(5, 10)
    assert unlearned.learned_until(10) == 10


def test_releasing_what_came_after_all_that_is_noted_changes_nothing():
    """Notes are bounded, so what is released may be newer than any of them."""
    unlearned = QuarantineLog()
    unlearned.add(3, 10)
    unlearned.release(2, 30)
    assert unlearned.learned_until(30) == 27


def test_accepting_releases_the_rows_that_are_free():
    """What nobody decided about stays where it is."""
    quarantine = Quarantine()
    other = shape_of({"id": [1]}).shape
    for shape, last in ((SHAPE, 12), (other, 15)):
        key, one = entry(2, last, shape)
        quarantine.add(key, one)
        quarantine.note(tally(2, last, shape), Profile())
    rows = quarantine.release(lambda key, _: key.shape is SHAPE)
    assert [row.shape for row in rows] == [SHAPE]
    assert [key.shape for key in quarantine.shapes] == [other]
    assert quarantine.unlearned.learned_until(15) == 13


def test_it_is_bounded_and_the_rarest_go(monkeypatch):
    """A hostile tool invents a shape a call."""
    monkeypatch.setattr(room, "MOST_SHAPES", 3)
    quarantine = Quarantine()
    shapes = [shape_of({f"f{n}": 1}).shape for n in range(5)]
    for n, shape in enumerate(shapes):
        quarantine.add(*entry(10 - n, 100 + n, shape))
    assert {key.shape for key in quarantine.shapes} == {shapes[0], shapes[1], shapes[4]}


def test_shapes_that_name_keys_of_a_new_map_go():
    """They were walked while the keys passed for fields, and keys are not kept."""
    quarantine = Quarantine()
    other = shape_of({"id": [1]}).shape
    for shape in (SHAPE, other):
        quarantine.add(*entry(2, 12, shape))
    quarantine.forget_keys_of(frozenset({()}), lambda shape: shape if shape is other else other)
    assert [key.shape for key in quarantine.shapes] == [other]
