# ruff: noqa: D102
"""A probe that keeps what it is told, for the tests of the decorator."""

from __future__ import annotations

from toolpulse.decorator.decorate import decorate


class Recorder:
    """Watches as one owner; ``told`` holds what its probes heard, in order."""

    def __init__(self, drift=None):
        self.told = []
        self.asked = []
        self.drift = drift

    def watch(self, target):
        return decorate(target, self._probe, self)

    def _probe(self, function, name):
        self.asked.append((function, name))
        return _Probe(self, name)

    @property
    def responses(self):
        return [told[1] for told in self.told if told[0] == "returned"]

    @property
    def errors(self):
        return [told[1] for told in self.told if told[0] == "raised"]

    @property
    def streams(self):
        return [told[1] for told in self.told if told[0] == "stream"]

    @property
    def calls(self):
        return [told[2] for told in self.told]


class _Probe:
    def __init__(self, recorder, name):
        self.recorder = recorder
        self.name = name

    def returned(self, response, args, kwargs):
        self.recorder.told.append(("returned", response, (args, kwargs)))
        if self.recorder.drift is not None:
            raise self.recorder.drift

    def raised(self, error, args, kwargs):
        self.recorder.told.append(("raised", error, (args, kwargs)))

    def stream(self, args, kwargs):
        stream = RecordedStream(self.recorder.drift)
        self.recorder.told.append(("stream", stream, (args, kwargs)))
        return stream


class RecordedStream:
    def __init__(self, drift):
        self.items = []
        self.ends = []
        self.drift = drift

    def item(self, value):
        assert not self.ends, "an item after the end"
        self.items.append(value)

    def end(self, outcome, error=None):
        self.ends.append((outcome, error))
        if self.drift is not None:
            raise self.drift
