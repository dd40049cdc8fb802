from __future__ import annotations

from toolpulse import shape_of
from toolpulse.evidence.profile import Sightings, fold
from toolpulse.judgement.diff import diff
from toolpulse.judgement.path_diff import fits


def profile_of(*responses):
    """The profile of responses, each seen ten times in turn."""
    return fold(
        (shape_of(response).shape, Sightings(10, n * 10 + 1, n * 10 + 10), "native", frozenset())
        for n, response in enumerate(responses)
    )


def facts(profile, response, *, sealed=True):
    """What differs, as path and fact."""
    return [(change.where, change.fact) for change in diff(profile, shape_of(response).shape, sealed=sealed)]


def test_a_field_that_some_elements_lacked_is_not_required():
    """It was there in every response that had elements, and still an element may do without."""
    mixed, all_of_them = {"rows": [{"a": 1, "b": 1}, {"a": 1}]}, {"rows": [{"a": 1, "b": 1}]}
    for sealed in (True, False):
        assert facts(profile_of(mixed, all_of_them, all_of_them), {"rows": [{"a": 1}]}, sealed=sealed) == []
        assert facts(profile_of(all_of_them), {"rows": [{"a": 1}]}, sealed=sealed) == [("rows[].b", "missing")]


def test_replies_within_replies_are_known_from_further_out():
    """A thread that goes deeper than any before has the structure of the threads around it."""
    thread = {"thread": [{"id": 1, "replies": [{"id": 2, "replies": []}]}]}
    deeper = {"thread": [{"id": 1, "replies": [{"id": 2, "replies": [{"id": 3, "replies": []}]}]}]}
    assert facts(profile_of(thread), deeper) == []


def test_replies_may_go_any_deeper():
    """The structure repeats inside what repeats it."""
    inner = {"id": 9, "replies": []}
    for level in range(6):
        inner = {"id": level, "replies": [inner]}
    thread = {"thread": [{"id": 1, "replies": [{"id": 2, "replies": []}]}]}
    assert facts(profile_of(thread), {"thread": [inner]}) == []


def test_a_structure_may_repeat_two_arrays_further_in():
    """Posts have comments, and comments have posts: what is looked for is not always the array next to it."""
    known = {"posts": [{"id": 1, "comments": [{"text": "x", "posts": []}]}]}
    deeper = {"posts": [{"id": 1, "comments": [{"text": "x", "posts": [{"id": 2, "comments": []}]}]}]}
    assert facts(profile_of(known), deeper) == []


def test_a_structure_may_repeat_below_arrays_of_another():
    """Threads in forums: the outermost array is not the one that repeats."""
    forum = {"forums": [{"name": "x", "threads": [{"id": 1, "replies": [{"id": 2, "replies": []}]}]}]}
    deeper = {"id": 1, "replies": [{"id": 2, "replies": [{"id": 3, "replies": []}]}]}
    assert facts(profile_of(forum), {"forums": [{"name": "x", "threads": [deeper]}]}) == []


def test_what_further_out_does_not_know_is_no_recursion():
    """Only what fits a structure further out is quiet; a field or kind that is new there as well is a change."""
    thread = {"thread": [{"id": 1, "replies": [{"id": 2, "replies": []}]}]}
    for odd in ({"id": "x", "replies": []}, {"id": 3, "replies": [], "by": "x"}):
        assert facts(profile_of(thread), {"thread": [{"id": 1, "replies": [{"id": 2, "replies": [odd]}]}]})


def test_an_array_does_not_borrow_from_the_one_beside_it():
    """Siblings are no structure further out: what one of them holds says nothing of the other."""
    known = {"posts": [{"id": 1, "tags": [{"name": "x"}]}], "users": [{"id": 1}]}
    assert facts(profile_of(known), {**known, "users": [{"id": 1, "tags": [{"name": "x"}]}]}) == [
        ("users[].tags", "added")
    ]


def test_members_that_are_not_of_the_structure_further_out_keep_their_changes():
    """A field that is gone is reported, though the array around happens to do without it."""
    known = {"rows": [{"id": 1, "parts": [{"id": 1, "size": 1}]}]}
    assert facts(profile_of(known), {"rows": [{"id": 1, "parts": [{"id": 1}]}]}) == [("rows[].parts[].size", "missing")]


def test_fits_asks_a_part_as_the_diff_does():
    """Patterns ask it of parts: what differs in nothing fits."""
    stats = profile_of({"a": 1}, {"a": 2, "b": None}).root
    assert fits(stats, frozenset((shape_of({"a": 1}).shape,)))
    assert not fits(stats, frozenset((shape_of({"a": "x"}).shape,)))
    assert not fits(stats, frozenset((shape_of({"b": None}).shape,)))
