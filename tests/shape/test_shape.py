from __future__ import annotations

import ast
import datetime
import decimal
import gc
import hashlib
import os
import pathlib
import re
import signal
import sys
import threading
import uuid
import weakref
from pathlib import Path

import pytest

from toolpulse import Limits, fingerprint, register, shape_of
from toolpulse._base.canonical import load_tolerant
from toolpulse.errors import ConfigurationError
from toolpulse.shape import Truncation, Walker
from toolpulse.shape.nodes import UNKNOWN, Array, Map, Object, Scalar, _interned

DOC = Path(__file__).parents[2] / "docs" / "fingerprint.md"
NAMES = {
    "datetime": datetime,
    "Decimal": decimal.Decimal,
    "UUID": uuid.UUID,
    "PurePosixPath": pathlib.PurePosixPath,
    "inf": float("inf"),
}


def vectors():
    """The rows of the document's tables of vectors: an expression, a normal form, a fingerprint."""
    return re.findall(r"^\| `(.+?)` \| `(.+?)` \| `([0-9a-f]{64})` \|$", DOC.read_text(encoding="utf-8"), re.MULTILINE)


def evaluate(expression):
    """The value of an expression of the document, which names a few types of the standard library."""
    ast.parse(expression, mode="eval")
    return eval(expression, {**NAMES})


def nested(levels, leaf=1):
    """Lists within lists."""
    value = leaf
    for _ in range(levels):
        value = [value]
    return value


def text(value, **options):
    """The normal form."""
    return shape_of(value, **options).shape.text


def cuts(value, *limits, **options):
    """The truncations of a walk, as (path, limit) pairs."""
    return {(cut.path, cut.limit) for cut in shape_of(value, *limits, **options).truncations}


def test_the_fingerprint_of_the_specification():
    """One vector stands in the test itself, so that document and code cannot drift together unnoticed."""
    response = {"results": [{"id": "doc_812", "score": 0.91, "title": "Retry budgets"}], "request_id": "req_f31a"}
    assert text(response) == '{"request_id":"string","results":[{"id":"string","score":"number","title":"string"}]}'
    assert fingerprint(response) == "a7736e5c61ee0744090f4c146b1865d8c460d82e98e53cd60724c9f76010c98c"


@pytest.mark.parametrize(("expression", "normal", "digest"), vectors())
def test_every_vector_of_the_document_is_reproduced(expression, normal, digest):
    """Another language is written from the document alone, so each line of it must be true."""
    value = evaluate(expression)
    assert text(value) == normal
    assert fingerprint(value) == digest
    assert hashlib.sha256(normal.encode("ascii")).hexdigest() == digest


def test_the_document_has_vectors_for_every_sort_of_shape():
    """A document without its tables would make the test above pass without looking at anything."""
    normals = [normal for _, normal, _ in vectors()]
    assert len(normals) >= 30
    for part in ("[0,", '"unknown"', '"decimal"', '"uuid"', '"sha256:', "\\u"):
        assert any(part in normal for normal in normals), part


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], "[]"),
        ({}, "{}"),
        ([1, 2, 3], '["integer"]'),
        ([1, "a", None, 1.0], '["integer","null","number","string"]'),
        ([[], {}], "[[],{}]"),
        ([[1], [2], ["a"]], '[["integer"],["string"]]'),
        ((1, [2]), '["integer",["integer"]]'),
        (True, '"boolean"'),
        (1, '"integer"'),
        (1.0, '"number"'),
        (float("nan"), '"number"'),
        (10**400, '"integer"'),
        ({"b": 1, "a": None}, '{"a":"null","b":"integer"}'),
        ({"é": 1}, '{"\\u00e9":"integer"}'),
        ({"Z": 1, "a": 1, "é": 1, "😀": 1, "ﬀ": 1},
         '{"Z":"integer","a":"integer","\\u00e9":"integer","\\ufb00":"integer","\\ud83d\\ude00":"integer"}'),
    ],
)  # fmt: skip
def test_normal_form(value, expected):
    """Order and length are dropped, kinds stay apart, names are sorted by code point and escaped."""
    assert text(value) == expected


