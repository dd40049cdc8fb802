"""The recipes of CONTRIBUTING's "How to add" as edits of a copy: what each step writes, and what misses it."""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """One edit: ``text`` becomes a new file, or goes in front of ``before`` in one that is there."""

    file: str
    text: str
    before: str = ""
    complaint: str = ""
    """What the tests print where this step alone is left out; empty where another step is what would be missed."""


class Recipe(NamedTuple):
    """The steps of one heading, and the tests that see them done."""

    steps: tuple[Step, ...]
    tests: tuple[str, ...]


_RULES_TEST = "tests/judgement/test_rules.py"
_RULE = Recipe(
    (
        Step(
            "toolpulse/judgement/rules.py",
            """    Rule(
        "boolean-for-text", Risk.INVESTIGATE,
        lambda c: c.fact == "kind" and (c.before, c.after) == ("string", "boolean"),
        "text so far, a boolean now",
        mirror="kind-changed",
    ),
""",
            before='    Rule(\n        "kind-changed"',
            complaint="boolean-for-text",
        ),
        Step(
            _RULES_TEST,
            '    "boolean-for-text": [change("kind", "string", "boolean")],\n',
            before='    "kind-changed": [',
            complaint="boolean-for-text: add a fact that it fits",
        ),
        Step(
            "docs/rules.md",
            "| `boolean-for-text` | text so far, a boolean now | investigate |\n",
            before="| `kind-changed` |",
            complaint="boolean-for-text: write the line",
        ),
        Step(
            "docs/rules.md",
            '### boolean-for-text\n\n```\n{"id": "a"}\n----\n{"id": true}\n====\n'
            "id  string -> boolean  investigate\n```\n\n",
            before="### kind-changed\n",
            complaint="boolean-for-text: write an example",
        ),
        Step(
            "README.md",
            "`boolean-for-text`, ",
            before="`field-absent-in-some`, ",
            complaint="boolean-for-text is missing from the row of investigate",
        ),
    ),
    (_RULES_TEST, "tests/product/test_docs.py::test_the_risk_table_is_the_rules"),
)

_SCHEMA_TEST = "tests/provenance/test_rules.py"
_SCHEMA_RULE = Recipe(
    (
        Step(
            "toolpulse/provenance/schemas/rules.py",
            """    SchemaRule("schema-number-for-text", lambda one: one.fact == "kind" and (one.before, one.after) == ("string", "number"),
               "text so far, a number now",
               to_callers=Risk.HIGH, to_readers=Risk.HIGH, mirror="kind-changed"),
""",  # noqa: E501
            before='    SchemaRule("kind-changed"',
            complaint="schema-number-for-text",
        ),
        Step(
            _SCHEMA_TEST,
            '    "schema-number-for-text": ("kind", {"before": "string", "after": "number"}, Risk.HIGH),\n',
            before='    "kind-changed": (',
            complaint="test_every_rule_has_a_case",
        ),
        Step(
            _SCHEMA_TEST,
            '"schema-number-for-text", ',
            before='"schema-required", "schema-narrowed"',
            complaint="test_an_output_is_judged_as_a_response_is",
        ),
        Step(
            "docs/provenance.md",
            "| `schema-number-for-text` | text so far, a number now | high | high |\n",
            before="| `kind-changed` |",
            complaint="test_the_table_in_the_docs_is_the_rules",
        ),
    ),
    (_SCHEMA_TEST,),
)

