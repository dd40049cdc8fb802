from __future__ import annotations

import base64
import json

import pytest
from corpus import shared
from hypothesis import given
from hypothesis import strategies as st
from traces import GIVEN, SEARCH, stamped, write

from toolpulse.errors import ConfigurationError, InputError, SchemaMissing, SchemaUnsupported
from toolpulse.provenance.gate import gate
from toolpulse.provenance.generation import generation_fingerprint
from toolpulse.provenance.readers import FORMATS, load_trace
from toolpulse.verdicts import Code

HASHES = ("prompt.hash", "tool.schema_hash", "fingerprint.text_hash")
NATIVE = generation_fingerprint(**GIVEN)


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
    ruling = gate(sample(name), sample(name))
    assert ruling.code in {Code.OK, Code.INCOMPARABLE}
    assert not [cause for cause in ruling.causes if cause.reason.endswith("_changed")]
    complete = all(one[2] == "full" and not one[4] for one in SAMPLES[name][2])
    assert (ruling.code is Code.OK) == complete


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


MESSAGES = [{"role": "user", "parts": [{"type": "text", "content": GIVEN["user"]}]}]
INSTRUCTIONS = [{"type": "text", "content": GIVEN["system"]}]
ATTRIBUTES = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "model-x-2025-01",
    "gen_ai.request.temperature": 0.0,
    "gen_ai.request.max_tokens": 300,
    "gen_ai.system_instructions": json.dumps(INSTRUCTIONS),
    "gen_ai.input.messages": json.dumps(MESSAGES),
    "gen_ai.tool.definitions": json.dumps([SEARCH]),
}


def console(attributes, **more):
    """A span as the console exporter prints it."""
    return {"context": {"span_id": "0x1"}, "start_time": "2026-01-01T00:00:00Z", "attributes": attributes} | more


