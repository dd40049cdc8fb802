"""What identifies, compares and rules exists once: in ``_base.canonical`` and in ``provenance/comparison/``."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "toolpulse" / "provenance"

FOREIGN = frozenset("binascii deepdiff difflib hashlib hmac orjson rfc8785 xxhash zlib".split())
"""Modules that digest or compare."""

SHAPES = {
    "a diff's record": {"before", "after"},
    "a verdict": {"code", "causes"},
    "a verdict's code": {"exit_code"},
}
"""Fields by which a record of ``comparison/`` is known."""

COMPARES = "comparison/"
"""The one folder that may define such records."""

WRITES_TRACES = {"writer.py"}
"""Traces are evidence and grow by the line; all else that is kept goes through ``record_files.py``."""

WRITING = frozenset({"write_bytes", "write_text", "replace_file", "mkstemp", "NamedTemporaryFile"})


def faults(name: str, source: str) -> list[str]:
    """What a file of provenance does itself although it exists already, a sentence each."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        found |= {f"{name} imports {module}" for module in _modules(node) & FOREIGN}
        if isinstance(node, ast.ClassDef) and not name.startswith(COMPARES):
            found |= {f"{name} has {what} of its own: {node.name}" for what in _kinds_of_record(node)}
        if isinstance(node, ast.Call):
            found |= {f"{name} {what}" for what in _calls(name, node)}
    return sorted(found)


def _modules(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module:
        return {node.module.partition(".")[0]}
    return set()


def _kinds_of_record(node: ast.ClassDef) -> set[str]:
    names = {
        target.id
        for line in node.body
        if isinstance(line, ast.AnnAssign | ast.Assign)
        for target in ([line.target] if isinstance(line, ast.AnnAssign) else line.targets)
        if isinstance(target, ast.Name)
    }
    names |= {line.name for line in node.body if isinstance(line, ast.FunctionDef)}
    kinds = {what for what, fields in SHAPES.items() if fields <= names}
    bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    return kinds | ({"a verdict's code"} if "IntEnum" in bases else set())


def _calls(name: str, node: ast.Call) -> set[str]:
    called = ast.unparse(node.func)
    last = called.rpartition(".")[2]
    inside = {ast.unparse(inner.func) for arg in node.args for inner in ast.walk(arg) if isinstance(inner, ast.Call)}
    found = set()
    if any(keyword.arg == "sort_keys" or (keyword.arg == "order" and "encode" in called) for keyword in node.keywords):
        found.add("has a canonical form of its own")
    if last in {"digest", "digest_of"} and inside & {"json.dumps", "dumps", "repr", "str", "msgspec.json.encode"}:
        found.add("digests what is no canonical form")
    if last == "hash" and called == "hash":
        found.add("digests with hash")
    if name not in WRITES_TRACES and (last in WRITING or _opens_for_writing(last, node)):
        found.add("writes a file itself")
    return found


def _opens_for_writing(last: str, node: ast.Call) -> bool:
    at = 1 if isinstance(node.func, ast.Name) else 0  # open(path, mode), path.open(mode)
    given = [*node.args[at : at + 1], *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
    modes = [mode.value for mode in given if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    return last == "open" and any(set(mode) & set("wxa+") for mode in modes)


def _files() -> dict[str, str]:
    return {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


def test_provenance_has_nothing_of_its_own():
    """Two canonical forms give one prompt two fingerprints, two diffs two reasons, two verdicts two exit codes."""
    files = _files()
    assert {"prompt.py", "tools.py", "ledger.py"} <= files.keys()
    assert [fault for name, source in files.items() for fault in faults(name, source)] == []


TOOLS = ("schemas/tool_set", "schemas/tool_differences")


@pytest.mark.parametrize("files", [("prompt",), ("ledger",), TOOLS], ids=lambda files: files[0])
def test_provenance_uses_what_exists_once(files):
    """Nothing of its own could also mean nothing at all: each imports the one digest and the one comparison."""
    trees = [ast.parse((PACKAGE / f"{file}.py").read_text("utf-8")) for file in files]
    modules = {node.module for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {"toolpulse._base.canonical", "toolpulse.provenance.comparison.documents"} <= modules


@pytest.mark.parametrize(
    ("planted", "sentence"),
    [
        ("import hashlib", "x.py imports hashlib"),
        ("from hashlib import sha256", "x.py imports hashlib"),
        ("def f():\n    import difflib", "x.py imports difflib"),
        ("import json\njson.dumps(1, sort_keys=True)", "x.py has a canonical form of its own"),
        ("msgspec.json.encode(1, order='sorted')", "x.py has a canonical form of its own"),
        ("digest(json.dumps(1).encode())", "x.py digests what is no canonical form"),
        ("digest_of(repr(x))", "x.py digests what is no canonical form"),
        ("hash(x)", "x.py digests with hash"),
        ("class C:\n    before: str\n    after: str", "x.py has a diff's record of its own: C"),
        ("class V:\n    code: int\n    causes: tuple", "x.py has a verdict of its own: V"),
        ("class V:\n    @property\n    def exit_code(self): ...", "x.py has a verdict's code of its own: V"),
        ("class E(enum.IntEnum):\n    OK = 0", "x.py has a verdict's code of its own: E"),
        ("Path('a').write_text('')", "x.py writes a file itself"),
        ("open('a', 'wb')", "x.py writes a file itself"),
        ("Path('a').open(mode='x')", "x.py writes a file itself"),
    ],
)
def test_a_planted_fault_is_named(planted, sentence):
    """The check itself is checked."""
    assert faults("x.py", planted) == [sentence]


@pytest.mark.parametrize(
    "fine", ["open('wax', 'rb')", "Path('a').open('rb')", "json.dumps(span, ensure_ascii=False)", "digest_of({'a': 1})"]
)
def test_what_is_fine_is_no_fault(fine):
    """Reading files and writing spans as JSON are the business of provenance."""
    assert faults("x.py", fine) == []
