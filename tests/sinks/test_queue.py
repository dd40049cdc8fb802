from __future__ import annotations

import threading

import pytest
from sink_events import Failing, Hanging, Kept, an_event, drifted

from toolpulse import Monitor
from toolpulse._base.guard import Guard
from toolpulse.sinks.base import Sink
from toolpulse.sinks.jsonl import JsonlSink
from toolpulse.sinks.logs import LogSink
from toolpulse.sinks.queue import MOST_EVENTS, Outbox, Pause


@pytest.mark.swallows
def test_a_sink_that_raises_gets_its_events_again_in_order():
    """A log server that was away for an hour has everything afterwards, once."""
    failing, kept = Failing(), Kept()
    with Monitor(sinks=[failing, kept], flush_interval=10_000.0) as monitor:
        drifted(monitor, changes=3)
        assert monitor.flush() is False
        assert monitor.health().sinks == {"Failing": "failing", "Kept": "ok"}
        assert (failing.events, len(kept.events)) == ([], 4)
        failing.broken = False
        assert monitor.flush() is True
        assert failing.events == kept.events
        assert monitor.health().sinks == {"Failing": "ok", "Kept": "ok"}


@pytest.mark.swallows
def test_a_sink_that_failed_is_tried_again_without_a_new_event(monkeypatch):
    """The last event before a quiet night must not wait for the morning's first."""
    monkeypatch.setattr(Pause, "left", property(lambda pause: pause._until and 0.001))
    failing = Failing()
    sent = threading.Event()
    with Monitor(sinks=[failing], flush_interval=0.001) as monitor:
        drifted(monitor)
        while monitor.health().sinks != {"Failing": "failing"}:
            threading.Event().wait(0.001)
        monkeypatch.undo()
        failing.emit = lambda event: (failing.events.append(event), sent.set())
        assert sent.wait(20)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_sink_that_hangs_holds_up_nobody_else(order):
    """The caller goes on, and the other sinks have their events while it hangs."""
    sinks = [Hanging(), Kept()]
    hanging, kept = sinks
    with Monitor(sinks=[sinks[index] for index in order], flush_interval=10_000.0) as monitor:
        drifted(monitor)
        assert monitor.flush(timeout=0.05) is False
        assert hanging.entered.wait(10)
        assert [event.status for event in kept.events] == ["learned", "open"]
        assert monitor.health().sinks == {"Hanging": "busy", "Kept": "ok"}
        drifted(monitor, "other")
        assert monitor.flush(timeout=0.05) is False
        assert len(kept.events) == 4
        hanging.go.set()
        assert monitor.flush() is True
        assert hanging.events == kept.events


def test_a_slow_sink_gets_every_event_in_order():
    """Slowness is no failure."""

    class Slow(Kept):
        def emit(self, event):
            threading.Event().wait(0.001)
            super().emit(event)

    slow = Slow()
    with Monitor(sinks=[slow], flush_interval=0.001) as monitor:
        drifted(monitor, changes=20)
    assert [event.status for event in slow.events] == ["learned"] + ["open"] * 20
    assert slow.closed == 1


@pytest.mark.parametrize("background", [True, False])
def test_close_sends_what_waits_and_closes_each_sink_once(background):
    """A sink with a connection is told when it may let go of it."""
    kept = Kept()
    monitor = Monitor(sinks=[kept], background=background, flush_interval=10_000.0)
    drifted(monitor)
    monitor.close()
    monitor.close()
    assert (len(kept.events), kept.closed) == (2, 1)


@pytest.mark.swallows
@pytest.mark.parametrize("background", [True, False])
def test_a_sink_that_cannot_be_closed_keeps_nobody(background):
    """Closing is for the others too."""

    class Unclosable(Kept):
        def close(self):
            raise OSError

    kept = Kept()
    monitor = Monitor(sinks=[Unclosable(), kept], background=background)
    drifted(monitor)
    monitor.close()
    assert kept.closed == 1
    assert monitor.health().swallowed_by == {"closing Unclosable: OSError": 1}