def otlp_value(value):
    """A value as OTLP's JSON has it."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": int(value) if value.is_integer() else value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp_value(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": k, "value": otlp_value(v)} for k, v in value.items()]}}
    return {"stringValue": value}


def otlp(attributes, **more):
    """An export request with one span."""
    pairs = [{"key": name, "value": otlp_value(value)} for name, value in attributes.items()]
    span = {"spanId": base64.b64encode(b"12345678").decode(), "attributes": pairs, **more}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def only(tmp_path, document, **options):
    """The one generation of a document."""
    (one,) = load_trace(write(tmp_path / "t.json", document), **options).generations
    return one


@pytest.mark.parametrize("wrapped", [console, otlp])
def test_structures_are_read_as_text_and_as_structures(tmp_path, wrapped):
    """The conventions allow both; a JavaScript writer prints the double 0.0 as 0."""
    plain = {
        **ATTRIBUTES,
        "gen_ai.system_instructions": INSTRUCTIONS,
        "gen_ai.input.messages": MESSAGES,
        "gen_ai.tool.definitions": [SEARCH],
    }
    found = [only(tmp_path, wrapped(attributes)) for attributes in (ATTRIBUTES, plain)]
    assert found[0] == found[1]
    assert {name: found[0].fingerprint[name] for name in HASHES} == {name: NATIVE[name] for name in HASHES}
    assert isinstance(found[0].fingerprint["gen_ai.request.temperature"], float)


def flattened():
    """The usual call as OpenInference writes it."""
    return {
        "openinference.span.kind": "LLM",
        "llm.model_name": "model-x-2025-01",
        "llm.invocation_parameters": json.dumps({"model": "model-x-2025-01", "temperature": 0, "max_tokens": 300}),
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": GIVEN["system"],
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.contents.0.message_content.type": "text",
        "llm.input_messages.1.message.contents.0.message_content.text": GIVEN["user"],
        "llm.tools.0.tool.json_schema": json.dumps({"type": "function", "function": SEARCH}),
    }


LANGFUSE = {
    "trace": {},
    "observations": [
        {
            "type": "GENERATION",
            "model": "model-x-2025-01-0315",
            "modelParameters": {"temperature": "0", "max_tokens": "300"},
            "input": [{"role": "system", "content": GIVEN["system"]}, {"role": "user", "content": GIVEN["user"]}],
            "metadata": json.dumps(
                {
                    "attributes": {
                        "gen_ai.request.model": "model-x-2025-01",
                        "gen_ai.request.temperature": "0.0",
                        "gen_ai.tool.definitions": [{"type": "function", "function": SEARCH}],
                        "gen_ai.response.model": "model-x-2025-01-0315",
                    }
                }
            ),
        }
    ],
}
LANGSMITH = {
    "run_type": "llm",
    "extra": {
        "invocation_params": {
            "model": "model-x-2025-01",
            "temperature": 0,
            "max_tokens": 300,
            "tools": [{"name": "search_docs", "description": "Search docs", "input_schema": SEARCH["parameters"]}],
        }
    },
    "inputs": {
        "messages": [
            [
                {"lc": 1, "id": ["langchain", "schema", "SystemMessage"], "kwargs": {"content": GIVEN["system"]}},
                {"lc": 1, "id": ["langchain", "schema", "HumanMessage"], "kwargs": {"content": GIVEN["user"]}},
            ]
        ]
    },
    "outputs": {"model": "model-x-2025-01-0315"},
}  # fmt: skip


@pytest.mark.parametrize("document", [console(ATTRIBUTES), otlp(ATTRIBUTES), console(flattened()), LANGFUSE, LANGSMITH])
def test_the_same_call_is_the_same_in_every_format(tmp_path, document):
    """Two teams with two back ends ran the same agent: their traces compare."""
    native = write(tmp_path / "native.jsonl", stamped(params=None) | {"gen_ai.request.max_tokens": 300})
    ruling = gate(native, write(tmp_path / "other.json", document))
    assert (ruling.code, ruling.causes) == (Code.OK, ())


def test_messages_are_put_together_by_number(tmp_path):
    """As text, 10 comes before 2."""
    said = [f"message {number}" for number in range(12)]
    attributes = {"openinference.span.kind": "LLM"}
    for number, text in sorted(enumerate(said), key=lambda pair: str(pair[0])):
        attributes[f"llm.input_messages.{number}.message.role"] = "user"
        attributes[f"llm.input_messages.{number}.message.content"] = text
    expected = generation_fingerprint(**(GIVEN | {"system": None, "user": said, "tools": None}))
    found = only(tmp_path, console(attributes))
    assert found.fingerprint["fingerprint.text_hash"] == expected["fingerprint.text_hash"]
    del attributes["llm.input_messages.7.message.role"], attributes["llm.input_messages.7.message.content"]
    cut = only(tmp_path, console(attributes))
    assert cut.remarks == ("truncated",)
    assert "fingerprint.text_hash" not in cut.fingerprint


INCOMPLETE = {
    "cut text of messages": ({"gen_ai.input.messages": json.dumps(MESSAGES)[:-9]}, ("truncated",)),
    "cut text of tools": ({"gen_ai.tool.definitions": json.dumps([SEARCH])[:40]}, ("truncated",)),
    "text left out": ({"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text"}]}]}, ()),
    "no messages": ({"gen_ai.input.messages": None}, ()),
    "the end of a conversation": (
        {"gen_ai.input.messages": [{"role": "tool", "parts": []}]},
        ("partial_input",),
    ),
    "a previous response": ({"gen_ai.request.previous_response.id": "resp_1"}, ("partial_input",)),
}


@pytest.mark.parametrize("case", INCOMPLETE)
def test_a_hash_is_of_complete_content_or_there_is_none(tmp_path, case):
    """Equal beginnings of two prompts would be equal hashes."""
    changes, remarks = INCOMPLETE[case]
    one = only(tmp_path, console(ATTRIBUTES | changes))
    assert one.remarks == remarks
    assert "prompt.hash" not in one.fingerprint
    ruling = gate(tmp_path / "t.json", tmp_path / "t.json")
    assert ruling.code is Code.INCOMPARABLE


def said_by(tmp_path, *messages):
    """The fingerprint of a call with these messages."""
    return only(tmp_path, console(ATTRIBUTES | {"gen_ai.input.messages": list(messages)})).fingerprint


ASKED = {"role": "user", "content": "retry policy?"}


@pytest.mark.parametrize(
    "answer",
    [
        {"role": "assistant", "parts": [{"type": "tool_call", "name": "search_docs"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "response": {"results": []}}]},
        {"role": "user", "content": [{"type": "tool_result", "content": "Three times."}]},
    ],
)
def test_what_was_answered_is_no_part_of_the_prompt(tmp_path, answer):
    """Else the second step of every run has another prompt, because the first one went otherwise."""
    found = said_by(tmp_path, ASKED, answer)
    assert found["prompt.hash"] == NATIVE["prompt.hash"]
    beside = {"role": "user", "content": [{"type": "tool_result"}, {"type": "text", "text": "retry policy?"}]}
    assert said_by(tmp_path, beside)["prompt.hash"] == NATIVE["prompt.hash"]


@pytest.mark.parametrize("stranger", [{"role": "usr", "content": "x"}, {"content": "x"}, {"role": []}, "x", None])
def test_a_message_of_nobody_knows_whom_is_not_passed_over(tmp_path, stranger):
    """It may be what the model was asked; left out, two prompts would look equal."""
    assert "prompt.hash" not in said_by(tmp_path, ASKED, stranger)


def test_a_text_that_is_a_list_of_texts_is_another(tmp_path):
    """Two messages, and one of two parts, are sent differently."""
    parts = [{"type": "text", "text": text} for text in ("a", "b")]
    one = said_by(tmp_path, {"role": "user", "content": parts})
    two = said_by(tmp_path, *({"role": "user", "content": [part]} for part in parts))
    assert one["prompt.hash"] != two["prompt.hash"]


def test_dropped_attributes_are_cut_content(tmp_path):
    """An SDK with a limit of attributes drops the last ones and counts them."""
    assert only(tmp_path, otlp(ATTRIBUTES, droppedAttributesCount=2)).remarks == ("truncated",)
    assert only(tmp_path, console(ATTRIBUTES, dropped_attributes=1)).remarks == ("truncated",)


@pytest.mark.parametrize(
    ("definitions", "coverage"),
    [
        (None, "none"),
        ([], "full"),
        ([{"type": "function", "name": "search_docs", "description": "Search docs"}], "names"),
        ([{"type": "function", "name": "search_docs", "parameters": None}], "full"),
    ],
)
def test_definitions_by_name_only_vouch_for_nothing(tmp_path, definitions, coverage):
    """D12: by default the conventions leave the schemas out; a hash of names stays equal while they change."""
    one = only(tmp_path, console(ATTRIBUTES | {"gen_ai.tool.definitions": definitions}))
    assert one.fingerprint["fingerprint.tools.coverage"] == coverage
    assert ("tool.schema_hash" in one.fingerprint) == (coverage == "full")
    ruling = gate(tmp_path / "t.json", tmp_path / "t.json")
    assert (ruling.primary == "comparable") == (coverage == "full")
    if coverage != "full":
        assert [cause.reason for cause in ruling.causes] == ["tools_not_captured"]


def test_a_stamped_span_in_an_export_is_taken_at_its_word(tmp_path):
    """Set at the source, before samplers and limits, its fingerprint knows more than what was exported."""
    found = only(tmp_path, otlp({"gen_ai.operation.name": "chat", **NATIVE}))
    assert {name: found.fingerprint[name] for name in HASHES} == {name: NATIVE[name] for name in HASHES}
    assert found.fingerprint["fingerprint.tools.coverage"] == "full"
    bare = {name: value for name, value in NATIVE.items() if name != "fingerprint.tools.coverage"}
    imported = only(tmp_path, otlp({"gen_ai.operation.name": "chat", **bare}))
    assert imported.fingerprint["fingerprint.tools.coverage"] == "none", "an import counts by what it carries"
    assert only(tmp_path, {"kind": "generation", **bare}).fingerprint["fingerprint.tools.coverage"] == "full"


def test_older_spellings_are_read(tmp_path):
    """Instrumentations stay on old conventions for years."""
    old = {
        "gen_ai.system": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.openai.request.seed": 7,
        "gen_ai.tool.definitions": [],
    }
    events = [
        {"name": "gen_ai.system.message", "attributes": {"content": GIVEN["system"]}},
        {"name": "gen_ai.user.message", "attributes": {"content": GIVEN["user"]}},
    ]
    by_event = only(tmp_path, console(old, events=events))
    assert by_event.fingerprint["fingerprint.text_hash"] == NATIVE["fingerprint.text_hash"]
    assert by_event.params == {"seed": 7}
    whole = only(tmp_path, console(old | {"gen_ai.prompt": "retry policy?"}))
    assert "prompt.hash" in whole.fingerprint


@pytest.mark.parametrize("operation", ["embeddings", "invoke_agent", "create_agent"])
def test_spans_that_ask_for_no_text_are_no_generations(tmp_path, operation):
    """An agent's span names a model too, and would be counted twice."""
    file = write(tmp_path / "t.json", console(ATTRIBUTES | {"gen_ai.operation.name": operation}))
    assert load_trace(file).generations == ()


