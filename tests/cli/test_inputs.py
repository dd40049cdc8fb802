from __future__ import annotations

import gzip
import io
import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
from corpus import shared
from hypothesis import given
from hypothesis import strategies as st

from toolpulse.cli._kit.inputs import Source, responses
from toolpulse.errors import ConfigurationError, InputError

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def read(data: bytes, select: str | None = None) -> list[tuple[int, object]]:
    """The responses in ``data`` as standard input, each with its line."""
    return [(source.line, response) for source, response in responses(["-"], select, io.BytesIO(data))]


def refusal(data: bytes, select: str | None = None) -> str:
    """The one line that ``data`` is refused with."""
    with pytest.raises(InputError) as caught:
        read(data, select)
    message = str(caught.value)
    assert message.isprintable()
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a": 1}', [(1, {"a": 1})]),
        (b'{"a": 1}\n', [(1, {"a": 1})]),
        (b'\n\n  {"a": 1}  \r\n\n', [(3, {"a": 1})]),
        (b'{\n  "a": [\n    1\n  ]\n}\n', [(1, {"a": [1]})]),
        (b"\n[\n1,\n\n2\n]\n", [(2, [1, 2])]),
        (b"[1, 2]", [(1, [1, 2])]),
        (b'{"a": 1}\n{"a": 2}\n', [(1, {"a": 1}), (2, {"a": 2})]),
        (b"1\r\n\r\n \t\r\n2", [(1, 1), (4, 2)]),
        (b'"a"\nnull\n', [(1, "a"), (2, None)]),
        (b'{"a":1\n}', [(1, {"a": 1})]),
        (b"\xef\xbb\xbf{}\n{}", [(1, {}), (2, {})]),
        (b'\xef\xbb\xbf\n{\n"a": 1}', [(2, {"a": 1})]),
        (b'"\\ud800"', [(1, "\ud800")]),
        (b'{"a": 1, "a": 2}', [(1, {"a": 2})]),
    ],
)
def test_documents_and_lines_are_distinguished(data, expected):
    """A pretty-printed document is one response, lines are one each, and each knows the line it begins on."""
    assert read(data) == expected
    assert read(gzip.compress(data)) == expected


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "<stdin>: empty: no response in it"),
        (b" \n\r\n\t", "<stdin>: empty: no response in it"),
        (b"\xef\xbb\xbf", "<stdin>: empty: no response in it"),
        (b"{}\n\n{]\n{}", "<stdin>:3: not JSON: Expecting property name enclosed in double quotes (column 2)"),
        (b'\n{\n"a": 1\n"b": 2\n}', "<stdin>:4: not JSON: Expecting ',' delimiter (column 1)"),
        (b'{"a": tru}\n{}', "<stdin>:1: not JSON: Expecting value (column 7)"),
        (b'{}\n{"a": NaN}', "<stdin>:2: NaN is not JSON (column 7)"),
        (b'{\n"NaN": [\n-Infinity]}', "<stdin>:3: -Infinity is not JSON (column 1)"),
        (b'{\n"a": 1}\n{"a": 2}', "<stdin>:3: not JSON: Extra data (column 1)"),
        (b'{"a": 1} {"a": 2}', "<stdin>:1: not JSON: Extra data (column 10)"),
        (b'{}\n"\xff"', "<stdin>:2: not UTF-8 (byte 1)"),
        (b'[\n"\xff"]', "<stdin>:2: not UTF-8 (byte 3)"),
        (b"{}\n" + b"[" * 100_000, "<stdin>:2: nested too deeply to read"),
        (b"{}\n\xef\xbb\xbf{}", "<stdin>:2: not JSON: Unexpected UTF-8 BOM (decode using utf-8-sig) (column 1)"),
        (b"{}\n\x0c\n", "<stdin>:2: not JSON: Expecting value (column 1)"),
        (b"\xff\xfe{\x00}\x00", "<stdin>:1: not UTF-8 (byte 0)"),
    ],
)
def test_bad_text_names_the_line(data, message):
    """Whoever has a million lines needs the one that is wrong, in decompressed lines too."""
    assert refusal(data) == message
    assert refusal(gzip.compress(data)) == message


def test_an_unfinished_document_is_refused_where_it_stops():
    """A document cut off in the middle must not pass for lines."""
    assert refusal(b'{"a": 1,\n"b":').startswith("<stdin>:2: not JSON: ")


