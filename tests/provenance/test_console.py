from __future__ import annotations

import pytest
from foreign_traces import ATTRIBUTES, console, otlp

from toolpulse.errors import InputError
from toolpulse.provenance.readers.formats.console import recognizes, spans


def span_of(document):
    """The one span of a document."""
    (span,) = spans([("t:1", document)])
    return span


def test_which_documents_may_be_spans():
    """A file is read by the first format that recognizes it."""
    assert recognizes(console(ATTRIBUTES))
    assert not recognizes(otlp(ATTRIBUTES))
    assert not recognizes({"context": "0x1", "attributes": {}})
    assert not recognizes([console(ATTRIBUTES)])


def test_a_span_is_read_whole():
    """Each field that a comparison or an order is made of."""
    span = span_of(
        console({"a": 1})
        | {
            "status": {"status_code": "ERROR"},
            "context": {"trace_state": "['ot=th:8', 'x=y']"},
            "resource": {"attributes": {"sampling.rate": 0.5, "service.name": "x"}},
            "events": [{"name": "e", "attributes": {"b": 2}}, "no event"],
            "dropped_attributes": 3,
            "start_time": "1970-01-01T00:00:01Z",
        }
    )
    assert span.attributes == {"a": 1, "sampling.rate": 0.5}
    assert span.events == (("e", {"b": 2}),)
    assert (span.failed, span.state, span.dropped, span.started) == (True, "ot=th:8,x=y", 3, 10**9)
    assert not span_of(console({}, status={"status_code": "OK"})).failed


def test_the_attributes_of_a_span_win_over_those_of_its_program():
    """What is said of one call is nearer to it."""
    resource = {"attributes": {"sampling.rate": 0.5}}
    assert span_of(console({"sampling.rate": 1}, resource=resource)).attributes == {"sampling.rate": 1}


def test_spans_may_be_elements_of_an_array():
    """Also where one of them is none, which is then named."""
    assert len(list(spans([("t:1", [console({}), console({})]), ("t:2", console({}))]))) == 3
    with pytest.raises(InputError, match="t:2: a span must be an object"):
        list(spans([("t:2", [console({}), 3])]))
    with pytest.raises(InputError, match="t:3: attributes must be an object"):
        list(spans([("t:3", console([1]))]))
