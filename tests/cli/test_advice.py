from __future__ import annotations

from toolpulse.cli._views.advice import SERVER, unreadable
from toolpulse.errors import StoreError
from toolpulse.stores import causes as _causes


def test_every_advice_is_about_a_cause_there_is():
    """A word changed where the causes are written would leave the advice behind, unnoticed."""
    assert set(SERVER) <= set(_causes._CAUSES.values()) | set(_causes._SAID.values())
    for cause, advice in SERVER.items():
        assert unreadable(StoreError(f"postgresql://h/d: {cause}"), "postgresql://h/d") == [advice]
