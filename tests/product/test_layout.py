from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

WITH_ITS_USERS = "what it does shows where it is used: "

EXCEPTIONS = {
    "cli/__init__.py": "its function is main: cli/test_main.py",
    "decorator/probe.py": "protocols without code; decorator/test_functions.py, test_generators.py hold them",
    "provenance/readers/spans/span.py": "fields without code; provenance/test_console.py and test_otlp.py fill them",
    "runtime/background/channel.py": WITH_ITS_USERS + "runtime/test_monitor.py",
    "runtime/background/counters.py": WITH_ITS_USERS + "runtime/test_reentry.py",
    "runtime/background/degraded.py": WITH_ITS_USERS + "stores/test_store_down.py",
    "runtime/background/delivery.py": WITH_ITS_USERS + "runtime/test_worker.py",
    "runtime/background/flush.py": WITH_ITS_USERS + "runtime/test_worker.py",
    "runtime/background/lifetime.py": WITH_ITS_USERS + "runtime/test_process_end.py",
    "runtime/background/store_link.py": WITH_ITS_USERS + "stores/test_store_down.py",
    "runtime/background/transactions.py": WITH_ITS_USERS + "stores/test_store_faults.py",
    "runtime/channels.py": WITH_ITS_USERS + "runtime/test_monitor.py",
    "runtime/checks.py": WITH_ITS_USERS + "runtime/test_monitor.py",
    "runtime/health.py": WITH_ITS_USERS + "runtime/test_monitor.py",
    "runtime/observer.py": WITH_ITS_USERS + "runtime/test_on_drift.py",
    "runtime/recording.py": WITH_ITS_USERS + "product/test_testing.py",
    "runtime/settings.py": WITH_ITS_USERS + "runtime/test_monitor.py",
    "state/baseline_file.py": WITH_ITS_USERS + "state/test_baseline.py",
    "state/known.py": WITH_ITS_USERS + "state/test_tool_state.py",
    "state/pending.py": WITH_ITS_USERS + "state/test_tool_state.py",
    "state/reports.py": WITH_ITS_USERS + "state/test_incidents_live.py",
    "state/snapshot.py": WITH_ITS_USERS + "stores/test_base.py",
    "stores/__init__.py": WITH_ITS_USERS + "stores/test_url.py",
    "stores/causes.py": WITH_ITS_USERS + "stores/test_store_faults.py",
    "stores/default.py": WITH_ITS_USERS + "cli/test_store.py",
    "stores/forks.py": WITH_ITS_USERS + "stores/test_store_processes.py",
    "stores/memory.py": WITH_ITS_USERS + "stores/test_base.py",
    "stores/pool.py": WITH_ITS_USERS + "stores/test_store_faults.py",
    "stores/postgres.py": WITH_ITS_USERS + "stores/test_base.py",
    "stores/sql/check.py": WITH_ITS_USERS + "cli/test_doctor.py",
    "stores/sql/engine.py": WITH_ITS_USERS + "stores/test_base.py",
    "stores/sql/outbox.py": WITH_ITS_USERS + "stores/test_base.py",
    "stores/sql/read.py": WITH_ITS_USERS + "stores/test_base.py",
    "stores/sql/schema.py": WITH_ITS_USERS + "stores/test_store_foreign.py",
    "stores/sql/store.py": WITH_ITS_USERS + "stores/test_base.py",
    "stores/sql/write.py": WITH_ITS_USERS + "stores/test_base.py",
    "stores/sqlite_file.py": WITH_ITS_USERS + "stores/test_store_foreign.py",
    "stores/sqlite_turns.py": WITH_ITS_USERS + "stores/test_store_processes.py",
}
"""Source files without a test file of their own: why, and where what they do is tested."""


def required(sources: dict[str, str]) -> dict[str, str]:
    """The test file of each source file that has code, by the rule of ``tests/README.md``.

    ``sources`` are texts by path below the package; test files are paths below ``tests``.
    """
    subjects = {path: _subject(path) for path, source in sources.items() if _has_code(source)}
    files = {}
    for path, (floor, folder, name) in subjects.items():
        namesakes = sum((other[0], other[2]) == (floor, name) for other in subjects.values())
        files[path] = f"{floor}/test_{f'{folder}_' if namesakes > 1 else ''}{name}.py"
    return files


