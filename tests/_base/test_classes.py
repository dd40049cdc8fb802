from __future__ import annotations

from toolpulse.runtime.keys import as_text
from toolpulse.testing import RecordingMonitor


class Odd(BaseException):
    """What no ``except Exception`` holds."""


def test_names_of_types_may_be_text_that_misbehaves():
    """A class's name is whatever ``str`` it was given."""

    class Name(str):
        __slots__ = ()

        def __eq__(self, other):
            raise Odd

        __hash__ = __format__ = __str__ = __len__ = __eq__

    kind = type("Plain", (), {})
    kind.__qualname__ = kind.__name__ = Name("BaseModel")
    monitor = RecordingMonitor()
    response = kind()
    monitor.watch(tool="t")(lambda: response)()
    assert monitor.health().tools["t"].calls == 1
    assert as_text(response) == "BaseModel"
