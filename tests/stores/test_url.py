from __future__ import annotations

import logging
import sys

import pytest

from toolpulse.errors import ConfigurationError, StoreError
from toolpulse.stores import open_store
from toolpulse.stores.memory import MemoryStore

SECRET = "hunter2"


def test_memory_has_a_url():
    """Tests and short programs say so, and each gets one of its own."""
    assert isinstance(open_store("memory:"), MemoryStore)
    assert open_store("memory:") is not open_store("memory:")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("memroy:", r"store: URL scheme 'memroy' is not known; memory:, .*postgresql://.* are"),
        ("", "store: URL scheme none is not known"),
        ("t.db", "store: URL scheme none is not known"),
        (f"{SECRET} and more", "store: URL scheme none is not known"),
        (f"{SECRET} and:more", "store: URL scheme none is not known"),
        ("mysql://a@b/c", "URL scheme 'mysql' is not known"),
        ("memory:x", "nothing follows it"),
        ("sqlite:", "sqlite:///relative.db or sqlite:////absolute.db"),
        ("sqlite:t.db", "sqlite:///relative.db or sqlite:////absolute.db"),
        ("sqlite://t.db", "sqlite:///relative.db or sqlite:////absolute.db"),
        ("sqlite:///", "names no file"),
        ("sqlite:///folder/", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite:///t.db?mode=ro", "no NUL, no [?]"),
        ("sqlite:///t\0.db", "no NUL, no [?]"),
        (f"postgresql://me:{SECRET}%@db/x", "the postgresql URL cannot be read"),
        (f"postgresql://me:{SECRET}@db/x?nothing=1", "the postgresql URL cannot be read"),
        (f"postgresql://me:{SECRET}@[db/x", "the postgresql URL cannot be read"),
    ],
)
def test_a_bad_url_says_what_is_known(url, said):
    """A typing error must not quietly become another store, and its message holds no password."""
    with pytest.raises(ConfigurationError, match=said) as raised:
        open_store(url)
    assert SECRET not in str(raised.value)
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_paths_are_relative_to_where_the_program_started(tmp_path, monkeypatch):
    """A program that changes its folder later must not split its baseline in two."""
    monkeypatch.chdir(tmp_path)
    store = open_store("sqlite:///t.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert store.tools() == []
    assert (tmp_path / "t.db").exists()
    assert store.describe()["url"] == str(tmp_path / "t.db")
    store.close()


@pytest.mark.parametrize("module", ["psycopg", "psycopg_pool"])
def test_a_missing_driver_names_the_extra(module, monkeypatch):
    """What to install is one line, told at once and not at the first flush."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigurationError, match=r"pip install 'toolpulse\[postgres\]'"):
        open_store("postgresql://me@db/x")


def test_nothing_is_opened_before_it_is_used(tmp_path):
    """A program starts, and serves, while its database does not."""
    open_store("postgresql://me@127.0.0.1:1/x")
    open_store(f"sqlite:///{tmp_path}/none/t.db")


CLOSED = [
    ("postgresql://me:{}@127.0.0.1:1/x", "postgresql://me@127.0.0.1:1/x: connection refused"),
    ("postgres://127.0.0.1:1/x?user=me&password={}", "postgresql://me@127.0.0.1:1/x: connection refused"),
    ("postgresql://me:{}@/x?host=/none", "postgresql://me@/none/x: no server listens at its socket"),
    ("postgresql://me:{}@none.invalid/x", "postgresql://me@none.invalid/x: the host is not known"),
]


@pytest.mark.parametrize(("url", "said"), CLOSED)
def test_a_server_that_is_not_there_is_said_in_one_line(url, said, caplog):
    """The cause, and where; not the password, in no text and no log."""
    store = open_store(url.format(SECRET))
    with caplog.at_level(logging.DEBUG), pytest.raises(StoreError) as raised:
        store.load("t", "")
    assert str(raised.value) == said
    assert SECRET not in caplog.text
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    store.close()


def test_a_wrong_password_is_never_shown(postgres, postgres_url, caplog):
    """Neither the one that is wrong nor the name of anything secret leaves through an error or a log."""
    store = open_store(postgres_url.replace("correct-horse", SECRET))
    with caplog.at_level(logging.DEBUG), pytest.raises(StoreError, match="password authentication failed") as raised:
        store.tools()
    assert SECRET not in str(raised.value) + caplog.text
    assert SECRET not in repr(raised.value.__cause__)
    store.close()


def test_a_database_that_is_not_there_is_named(postgres):
    """It is to be made by somebody who may."""
    store = open_store(postgres.url("none"))
    with pytest.raises(StoreError, match="does not exist"):
        store.tools()


def test_nothing_is_made_where_nothing_is(tmp_path, postgres_url):
    """A question about a store, asked of the wrong place, must not leave one there."""
    for url in (f"sqlite:///{tmp_path}/t.db", postgres_url):
        store = open_store(url, existing=True)
        with pytest.raises(StoreError, match=r"there is no (such file|store of ToolPulse in it)"):
            store.tools()
        store.close()
    assert list(tmp_path.iterdir()) == []
    for existing in (False, True):
        store = open_store(postgres_url, existing=existing)
        assert store.tools() == []
        store.close()