_READERS_TEST = "tests/provenance/test_readers.py"
_TRACE_FORMAT = Recipe(
    (
        Step(
            "toolpulse/provenance/readers/formats/boxed.py",
            '''"""Spans that a program put in boxes: a list of OTLP documents under ``boxed``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from toolpulse.provenance.readers.formats import otlp
from toolpulse.provenance.readers.records import Trace

NAME: Final = "boxed"


def recognizes(document: object) -> bool:
    """Whether a document may be in this format."""
    return isinstance(document, dict) and "boxed" in document


def read(file: str, documents: Iterable[tuple[str, Any]]) -> Trace:
    """The trace in such a file. Raises InputError naming the location."""
    return otlp.read(file, [(location, one) for location, document in documents for one in document["boxed"]])
''',
        ),
        Step(
            "toolpulse/provenance/readers/__init__.py",
            "boxed, ",
            before="console, langfuse, langsmith",
        ),
        Step(
            "toolpulse/provenance/readers/__init__.py",
            "boxed, ",
            before="otlp, langfuse, langsmith, openinference, logfire, console, native)",
            complaint="a trace of no known format",
        ),
        Step(
            _READERS_TEST,
            ', {"boxed": [otlp(ATTRIBUTES)]}',
            before="])\ndef test_the_same_call_is_the_same_in_every_format",
        ),
    ),
    (f"{_READERS_TEST}::test_the_same_call_is_the_same_in_every_format",),
)

_STORES_TEST = "tests/stores/test_base.py"
_STORE = Recipe(
    (
        Step(
            "toolpulse/stores/scratch.py",
            '''"""A store that starts empty and is thrown away with the process."""

from __future__ import annotations

from collections.abc import Callable

from toolpulse.stores.memory import MemoryStore


class ScratchStore(MemoryStore):
    """Keeps everything in memory."""


def open_url(url: str, existing: bool, clock: Callable[[], float]) -> ScratchStore:
    """A new store."""
    return ScratchStore(clock)
''',
            complaint="toolpulse.stores.scratch",
        ),
        Step(
            "toolpulse/stores/__init__.py",
            '    "scratch": "toolpulse.stores.scratch",\n',
            before='    "sqlite": "toolpulse',
            complaint="URL scheme 'scratch' is not known",
        ),
        Step(
            "tests/support/store_kinds.py",
            '    "scratch": Kind("scratch"),\n',
            before='    "sqlite": Kind(',
            complaint="scratch",
        ),
    ),
    (_STORES_TEST, "tests/stores/test_url.py"),
)

_SINKS_TEST = "tests/sinks/test_base.py"
_SINK = Recipe(
    (
        Step(
            "toolpulse/sinks/counts.py",
            '''"""A sink that counts events by status."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolpulse.events import DriftEvent


class CountSink:
    """Counts events; ``counts`` has how many of each status came."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def emit(self, event: DriftEvent) -> None:
        """Count the event."""
        self.counts[event.status] += 1
''',
            complaint="toolpulse.sinks.counts",
        ),
        Step(
            _SINKS_TEST,
            "from toolpulse.sinks.counts import CountSink\n",
            before="from toolpulse.sinks.jsonl import",
            complaint="CountSink",
        ),
        Step(
            _SINKS_TEST,
            '    "CountSink": lambda folder: CountSink(),\n',
            before='    "JsonlSink": lambda',
            complaint="test_every_sink_there_is_passes_through_here",
        ),
    ),
    (_SINKS_TEST,),
)

_INTEGRATION = Recipe(
    (
        Step(
            "toolpulse/decorator/frameworks.py",
            '    Framework("Acme", "acme_agents", ("handler",)),\n',
            before='    Framework("OpenAI Agents"',
            complaint="acme",
        ),
        Step(
            "tests/support/fake_frameworks.py",
            '    "acme": tool("acme_agents.tools", "handler"),\n',
            before='    "openai": tool(',
            complaint="test_every_row_of_the_table_is_tested",
        ),
    ),
    ("tests/decorator/test_frameworks.py",),
)