def test_names_that_json_text_would_read_back_as_one_are_one():
    """Two surrogates in a Python string print as the character they spell; two names for it would break the bytes."""
    split = {"\ud83d\ude00": 1}
    assert shape_of(split).shape is shape_of({"😀": 1}).shape
    assert text({"\ud83d\ude00": 1, "😀": 1}) == '{"\\ud83d\\ude00":"integer"}'


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (1.5, "1.5"),
        (7, "7"),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_keys_that_are_no_text_are_named_as_json_names_them(key, name):
    """``json.dumps`` writes such keys as text; a tool's answer must not differ from what arrives over the wire."""
    assert shape_of({key: 1, "other": 2}).shape is shape_of({name: 1, "other": 2}).shape


def test_keys_of_other_types_make_a_map():
    """JSON has no name for them, so they can only be data; they must not be printed either."""
    assert text({(1, 2): "x", (3, 4): "y"}) == '[0,"string"]'
    assert text({b"a": 1}) == '[0,"integer"]'


def test_a_whole_number_too_long_to_print_is_a_key_like_another():
    """Python refuses to print integers of more than 4,300 digits; a key may be one."""
    assert shape_of({10**5000: 1, "a": 2}).shape.kind == "object"


class TestBounds:
    def test_elements(self):
        """The first hundred are looked at, and the rest is said to be unseen."""
        seen = shape_of([1] * 100 + ["odd"])
        assert seen.shape.text == '["integer"]'
        assert seen.truncations == (Truncation("$", "elements", 100, 101),)
        assert str(seen.truncations[0]) == "$: 100 of 101 elements seen"
        assert not shape_of([1] * 100).truncations

    def test_values_of_a_map(self):
        """A map is as long as an array may be."""
        assert cuts({str(n): n for n in range(101)}) == {("$", "elements")}

    @pytest.mark.parametrize(("count", "cut"), [(20, set()), (21, {("[]", "shapes")})])
    def test_element_shapes(self, count, cut):
        """Twenty distinct shapes are kept whole; of more the twenty smallest by their bytes."""
        value = [{f"k{chr(97 + n)}": 1} for n in range(count)]
        shape = shape_of(value).shape
        assert cuts(value) == cut
        assert len(shape.elements - {UNKNOWN}) == 20
        assert (UNKNOWN in shape.elements) is bool(cut)
        kept = {f'{{"k{chr(97 + n)}":"integer"}}' for n in range(20)}
        assert {element.text for element in shape.elements - {UNKNOWN}} == kept

    def test_something_unseen_is_no_shape_of_its_own(self):
        """Twenty shapes and a part that was not looked at are within the limit of twenty shapes."""
        value = [{f"k{chr(97 + n)}": 1} for n in range(20)]
        value.append(value)
        assert cuts(value) == {("[]", "cycle")}

    @pytest.mark.parametrize("leaf", [1, {"a": 1}, {"a": "x", "b": None}, {}, [], {"7": 1}])
    def test_depth_does_not_depend_on_what_is_down_there(self, leaf):
        """The limit counts containers; a record of scalars is one as much as an array is."""
        container = leaf != 1
        assert not cuts(nested(32 - container, leaf))
        seen = shape_of(nested(33 - container, leaf))
        assert [(cut.limit, cut.path) for cut in seen.truncations] == [("depth", "[]" * 32)]
        assert seen.shape.text == "[" * 32 + '"unknown"' + "]" * 32

    def test_depth_is_the_same_for_a_record_met_before(self):
        """A record seen before is not walked again; that must not let it through where it would be cut."""
        walker = Walker()
        walker.observe([{"a": 1}])
        assert walker.observe(nested(32, {"a": 1})).truncations

    def test_fields_named_as_a_record(self):
        """A record named by the tool keeps the 256 first names, whatever their order, and says that it was cut."""
        names = [f"f{chr(97 + n // 26 % 26)}{chr(97 + n % 26)}{n}" for n in range(300)]
        limits = {"records": ["$"]}
        seen = shape_of(dict.fromkeys(names, 1), **limits)
        assert seen.shape.names == tuple(sorted(names)[:256])
        assert seen.truncations == (Truncation("$", "fields", 256, 300),)
        assert shape_of(dict.fromkeys(reversed(names), 1), **limits) == seen

        class Sub(dict):
            pass

        assert shape_of(Sub.fromkeys(names, 1), **limits) == seen

    def test_more_keys_than_a_record_has_make_a_map(self):
        """Ten thousand words as keys are data."""
        assert text({f"{chr(97 + n % 26)}{n}word": n for n in range(257)}) == '[0,"integer"]'
        assert shape_of({f"{chr(97 + n % 26)}{n}word": n for n in range(256)}).shape.kind == "object"

    def test_long_names_become_digests(self):
        """A name may be a document; its length must not be the store's."""
        name = "x" * 257
        digest = hashlib.sha256(name.encode()).hexdigest()[:32]
        assert shape_of({name: 1, "y" * 256: 2}).shape.names == (f"sha256:{digest}", "y" * 256)
        assert [str(cut) for cut in shape_of({name: 1}).truncations] == ["$: a field name is longer than the limit"]

    def test_nodes_stop_elements_and_descent(self):
        """Twenty thousand fields and elements are looked at, then only what is at hand is listed."""
        wide = [[{"a": 1, "b": "x", "c": None}] * 100 for _ in range(100)]
        assert "nodes" in {limit for _, limit in cuts(wide)}
        few = Limits(nodes=10)
        value = {"a": [1] * 8, "b": {"c": 1}, "d": "x"}
        assert cuts(value, few) == {("b", "nodes")}
        assert text(value, limits=few) == '{"a":["integer"],"b":"unknown","d":"string"}'

    def test_scalars_are_looked_at_whole(self):
        """An array of scalars that was begun costs a look a type, so there is nothing to save by stopping in it."""
        assert not cuts([1] * 99 + ["x"], Limits(nodes=5))
        assert cuts([[1] * 9, [2]], Limits(nodes=5)) == {("[]", "nodes")}

    def test_the_budget_does_not_depend_on_the_order_of_keys(self):
        """Two processes may build the same record in another order; they must not see another shape."""
        value = {"a": [1] * 8, "b": {"c": 1}, "d": ["x"] * 5}
        backwards = dict(reversed(value.items()))
        for nodes in range(1, 20):
            assert shape_of(value, Limits(nodes=nodes)) == shape_of(backwards, Limits(nodes=nodes))

    def test_the_budget_does_not_depend_on_what_was_seen_before(self):
        """A walk may take short cuts over what it knows, and must count as if it did not."""
        value = [[{"a": 1, "b": 2}] * 3, [{"a": 1, "c": [{"a": 1, "b": 2}]}] * 3, {"a": 1, "b": 2}]
        for nodes in range(1, 40):
            walker = Walker(Limits(nodes=nodes))
            first = walker.observe(value)
            assert walker.observe(value) == first

    def test_cycles_are_cut(self):
        """A structure that holds itself has an end."""
        record: dict = {"a": 1}
        record["self"] = record
        array: list = [1]
        array.append(array)
        assert text(record) == '{"a":"integer","self":"unknown"}'
        assert text(array) == '["integer","unknown"]'
        assert cuts(record) == {("self", "cycle")}
        assert cuts(array) == {("[]", "cycle")}
        twice = {"one": [1], "two": None}
        twice["two"] = twice["one"]
        assert not cuts(twice)

    def test_hundred_thousand_levels(self):
        """Depth is bounded by the limit and not by Python's stack."""
        value = nested(100_000)
        assert cuts(value) == {("[]" * 32, "depth")}
        while value and isinstance(value, list):  # else freeing it recurses
            value = value[0]

    @pytest.mark.parametrize(
        ("small", "large"),
        [
            ([{"a": [1]}] * 200, [{"a": [1]}] * 1_000_000),
            ({f"{n}w": [n] for n in range(300)}, {f"{n}w": [n] for n in range(100_000)}),
            (set(range(200)), set(range(100_000))),
        ],
        ids=["elements", "keys", "set"],
    )
    def test_work_is_bounded_by_the_limits(self, small, large):
        """A response a thousand times as large costs not one call more."""

        def calls(value):
            walker, count = Walker(), 0

            def profile(frame, event, argument):
                nonlocal count
                count += event in {"call", "c_call"}

            gc.disable()  # a collection calls what others registered with it, and that would be counted
            sys.setprofile(profile)
            try:
                walker.observe(value)
            finally:
                sys.setprofile(None)
                gc.enable()
            return count

        calls(small)  # a type is looked up once a process
        assert calls(large) == calls(small) < 5_000

    def test_wide_times_deep(self):
        """Hundred times hundred times hundred elements are cut by the budget for the whole."""
        value: object = {"a": 1}
        for _ in range(6):
            value = [value] * 100
        seen = shape_of(value)
        assert {cut.limit for cut in seen.truncations} == {"nodes"}

    @pytest.mark.parametrize("name", Limits.__struct_fields__)
    @pytest.mark.parametrize("value", [0, -1, 1.5, True, "3", None])
    def test_a_bad_limit_is_named(self, name, value):
        """A limit that cannot hold fails where it is given."""
        with pytest.raises(ConfigurationError, match=f"limits.{name}"):
            Limits(**{name: value})

    def test_depth_stays_below_pythons_own_limit(self):
        """A depth that the recursion of fold and diff could not bear is refused."""
        with pytest.raises(ConfigurationError, match=r"limits\.depth"):
            Limits(depth=101)


