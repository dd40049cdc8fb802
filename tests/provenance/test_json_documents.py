from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpulse.errors import InputError
from toolpulse.provenance.readers.json_documents import documents


def read(tmp_path, text):
    """The documents of a text, with their lines."""
    file = tmp_path / "t.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [(int(location.rpartition(":")[2]), document) for location, document in documents(file)]


values = st.integers() | st.lists(st.booleans())
objects = st.dictionaries(st.text("abc", min_size=1), values, min_size=1)


@given(st.lists(objects, min_size=1))
def test_one_a_line_and_one_after_the_other_are_the_same_documents(tmp_path_factory, some):
    """Exporters print either; how they are indented is no matter of what happened."""
    folder = tmp_path_factory.mktemp("t")
    by_line = read(folder, "".join(json.dumps(one) + "\n" for one in some))
    assert by_line == list(enumerate(some, 1))
    indented = read(folder, "\n\n".join(json.dumps(one, indent=1) for one in some))
    assert [document for _, document in indented] == some


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}\n\n{"b": 2}\n', [(1, {"a": 1}), (3, {"b": 2})]),
        (b'\xef\xbb\xbf{"a": 1}\r\n{"b": 2}\r\n', [(1, {"a": 1}), (2, {"b": 2})]),
        ('{\n"a": 1\n}\n{\n"b": 2}', [(1, {"a": 1}), (4, {"b": 2})]),
        ('\n\n{\n"a": 1} {"b": 2}', [(3, {"a": 1}), (4, {"b": 2})]),
        ("", []),
        (" \n\t", []),
    ],
    ids=["blank line", "mark and line ends", "indented", "side by side", "empty", "blank"],
)
def test_each_document_is_named_by_the_line_it_begins_on(tmp_path, text, expected):
    """A message sends its reader there."""
    assert read(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [('{"a": 1}\n{"b": }\n', 2), ('{\n"a": 1\n}\n{\n"b": }', 5), ('{\n"a": 1', 2), (b'{\n"a": "\xff"}', 2)],
    ids=["a line", "further in", "cut", "no text"],
)
def test_what_is_no_json_is_named_by_its_line(tmp_path, text, line):
    """The line of what is wrong, and not that of the document around it."""
    with pytest.raises(InputError, match=rf"t\.json:{line}: "):
        read(tmp_path, text)
