from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")

FREE = "__init__"
"""The one file that may import anything: it lists the public names."""

PURE_FLOORS = frozenset("_base shape evidence judgement state events errors".split())
IMPURE = frozenset({"_base.files", "_base.guard"})
"""Modules of pure floors that are the edge itself: one reads and writes files, one logs."""

WORLD = frozenset(
    "asyncio io logging os pathlib random secrets socket sqlite3 structlog subprocess tempfile threading time".split()
)
ALLOWED = {
    "_base.locks": {"threading"},  # a lock is what it makes
    "shape.nodes": {"threading"},  # equal shapes are one object, and two threads may make it
    "shape.kind_table": {"pathlib"},  # its types are kinds
    "state.baseline": {"os", "pathlib"},  # load and save
}
MOST_FILES = 14
LONGEST_FILE = 300
LONGEST_FUNCTION = 40


def plan(text: str) -> dict[str, int]:
    """The floors block of CONTRIBUTING as a rank for each room: the higher, the further up it may import from.

    One line is one floor, top first. Rooms on one line do not import each other, unless ``+`` joins them.
    """
    block = re.search(r"<!-- floors -->\n```text\n(.*?)```", text, re.DOTALL)
    assert block, "CONTRIBUTING.md has no floors block"
    ranks: dict[str, int] = {}
    for rank, line in enumerate(reversed(block[1].splitlines())):
        for group in re.split(r"\s{2,}", line.strip()):
            ranks |= {room.strip(): rank for room in group.split("+")}
    return ranks


def joined(text: str) -> set[frozenset[str]]:
    """The rooms of the floors block that ``+`` joins: they are one room in two places."""
    groups = re.findall(r"\S+(?: \+ \S+)+", re.search(r"<!-- floors -->\n```text\n(.*?)```", text, re.DOTALL)[1])
    return {frozenset(group.split(" + ")) for group in groups}


FLOOR = plan(CONTRIBUTING)
JOINED = joined(CONTRIBUTING)


def faults(files: dict[str, str]) -> list[str]:
    """What is wrong with the imports of a package's files (path below the package -> source), a sentence for each.

    Lazy imports, those under TYPE_CHECKING and ``import_module`` with a literal count as well.
    """
    modules = {_module(path): source for path, source in files.items()}
    wrong: set[str] = set()
    graph: dict[str, set[str]] = {}
    for module, source in modules.items():
        room = module.partition(".")[0]
        if room not in FLOOR:
            wrong.add(f"{room} is not on the plan")
            continue
        names = _imports(ast.parse(source), _package(module, modules))
        targets = {_resolved(name, modules) for name in names}
        graph[module] = {target for target in targets if not target.startswith("/")} - {module}
        wrong |= {_fault(module, target) for target in targets} | {_private(module, name, modules) for name in names}
    return sorted(wrong - {""}) + _cycles(graph)


def _module(path: str) -> str:
    """``stores/memory.py`` is ``stores.memory``, ``stores/__init__.py`` is ``stores``."""
    parts = path.removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _package(module: str, modules: dict[str, str]) -> str:
    """The full name of the package in which a relative import of the module starts."""
    if module == "__init__":
        return "toolpulse"
    if any(other.startswith(f"{module}.") for other in modules):
        return f"toolpulse.{module}"
    return f"toolpulse.{module}".rpartition(".")[0]


