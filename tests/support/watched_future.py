"""The tools of ``watched_functions`` with annotations that are strings."""

from __future__ import annotations

from pathlib import Path

# compile() hands the statement above on to what it compiles.
exec(compile(Path(__file__).with_name("watched_functions.py").read_text("utf-8"), __file__, "exec"))
