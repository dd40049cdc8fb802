from __future__ import annotations

import stat

import pytest

from toolpulse._base import files
from toolpulse.errors import InputError, SchemaMismatch, SchemaMissing, SchemaUnsupported

SCHEMAS = [
    ({}, {"schema": 1}, SchemaMissing),
    ({"schema": 1}, {}, SchemaMissing),
    ({}, {}, SchemaMissing),
    ({"schema": True}, {"schema": 1}, SchemaMissing),
    ({"schema": "1"}, {"schema": 1}, SchemaMissing),
    ({"schema": 3}, {"schema": 3}, SchemaUnsupported),
    ({"schema": 1}, {"schema": 3}, SchemaUnsupported),
    ({"schema": 1}, {"schema": 2}, SchemaMismatch),
    ([], {"schema": 1}, InputError),
]


@pytest.mark.parametrize(("one", "other", "error"), SCHEMAS)
def test_schemas_are_checked_before_anything_is_compared(one, other, error):
    """Two versions compared field by field look equal where a meaning changed: present, integer, supported, equal."""
    fields = {"model": "m"}
    left, right = ({**side, **fields} if isinstance(side, dict) else side for side in (one, other))
    with pytest.raises(error) as caught:
        files.check_schemas(left, right, (1, 2), "manifest")
    assert type(caught.value) is error
    assert "manifest" in str(caught.value)


def test_fields_alone_do_not_show_two_versions():
    """The naive way compares the fields it knows and finds nothing."""
    one, other = {"schema": 1, "model": "m"}, {"schema": 2, "model": "m"}
    assert all(one[name] == other[name] for name in ("model",))
    with pytest.raises(SchemaMismatch):
        files.check_schemas(one, other, (1, 2), "manifest")


def test_both_sides_without_a_schema_are_told_apart():
    """Two voids must not look equal, and the message says that both are void."""
    with pytest.raises(SchemaMissing, match="on both sides"):
        files.check_schemas({}, {}, 1, "manifest")
    files.check_schemas({"schema": 1}, {"schema": 1}, 1, "manifest")


def test_errors_of_a_schema_carry_the_versions():
    """A program that migrates needs the numbers, not the sentence."""
    with pytest.raises(SchemaUnsupported) as unsupported:
        files.check_schema({"schema": 7}, (1, 2), "pin")
    assert (unsupported.value.found, unsupported.value.supported) == (7, (1, 2))
    with pytest.raises(SchemaMismatch) as unequal:
        files.check_schemas({"schema": 1}, {"schema": 2}, (1, 2), "pin")
    assert (unequal.value.one, unequal.value.other) == (1, 2)


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    """A file that only its owner may read stays so."""
    path = tmp_path / "a.json"
    path.write_bytes(b"")
    path.chmod(0o600)
    files.replace(path, b"x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b"x"


def test_a_new_file_and_a_new_folder_are_for_this_user_alone(tmp_path):
    """What was learned of an application is no matter of others on the machine."""
    folder = tmp_path / "a" / "b"
    files.make_folder(folder)
    files.make_folder(folder)
    files.replace(folder / "x.json", b"1")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder.parent, folder)] == [0o700, 0o700]
    assert stat.S_IMODE((folder / "x.json").stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == ["x.json"]


def test_what_cannot_be_read_is_named(tmp_path):
    """Of five files that were given, the message has to say which."""
    with pytest.raises(InputError, match="gone: No such file"):
        files.read(tmp_path / "gone")
    with pytest.raises(InputError, match="not a file name"):
        files.read("a\0b")
    error = SchemaMissing("no schema")
    assert files.named("b.json", error) is error
    assert str(error) == "b.json: no schema"
