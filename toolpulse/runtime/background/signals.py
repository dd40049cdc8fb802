"""SIGTERM and SIGHUP: what was counted is saved first, then the process dies of the signal as it would have.

A handler is set only where the application left the default, and only from the main thread; whatever handler (or
SIG_IGN) the application or a framework has stands. Nothing is waited for in the handler: it may have interrupted the
main thread anywhere, with any lock held. A thread saves, and then sends the main thread the signal once more.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

NUMBERS: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))

_SENDS: Final = hasattr(signal, "pthread_kill")
"""Whether a thread can be sent a signal; Windows ends a process without any."""


class Signals:
    """The handlers of a process. ``waits`` tells whether there is anything to save; ``save`` saves it.

    ``save`` is given to a thread, and left behind after ``patience`` seconds.
    """

    def __init__(self, waits: Callable[[], bool], save: Callable[[], object], patience: float) -> None:
        self._waits = waits
        self._save = save
        self._handler = self._handle
        """One object, by which it is known again."""
        self._patience = patience
        self._wanted = False
        self._process = 0
        """The process that has set its handlers; a fork may have set others since."""
        self.exits = False
        """Whether the interpreter is ending, and saves in the main thread."""
        self._reset()

    def _reset(self) -> None:
        self._first: int | None = None
        self._saved = False

    def want(self) -> None:
        """Have both signals save first, as far as that can be done here and now; ``again`` may do what is left."""
        self._wanted = True
        self.again()

    def again(self) -> None:
        """Set the handlers, where they are wanted and this process has not set them yet."""
        if not (self._wanted and _SENDS) or self._process == os.getpid() or not _in_main_thread():
            return
        for number in NUMBERS:
            with suppress(ValueError):  # not the main interpreter
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, self._handler)
                    self._process = os.getpid()

    def leave(self) -> None:
        """Give both signals back their default, where the handler is still this one."""
        self._wanted = False
        self._process = 0
        for number in NUMBERS:
            if _in_main_thread() and signal.getsignal(number) is self._handler:
                signal.signal(number, signal.SIG_DFL)

    def _handle(self, number: int, frame: object) -> None:
        if self._first is None:
            self._first = number
            if not self._may_wait():
                _die(number)
            elif not self._began():
                self.finish()
        elif self._saved:
            _die(self._first)

    def _may_wait(self) -> bool:
        try:
            return self._waits()
        except Exception:  # noqa: BLE001 - a handler's error would end up in the code that it interrupted
            return True

    def _began(self) -> bool:
        """Begin to save; False where that cannot be left to others, and is done."""
        try:
            threading.Thread(target=self._save_and_die, name="toolpulse signal", daemon=True).start()
        except RuntimeError:  # the interpreter is ending, or there are too many threads
            if not self.exits:
                self._save()
            return self.exits
        return True

    def _save_and_die(self) -> None:
        saving = threading.Thread(target=self._save, name="toolpulse saving", daemon=True)
        try:
            saving.start()
            saving.join(self._patience)
        except RuntimeError:
            self._save()
        self._saved = True
        main, first = threading.main_thread().ident, self._first
        if main is not None and first is not None:
            signal.pthread_kill(main, first)

    def finish(self) -> None:
        """What was counted is saved: die of the signal that came, if any did and nobody else handles it by now."""
        first = self._first
        if first is not None and _in_main_thread() and signal.getsignal(first) is self._handler:
            _die(first)

    def after_fork(self) -> None:
        """In a child: what its parent was sent is not the child's to die of."""
        self.exits = False
        self._reset()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _die(number: int) -> None:
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
