from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import field_names, globs, paths

from toolpulse._base.paths import ANY_DEPTH, ITEMS, ROOT, VALUES, Glob, format_path, glob, parse_path
from toolpulse.errors import ConfigurationError

PRINTED = [
    (ROOT, "$"),
    (("a",), "a"),
    (("results", ITEMS, "score"), "results[].score"),
    ((ITEMS, "a"), "[].a"),
    ((ITEMS, ITEMS), "[][]"),
    (("series", VALUES, "a"), "series.*.a"),
    ((VALUES,), "*"),
    ((VALUES, VALUES, ITEMS), "*.*[]"),
    (("a.b", "c.d"), '["a.b"]["c.d"]'),
    (("",), '[""]'),
    (("data", ""), 'data[""]'),
    (("query-continue", "allpages"), '["query-continue"].allpages'),
    (("line\nbreak",), '["line\\nbreak"]'),
    (("é",), '["\\u00e9"]'),
    (("$",), '["$"]'),
    (("[]",), '["[]"]'),
    (("*",), '["*"]'),
    (("**", "a"), '["**"].a'),
    (('a"]["b',), '["a\\"][\\"b"]'),
    (("\ud800",), '["\\ud800"]'),
    (("1a", "_a1"), '["1a"]._a1'),
]


@pytest.mark.parametrize(("path", "printed"), PRINTED)
def test_how_paths_are_printed(path, printed):
    """People write these by hand into settings, so they are pinned."""
    assert format_path(path) == printed
    assert parse_path(printed) == path


@given(paths)
def test_every_path_can_be_read_back(path):
    """A field may have any name, and a path goes through logs, files and settings as text of one line."""
    printed = format_path(path)
    assert parse_path(printed) == path
    assert printed.isascii()
    assert printed.isprintable()


@given(paths, paths)
def test_no_two_paths_print_alike(one, other):
    """A dot in a key is no nesting."""
    assert (format_path(one) == format_path(other)) is (one == other)


@given(globs)
def test_every_glob_can_be_read_back(pattern):
    """A glob has two more segments and the same grammar."""
    assert parse_path(format_path(pattern)) == pattern


@pytest.mark.parametrize("text", ["$.a.b", "$[].a", '$["a.b"]', "$.*", "$.**.a"])
def test_the_root_may_be_written_in_front(text):
    """People used to JSONPath write it."""
    rest = text[1:].removeprefix(".")
    assert parse_path(text) == parse_path(rest)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.",
        ".a",
        "a..b",
        "a[",
        "a[0]",
        "a]",
        "a b",
        "a.[]",
        "[]a",
        '["a]',
        '["a\\q"]',
        "$a",
        "$$",
        "é",
        "a.1",
        "***",
        "a['b']",
        '["\n"]',
        "a-b",
        "a.**b",
    ],
)
def test_what_is_no_path_is_refused(text):
    """A setting that cannot be meant is shown to whoever wrote it."""
    with pytest.raises(ConfigurationError) as caught:
        glob(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("value", [None, 5, b"a", ["a"]])
def test_a_path_must_be_text(value):
    """The error names what is wrong instead of failing somewhere inside."""
    with pytest.raises(ConfigurationError):
        parse_path(value)


def fits(pattern, path):
    """Whether a path fits a glob, by trying every way to spend the segments."""
    if not pattern:
        return not path
    first, rest = pattern[0], pattern[1:]
    if first is ANY_DEPTH:
        return any(fits(rest, path[end:]) for end in range(len(path) + 1))
    return bool(path) and (first is VALUES or first == path[0]) and fits(rest, path[1:])


def prefixes(path):
    """A path and all above it."""
    return [path[:end] for end in range(len(path) + 1)]


few = st.sampled_from(["a", "b", ITEMS, VALUES])
short_paths = st.lists(few, max_size=4).map(tuple)
short_globs = st.lists(few | st.sampled_from([ANY_DEPTH, VALUES]), max_size=4).map(tuple)


@given(short_globs, short_paths)
def test_matching_is_the_references(pattern, path):
    """The table walk must give what backtracking gives."""
    assert glob(format_path(pattern)).matches(path) is fits(pattern, path)


def may_continue(pattern, path):
    """Whether some path at or below ``path`` fits the glob."""
    if not path:
        return True
    if not pattern:
        return False
    first, rest = pattern[0], pattern[1:]
    if first is ANY_DEPTH:
        return any(may_continue(rest, path[end:]) for end in range(len(path) + 1))
    return (first is VALUES or first == path[0]) and may_continue(rest, path[1:])


@given(short_globs, short_paths)
def test_touching_is_at_above_or_below(pattern, path):
    """A consumer that reads ``a.b`` is touched when ``a`` goes and when ``a.b.c`` does."""
    expected = any(fits(pattern, prefix) for prefix in prefixes(path)) or may_continue(pattern, path)
    assert Glob(format_path(pattern)).touches(path) is expected


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("**", "$", True),
        ("**", "a[].b", True),
        ("*", "$", False),
        ("*", "[]", True),
        ("a.*.c", "a[].c", True),
        ("a.*.c", "a.c", False),
        ("a.**.c", "a.c", True),
        ("a.**.c", "a.b[].c", True),
        ("**.id", "id", True),
        ("**.id", "rows[].id", True),
        ("**.id", "rows[].ids", False),
        ("a", "a[]", False),
        ('["*"]', "a", False),
        ('["*"]', '["*"]', True),
        ("[]", "*", False),
    ],
)
def test_globs_by_example(pattern, path, matches):
    """One star is one segment of any sort, two are any number, and a quoted star is a field's name."""
    assert glob(pattern).matches(parse_path(path)) is matches


def test_matching_does_not_explode():
    """A pattern of many double stars is walked like another."""
    pattern = glob(".".join(["**", "a"] * 30))
    assert not pattern.matches(("a",) * 29 + ("b",) * 500)
    assert pattern.matches(("a",) * 500)


@given(st.lists(field_names, min_size=1, max_size=3).map(tuple))
def test_a_path_is_a_glob_that_fits_itself(path):
    """What a finding names can be pasted into ``ignore``."""
    assert glob(format_path(path)).matches(path)
