from __future__ import annotations

import json

from cli_runs import one_line, ran, write_lines

from toolpulse import Baseline, Limits


def test_show_draws_the_shape(tmp_path, capsys):
    """Presence, kinds, nulls and empties are what a baseline knows; a person sees each of them."""
    rows = [
        {
            "id": "a",
            "n": 1 if i % 2 else 1.5,
            "tags": [] if i == 0 else ["x"],
            "by": {"u": i},
            "ref": None if i < 2 else "r",
        }
        | ({"opt": True} if i < 7 else {})
        for i in range(8)
    ]
    write_lines(tmp_path / "r.jsonl", *rows)
    ran(capsys, "learn", tmp_path / "r.jsonl", "-o", tmp_path / "b.json")
    code, out, err = ran(capsys, "show", tmp_path / "b.json")
    assert (code, err) == (0, "")
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in out.splitlines()[2:] if line}
    assert lines["$"] == "object"
    assert lines["id"] == "always string"
    assert lines["n"] == "always integer 50%, number 50%"
    assert lines["opt"] == "88% boolean"
    assert lines["ref"] == "always string 75%, null 25%"
    assert lines["tags"] == "always array, empty 12%"
    assert lines["[]"] == "string"
    assert out.startswith("8 responses, 5 distinct shapes, 8 paths (1 optional)\n")


def test_show_says_why_a_map_and_what_was_cut(tmp_path, capsys):
    """A map hides its keys, so the figures that made it one have to be shown."""
    rows = [
        {"m": {f"k{chr(97 + i)}{chr(97 + j)}": {"v": 1} for j in range(4)}, "l": [0] * (90 + 4 * i)} for i in range(8)
    ]
    baseline = Baseline.learn(rows, maps=["never"], limits=Limits(depth=9))
    (decision,) = baseline.maps_learned
    baseline.save(tmp_path / "b.json")
    code, out, _ = ran(capsys, "show", tmp_path / "b.json")
    assert code == 0
    assert f"m: {decision.why}" in out
    assert "l: not always seen in full" in out
    assert "map: never" in out
    assert "limits.depth: 9" in out
    assert "kaa" not in out


def test_show_json_is_one_object(learned, capsys):
    """For programs, with counts in place of shares."""
    code, out, _ = ran(capsys, "show", learned / "b.json", "--json")
    shown = json.loads(one_line(out))
    assert code == 0
    assert list(shown) == ["schema", "responses", "shapes", "paths", "maps", "truncations", "settings"]
    assert (shown["schema"], shown["responses"], shown["shapes"]) == (1, 12, 1)
    paths = {one["path"]: one for one in shown["paths"]}
    assert paths["results[].score"] == {
        "path": "results[].score", "seen": 12, "always": 12, "in_some": 0, "of": 12, "kinds": {"number": 12},
    }  # fmt: skip
