from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolpulse import Baseline
from toolpulse.errors import InputError
from toolpulse.shape.kind_table import SCALAR_KINDS
from toolpulse.shape.nodes import Scalar, shape_from_normal

ROOT = Path(__file__).parents[2]
DOC = (ROOT / "docs" / "fingerprint.md").read_text("utf-8")


@pytest.mark.parametrize("kind", sorted(SCALAR_KINDS))
def test_every_kind_of_the_table_can_be_read_back(kind):
    """A baseline is useless where it holds a kind that its own reader does not know."""
    assert shape_from_normal(kind) is Scalar(kind)


@pytest.mark.parametrize("kind", sorted(SCALAR_KINDS))
def test_every_kind_of_the_table_is_in_the_specification(kind):
    """The specification is what other languages are written from, so a new kind needs a line with its vector."""
    assert f'| `"{kind}"` |' in DOC, f"docs/fingerprint.md has no vector of the kind {kind}"


def _file_with_kind(tmp_path: Path, kind: str) -> Path:
    path = tmp_path / "baseline.json"
    Baseline.learn([{"share": 1}] * 3).save(path)
    text = path.read_text("utf-8").replace('"integer"', json.dumps(kind))
    path.write_text(text, "utf-8")
    return path


def test_an_unknown_kind_in_a_file_is_named(tmp_path):
    """A file of a later version must say so, or its reader looks for a damaged disk."""
    path = _file_with_kind(tmp_path, "quaternion")
    row = json.loads(path.read_text("utf-8"))["rows"][0]["fingerprint"][:12]
    with pytest.raises(InputError) as caught:
        Baseline.load(path)
    assert str(caught.value) == (
        f"{path}: not a baseline: unknown kind 'quaternion' in row {row} (written by a newer ToolPulse?)"
    )


def test_a_long_unknown_kind_is_one_short_line(tmp_path):
    """What a file says is shown to people; it must not fill their screen."""
    with pytest.raises(InputError) as caught:
        Baseline.load(_file_with_kind(tmp_path, "x\n" * 5_000))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_type_without_a_row_keeps_the_name_of_its_class():
    """What is not in the table is still told apart, and still read back."""
    baseline = Baseline.learn([{"share": object()}] * 3)
    assert baseline.rows[0].shape.text == '{"share":"other:builtins.object"}'
    assert Baseline.from_json(baseline.to_json()).to_json() == baseline.to_json()
