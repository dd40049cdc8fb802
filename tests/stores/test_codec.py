from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from snapshots import POOL, cut_places, everything, finding, findings, held, readable_paths
from strategies import field_names, shapes

from toolpulse._base.canonical import ascii_json, load_strict
from toolpulse.evidence.profile import Profile, Sightings, fold, merge
from toolpulse.evidence.rows import Row
from toolpulse.state.pending import TallyKey
from toolpulse.state.snapshot import EMPTY, Quarantined
from toolpulse.stores.sql import codec

names = st.text(st.characters(codec=None, categories=None), max_size=8)

rows = st.lists(
    st.tuples(
        shapes, st.builds(Sightings, st.integers(1, 9), st.integers(1, 9), st.integers(9, 99)), field_names,
        st.frozensets(readable_paths, max_size=2),
    ),
    max_size=4,
)  # fmt: skip


@given(names, names)
def test_names_are_escaped_one_by_one(one, other):
    """A database takes ASCII without NUL; two names that became one would share a baseline."""
    text = codec.escaped(one)
    assert text.isascii()
    assert "\0" not in text
    assert codec.unescaped(text) == one
    assert (text == codec.escaped(other)) is (one == other)
    assert (codec.tool_id(one, other) == codec.tool_id(other, one)) is (one == other)


@given(rows, rows)
def test_a_profile_comes_back_as_it_was(one, other):
    """The evidence of shapes that were let go is kept as text; a count lost there is lost for good."""
    profile = merge(fold(one), fold(other))
    for back in (Profile.from_plain(profile.plain()), codec.read_profile(codec.profile_text(profile))):
        assert back == profile
        assert back.has_maps is profile.has_maps
        assert merge(back, fold(one)) == merge(profile, fold(one))


@given(rows)
def test_a_profile_read_as_maps_comes_back_as_it_was(found):
    """A map learned turns fields into values, in what was let go too."""
    profile = fold(found).with_maps([(), ("a",), ("id",)])
    back = codec.read_profile(codec.profile_text(profile))
    assert (back, back.has_maps) == (profile, profile.has_maps)


def test_a_profile_s_text_leaves_out_what_counts_nothing():
    """A thousand places with fifteen figures each would be most of a database."""
    assert codec.profile_text(Profile()) == "{}"
    text = codec.profile_text(fold([(POOL[1], Sightings(3, 1, 3), "native", frozenset())]))
    assert "0,0,0" not in text
    assert len(text) < 1000


@given(shapes, st.integers(1, 99), field_names, st.frozensets(readable_paths, max_size=2))
def test_a_row_comes_back_as_it_was(shape, count, encoding, cuts):
    """Rows are what everything else is made of."""
    row = Row(shape, count, 1, 99, encoding, cuts)
    texts = shape.text, codec.escaped(encoding), codec.cuts_text(row)
    assert all(text.isascii() for text in texts)
    assert codec.read_row(*texts, (count, 1, 99)) == row


@given(
    shapes, field_names, cut_places, st.lists(field_names, max_size=2).map(tuple), st.lists(findings).map(tuple),
    st.frozensets(names.map(codec.escaped)),
)  # fmt: skip
def test_a_held_shape_comes_back_as_it_was(shape, encoding, cut, broken, found, incidents):
    """What is held is judged again when it is decided about, by all that its judgement depends on."""
    key = TallyKey(shape, encoding, cut, broken)
    row = Row(shape, 3, 1, 9, encoding)
    text = codec.quarantined_text(key, Quarantined(row, found, incidents))
    assert text.isascii()
    assert codec.read_quarantined(shape.text, codec.escaped(encoding), text, (3, 1, 9)) == (
        key,
        Quarantined(row, found, incidents),
    )


def test_each_part_of_a_key_makes_another_row():
    """Rows that share an id would be counted as one."""
    key = next(iter(held(EMPTY, "t", "", cut=(("a", "elements"),), broken=("me: x",)).quarantined))
    others = [
        key._replace(shape=POOL[0]),
        key._replace(encoding="native"),
        key._replace(cut=()),
        key._replace(broken=()),
    ]
    ids = {codec.quarantined_id(one) for one in (key, *others)}
    rows = {codec.learned_id(one) for one in ((key.shape, "a", frozenset()), (key.shape, "a", frozenset({("b",)})))}
    assert len(ids | rows) == 7


def test_the_parts_of_a_snapshot_come_back_as_they_were():
    """A process goes on where another one stopped: with every field of everything."""
    now = everything()
    state = codec.read_state(codec.state_text(now))
    assert state == codec.State(now.maps_learned, now.cuts, now.calls, now.reading, now.generation)
    for incident in now.incidents.values():
        assert codec.read_incident(*codec.incident_texts(incident)) == incident
    for decision in now.decisions.values():
        assert codec.read_decision(codec.decision_text(decision)) == decision


def test_findings_that_are_known_are_not_read_again():
    """An incident that counts up has the very findings that it had."""
    (incident,) = held(EMPTY, "t", "").incidents.values()
    body, _ = codec.incident_texts(msgspec.structs.replace(incident, count=5))
    back = codec.read_incident(body, incident.findings)
    assert back.count == 5
    assert back.findings is incident.findings


@pytest.mark.parametrize(
    "read",
    [
        lambda: codec.read_row("{", "native", "[]", (1, 1, 1)),
        lambda: codec.read_row('"nothing"', "native", "[]", (1, 1, 1)),
        lambda: codec.read_row('"null"', "native", '["a b"]', (1, 1, 1)),
        lambda: codec.read_quarantined('"null"', "native", "{}", (1, 1, 1)),
        lambda: codec.read_state("[]"),
        lambda: codec.read_state("{}"),
        lambda: codec.read_incident("{}", "[]"),
        lambda: codec.read_incident("[]", "[]"),
        lambda: codec.read_decision('{"id": 5}'),
        lambda: codec.read_event("{}"),
        lambda: codec.read_profile("[]"),
        lambda: codec.read_profile('{"root": {"seen": [1]}, "encodings": {"a": [1, 2, 3, 4]}}'),
        lambda: codec.read_profile('{"root": {"fields": [1]}}'),
        lambda: codec.unescaped("é"),
        lambda: codec.read_row("[" * 100_000, "native", "[]", (1, 1, 1)),
    ],
)
def test_a_text_that_is_damaged_is_told_from_a_bug(read):
    """Whatever a damaged database holds raises what is caught, and says so in one line."""
    with pytest.raises(codec.UNREADABLE):
        read()


def test_texts_are_ascii_json():
    """PostgreSQL refuses NUL, and lone surrogates in UTF-8."""
    text = codec.quarantined_text(
        TallyKey(POOL[0], "\0", (), ("\ud800",)), Quarantined(Row(POOL[0], 1, 1, 1), (finding(),), frozenset())
    )
    assert text == ascii_json(load_strict(text)).decode("ascii")