def _imports(tree: ast.AST, package: str) -> set[str]:
    """Full dotted names of all that is imported, names taken from a module included."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            origin = ".".join(part for part in (base, node.module) if part)
            names |= {f"{origin}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and _name(node.func) in {"import_module", "__import__"}:
            names |= {a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)}
    return names


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _resolved(target: str, modules: dict[str, str]) -> str:
    """The longest part of an own name that is a module, without ``toolpulse.``; the top module of a foreign one."""
    top, _, rest = target.partition(".")
    if top != "toolpulse":
        return f"/{top}"
    parts = rest.split(".") if rest else []
    while parts and ".".join(parts) not in modules and not (len(parts) == 1 and parts[0] in FLOOR):
        parts.pop()
    return ".".join(parts) or FREE


def _fault(module: str, target: str) -> str:
    """The sentence on one import, empty where it is allowed."""
    room, to = module.partition(".")[0], target.partition(".")[0]
    if target.startswith("/"):
        foreign = target[1:]
        pure = room in PURE_FLOORS and module not in IMPURE
        outside = pure and foreign in WORLD and foreign not in ALLOWED.get(module, ())
        return f"{module} imports {foreign}" if outside else ""
    if room in {FREE, to} or to not in FLOOR:  # a room off the plan has a sentence of its own
        return ""
    if frozenset({room, to}) in JOINED:  # cycles are looked for anyway
        return ""
    return "" if FLOOR[to] < FLOOR[room] else f"{module} imports {target}"


def _private(module: str, name: str, modules: dict[str, str]) -> str:
    """The sentence on an import of something private, empty where there is none.

    A leading underscore means: private to the folder it lies in, and of a function or class, to its module.
    """
    top, _, rest = name.partition(".")
    if top != "toolpulse" or rest in {"", "__version__"}:
        return ""
    parts = rest.split(".")
    for index, part in enumerate(parts):
        if not part.startswith("_") or part.startswith("__"):
            continue
        inside = ".".join(parts[: index + 1]) in {m for known in modules for m in _above(known)}
        folder = ".".join(parts[:index])
        if not inside or not (module == folder or f"{module}.".startswith(f"{folder}." if folder else "")):
            return f"{module} imports the private {rest}"
    return ""


def _above(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[: size + 1]) for size in range(len(parts))]


def _cycles(graph: dict[str, set[str]]) -> list[str]:
    """A sentence for each cycle of imports, its modules in order from the first by name."""
    ended: set[str] = set()
    cycles: set[tuple[str, ...]] = set()

    def visit(module: str, path: list[str]) -> None:
        if module in path:
            cycle = path[path.index(module) :]
            first = cycle.index(min(cycle))
            cycles.add(tuple(cycle[first:] + cycle[:first]))
        elif module not in ended:
            for target in sorted(graph.get(module, ())):
                visit(target, [*path, module])
            ended.add(module)

    for module in sorted(graph.keys() - {FREE}):
        visit(module, [])
    return [f"a cycle: {' -> '.join([*cycle, cycle[0]])}" for cycle in sorted(cycles)]


def _package_files() -> dict[str, str]:
    package = ROOT / "toolpulse"
    return {path.relative_to(package).as_posix(): path.read_text("utf-8") for path in package.rglob("*.py")}


def test_imports_go_only_downwards():
    """The floors are what keeps the kernel callable without the world; a habit that nobody checks is lost."""
    files = _package_files()
    assert "_base/guard.py" in files
    assert faults(files) == []


def test_every_room_on_the_plan_exists():
    """A newcomer looks for the rooms that CONTRIBUTING.md shows."""
    rooms = {_module(path).partition(".")[0] for path in _package_files()}
    assert FLOOR.keys() == rooms - {""}


def test_every_file_that_contributing_names_exists():
    """A recipe that names a file which has been moved costs a newcomer an hour."""
    named = set(re.findall(r"`([\w./<>-]+/[\w./<>-]*|[\w-]+\.(?:py|md|toml))`", CONTRIBUTING))
    named = {name for name in named if "<" not in name}
    assert named
    missing = [n for n in sorted(named) if not any((base / n).exists() for base in (ROOT, ROOT / "toolpulse"))]
    assert missing == []


def test_pure_rooms_are_on_the_plan():
    """A pure room that is renamed must not slip out of the check."""
    modules = {_module(path) for path in _package_files()}
    assert FLOOR.keys() >= PURE_FLOORS
    assert modules >= ALLOWED.keys() | IMPURE


def _too_long(files: dict[str, str]) -> list[str]:
    """Files and functions that are longer than a reader keeps in mind."""
    long = [f"{path}: {lines} lines" for path, text in files.items() if (lines := text.count("\n")) > LONGEST_FILE]
    for path, text in files.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = node.end_lineno - node.lineno + 1 - _docstring_lines(node)
                if lines > LONGEST_FUNCTION:
                    long.append(f"{path}: {node.name} has {lines} lines")
    return sorted(long)


def _docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """An explanation makes no function harder to read."""
    if ast.get_docstring(node) is None:
        return 0
    return node.body[0].end_lineno - node.body[0].lineno + 1


def test_files_and_functions_stay_short():
    """A room is read in one go, or it is two rooms."""
    assert _too_long(_package_files()) == []


def test_folders_stay_small():
    """About a dozen files is what one finds one's way in without a map."""
    folders: dict[str, int] = {}
    for path in _package_files():
        folder = path.rpartition("/")[0]
        folders[folder] = folders.get(folder, 0) + (not path.endswith("__init__.py"))
    assert {folder: count for folder, count in folders.items() if count > MOST_FILES} == {}


CLEAN = {
    "__init__.py": "from toolpulse.runtime.monitor import Monitor\n",
    "__main__.py": "from toolpulse.cli import main\n",
    "cli/__init__.py": "from toolpulse.cli._kit import table\n",
    "cli/_kit/__init__.py": "",
    "cli/_kit/table.py": "import os\nfrom . import text\n",
    "cli/_kit/text.py": "",
    "runtime/__init__.py": "",
    "runtime/monitor.py": "import threading\nfrom toolpulse.stores.sql.store import S\nfrom toolpulse import stores\n",
    "stores/__init__.py": "def f():\n    from toolpulse.stores.memory import Memory\n",
    "stores/base.py": "from toolpulse.events import DriftEvent\n",
    "stores/memory.py": "from .base import Store\nfrom ..errors import StoreError\n",
    "stores/sql/__init__.py": "",
    "stores/sql/store.py": "import sqlite3\nfrom toolpulse.stores import base, memory\n",
    "events.py": "from datetime import datetime\nfrom toolpulse.state.incidents import Incident\n",
    "state/__init__.py": "",
    "state/incidents.py": "from toolpulse.judgement import rules\n",
    "state/baseline.py": "from pathlib import Path\nfrom toolpulse.events import DriftEvent\n",
    "judgement/__init__.py": "",
    "judgement/rules.py": "from .diff import Change\n",
    "judgement/diff.py": "import toolpulse.shape\n",
    "evidence/__init__.py": "",
    "shape/__init__.py": "from toolpulse.shape.nodes import Shape\n",
    "shape/nodes.py": "import threading\n",
    "_base/__init__.py": "",
    "_base/guard.py": "import logging\nfrom toolpulse.errors import ToolPulseError\n",
    "_base/paths.py": "",
    "errors.py": "",
}
"""A package as it should be, with every form of import that is allowed."""