@given(st.lists(json_values, min_size=1, max_size=4), st.booleans())
def test_written_lines_are_read_back(values, compressed):
    """Reading lines is the inverse of writing them, compressed or not."""
    data = "".join(json.dumps(value) + "\n" for value in values).encode()
    got = read(gzip.compress(data) if compressed else data)
    assert got == list(enumerate(values, 1))


@given(json_values, st.integers(0, 4))
def test_a_document_is_read_back_however_it_is_indented(value, indent):
    """Layout is the writer's taste: one document is one response."""
    assert read(json.dumps(value, indent=indent).encode()) == [(1, value)]


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data):
    """Whatever a file holds, the caller gets responses or an InputError."""
    with suppress(InputError):
        read(data)


def test_lines_are_streamed():
    """A log larger than memory must be readable: nothing beyond a buffer is read ahead."""
    raw = io.BytesIO(b"{}\n" * 1_000_000)
    stream = responses(["-"], stdin=raw)
    assert next(stream)[1] == {}
    assert raw.tell() < max(100_000, 2 * io.DEFAULT_BUFFER_SIZE)


def test_a_bad_first_line_does_not_read_the_rest():
    """A first line no further line can complete is refused before gigabytes are read."""
    raw = io.BytesIO(b'{"a": tru}\n' + b"{}\n" * 1_000_000)
    with pytest.raises(InputError):
        next(responses(["-"], stdin=raw))
    assert raw.tell() < max(100_000, 2 * io.DEFAULT_BUFFER_SIZE)


def test_gzip_is_recognised_by_its_bytes(tmp_path):
    """Names lie: a compressed file may be called anything, and an uncompressed one ``.gz``."""
    packed = tmp_path / "packed.jsonl"
    packed.write_bytes(gzip.compress(b"1\n") + gzip.compress(b"2\n"))
    plain = tmp_path / "plain.gz"
    plain.write_bytes(b"3\n")
    got = list(responses([str(packed), str(plain)]))
    assert got == [(Source(str(packed), 1), 1), (Source(str(packed), 2), 2), (Source(str(plain), 1), 3)]


GZIPPED = gzip.compress(os.urandom(300).hex().encode())


@pytest.mark.parametrize(
    "data",
    [
        GZIPPED[:2],
        GZIPPED[:12],
        GZIPPED[:-20],
        GZIPPED[:-8] + b"\0\0\0\0" + GZIPPED[-4:],
        GZIPPED[:-4] + b"\1\0\0\0",
        GZIPPED[:10] + b"\xff" * 8 + GZIPPED[18:],
        gzip.compress(b"{}\n", mtime=0) + b"junk",
    ],
    ids=["magic only", "header", "truncated", "checksum", "length", "corrupt", "trailing"],
)
def test_damaged_gzip_is_refused(data):
    """A transfer that broke off must not look like a shorter file."""
    assert refusal(data) == "<stdin>: damaged or incomplete gzip data"


def test_lines_before_damage_are_given(tmp_path):
    """Lines are streamed, so what was sound comes first and the error after it."""
    broken = tmp_path / "broken"
    broken.write_bytes(gzip.compress(b"1\n") + b"junk")
    stream = responses([str(broken)])
    assert next(stream) == (Source(str(broken), 1), 1)
    with pytest.raises(InputError, match="damaged or incomplete gzip data"):
        next(stream)


class Trickle(io.RawIOBase):
    """A pipe whose writer is slow: one byte a read."""

    def __init__(self, data: bytes) -> None:
        self._bytes = iter(data)

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def readinto(self, buffer: bytearray) -> int:
        """Give the next byte, if any."""
        byte = next(self._bytes, None)
        if byte is None:
            return 0
        buffer[0] = byte
        return 1


def test_a_pipe_that_delivers_byte_by_byte_is_read():
    """The two bytes that tell gzip need not arrive together."""
    stdin = io.BufferedReader(Trickle(gzip.compress(b"[1]\n[2]\n")))
    assert [response for _, response in responses(["-"], stdin=stdin)] == [[1], [2]]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing", "missing: No such file or directory"),
        (".", ".: Is a directory"),
        ("a\0b", "a\\x00b: not a file name"),
        ("gone\n\x1b[31m\u202e", "gone\\n\\x1b[31m\\u202e: No such file or directory"),
        ("caf\u00e9\udcff", "caf\u00e9\\udcff: No such file or directory"),
        ("", ": No such file or directory"),
    ],
)
def test_files_that_cannot_be_opened(tmp_path, monkeypatch, name, message):
    """A name comes from anywhere, and an error about it must be one line that no terminal acts on."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        list(responses([name]))
    assert str(caught.value) == message


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_refused(tmp_path):
    """Permissions are the user's to fix, so the message says what the system said."""
    locked = tmp_path / "locked"
    locked.write_bytes(b"{}")
    locked.chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        list(responses([str(locked)]))


