from __future__ import annotations

import threading

from toolpulse._base.locks import NonReentrantLock


def elsewhere(call):
    """What a call gives in another thread."""
    results = []
    thread = threading.Thread(target=lambda: results.append(call()))
    thread.start()
    thread.join()
    return results[0]


def test_its_holder_gets_it_no_second_time():
    """A handler that comes back in would find things half done, and it would wait for its own thread forever."""
    lock = NonReentrantLock()
    assert lock.acquire()
    assert not lock.acquire()
    assert not lock.acquire(0)
    lock.release()
    assert lock.acquire()
    lock.release()


def test_being_turned_away_releases_nothing():
    """Else the thread that waits would come in beside its holder."""
    lock = NonReentrantLock()
    lock.acquire()
    lock.acquire()
    assert not elsewhere(lambda: lock.acquire(0))
    lock.release()
    assert elsewhere(lambda: lock.acquire(0) and (lock.release() or True))


def test_mine_is_said_to_its_holder_only():
    """Whoever asks wants to know whether it was itself that is in the middle of something."""
    lock = NonReentrantLock()
    assert not lock.mine
    lock.acquire()
    assert lock.mine
    assert not elsewhere(lambda: lock.mine)
    lock.release()
    assert not lock.mine


def test_another_thread_waits_for_its_turn():
    """It is a lock: the one who waits gets it when it is free, and a wait that ran out holds nothing."""
    lock = NonReentrantLock()
    lock.acquire()
    assert not elsewhere(lambda: lock.acquire(-1))
    assert not elsewhere(lambda: lock.acquire(0.01))
    results = []
    thread = threading.Thread(target=lambda: (results.append(lock.acquire()), lock.release()))
    thread.start()
    assert results == []
    lock.release()
    thread.join()
    assert results == [True]
