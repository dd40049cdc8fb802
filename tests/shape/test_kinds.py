from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import functools
import io
import pathlib
import sys
import types
import uuid
from typing import Any, ClassVar, NamedTuple

import attrs
import msgspec
import numpy as np
import pydantic
import pydantic.v1
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpulse import shape_of
from toolpulse.shape.kinds import SCALARS, _readings, resolve


def text(value):
    """The normal form."""
    return shape_of(value).shape.text


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null"),
        (True, "boolean"),
        (0, "integer"),
        (0.0, "number"),
        ("", "string"),
        (b"", "bytes"),
        (bytearray(), "bytes"),
        (memoryview(b""), "bytes"),
        (datetime.date(2024, 1, 1), "date"),
        (datetime.time(), "time"),
        (datetime.datetime(2024, 1, 1), "datetime"),
        (datetime.timedelta(), "duration"),
        (decimal.Decimal(1), "decimal"),
        (uuid.UUID(int=0), "uuid"),
        (pathlib.PurePosixPath("/"), "path"),
        (pathlib.Path(), "path"),
        (1j, "complex"),
        (np.int8(1), "integer"),
        (np.uint64(1), "integer"),
        (np.float32(1), "number"),
        (np.float64(1), "number"),
        (np.bool_(True), "boolean"),
        (np.complex64(1), "complex"),
        (np.str_("a"), "string"),
        (np.bytes_(b"a"), "bytes"),
        (np.datetime64("2024-01-01"), "datetime"),
        (np.timedelta64(1, "s"), "duration"),
        (np.array([1]), "other:numpy.ndarray"),
        (np.array(1), "other:numpy.ndarray"),
        (range(3), "other:builtins.range"),
        (int, "other:builtins.type"),
        (len, "other:builtins.builtin_function_or_method"),
        (object(), "other:builtins.object"),
        (Ellipsis, "other:builtins.ellipsis"),
        (ValueError("x"), "other:builtins.ValueError"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_scalar_kinds(value, kind):
    """JSON's kinds, those that only Python has, and NumPy's by what they hold; anything else by its type alone."""
    assert text(value) == f'"{kind}"'


class Colour(enum.Enum):
    RED = 1
    NAMED = "red"
    PAIR = (1, "x")


class Level(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    YES = "yes"


class Mixed(str, enum.Enum):  # noqa: UP042 - older code has these
    YES = "yes"


class Bits(enum.Flag):
    A = 1
    B = 2


class Text(str):
    __slots__ = ()


class Whole(int):
    pass


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Colour.RED, '"integer"'),
        (Colour.NAMED, '"string"'),
        (Colour.PAIR, '["integer","string"]'),
        (Level.LOW, '"integer"'),
        (Word.YES, '"string"'),
        (Mixed.YES, '"string"'),
        (Bits.A | Bits.B, '"integer"'),
        (Text("x"), '"string"'),
        (Whole(3), '"integer"'),
        ({Mixed.YES: 1, Word.YES: 2, "no": 3}, '{"no":"integer","yes":"integer"}'),
        ({Text("a"): 1}, '{"a":"integer"}'),
        ({Colour.RED: 1}, '[0,"integer"]'),
    ],
)
def test_members_and_subclasses_count_as_what_their_value_is(value, expected):
    """An enum that replaces a string is no drift to whoever reads the JSON."""
    assert text(value) == expected


def refuse(*_: Any, **__: Any) -> Any:
    """Stand in for whatever a walk must not call."""
    raise AssertionError("the walk ran code of the response")


@dataclasses.dataclass
class Plain:
    id: int
    tags: list
    kind: ClassVar[str] = "not a field"
    later: dataclasses.InitVar[int] = 0
    fixed: str = dataclasses.field(init=False, default="x")
    total = property(refuse)

    @functools.cached_property
    def lazy(self):
        """Would be computed when it is read."""
        return refuse()