class TestMapsAndRecords:
    def test_named_maps_and_records(self):
        """The application knows best which keys are data."""
        value = {"totals": {"north": 1, "south": 2}, "byId": {"1": {"x": 1}}}
        assert text(value, maps=["totals"]) == '{"byId":[0,{"x":"integer"}],"totals":[0,"integer"]}'
        assert text(value, records=["byId"]) == (
            '{"byId":{"1":{"x":"integer"}},"totals":{"north":"integer","south":"integer"}}'
        )
        assert text([{"a": 1}], maps=["[]"]) == '[[0,"integer"]]'

    @pytest.mark.parametrize(
        ("settings", "word"),
        [
            ({"maps": "totals"}, "maps"),
            ({"records": "totals"}, "records"),
            ({"maps": ["a["]}, "a\\["),
            ({"maps": ["a"], "records": ["a"]}, "both name a"),
            ({"limits": 5}, "limits"),
            ({"unwrap": "always"}, "unwrap"),
        ],
    )
    def test_a_bad_setting_is_named(self, settings, word):
        """What cannot be meant fails at once and says which setting it was."""
        with pytest.raises(ConfigurationError, match=word):
            shape_of({}, **settings)


class TestInterning:
    def test_equal_shapes_are_one_object(self):
        """Equality is identity, which is what makes counting cheap."""
        assert shape_of({"a": [1, "x"]}).shape is shape_of({"a": ["y", 2, 3]}).shape

    def test_threads_get_the_same_shapes(self):
        """Two threads that meet a shape first at the same time must not make two of it."""
        barrier, found = threading.Barrier(4), [[] for _ in range(4)]

        def walk(mine):
            for n in range(200):
                barrier.wait()
                mine.append(shape_of({f"t{n}": [{"a": n, f"u{n}": "x"}]}).shape)

        threads = [threading.Thread(target=walk, args=(mine,)) for mine in found]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(len(set(map(id, same))) == 1 for same in zip(*found, strict=True))

    def test_shapes_nobody_holds_are_released(self):
        """Interning is weak: memory is that of the shapes in use."""
        shape = Object({"only_here": Array([Scalar("string"), Scalar("uuid")])})
        kept = weakref.ref(shape)
        before = len(_interned)
        del shape
        gc.collect()
        assert kept() is None
        assert len(_interned) < before

    def test_a_finalizer_may_observe(self):
        """The collector may run a finalizer inside the lock; that one may call a watched tool."""
        done = []

        class Last:
            def __del__(self):
                done.append(shape_of({"from": ["a finalizer"]}).shape)

        from toolpulse.shape import nodes

        with nodes._lock:
            Last()
            gc.collect()
        assert done

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    def test_a_child_can_observe_though_the_lock_was_held(self):
        """A fork may happen while another thread makes a shape; nobody in the child would release the lock."""
        from toolpulse.shape import nodes

        held, done = threading.Event(), threading.Event()

        def hold():
            with nodes._lock:
                held.set()
                done.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        child = os.fork()
        if not child:
            signal.alarm(20)
            os._exit(0 if shape_of({"made in": ["a child"]}).shape.kind == "object" else 1)
        done.set()
        thread.join()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    @pytest.mark.parametrize("shape", [UNKNOWN, Scalar("uuid"), Array(), Map([Scalar("null")]), Object({"a": UNKNOWN})])
    def test_copies_and_pickles_are_the_shape_itself(self, shape):
        """A copy that is another object would be unequal."""
        import copy
        import pickle

        assert copy.copy(shape) is copy.deepcopy(shape) is shape
        assert pickle.loads(pickle.dumps(shape)) is shape


