from __future__ import annotations

import gc
import os
import signal
import threading
import weakref

import pytest

from toolpulse import shape_of
from toolpulse.shape.nodes import UNKNOWN, Array, Map, Object, Scalar, _interned


class TestInterning:
    def test_equal_shapes_are_one_object(self):
        """Equality is identity, which is what makes counting cheap."""
        assert shape_of({"a": [1, "x"]}).shape is shape_of({"a": ["y", 2, 3]}).shape

    def test_threads_get_the_same_shapes(self):
        """Two threads that meet a shape first at the same time must not make two of it."""
        barrier, found = threading.Barrier(4), [[] for _ in range(4)]

        def walk(mine):
            for n in range(200):
                barrier.wait()
                mine.append(shape_of({f"t{n}": [{"a": n, f"u{n}": "x"}]}).shape)

        threads = [threading.Thread(target=walk, args=(mine,)) for mine in found]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(len(set(map(id, same))) == 1 for same in zip(*found, strict=True))

    def test_shapes_nobody_holds_are_released(self):
        """Interning is weak: memory is that of the shapes in use."""
        shape = Object({"only_here": Array([Scalar("string"), Scalar("uuid")])})
        kept = weakref.ref(shape)
        before = len(_interned)
        del shape
        gc.collect()
        assert kept() is None
        assert len(_interned) < before

    def test_a_finalizer_may_observe(self):
        """The collector may run a finalizer inside the lock; that one may call a watched tool."""
        done = []

        class Last:
            def __del__(self):
                done.append(shape_of({"from": ["a finalizer"]}).shape)

        from toolpulse.shape import nodes

        with nodes._lock:
            Last()
            gc.collect()
        assert done

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    def test_a_child_can_observe_though_the_lock_was_held(self):
        """A fork may happen while another thread makes a shape; nobody in the child would release the lock."""
        from toolpulse.shape import nodes

        held, done = threading.Event(), threading.Event()

        def hold():
            with nodes._lock:
                held.set()
                done.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        child = os.fork()
        if not child:
            signal.alarm(20)
            os._exit(0 if shape_of({"made in": ["a child"]}).shape.kind == "object" else 1)
        done.set()
        thread.join()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    @pytest.mark.parametrize("shape", [UNKNOWN, Scalar("uuid"), Array(), Map([Scalar("null")]), Object({"a": UNKNOWN})])
    def test_copies_and_pickles_are_the_shape_itself(self, shape):
        """A copy that is another object would be unequal."""
        import copy
        import pickle

        assert copy.copy(shape) is copy.deepcopy(shape) is shape
        assert pickle.loads(pickle.dumps(shape)) is shape
