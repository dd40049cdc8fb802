from __future__ import annotations

import hashlib
import json

import pytest
from manifests import built

from toolpulse.errors import (
    InputError,
)
from toolpulse.provenance.configured import manifest_from

CONFIG = {
    "model_requested": "m",
    "model_params": {"temperature": 0},
    "tool_timeout_s": 30,
    "tools": "tools",
    "prompts": "prompts",
    "lockfile": "lock",
    "python": "3.11.7",
}


def configured(parts, **changes):
    """The manifest of a configuration, with changes; ... leaves a key out."""
    file = parts / "run.json"
    file.write_text(json.dumps({k: v for k, v in (CONFIG | changes).items() if v is not ...}), "utf-8")
    return manifest_from(file, {"MODE": "s3cret"})


def test_a_configuration_names_the_parts_from_its_own_folder(parts, monkeypatch, tmp_path_factory):
    """A build on another machine starts in another folder."""
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert configured(parts) == built(parts)


def test_variables_are_kept_as_digests(parts):
    """The value of a variable may be a secret; that it changed is what counts."""
    found = configured(parts, variables=["MODE", "ABSENT"])
    assert found.extra["variables"]["ABSENT"] is None
    assert found.extra["variables"]["MODE"] == hashlib.sha256(b"s3cret").hexdigest()[:16]
    assert "s3cret" not in json.dumps(found.to_json())


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"lockfile": ...}, "lockfile: missing"),
        ({"lock": "x"}, "lock: not known"),
        ({"tools": 7}, "tools"),
        ({"tool_timeout_s": True}, "tool_timeout_s"),
        ({"model_params": []}, "model_params"),
        ({"extra": []}, "extra"),
        ({"variables": [7]}, "variables"),
        ({"variables": [], "extra": {"variables": {}}}, "variables"),
    ],
)
def test_a_wrong_configuration_names_file_and_key(parts, changes, named):
    """A key with a typing error must not leave a part out in silence."""
    with pytest.raises(InputError, match=rf"run\.json: .*{named}"):
        configured(parts, **changes)


def test_a_configuration_may_be_toml(parts):
    """People write TOML by hand; both say the same."""
    file = parts / "run.toml"
    file.write_text(
        'model_requested="m"\ntool_timeout_s=30\ntools="tools"\nprompts="prompts"\nlockfile="lock"\npython="3.11.7"\n'
        "[model_params]\ntemperature=0.0\n",
        "utf-8",
    )
    assert manifest_from(file, {}) == built(parts)
    file.write_text("model_requested=", "utf-8")
    with pytest.raises(InputError, match=r"run\.toml: not TOML"):
        manifest_from(file, {})