def _has_code(source: str) -> bool:
    """Whether a file defines a function or a class; a list of names needs no test file."""
    defining = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return any(isinstance(node, defining) for node in ast.walk(ast.parse(source)))


def _subject(path: str) -> tuple[str, str, str]:
    """Floor, innermost folder and name of a source file; an underscore in front is left out, but for the floor's."""
    names = path.removesuffix(".py").removesuffix("/__init__").split("/")
    folder = names[-2].lstrip("_") if len(names) > 1 else ""
    return names[0] if "/" in path else "product", folder, names[-1].lstrip("_")


def faults(sources: dict[str, str], tests: dict[str, str], exceptions: dict[str, str]) -> list[str]:
    """What is wrong with the layout, a sentence for each source file and for each line of the exceptions."""
    wrong = []
    for path, test in required(sources).items():
        if path in exceptions:
            if test in tests:
                wrong.append(f"{path} is an exception and has {test}")
        elif not _has_tests(tests.get(test, "")):
            wrong.append(f"{path} has no {test}")
    wrong += [f"{path} is an exception and is not there" for path in exceptions if path not in sources]
    for path, reason in exceptions.items():
        named = re.findall(r"\w+/test_\w+\.py", reason)
        wrong += [f"the exception {path} names no test file"] if not named else []
        wrong += [f"the exception {path} names {test}, which is not there" for test in named if test not in tests]
    return sorted(wrong)


def _has_tests(source: str) -> bool:
    functions = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return any(function.name.startswith("test_") for function in functions)


def _texts(folder: Path, pattern: str) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in sorted(folder.rglob(pattern))}


def test_each_source_file_has_its_test_file():
    """Who changes a file finds its tests without a search, and who adds one is asked for them."""
    assert faults(_texts(ROOT / "toolpulse", "*.py"), _texts(ROOT / "tests", "test_*.py"), EXCEPTIONS) == []


CODE, TEST = "def f(): ...", "def test_f(): ..."


@pytest.mark.parametrize(
    ("source", "test"),
    [
        ("evidence/fold.py", "evidence/test_fold.py"),
        ("_base/paths.py", "_base/test_paths.py"),
        ("stores/sql/read.py", "stores/test_read.py"),
        ("cli/_kit/text.py", "cli/test_text.py"),
        ("cli/commands/_demo.py", "cli/test_demo.py"),
        ("cli/__init__.py", "cli/test_cli.py"),
        ("provenance/readers/__init__.py", "provenance/test_readers.py"),
        ("errors.py", "product/test_errors.py"),
    ],
)
def test_the_rule(source, test):
    """Written down once in words and once here."""
    assert required({source: CODE}) == {source: test}


def test_namesakes_have_their_folder_in_front():
    """Two files of a floor may have one name; in two floors that is no clash, nor is a file without code."""
    sources = dict.fromkeys(("a/b/x.py", "a/_c/x.py", "d/x.py", "e/x.py"), CODE) | {"e/f/x.py": "X = 1"}
    assert required(sources) == {
        "a/b/x.py": "a/test_b_x.py",
        "a/_c/x.py": "a/test_c_x.py",
        "d/x.py": "d/test_x.py",
        "e/x.py": "e/test_x.py",
    }


@pytest.mark.parametrize(
    ("tests", "exceptions", "fault"),
    [
        ({}, {}, "a/x.py has no a/test_x.py"),
        ({"a/test_x.py": "import x"}, {}, "a/x.py has no a/test_x.py"),
        ({"a/test_x.py": TEST}, {"a/x.py": "a/test_x.py"}, "a/x.py is an exception and has a/test_x.py"),
        ({"a/test_x.py": TEST}, {"a/y.py": "a/test_x.py"}, "a/y.py is an exception and is not there"),
        ({}, {"a/x.py": "no time"}, "the exception a/x.py names no test file"),
        ({}, {"a/x.py": "see a/test_y.py"}, "the exception a/x.py names a/test_y.py, which is not there"),
    ],
    ids=["missing", "empty", "stale", "gone", "no reason", "wrong reason"],
)
def test_a_planted_fault_is_named(tests, exceptions, fault):
    """The check itself is checked, exceptions included: they go when they are no longer needed."""
    assert faults({"a/x.py": CODE}, tests, exceptions) == [fault]
    assert faults({"a/x.py": CODE, "a/names.py": "X = 1"}, {"a/test_x.py": TEST}, {}) == []
