from __future__ import annotations

import hashlib
import json

import pytest
from manifests import built

from toolpulse._base.canonical import CanonicalError
from toolpulse.errors import (
    InputError,
)
from toolpulse.provenance.environment import classify


def naive_directory_hash(folder):
    """The template's digest of a folder: names and contents joined."""
    joined = b"".join(
        file.name.encode() + b"\0" + file.read_bytes() + b"\0" for file in sorted(folder.iterdir()) if file.is_file()
    )
    return hashlib.sha256(joined).hexdigest()


@pytest.mark.parametrize(
    ("file", "data", "verdict"),
    [
        ("prompts/answer.md", b"Answer.\r\n", "CODE_DRIFT"),
        ("prompts/sub/new.md", b"", "CODE_DRIFT"),
        ("lock", b"httpx==0.28.2\n", "CODE_DRIFT"),
        ("tools/search.json", b'{"name": "search", "parameters": {"type": "object"}}', "SCHEMA_DRIFT"),
    ],
)
def test_a_change_of_a_file_is_seen(parts, file, data, verdict):
    """Every byte of a prompt counts, line ends included: a model reads them."""
    before = built(parts)
    (parts / file).write_bytes(data)
    assert classify(before, built(parts)).primary == verdict


def test_no_file_can_pass_for_two(parts, tmp_path):
    """With names and contents joined, one file that holds the joint is two files."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    (one / "a.txt").write_bytes(b"x\0b.txt\0y")
    (two / "a.txt").write_bytes(b"x")
    (two / "b.txt").write_bytes(b"y")
    assert naive_directory_hash(one) == naive_directory_hash(two), "the naive way"
    assert built(parts, prompts=one).prompts != built(parts, prompts=two).prompts


def test_files_are_read_as_utf_8_everywhere(parts):
    """Read with the machine's own encoding, one schema has two digests."""
    schema = {"name": "search", "description": "größe", "parameters": {}}
    data = json.dumps(schema, ensure_ascii=False).encode()
    naive = [hashlib.sha256(data.decode(encoding).encode()).hexdigest() for encoding in ("utf-8", "latin-1")]
    assert naive[0] != naive[1], "the naive way"
    (parts / "tools" / "search.json").write_bytes(data)
    assert built(parts).tool_schemas == built(parts, tools={"search": schema}).tool_schemas
    (parts / "tools" / "search.json").write_bytes(data.decode().encode("latin-1"))
    with pytest.raises(InputError, match=r"search\.json: .*not UTF-8"):
        built(parts)


@pytest.mark.parametrize("part", ["tools", "prompts"])
def test_two_voids_do_not_look_equal(parts, part):
    """A wrong path to a folder gives the same empty digest on both sides."""
    empty = parts / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match=r"(tool schema|file) is there"):
        built(parts, **{part: empty})
    assert built(parts, **{part: empty}, allow_empty=True)
    with pytest.raises(InputError, match="No such file"):
        built(parts, **{part: parts / "absent"})


def test_a_link_is_followed_inside_only(parts):
    """What lies outside of the folder is not part of the run's prompts, and may be a secret."""
    inside = parts / "prompts" / "alias.md"
    inside.symlink_to(parts / "prompts" / "answer.md")
    assert built(parts)
    (parts / "prompts" / "loop").symlink_to(parts / "prompts")
    with pytest.raises(InputError, match="back to where it is"):
        built(parts)
    (parts / "prompts" / "loop").unlink()
    (parts / "prompts" / "lock.md").symlink_to(parts / "lock")
    with pytest.raises(InputError, match="leads out"):
        built(parts)


def test_a_schema_that_is_no_json_is_named(parts):
    """Of many files the broken one has to be found."""
    (parts / "tools" / "broken.json").write_text('{"a": 1, "a": 2}', "utf-8")
    with pytest.raises(CanonicalError, match=r"broken\.json"):
        built(parts)