@dataclasses.dataclass(slots=True, frozen=True)
class Slotted:
    id: int
    tags: list
    fixed: str = "x"


@attrs.define
class Defined:
    id: int
    tags: list
    fixed: str = "x"
    total = property(refuse)


@attrs.define(slots=False)
class Open:
    id: int
    tags: list
    fixed: str = "x"


class Packed(msgspec.Struct):
    id: int
    tags: list
    fixed: str = "x"


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    id: int
    tags: list
    _secret: str = pydantic.PrivateAttr(default="x")

    @pydantic.computed_field
    @property
    def total(self) -> int:
        """Would be computed when it is read."""
        return refuse()


class OldModel(pydantic.v1.BaseModel if sys.version_info < (3, 14) else pydantic.BaseModel):
    id: int
    tags: list
    fixed: str = "x"
    total = property(refuse)


class Row(NamedTuple):
    id: int
    tags: list
    fixed: str


Old = collections.namedtuple("Old", "id tags fixed")  # noqa: PYI024 - older code has these


@dataclasses.dataclass
class Child(Plain):
    pass


class Grandchild(Child):
    pass


@pytest.mark.parametrize(
    "value",
    [
        Plain(1, ["a"]),
        Child(1, ["a"]),
        Grandchild(1, ["a"]),
        Slotted(1, ["a"]),
        Defined(1, ["a"]),
        Open(1, ["a"]),
        Packed(1, ["a"]),
        Model(id=1, tags=["a"], fixed="extra"),
        OldModel(id=1, tags=["a"]),
        Row(1, ["a"], "x"),
        Old(1, ["a"], "x"),
        {"id": 1, "tags": ["a"], "fixed": "x"},
        collections.OrderedDict(tags=["a"], id=1, fixed="x"),
        collections.defaultdict(refuse, tags=["a"], id=1, fixed="x"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_objects_of_every_library_are_records_of_their_fields(value):
    """A tool that returns a model today and its dict tomorrow did not drift; properties are never run."""
    assert text(value) == '{"fixed":"string","id":"integer","tags":["string"]}'


def test_fields_that_were_never_set_are_absent():
    """A declared slot without a value raises when read; the record has no such field then."""
    half = Slotted.__new__(Slotted)
    object.__setattr__(half, "id", 1)
    assert text(half) == '{"id":"integer"}'
    assert text(Model.model_construct(id=1)) == '{"id":"integer"}'


def test_a_model_without_fields_of_its_own():
    """A model that only allows extra fields has those, and looking raises no warning of pydantic's."""

    class Anything(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")

    class Nothing(pydantic.BaseModel):
        pass

    assert text(Anything(a=1)) == '{"a":"integer"}'
    assert text(Nothing()) == "{}"
    assert text(pydantic.RootModel[list[int]]([1])) == '{"root":["integer"]}'


def test_generic_and_inherited_models():
    """Fields that a base declares are fields."""

    class Base(pydantic.BaseModel):
        a: int = 1

    class Derived(Base):
        b: Plain

    assert text(Derived(b=Plain(1, []))) == '{"a":"integer","b":{"fixed":"string","id":"integer","tags":[]}}'


@pytest.mark.parametrize(
    "value",
    [
        [1],
        (1,),
        {1},
        frozenset({1}),
        collections.deque([1]),
        type("MyList", (list,), {})([1]),
        type("MySet", (set,), {})([1]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_sequences_and_sets_are_arrays(value):
    """JSON has one array."""
    assert text(value) == '["integer"]'


@pytest.mark.parametrize(
    "value",
    [
        collections.UserDict(a=1),
        collections.UserList([1]),
        collections.ChainMap({}),
        types.MappingProxyType({}),
        {}.keys(),
        types.SimpleNamespace(a=1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_mappings_and_sequences_are_opaque(value):
    """Any other mapping may do I/O when it is read."""
    assert text(value).startswith('"other:')


def test_nothing_is_consumed():
    """What can be iterated once is the caller's."""
    generator, iterator, stream = (n for n in range(3)), iter([1, 2]), io.StringIO("a\nb")
    mapped, zipped = map(str, [1, 2]), zip("ab", "cd", strict=True)
    shape_of({"a": generator, "b": [iterator, stream], "c": mapped, "d": zipped})
    assert list(generator) == [0, 1, 2]
    assert list(iterator) == [1, 2]
    assert list(stream) == ["a\n", "b"]
    assert list(mapped) == ["1", "2"]
    assert list(zipped) == [("a", "c"), ("b", "d")]


def test_a_default_dict_is_not_filled():
    """Asking it for a key would add the key."""
    value = collections.defaultdict(list, a=[1])
    shape_of([value, {"b": value}])
    assert list(value) == ["a"]


HOSTILE = dict.fromkeys(
    "__iter__ __len__ __eq__ __hash__ __bool__ __getattr__ __getattribute__ __getitem__ __contains__ __repr__ "
    "__str__ __format__ __missing__ __next__ __call__ __dir__ __index__ __int__ __length_hint__ __lt__ keys items "
    "values get copy append".split(),
    refuse,
)
HOSTILE["__class__"] = property(refuse)


@pytest.mark.attack
@pytest.mark.quick
@pytest.mark.parametrize(
    ("base", "arguments", "expected"),
    [
        (dict, ({"a": [1]},), '{"a":["integer"]}'),
        (collections.OrderedDict, (), "{}"),
        (list, ([1, "x"],), '["integer","string"]'),
        (tuple, ((1,),), '["integer"]'),
        (set, (), "[]"),
        (frozenset, ([1],), '["integer"]'),
        (collections.deque, ([1],), '["integer"]'),
        (str, ("x",), '"string"'),
        (int, (1,), '"integer"'),
        (float, (1.5,), '"number"'),
        (bytes, (b"x",), '"bytes"'),
        (datetime.date, (2024, 1, 1), '"date"'),
        (object, (), f'"other:{__name__}.Hostile"'),
        (Plain, None, '{"fixed":"string"}'),
        (Packed, (1, ["a"]), '{"fixed":"string","id":"integer","tags":["string"]}'),
        (Row, ((1, ["a"], "x")), '{"fixed":"string","id":"integer","tags":["string"]}'),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_hostile_overrides_are_never_run(base, arguments, expected):
    """A subclass may override anything; the walk reads it by the builtin's own methods or not at all."""
    kind = types.new_class("Hostile", (base,), exec_body=lambda body: body.update(HOSTILE, __module__=__name__))
    value = kind.__new__(kind) if arguments is None else kind(*arguments)
    assert text([value]) == f"[{expected}]"
    assert text({"key": value}) == f'{{"key":{expected}}}'


class Meta(type):
    """Answers for its classes whatever is asked, and cannot be hashed or printed."""

    __hash__ = None
    __eq__ = __getattr__ = __instancecheck__ = __subclasscheck__ = __repr__ = refuse


class Yes(type):
    """Has every attribute that is asked for."""

    def __getattr__(cls, name):
        return ["yes"]


class AnyAttribute(metaclass=Yes):
    pass


class UnhashableKey(str):
    __slots__ = ()
    fails = False

    def __hash__(self):
        if UnhashableKey.fails:
            raise ValueError("no hash")
        return str.__hash__(self)


@pytest.mark.attack
@pytest.mark.quick
def test_classes_that_answer_for_themselves():
    """A metaclass may claim every attribute that libraries are recognised by."""
    assert text([AnyAttribute()]) == f'["other:{__name__}.AnyAttribute"]'


@pytest.mark.attack
@pytest.mark.quick
@pytest.mark.parametrize("bases", [(), (dict,), (list,), (str,)])
def test_a_class_that_cannot_be_hashed_is_read_as_any_other(bases):
    """Types are told apart by identity, beside others in a record, a list or a map, and again when they come again."""
    kind = Meta("Odd", bases, {"__module__": __name__})
    for _ in range(2):
        shape = shape_of({"a": kind(), "b": [kind(), 1], "c": {"7": kind()}, "d": [{"a": kind()}] * 2})
        assert shape.truncations == ()
        of_plain = text({str: "", dict: {}, list: []}[bases[0]]) if bases else '"other:tests.shape.test_kinds.Odd"'
        array = ",".join(sorted([of_plain, '"integer"']))
        expected = f'{{"a":{of_plain},"b":[{array}],"c":[0,{of_plain}],"d":[{{"a":{of_plain}}}]}}'
        assert shape.shape.text == expected


def test_keys_that_fail_to_hash_are_read_by_the_text_they_hold():
    """A dict may hold a key whose hash only worked once; items are looked through, and no key is looked up."""
    value = {UnhashableKey("a"): [1], "b": 2}
    UnhashableKey.fails = True
    try:
        seen = shape_of(value)
        assert (seen.shape.text, seen.truncations) == ('{"a":["integer"],"b":"integer"}', ())
    finally:
        UnhashableKey.fails = False


def test_odd_modules_and_long_names():
    """A type's names are made by programs, too; what is stored of them is text of bounded length."""
    odd = type("Odd", (), {"__module__": 5})
    long = type("L" * 10_000, (), {})
    assert text(odd()) == '"other:?.Odd"'
    assert len(text(long())) < 300


def test_pydantic_must_be_pydantics():
    """A class that happens to be called like another library's is read as what it is."""
    BaseModel = type("BaseModel", (), {"__module__": 7})
    assert text(BaseModel()) == '"other:?.BaseModel"'


def test_the_tables_of_types_are_bounded():
    """A program that makes a class for each response must not fill the memory."""
    for n in range(5_000):
        resolve(type(f"T{n}", (dict,) if n % 2 else (), {})())
    assert len(SCALARS) + len(_readings) <= 4097


def containers(inner):
    """Containers of all sorts around something."""
    return st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(
                st.text(max_size=3),
                st.integers(),
                st.none(),
                st.booleans(),
                st.floats(),
                st.binary(),
                st.tuples(st.integers()),
            ),
            inner,
            max_size=3,
        ),
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=3).map(collections.deque),
        st.builds(Plain, inner, st.lists(inner, max_size=2)),
        st.builds(Slotted, inner, st.lists(inner, max_size=2)),
        st.builds(Defined, inner, st.lists(inner, max_size=2)),
        st.builds(Packed, inner, st.lists(inner, max_size=2)),
        st.builds(Row, inner, st.lists(inner, max_size=2), inner),
        st.builds(Model.model_construct, id=inner, more=inner),
        st.builds(types.SimpleNamespace, a=inner),
    )


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
    st.decimals(),
    st.uuids(),
    st.complex_numbers(),
    st.sampled_from([*Colour, *Bits]),
    st.sampled_from(
        [Word.YES, np.float32(1), np.array([1]), object(), AnyAttribute(), print, range(9), Meta("M", (), {})]
    ),
    st.builds(iter, st.lists(st.integers(), max_size=2)),
)


@pytest.mark.attack
@pytest.mark.quick
@given(st.recursive(leaves, containers, max_leaves=15))
def test_anything_has_a_shape(value):
    """Whatever a tool returns, observing it raises nothing and says the same twice."""
    assert shape_of(value) == shape_of(value)


class Looped(list):
    pass


@pytest.mark.attack
@pytest.mark.quick
def test_cycles_through_every_container():
    """An object may hold itself by way of a field as well."""
    ring = Plain(1, [])
    ring.tags.append({"again": ring})
    struct = Packed(1, [])
    struct.tags.append((struct,))
    looped = Looped()
    looped.append(looped)
    for value in (ring, struct, looped):
        assert '"unknown"' in text(value)
        assert "cycle" in {cut.limit for cut in shape_of(value).truncations}
