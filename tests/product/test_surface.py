from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from types import ModuleType

import pytest

import toolpulse

SURFACE = (
    "watch configure Monitor Consumer Limits Baseline Verdict Risk DriftError ToolPulseError "
    "shape_of fingerprint register set_active"
).split()

IDIOMS = {"Any", "TYPE_CHECKING", "annotations"}  # names that a typed module needs for itself

HEAVY = (
    "argparse asyncio attrs http.server multiprocessing numpy psycopg pydantic rich sqlite3 structlog urllib.request "
    "wrapt"
).split()
FOREIGN = "attrs mcp numpy pydantic rich sqlite3 structlog".split()


def _loaded_by(code: str) -> set[str]:
    """The modules that a fresh interpreter has after the code, and did not have before."""
    script = f"import sys\nbefore = set(sys.modules)\n{code}\nprint(*set(sys.modules) - before, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def _parameters(function) -> str:
    return str(
        inspect.Signature([p.replace(annotation=p.empty) for p in inspect.signature(function).parameters.values()])
    )


def test_the_list_is_the_surface():
    """What is public is decided here, not by what happens to be imported."""
    assert sorted(toolpulse.__all__) == sorted(SURFACE)
    assert len(toolpulse.__all__) == len(set(toolpulse.__all__))


def test_dir_shows_the_surface():
    """Completion in a shell offers what is public although it is imported on first use."""
    assert set(SURFACE) <= set(dir(toolpulse))


@pytest.mark.parametrize("name", SURFACE)
def test_every_public_name_is_there(name):
    """A name on the list that cannot be imported is a promise broken, and none of them is a module."""
    assert not isinstance(getattr(toolpulse, name), ModuleType)


def test_nothing_else_is_public():
    """A helper that is reachable without an underscore gets used, and then it has to be kept."""
    for name in SURFACE:
        getattr(toolpulse, name)
    public = {
        name
        for name, value in vars(toolpulse).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert public - IDIOMS <= set(SURFACE)


def test_an_unknown_name_is_an_attribute_error():
    """Import on first use must not turn a misspelled name into anything else."""
    with pytest.raises(AttributeError, match="observe_all"):
        toolpulse.observe_all  # noqa: B018 - the access is the test
    with pytest.raises(ImportError):
        importlib.import_module("toolpulse.observe_all")


@pytest.mark.parametrize(
    "first",
    [
        "import toolpulse.decorator",
        "from toolpulse.decorator.decorate import decorate",
        "import toolpulse.runtime.monitor",
        "pass",
    ],
)
def test_watch_is_the_decorator_whatever_was_imported_first(first):
    """Importing a submodule sets its name on the package: the module `watch` must not hide the decorator."""
    code = (
        f"{first}\nfrom toolpulse import watch\nimport toolpulse\nassert callable(watch) and watch is toolpulse.watch"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_import_is_light():
    """A tool server that decorates one function pays for nothing it does not use."""
    assert not _loaded_by("import toolpulse") & set(HEAVY)


def test_a_shape_needs_no_other_package():
    """No framework and no store is imported to look at a plain response."""
    code = "import toolpulse; toolpulse.shape_of({'a': [1, None]}); toolpulse.fingerprint([])"
    assert not _loaded_by(code) & set(FOREIGN)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("shape_of", "(value, limits=Limits(), *, maps=(), records=(), unwrap='none')"),
        ("fingerprint", "(value)"),
        ("Baseline.learn", "(responses, *, consumers=(), limits=Limits(), maps=(), records=(), unwrap='none')"),
        ("Baseline.check", "(self, responses, *, consumer=None)"),
        ("Baseline.load", "(path)"),
        ("Baseline.save", "(self, path)"),
        ("Monitor.observe", "(self, tool, response, *, key=None, unwrap='auto')"),
    ],
)
def test_signatures_are_as_promised(name, parameters):
    """A renamed or moved parameter breaks callers as surely as a removed function."""
    function = toolpulse
    for part in name.split("."):
        function = getattr(function, part)
    expected = parameters.replace("Limits()", repr(toolpulse.Limits()))
    assert _parameters(function) == expected
