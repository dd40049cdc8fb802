from __future__ import annotations

import json

import pytest
from traces import stamped

from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance.generation import (
    stamp_model,
    tuple_hash,
)


def bytes_of(*lines):
    """Lines of a trace as bytes."""
    return [json.dumps(line).encode() + b"\n" for line in lines]


def test_stamping_declares_a_model_and_says_where_it_is_from():
    """A model from configuration was not observed, and a reader has to know that."""
    (line,) = stamp_model(bytes_of(stamped(model=None)), "model-x-2025-01")
    span = json.loads(line)
    assert span["gen_ai.request.model"] == "model-x-2025-01"
    assert span["fingerprint.missing_model"] == "false"
    assert span["fingerprint.model_source"] == "config"


def test_stamping_computes_the_tuple_anew():
    """A model set beside a tuple that was taken without one leaves a span that contradicts itself."""
    before = stamped(model=None)
    naive = {**before, "gen_ai.request.model": "m", "fingerprint.missing_model": "false"}
    assert naive["fingerprint.tuple"] != tuple_hash(naive), "the naive way"
    (line,) = stamp_model(bytes_of(before), "m")
    after = json.loads(line)
    assert after["fingerprint.tuple"] == tuple_hash(after) == stamped(model="m")["fingerprint.tuple"]


def test_every_other_line_passes_byte_for_byte():
    """A blank line is no span and no error; order of keys, spaces and line ends are not ours to change."""
    lines = [
        b"\xef\xbb\xbf" + b'{ "span_type" : "run_manifest", "schema":1 }\r\n',
        b"\n",
        b'  {"kind":"tool" , "gen_ai.tool.name":"a", "x": 1.50}\n',
        *bytes_of(stamped()),
        b'{"kind":"event"}',
    ]
    assert list(stamp_model(lines, "m")) == lines


def test_a_response_is_never_read_for_the_model():
    """The model that answered is another fact than the one that was asked."""
    line = stamped(model=None) | {"gen_ai.response.model": "from-response", "model_returned": "from-response"}
    (done,) = stamp_model(bytes_of(line), "declared")
    assert json.loads(done)["gen_ai.request.model"] == "declared"


def test_text_lines_stay_text():
    """A program reads lines as text or as bytes, and gets back what it gave."""
    line = json.dumps(stamped(model=None) | {"name": "größer"})
    (done,) = stamp_model([line], "m")
    assert json.loads(done)["name"] == "größer"


@pytest.mark.parametrize("declared", ["", "  ", None])
def test_without_a_declared_model_nothing_is_stamped(declared):
    """A blank model would turn a gap into a false statement."""
    with pytest.raises(ConfigurationError, match="model"):
        stamp_model([], declared)


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b'{"kind": NaN}',
        b'{"kind":"a","kind":"b"}',
        b"\xff",
        b'{"kind":"generation","prompt.hash":"a","gen_ai.request.temperature":"warm"}',
        b'{"kind":"generation","gen_ai.request.model":7}',
    ],
)
def test_a_line_that_is_none_is_named_by_its_number(line):
    """The line's number is what a person looks for."""
    with pytest.raises(InputError, match=r"^line 2: "):
        list(stamp_model([b"\n", line], "m"))