class TestCaches:
    CANARY = "canary-7f3a"

    def test_no_key_of_a_map_is_kept(self):
        """Keys of maps are data; the walk must forget them with the response."""
        walker = Walker(maps=["named"])
        for n in range(50):
            walker.observe(
                {
                    "named": {f"{self.CANARY} {n}": {"a": 1}},
                    "mails": {f"{self.CANARY}{n}@example.com": [n]},
                    "wide": {f"{self.CANARY}/{n}/{m}": {"b": {}} for m in range(257)},
                    "tuples": {(self.CANARY, n): 1},
                }
            )
        plain = Walker()
        plain.observe({f"{self.CANARY}{n}@example.com": {"a": n} for n in range(10)})
        for found in (walker, plain):
            assert not [word for word in reachable(found) if isinstance(word, str) and self.CANARY in word]

    def test_plans_are_bounded(self):
        """A tool whose keys change all the time must not fill the memory, whether or not they look like data."""
        walker = Walker()
        for n in range(5_000):
            walker.observe({f"a{n}b": 1, f"c{n}d": [1], "e": {"f": n}})
        assert len(walker._plans.known) <= 4096
        for n in range(3_000):
            walker.observe({"same": [{f"x{n}y": 1}]})
        assert all(len(plan.shapes) <= 512 for plan in walker._plans.known.values())


