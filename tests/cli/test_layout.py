from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "toolpulse" / "cli"
MAY_IMPORT = {"": {"_kit", "commands"}, "commands": {"_kit", "_views"}, "_views": {"_kit"}, "_kit": set()}
"""Which folders of the command line a folder may import; the empty name is ``toolpulse.cli`` itself."""


def _module(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def _imports() -> dict[str, set[str]]:
    """The modules of the command line and which of them each imports, at any depth and under TYPE_CHECKING."""
    modules = {_module(path): ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}
    return {
        module: {
            name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for name in [(node.module or "").removeprefix("toolpulse.cli.")]
            if name in modules and name != module
        }
        for module, tree in modules.items()
    }


def _sorted(imports: dict[str, set[str]]) -> list[str]:
    return list(TopologicalSorter(imports).static_order())


def test_no_module_imports_itself_in_the_end():
    """Two modules that need each other are one module in two files, also where only a type checker sees it."""
    imports = _imports()
    assert imports["commands.log"] >= {"_kit.lines", "_views.history", "_views.printer"}
    _sorted(imports)


def test_a_cycle_is_found():
    """The search must be able to find one."""
    imports = _imports()
    imports["_views.history"].add("commands.log")
    with pytest.raises(CycleError):
        _sorted(imports)


def test_folders_import_downwards():
    """A command can be read, moved or deleted alone: nothing imports it but the list of commands."""
    for module, imported in _imports().items():
        folder = module.partition(".")[0] if "." in module else ""
        for other in imported:
            to = other.partition(".")[0]
            own = to == folder != "commands" or other == "commands._demo_server"
            assert own or to in MAY_IMPORT[folder], f"{module} imports {other}"


def test_folders_stay_small():
    """A folder of more than a dozen files is no longer read as a whole."""
    folders = [path.parent for path in PACKAGE.rglob("*.py")]
    assert {folder.name: folders.count(folder) for folder in folders if folders.count(folder) > 12} == {}