def test_a_read_that_fails_is_refused():
    """A disk or a network share can fail after the file was opened."""

    class Failing(io.BytesIO):
        def read1(self, size=-1):
            raise OSError(5, "Input/output error")

    with pytest.raises(InputError) as caught:
        list(responses(["-"], stdin=Failing(b"{}\n")))
    assert str(caught.value) == "<stdin>: Input/output error"


def test_standard_input_stays_open():
    """It is not ours to close."""
    stdin = io.BytesIO(b"{}")
    list(responses(["-"], stdin=stdin))
    assert not stdin.closed


@pytest.mark.parametrize(
    ("data", "select", "expected"),
    [
        (b'{"r": {"a": 1}}', "r", [(1, {"a": 1})]),
        (b'{"r": {"a": 1}}', "$.r.a", [(1, 1)]),
        (b'{"r": null}', "r", [(1, None)]),
        (b"[1]", "$", [(1, [1])]),
        (b'{"r": [{"x": 1}, {}, {"x": 2}]}\n{"r": [{"x": 3}]}', "r[].x", [(1, 1), (1, 2), (2, 3)]),
        (b"[1, 2]", "[]", [(1, 1), (1, 2)]),
        (b'{"m": {"k": {"v": 1}, "l": {"v": 2}}}', "m.*.v", [(1, 1), (1, 2)]),
        (b'{"a.b": {"": 7}}', '["a.b"][""]', [(1, 7)]),
        (b'{\n"r":\n[1]\n}', "r", [(1, [1])]),
    ],
)
def test_select_finds_the_response_in_each_line(data, select, expected):
    """Traces hold the response beside other things, one or several of them a line."""
    assert read(data, select) == expected


@pytest.mark.parametrize(
    ("data", "select", "message"),
    [
        (b'{"r": 1}\n\n{"q": 1}', "r", "<stdin>:3: nothing at r"),
        (b'{"r": []}', "r[]", "<stdin>:1: nothing at r[]"),
        (b'{"r": {}}', "r[]", "<stdin>:1: nothing at r[]"),
        (b'{"r": [1]}', "r.*", "<stdin>:1: nothing at r.*"),
        (b'{"r": "abc"}', 'r["\\n"]', '<stdin>:1: nothing at r["\\n"]'),
    ],
)
def test_select_that_finds_nothing_is_an_error(data, select, message):
    """A misspelt path must not end in "nothing drifted"."""
    assert refusal(data, select) == message


@pytest.mark.parametrize("select", ["", "a..b", "a[", "a.**", "**"])
def test_a_bad_select_fails_before_anything_is_read(select):
    """A setting that is wrong raises where it is given and names itself."""
    with pytest.raises(ConfigurationError, match=r"^select: "):
        responses(["missing"], select)


def test_a_source_prints_as_file_and_line():
    """Reports quote where a response came from in the form editors jump to."""
    assert str(Source("a\tb.jsonl", 3)) == "a\\tb.jsonl:3"
    assert str(Source("-", 1)) == "<stdin>:1"


def _suite(prefix: str) -> list[Path]:
    return sorted(shared("corpus", "JSONTestSuite", "test_parsing").glob(f"{prefix}_*.json"))


def test_the_json_test_suite_is_judged_as_it_says():
    """Nicolas Seriot's suite: what must be accepted is read, what must be refused is, and nothing crashes."""
    accepted, refused = _suite("y"), _suite("n")
    assert len(accepted) > 90
    assert len(refused) > 180
    for file in accepted:
        assert len(list(responses([str(file)]))) == 1, file.name
    for file in refused:
        with pytest.raises(InputError) as caught:
            list(responses([str(file)]))
        assert str(caught.value).isprintable(), file.name
    for file in _suite("i"):
        with suppress(InputError):
            list(responses([str(file)]))
