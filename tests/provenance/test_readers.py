from __future__ import annotations

import json

import pytest
from corpus import shared
from foreign_traces import ATTRIBUTES, HASHES, LANGFUSE, LANGSMITH, NATIVE, console, flattened, otlp
from hypothesis import given
from hypothesis import strategies as st
from traces import stamped, write

from toolpulse.errors import ConfigurationError, InputError, SchemaMissing, SchemaUnsupported
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.gate import gate
from toolpulse.provenance.readers import FORMATS, load_trace


def sample(name):
    """A recorded trace."""
    return shared("trace_samples", name)


# generations, tool calls, and of each generation: model, temperature, coverage, returned model, remarks
SAMPLES = {
    "generated_otel_console_exporter.txt": (
        "console", 1, [("model-x-2025-01", 0.0, "full", "model-x-2025-01-0315", ())],
    ),
    "generated_otlp_file_exporter.jsonl": (
        "otlp", 1, [("model-x-2025-01", 0.0, "full", "model-x-2025-01-0315", ())],
    ),
    "generated_otlp_protojson_base64ids.json": (
        "otlp", 1, [("model-x-2025-01", 0.0, "full", "model-x-2025-01-0315", ())],
    ),
    "generated_openinference_spans.jsonl": ("openinference", 1, [("model-x", 0.0, "full", None, ())]),
    "generated_logfire_testexporter.json": ("logfire", 0, [("model-x-2025-01", 0.0, "none", None, ())]),
    "langfuse_google-gemini-2025-08-01.json": ("langfuse", 0, [("gemini-2.5-flash", None, "none", None, ())]),
    "langfuse_microsoft-agent-2025-10-14.json": (
        "langfuse", 1, [("gpt-4o", None, "full", None, ()), ("gpt-4o", None, "full", None, ("partial_input",))],
    ),
    "langfuse_pydantic-ai-tools-2025-12-04.json": (
        "langfuse", 3, [("gpt-4o-mini", 0.7, "full", "gpt-4o-mini-2024-07-18", ())] * 3
        + [("gpt-4o-mini", 0.0, "full", "gpt-4o-mini-2024-07-18", ())],
    ),
    "langsmith_wrap_openai_default.json": (
        "langsmith", 0, [("gpt-4o-mini", None, "none", "gpt-4o-mini-2024-07-18", ())],
    ),
    "otlp_proto_example_trace.json": ("otlp", 0, []),
    "otlp_proto_example_logs.json": ("otlp", 0, []),
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_what_other_programs_wrote_is_read(name):
    """Real exports differ from documents about them; what they hold is known from looking at them."""
    form, calls, generations = SAMPLES[name]
    trace = load_trace(sample(name))
    assert trace.format == form
    assert len(trace.tool_calls) == calls
    assert [
        (
            one.fingerprint["gen_ai.request.model"],
            one.fingerprint.get("gen_ai.request.temperature"),
            one.fingerprint["fingerprint.tools.coverage"],
            one.returned_model,
            one.remarks,
        )
        for one in trace.generations
    ] == generations
    assert load_trace(sample(name), form) == trace


@pytest.mark.parametrize("name", [name for name, (_, _, generations) in SAMPLES.items() if generations])
def test_a_trace_is_never_told_apart_from_itself(name):
    """Against itself nothing changed; what is refused is refused because it was not recorded."""
    comparison = gate(sample(name), sample(name))
    assert comparison.code in {Code.OK, Code.INCOMPARABLE}
    assert not [cause for cause in comparison.causes if cause.reason.endswith("_changed")]
    complete = all(one[2] == "full" and not one[4] for one in SAMPLES[name][2])
    assert (comparison.code is Code.OK) == complete


@pytest.mark.parametrize(
    "name",
    [
        "generated_otel_console_exporter.txt",
        "generated_otlp_file_exporter.jsonl",
        "generated_otlp_protojson_base64ids.json",
    ],
)
def test_captured_content_gives_the_hashes_of_the_source(name):
    """The same call, stamped at its source and read from an export, is one call."""
    (one,) = load_trace(sample(name)).generations
    assert {hash_: one.fingerprint[hash_] for hash_ in HASHES} == {hash_: NATIVE[hash_] for hash_ in HASHES}
    assert one.params == {"max_tokens": 300, "seed": 7}


def test_a_file_of_another_kind_is_refused_and_not_guessed():
    """Recorded API calls are no trace; reading them as one would find no generation and blame the exporter."""
    with pytest.raises(InputError, match=r"langsmith_anthropic_managed_custom_tools\.jsonl:1: a trace of no known"):
        load_trace(sample("langsmith_anthropic_managed_custom_tools.jsonl"))


@pytest.mark.parametrize("document", [console(ATTRIBUTES), otlp(ATTRIBUTES), console(flattened()), LANGFUSE, LANGSMITH])
def test_the_same_call_is_the_same_in_every_format(tmp_path, document):
    """Two teams with two back ends ran the same agent: their traces compare."""
    native = write(tmp_path / "native.jsonl", stamped(params=None) | {"gen_ai.request.max_tokens": 300})
    comparison = gate(native, write(tmp_path / "other.json", document))
    assert (comparison.code, comparison.causes) == (Code.OK, ())


def test_blank_lines_a_mark_and_line_ends_are_tolerated(tmp_path):
    """A blank line ended with a traceback, and its code 1 read as a difference."""
    file = tmp_path / "t.jsonl"
    text = f"\n{json.dumps(stamped())}\r\n\r\n{json.dumps({'kind': 'tool', 'name': 'a'})}"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    trace = load_trace(file)
    assert (len(trace.generations), len(trace.tool_calls)) == (1, 1)
    assert trace.generations[0].location.endswith("t.jsonl:2")


def lines(*more):
    """A trace with a good line and an empty one in front."""
    return "".join(line + "\n" for line in (json.dumps(stamped()), "", *more))


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", "", "empty"),
        ("\n \n", "", "empty"),
        (lines('{"kind": "generation"'), ":3", "not JSON"),
        (lines('{"kind": NaN}'), ":3", "nan"),
        (lines('{"kind":"a","kind":"b"}'), ":3", "given twice"),
        (lines("[]"), ":3", "a span must be an object"),
        (lines('{"kind": 7}'), ":3", "kind must be text"),
        (lines('{"kind": "tool"}'), ":3", "gen_ai.tool.name"),
        (lines('{"kind": "generation", "prompt.hash": 7}'), ":3", "prompt.hash must be text"),
        (lines('{"kind": "generation", "gen_ai.request.model": {}}'), ":3", "gen_ai.request.model"),
        (lines('{"kind": "generation", "gen_ai.request.temperature": "warm"}'), ":3", "temperature"),
        (lines('{"kind": "generation", "fingerprint.tools.coverage": "most"}'), ":3", "fingerprint.tools.coverage"),
        (lines('{"kind": "generation", "fingerprint.model_source": "guess"}'), ":3", "fingerprint.model_source"),
        (lines('{"kind": "generation", "fingerprint.missing_model": "no"}'), ":3", "fingerprint.missing_model"),
        (lines('{"kind": "generation", "fingerprint.schema": true}'), ":3", "schema"),
        ('{\n "resourceSpans": [\n', ":3", "not JSON"),
        ('{"resourceSpans": {}}', ":1", "resourceSpans must be an array"),
        ('{"resourceSpans": [{"scopeSpans": [{"spans": [7]}]}]}', ":1", "an element of spans"),
        ('{"observations": [7]}', ":1", "an observation"),
        ('{"run_type": "tool"}', ":1", "name must be text"),
        ('{"hello": "world"}', ":1", "no known format"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_file_and_line(tmp_path, text, line, what):
    """Of a long trace nobody reads every line."""
    file = tmp_path / "t.jsonl"
    file.write_text(text, "utf-8")
    with pytest.raises(InputError, match=rf"t\.jsonl{line}[: ]") as caught:
        load_trace(file)
    assert what in str(caught.value)
    assert "warm" not in str(caught.value)


def test_versions_come_first(tmp_path):
    """A span or a head of another version may mean something else by the same words."""
    with pytest.raises(SchemaUnsupported, match=r"t\.jsonl:1: "):
        load_trace(write(tmp_path / "t.jsonl", stamped() | {"fingerprint.schema": 2}))
    with pytest.raises(SchemaMissing, match=r"t\.jsonl:1: "):
        load_trace(write(tmp_path / "t.jsonl", {"span_type": "run_manifest"}, stamped()))


def test_a_file_that_is_not_there_and_a_format_that_is_none(tmp_path):
    """Both are named before anything is read."""
    with pytest.raises(InputError, match=r"absent\.jsonl: No such file"):
        load_trace(tmp_path / "absent.jsonl")
    with pytest.raises(ConfigurationError, match="format"):
        load_trace(tmp_path / "absent.jsonl", "xml")
    assert FORMATS[0] == "auto"


def test_tool_calls_do_not_show_what_was_said(tmp_path):
    """A representation ends up in logs and test reports."""
    said = {"gen_ai.tool.call.arguments": {"q": "canary"}, "gen_ai.tool.call.result": "canary"}
    line = {"kind": "tool", "name": "a", **said}
    (call,) = load_trace(write(tmp_path / "t.jsonl", line)).tool_calls
    assert call.arguments == {"q": "canary"}
    assert "canary" not in repr(call)


@pytest.mark.attack
@pytest.mark.quick
@given(st.text('[]{}:,"0a \n\\', max_size=40))
def test_any_text_is_a_trace_or_an_error_that_names_the_file(tmp_path_factory, text):
    """A reader meets damaged files; none of them may end in a traceback."""
    file = tmp_path_factory.mktemp("any") / "t.jsonl"
    file.write_text(text, "utf-8")
    try:
        load_trace(file)
    except InputError as error:
        named = "t.jsonl" in str(error)
        assert named


JUNK = (
    None,
    True,
    0,
    1.5,
    "",
    "x",
    "{}",
    '"',
    [],
    {},
    [[]],
    [1],
    {"type": []},
    {"role": []},
    ["user"],
    10**30,
    "1e400",
)
WHOLE = (console(ATTRIBUTES), otlp(ATTRIBUTES), console(flattened()), LANGFUSE, LANGSMITH, stamped(generation_id="g"))


def places(value, here=()):
    """Every place in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in inner:
        yield (*here, key)
        yield from places(held, (*here, key))


@pytest.mark.attack
@pytest.mark.quick
@given(st.data())
def test_a_span_with_other_types_inside_is_a_trace_or_an_error(tmp_path_factory, data):
    """One field of an export that changed its type must end in a sentence, whichever field it is."""
    document = json.loads(json.dumps(data.draw(st.sampled_from(WHOLE))))
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from(list(places(document))))
        holder = document
        for key in way:
            holder = holder[key]
        holder[last] = json.loads(json.dumps(data.draw(st.sampled_from(JUNK))))
    file = write(tmp_path_factory.mktemp("any") / "t.json", document)
    try:
        gate(file, file)
    except InputError as error:
        named = "t.json" in str(error)
        assert named


documents = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["generation", "tool", "LLM", "GENERATION", "llm", "chat", "user", "m", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from([
            "kind", "attributes", "context", "resourceSpans", "scopeSpans", "spans", "key", "value", "stringValue",
            "arrayValue", "values", "observations", "type", "input", "metadata", "modelParameters", "run_type", "post",
            "patch", "inputs", "messages", "extra", "invocation_params", "tools", "name", "role", "parts", "content",
            "openinference.span.kind", "llm.input_messages.0.message.role", "llm.tools.0.tool.json_schema",
            "gen_ai.operation.name", "gen_ai.request.model", "gen_ai.input.messages", "gen_ai.tool.definitions",
            "model_request_parameters", "function_tools", "events", "status", "resource", "start_time", "child_runs",
        ]), inner, max_size=5),
    max_leaves=25,
)  # fmt: skip


@pytest.mark.attack
@pytest.mark.quick
@given(documents, st.sampled_from(FORMATS))
def test_any_document_in_any_format_is_a_trace_or_an_error(tmp_path_factory, document, form):
    """Exports of other versions have other types at every place."""
    file = write(tmp_path_factory.mktemp("any") / "t.json", document)
    try:
        trace = load_trace(file, form)
        gate(trace, trace)
    except InputError as error:
        named = "t.json" in str(error)
        assert named