def test_an_operation_that_nobody_knows_is_not_lost(tmp_path):
    """What is left out of a comparison is waved through."""
    assert only(tmp_path, console(ATTRIBUTES | {"gen_ai.operation.name": "responses"}))


def test_a_returned_model_that_was_invented_is_not_believed(tmp_path):
    """Logfire writes the requested model there where the provider said nothing."""
    attributes = ATTRIBUTES | {"logfire.span_type": "span", "gen_ai.response.model": "model-x-2025-01"}
    assert only(tmp_path, [console(attributes)]).returned_model is None
    told = only(tmp_path, [console(attributes | {"gen_ai.response.model": "model-x-2025-01-0315"})])
    assert told.returned_model == "model-x-2025-01-0315"


@pytest.mark.parametrize("form", ["openinference", "langfuse"])
def test_a_model_that_may_be_the_returned_one_is_unverified(tmp_path, form):
    """One field for two facts vouches for neither for sure."""
    if form == "openinference":
        document = console({k: v for k, v in flattened().items() if k != "llm.invocation_parameters"})
    else:
        document = {"observations": [LANGFUSE["observations"][0] | {"metadata": {}}]}
    (remark,) = only(tmp_path, document).unverified
    assert "may be the model that answered" in remark


@pytest.mark.parametrize(
    "document",
    [
        otlp(ATTRIBUTES, traceState="ot=th:8"),
        otlp(ATTRIBUTES, traceState="a=b,ot=p:3;r:1"),
        console(ATTRIBUTES, context={"span_id": "0x1", "trace_state": "['ot=th:c']"}),
        console(ATTRIBUTES | {"sampling.probability": 0.25}),
        console(ATTRIBUTES, resource={"attributes": {"SampleRate": 20}}),
    ],
)
def test_signs_of_sampling_are_seen(tmp_path, document):
    """A sampled trace is no record of a run."""
    file = write(tmp_path / "t.json", document)
    assert load_trace(file).sampled
    assert gate(file, file).primary == "sampled"