def test_a_clean_package_has_no_faults():
    """Each allowed form of import stays allowed: downward, inside a folder, lazy, the clock outside pure rooms."""
    assert faults(CLEAN) == []


RULES = "judgement/rules.py"


@pytest.mark.parametrize(
    ("path", "planted", "sentence"),
    [
        (RULES, "from toolpulse.stores.base import Store", "judgement.rules imports stores.base"),
        (RULES, "import toolpulse.stores.base", "judgement.rules imports stores.base"),
        (RULES, "from toolpulse import stores", "judgement.rules imports stores"),
        (RULES, "from .. import stores", "judgement.rules imports stores"),
        (RULES, "from ..stores import base", "judgement.rules imports stores.base"),
        (RULES, "def f():\n    from toolpulse.stores import Memory", "judgement.rules imports stores"),
        (RULES, "import importlib\nimportlib.import_module('toolpulse.stores')", "judgement.rules imports stores"),
        (
            RULES,
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from toolpulse.stores import Memory",
            "judgement.rules imports stores",
        ),
        (RULES, "from toolpulse import Monitor", "judgement.rules imports __init__"),
        (RULES, "import toolpulse", "judgement.rules imports __init__"),
        (RULES, "from toolpulse.gadget import x", "judgement.rules imports __init__"),
        ("judgement/diff.py", "import time", "judgement.diff imports time"),
        ("judgement/diff.py", "def f():\n    from os.path import join", "judgement.diff imports os"),
        ("_base/paths.py", "import threading", "_base.paths imports threading"),
        ("state/baseline.py", "import tempfile", "state.baseline imports tempfile"),
        ("sinks/logs.py", "from toolpulse.stores.base import Store", "sinks.logs imports stores.base"),
        ("stores/memory.py", "from ..runtime import monitor", "stores.memory imports runtime.monitor"),
        ("gadget.py", "", "gadget is not on the plan"),
        ("gadget.py", "from toolpulse.runtime.monitor import Monitor", "gadget is not on the plan"),
        ("gadgets/small.py", "", "gadgets is not on the plan"),
        ("testing.py", "from toolpulse.cli._kit import text", "testing imports the private cli._kit.text"),
        ("cli/show.py", "from toolpulse.judgement.rules import _x", "cli.show imports the private judgement.rules._x"),
    ],
)
def test_a_planted_fault_is_named(path, planted, sentence):
    """The check itself is checked: each way around the floors gives one sentence that names both rooms."""
    files = CLEAN | {path: f"{CLEAN.get(path, '')}{planted}\n"}
    assert sentence in faults(files)
    assert [fault for fault in faults(files) if fault != sentence and not fault.startswith("a cycle")] == (
        ["testing imports cli._kit.text"] if path == "testing.py" else []
    )


@pytest.mark.parametrize(
    ("path", "planted", "cycle"),
    [
        ("cli/_kit/text.py", "from . import table", "cli._kit.table -> cli._kit.text -> cli._kit.table"),
        (
            "judgement/diff.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from toolpulse.judgement import rules",
            "judgement.diff -> judgement.rules -> judgement.diff",
        ),
        ("shape/nodes.py", "import toolpulse.shape", "shape -> shape.nodes -> shape"),
        ("state/incidents.py", "from toolpulse.events import DriftEvent", "events -> state.incidents -> events"),
    ],
)
def test_a_cycle_inside_a_folder_is_named(path, planted, cycle):
    """Two files that need each other are one room in two pieces, whatever the type checker says."""
    files = CLEAN | {path: f"{CLEAN.get(path, '')}{planted}\n"}
    assert faults(files) == [f"a cycle: {cycle}"]


def test_a_room_off_the_plan_is_named_once():
    """Who imports an unplanned room is no second fault: what has to change is the plan."""
    files = CLEAN | {"gadget.py": "", RULES: "from toolpulse.gadget import Gadget\n"}
    assert faults(files) == ["gadget is not on the plan"]


def test_what_is_too_long_is_named():
    """The length check must be able to find a long file and a long function."""
    text = "def f():\n" + "    x = 1\n" * 45 + "\n" * 300
    assert _too_long({"a.py": text, "b.py": ""}) == ["a.py: 346 lines", "a.py: f has 46 lines"]