def reachable(thing):
    """Everything of the library's caches that can be reached from an object, classes and modules left out."""
    seen, waiting = {}, [thing]
    while waiting:
        here = waiting.pop()
        if id(here) in seen or isinstance(here, type | type(sys) | type(reachable)):
            continue
        seen[id(here)] = here
        waiting.extend(gc.get_referents(here))
    return seen.values()


class TestRegister:
    def test_a_registered_type_is_read_as_it_says(self):
        """Mappings that may do I/O are opaque until the application says how they are read."""

        class Rows:
            def __init__(self, rows):
                self.rows = rows

        value = {"rows": Rows([{"id": 1}])}
        assert "other:" in text(value)
        register(Rows, lambda rows: rows.rows)
        assert text(value) == '{"rows":[{"id":"integer"}]}'

    def test_a_reader_that_fails_is_shown(self):
        """The rest of the response still counts, and the cut is said."""

        class Broken:
            pass

        register(Broken, lambda value: value.nothing)
        seen = shape_of({"a": 1, "b": Broken()})
        assert seen.shape.text == '{"a":"integer","b":"unknown"}'
        assert [str(cut) for cut in seen.truncations] == ["b: reading it failed"]

    def test_readers_that_give_ever_new_objects_end(self):
        """A reader's result may need a reader again; the walk counts those steps too."""

        class Endless:
            pass

        register(Endless, lambda value: Endless())
        assert cuts([Endless()]) == {("[]", "depth")}

    @pytest.mark.parametrize("arguments", [("x", repr), (5, repr), (complex, 3), (dict, repr), (list, repr)])
    def test_what_cannot_be_registered_is_refused(self, arguments):
        """``dict`` and ``list`` are read before any table is asked, so a reader for them would never run."""
        with pytest.raises(ConfigurationError, match="register"):
            register(*arguments)


def test_the_response_is_left_as_it_was():
    """The tool's caller gets the very object, and nothing in it may differ."""
    from collections import OrderedDict, defaultdict, deque

    value = {"d": defaultdict(list, {"a": [1]}), "o": OrderedDict(b=1, a=2), "q": deque([1, 2]), "n": [{"x": {}}]}
    before = repr(value)
    shape_of(value)
    assert repr(value) == before


def test_json_text_is_read_as_it_is_meant():
    """Duplicate keys, NaN and numbers beyond a double arrive in text from real services."""
    value = load_tolerant('{"a": [1], "a": NaN, "b": 1e999, "c": 5.0}')
    assert text(value) == '{"a":"number","b":"number","c":"number"}'