def test_the_flag_that_stands_on_every_exported_span_is_no_sign(tmp_path):
    """W3C's sampled flag says that this span was recorded."""
    assert not load_trace(write(tmp_path / "t.json", otlp(ATTRIBUTES, flags=257, traceState="ot=th:0"))).sampled


def test_spans_are_in_the_order_in_which_they_started(tmp_path):
    """Exporters write a span when it ends, children before parents."""
    spans = [
        console(ATTRIBUTES | {"gen_ai.request.model": model}, start_time=f"2026-01-01T00:00:0{second}Z")
        for model, second in (("second", 2), ("third", 3), ("first", 1))
    ]
    file = tmp_path / "t.txt"
    file.write_text("\n".join(json.dumps(span, indent=4) for span in spans), "utf-8")
    models = [one.fingerprint["gen_ai.request.model"] for one in load_trace(file).generations]
    assert models == ["first", "second", "third"]


def test_blank_lines_a_mark_and_line_ends_are_tolerated(tmp_path):
    """D11: a blank line ended with a traceback, and its code 1 read as a difference."""
    file = tmp_path / "t.jsonl"
    text = f"\n{json.dumps(stamped())}\r\n\r\n{json.dumps({'kind': 'tool', 'name': 'a'})}"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    trace = load_trace(file)
    assert (len(trace.generations), len(trace.tool_calls)) == (1, 1)
    assert trace.generations[0].place.endswith("t.jsonl:2")


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