def test_a_sink_that_hangs_does_not_keep_close():
    """A program that ends its monitor wants to go on ending, and the other sinks are closed."""
    hanging, kept = Hanging(), Kept()
    kept.close = (closed := threading.Event()).set
    monitor = Monitor(sinks=[hanging, kept], flush_interval=10_000.0)
    drifted(monitor)
    monitor.close(timeout=0.05)
    assert closed.wait(10)
    assert (len(kept.events), hanging.closed) == (2, 0)
    hanging.go.set()


def test_two_sinks_of_a_kind_are_told_apart():
    """Health must say which of the two fails."""
    with Monitor(sinks=[Kept(), Kept(), Kept()]) as monitor:
        assert list(monitor.health().sinks) == ["Kept", "Kept 2", "Kept 3"]


def test_the_protocol_is_one_method():
    """A sink is anything with emit; nothing needs to be inherited."""
    assert isinstance(Kept(), Sink)
    assert isinstance(JsonlSink(), Sink)
    assert isinstance(LogSink(), Sink)
    assert not isinstance(object(), Sink)


@pytest.mark.swallows
def test_a_full_outbox_lets_the_oldest_go_and_counts_it():
    """A sink that fails for a week must not fill the memory, and the loss must be seen."""
    failing = Failing()
    outbox = Outbox("o", failing, Guard())
    for number in range(MOST_EVENTS + 5):
        outbox.put(an_event(number))
    assert (outbox.waiting, outbox.dropped) == (MOST_EVENTS, 5)
    assert outbox.send(0) is False
    assert outbox.state == "failing, 5 dropped"
    failing.broken = False
    assert outbox.send(0) is True
    assert failing.events == [an_event(number) for number in range(5, MOST_EVENTS + 5)]


def test_an_outbox_that_fills_while_it_sends_loses_none_it_did_not_count():
    """The event that is being sent is in no queue; it must be neither counted as lost nor sent twice."""
    hanging = Hanging()
    outbox = Outbox("o", hanging, Guard())
    outbox.start()
    outbox.put(an_event(0))
    assert hanging.entered.wait(10)
    for number in range(1, MOST_EVENTS + 4):
        outbox.put(an_event(number))
    hanging.go.set()
    assert outbox.send(10) is True
    outbox.stop()
    assert outbox.dropped == 3
    assert hanging.events == [an_event(0), *(an_event(number) for number in range(4, MOST_EVENTS + 4))]


def test_pauses_grow_to_a_minute():
    """A sink that is down for long is not hammered, a short outage is over soon, and a fleet does not come as one."""
    pause = Pause()
    left = []
    for _ in range(12):
        pause.failed()
        left.append(pause.left)
    for found, wanted in zip(left, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60], strict=True):
        assert 0.7 * wanted < found <= 1.25 * wanted
    assert len({round(seconds, 6) for seconds in left[-6:]}) > 1
    pause.worked()
    assert (pause.left <= 0, pause.failures) == (True, 0)


def test_a_sink_that_asks_for_a_flush_is_turned_away():
    """It would wait for its own return."""
    asked = []

    class Asking(Kept):
        def emit(self, event):
            asked.append(monitor.flush())
            super().emit(event)

    sink = Asking()
    monitor = Monitor(sinks=[sink], flush_interval=0.001)
    drifted(monitor)
    monitor.close()
    assert asked == [False, False]
    assert len(sink.events) == 2


def test_an_interrupt_in_an_inline_sink_passes_and_loses_no_event():
    """Ctrl-C while a sink writes ends the program's call, and the event is still to be told."""

    class Interrupted(Kept):
        def emit(self, event):
            if not self.events and not self.closed:
                self.closed += 1
                raise KeyboardInterrupt
            super().emit(event)

    sink = Interrupted()
    monitor = Monitor(sinks=[sink], background=False)
    with pytest.raises(KeyboardInterrupt):
        drifted(monitor)
    assert monitor.flush()
    assert [event.status for event in sink.events] == ["learned"]