_COMMAND = Recipe(
    (
        Step(
            "toolpulse/cli/commands/hello.py",
            '''"""``toolpulse hello``: say hello."""

from __future__ import annotations

import argparse
from typing import Final

from toolpulse.cli._kit.command import Command
from toolpulse.cli._kit.exits import Exit
from toolpulse.cli._kit.output import Output


def _run(args: argparse.Namespace) -> int:
    Output().write("hello\\n")
    return Exit.OK


HELLO: Final = Command(
    name="hello",
    summary="say hello",
    usage="",
    about="Says hello.",
    example="toolpulse hello",
    exits=(Exit.OK,),
    arguments=lambda parser: None,
    run=_run,
)
''',
        ),
        Step(
            "toolpulse/cli/__init__.py",
            "from toolpulse.cli.commands.hello import HELLO\n",
            before="from toolpulse.cli.commands.incidents",
        ),
        Step("toolpulse/cli/__init__.py", "    HELLO,\n", before="    STATUS,\n", complaint="hello"),
        Step(
            "docs/cli.md",
            "## hello\n\n<!-- session -->\n```console\n$ toolpulse hello --help\n$ toolpulse hello \nhello\n```\n"
            "<!-- /session -->\n\n",
            before="## doctor\n",
            complaint="test_every_command_is_in_the_docs",
        ),
    ),
    (
        "tests/cli/test_main.py::test_every_command_explains_itself",
        "tests/cli/test_command.py::test_the_usage_line_names_every_option",
        "tests/cli/test_main.py::test_help_lists_every_command_and_every_code",
        "tests/cli/test_docs.py::test_every_command_is_in_the_docs",
    ),
)

_KINDS_TEST = "tests/shape/test_kind_table.py"
_RESPONSE_TYPE = Recipe(
    (
        Step(
            "toolpulse/shape/kind_table.py",
            "import fractions\n",
            before="import pathlib\n",
        ),
        Step(
            "toolpulse/shape/kind_table.py",
            '    (fractions.Fraction, "fraction"),\n',
            before='    (complex, "complex"),\n',
            complaint="other:fractions.Fraction",
        ),
        Step(
            "docs/fingerprint.md",
            '| `Fraction(1, 3)` | `"fraction"` '
            "| `41b0aa9c03a2f22d94a8b62e43d6b537f4cb7f1b5fe0b1e4ea8c41d5501be4fe` |\n",
            before="| `range(3)` |",
            complaint="docs/fingerprint.md has no vector of the kind fraction",
        ),
        Step(
            "tests/shape/test_observe.py",
            '    "Fraction": fractions.Fraction,\n',
            before='    "Decimal": decimal.Decimal,\n',
            complaint="name 'Fraction' is not defined",
        ),
        Step("tests/shape/test_observe.py", "import fractions\n", before="import hashlib\n"),
        Step(
            "tests/shape/test_kinds.py",
            '        (fractions.Fraction(1, 3), "fraction"),\n',
            before='        (1j, "complex"),\n',
        ),
        Step("tests/shape/test_kinds.py", "import fractions\n", before="import functools\n"),
    ),
    (
        _KINDS_TEST,
        "tests/shape/test_observe.py::test_every_vector_of_the_document_is_reproduced",
        "tests/shape/test_kinds.py::test_scalar_kinds",
    ),
)

RECIPES = {
    "A risk rule": _RULE,
    "A rule for tool schemas": _SCHEMA_RULE,
    "A trace format": _TRACE_FORMAT,
    "A store": _STORE,
    "A sink": _SINK,
    "An integration": _INTEGRATION,
    "A command": _COMMAND,
    "A response type": _RESPONSE_TYPE,
}
"""By the heading in CONTRIBUTING."""

AFTERWARDS = {
    "A response type": """
import fractions
from toolpulse import Baseline
baseline = Baseline.learn([{"share": fractions.Fraction(1, 3)}] * 3)
baseline.save("fraction.json")
again = Baseline.load("fraction.json")
assert again.rows[0].shape.text == '{"share":"fraction"}'
assert again.check([{"share": fractions.Fraction(2, 3)}]).risk == "quiet"
""",
    "A store": """
from toolpulse import Monitor
monitor = Monitor("scratch:", sinks=[], background=False)
monitor.observe("t", {"a": 1})
assert monitor.health().tools["t"].calls == 1 and monitor.health().store == "ok"
""",
    "A command": """
from toolpulse.cli import main
assert main(["hello"]) == 0
""",
}
"""What works in the copy once the recipe was followed."""
