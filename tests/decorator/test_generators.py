from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import sys
import warnings
import weakref

import pytest
import watched_functions
from hypothesis import given
from hypothesis import strategies as st
from probes import RecordedStream, Recorder

from toolpulse.errors import DriftError

REACTIONS = ("pass", "swallow", "replace", "replace after", "return", "return from finally", "yield again")
THROWN = (ValueError, KeyError, GeneratorExit, StopIteration, StopAsyncIteration, asyncio.CancelledError)
scripts = st.lists(st.sampled_from(REACTIONS), max_size=5)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.one_of(st.none(), st.integers(0, 9))),
        st.tuples(st.just("throw"), st.sampled_from(THROWN)),
        st.tuples(st.just("close"), st.none()),
    ),
    max_size=8,
)
starts = st.booleans()
LEAVE = [("close", None)] * 6  # a generator may refuse as often as its script is long


def scripted(script, log):
    """A generator that reacts to what is thrown into it as the script says, and writes down what reached it."""
    got = None
    for number, reaction in enumerate(script):
        late = None
        try:
            got = yield (number, got)
            log.append(("got", got))
        except BaseException as error:
            log.append(("caught", type(error), number))
            if reaction == "pass":
                raise
            if reaction == "replace":
                raise OSError(number) from None
            if reaction == "return":
                return "early"
            if reaction == "yield again":
                got = yield ("again", number)
            if reaction == "replace after":
                late = LookupError(number)
        finally:
            log.append(("finally", number))
        if late is not None:
            raise late
        if reaction == "return from finally":
            return "finally"
    return "end"


async def async_scripted(script, log):
    """The same, asynchronous."""
    got = None
    for number, reaction in enumerate(script):
        late = None
        try:
            await asyncio.sleep(0)
            got = yield (number, got)
            log.append(("got", got))
        except BaseException as error:
            await asyncio.sleep(0)
            log.append(("caught", type(error), number))
            if reaction == "pass":
                raise
            if reaction == "replace":
                raise OSError(number) from None
            if reaction == "return":
                return
            if reaction == "yield again":
                got = yield ("again", number)
            if reaction == "replace after":
                late = LookupError(number)
        finally:
            log.append(("finally", number))
        if late is not None:
            raise late
        if reaction == "return from finally":
            return


def told(error):
    """An exception with what it says of its origin."""
    context = error.__context__
    return type(error), error.args, type(context), type(error.__cause__), error.__suppress_context__


def trace(generator, program):
    """What each operation of the program gave."""
    steps = []
    for operation, value in program:
        try:
            if operation == "send":
                steps.append(("item", generator.send(value)))
            elif operation == "throw":
                steps.append(("item", generator.throw(value("thrown"))))
            else:
                steps.append(("closed", generator.close()))
        except StopIteration as stop:
            steps.append(("stop", stop.value))
        except BaseException as error:
            steps.append(("error", told(error)))
    return steps


async def async_trace(generator, program):
    """The same, asynchronous."""
    steps = []
    for operation, value in program:
        try:
            if operation == "send":
                steps.append(("item", await generator.asend(value)))
            elif operation == "throw":
                steps.append(("item", await generator.athrow(value("thrown"))))
            else:
                steps.append(("closed", await generator.aclose()))
        except StopAsyncIteration:
            steps.append(("stop",))
        except BaseException as error:
            steps.append(("error", told(error)))
    return steps


def agrees(recorder, steps):
    """The record holds each item that came out of the generator, and ends once it has ended."""
    # athrow() outside a running generator gives None or the error's text on some versions; items are tuples.
    items = [step[1] for step in steps if step[0] == "item" and isinstance(step[1], tuple)]
    if not recorder.streams:
        assert items == []
        return
    (stream,) = recorder.streams
    refused = [step for step in steps if step[0] == "error" and "ignored GeneratorExit" in str(step[1][1])]
    assert [i for i in stream.items if i in items] == items
    assert len(stream.items) == len(items) + len(refused)
    assert len(stream.ends) <= 1


@given(scripts, operations, starts)
def test_a_watched_generator_obeys_the_protocol(script, program, start):
    """Every sequence of send, throw and close does what it does to the tool's own generator, contexts included."""
    program = [*([("send", None)] if start else []), *program, *LEAVE]
    logs = [], []
    recorder = Recorder()
    plain = trace(scripted(script, logs[0]), program)
    watched = trace(recorder.watch(scripted)(script, logs[1]), program)
    assert watched == plain
    assert logs[1] == logs[0]
    agrees(recorder, watched)


# An async generator that refuses to close cannot be asked again, and complains when it is collected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@given(scripts, operations, starts)
def test_a_watched_async_generator_obeys_the_protocol(script, program, start):
    """The same law for asend, athrow and aclose."""
    program = [*([("send", None)] if start else []), *program, *LEAVE]
    logs = [], []
    recorder = Recorder()

    async def both():
        plain = await async_trace(async_scripted(script, logs[0]), program)
        return plain, await async_trace(recorder.watch(async_scripted)(script, logs[1]), program)

    plain, watched = asyncio.run(both())
    assert watched == plain
    assert logs[1] == logs[0]
    agrees(recorder, watched)


def test_a_finished_stream_is_complete():
    """All items, in order, one end."""
    recorder = Recorder()
    assert list(recorder.watch(watched_functions.items)("Oslo", 3)) == recorder.streams[0].items
    assert len(recorder.streams[0].items) == 3
    assert recorder.streams[0].ends == [("complete", None)]
    assert recorder.calls == [(("Oslo", 3), {})]


def test_a_generator_that_nobody_iterates_tells_nothing():
    """Half the frameworks hand the generator on, or turn it into text; then nothing was returned that has a shape."""
    recorder = Recorder()
    for name in ["items", "handed_items", "async_items", "handed_async_items"]:
        made = recorder.watch(getattr(watched_functions, name))("Oslo")
        if name.endswith("async_items"):
            with pytest.raises(StopIteration):
                made.aclose().send(None)
        else:
            made.close()
    del made
    assert recorder.told == []


def test_items_are_not_made_before_they_are_asked_for():
    """A stream may be endless, and each item may cost."""
    made = []
    recorder = Recorder()

    @recorder.watch
    def endless():
        while True:
            made.append(len(made))
            yield made[-1]

    stream = endless()
    assert made == []
    assert [next(stream), next(stream)] == [0, 1]
    assert made == recorder.streams[0].items == [0, 1]


@pytest.mark.parametrize("how", ["close", "drop"])
def test_a_stream_that_is_left_early_is_closed(how):
    """A for loop that breaks drops the generator: its finally blocks run and the record ends, both at once."""
    closed = []
    recorder = Recorder()

    @recorder.watch
    def tool():
        try:
            yield 1
            yield 2
        finally:
            closed.append(True)

    stream = tool()
    next(stream)
    if how == "close":
        stream.close()
    else:
        gc.disable()
        try:
            del stream
        finally:
            gc.enable()
    assert closed == [True]
    assert recorder.streams[0].items == [1]
    assert recorder.streams[0].ends == [("closed", None)]


def test_a_stream_without_items_is_complete():
    """Nothing to give is an answer, and no early end."""
    recorder = Recorder()

    @recorder.watch
    def tool():
        yield from ()

    @recorder.watch
    async def async_tool():
        for item in ():
            yield item

    async def drain():
        return [item async for item in async_tool()]

    assert list(tool()) == asyncio.run(drain()) == []
    assert [stream.ends for stream in recorder.streams] == [[("complete", None)]] * 2


def test_a_stream_that_refuses_to_close_and_goes_on_is_complete():
    """What was asked of it once is over with its next item: the caller got all that there was."""
    recorder = Recorder()

    @recorder.watch
    def tool():
        with contextlib.suppress(GeneratorExit):
            yield 1
        yield 2
        yield 3

    @recorder.watch
    async def async_tool():
        with contextlib.suppress(GeneratorExit):
            yield 1
        yield 2
        yield 3

    async def drain():
        stream = async_tool()
        return [await anext(stream), await stream.athrow(GeneratorExit()), *[item async for item in stream]]

    stream = tool()
    assert [next(stream), stream.throw(GeneratorExit()), *stream] == asyncio.run(drain()) == [1, 2, 3]
    assert [stream.ends for stream in recorder.streams] == [[("complete", None)]] * 2


def test_an_error_ends_the_stream_and_passes():
    """The record says with what; the caller gets the same object."""
    error = ValueError("x")
    recorder = Recorder(drift=DriftError("tool"))  # must not replace the tool's own error

    @recorder.watch
    def tool():
        yield 1
        raise error

    @recorder.watch
    async def async_tool():
        yield 1
        raise error

    async def drain():
        async for _ in async_tool():
            pass

    with pytest.raises(ValueError, match="x") as caught:
        list(tool())
    assert caught.value is error
    with pytest.raises(ValueError, match="x") as caught:
        asyncio.run(drain())
    assert caught.value is error
    assert error.__context__ is None
    assert [stream.ends for stream in recorder.streams] == [[("raised", error)]] * 2


def test_drift_is_raised_when_a_stream_is_complete_only():
    """Nobody waits for a stream that was closed: an error there would be printed by the interpreter and lost."""
    recorder = Recorder(drift=DriftError("tool"))
    tool = recorder.watch(watched_functions.items)
    with pytest.raises(DriftError) as caught:
        list(tool("Oslo"))
    assert caught.value.__context__ is None
    stream = tool("Oslo")
    next(stream)
    stream.close()

    async def drain():
        return [item async for item in recorder.watch(watched_functions.async_items)("Oslo")]

    with pytest.raises(DriftError):
        asyncio.run(drain())
    assert [stream.ends[0][0] for stream in recorder.streams] == ["complete", "closed", "complete"]


def test_no_frame_is_kept_alive_by_an_exception():
    """An exception that was thrown in and handled must not leave a cycle for the collector."""

    class Big:
        pass

    recorder = Recorder()

    @recorder.watch
    def tool(big):
        while True:
            with contextlib.suppress(ValueError):
                yield 1

    gc.collect()
    gc.disable()
    try:
        big = Big()
        ref = weakref.ref(big)
        stream = tool(big)
        next(stream)
        stream.throw(ValueError("x"))
        del stream, big
        recorder.told.clear()
        assert ref() is None
    finally:
        gc.enable()


def test_an_async_generator_is_closed_where_the_caller_stops():
    """aclose() reaches the tool's own finally before it returns, awaits inside included."""
    closed = []
    recorder = Recorder()

    @recorder.watch
    async def tool():
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)
            closed.append(True)

    async def main():
        stream = tool()
        assert await anext(stream) == 1
        await stream.aclose()
        assert closed == [True]

    asyncio.run(main())
    assert recorder.streams[0].ends == [("closed", None)]


@pytest.mark.parametrize("dropped", [True, False])
def test_the_event_loop_closes_an_abandoned_async_generator_once(dropped):
    """The loop must know one generator, not two: of two nested ones that it closes at the same time one fails."""
    closed, complaints = [], []
    recorder = Recorder()

    async def tool():
        try:
            while True:
                yield 1
        finally:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            closed.append(True)

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
        hooks = sys.get_asyncgen_hooks()
        streams = [recorder.watch(tool)() for _ in range(3)]
        for stream in streams:
            await anext(stream)
        assert sys.get_asyncgen_hooks() == hooks
        kept.extend([] if dropped else streams)
        del stream, streams
        for _ in range(5):
            await asyncio.sleep(0)
        assert closed == [True] * 3 * dropped

    kept = []
    asyncio.run(main())
    assert closed == [True] * 3
    assert complaints == []
    assert [stream.ends for stream in recorder.streams] == [[("closed", None)]] * 3


def test_cancelling_a_stream_reaches_the_tool():
    """A cancelled task is cancelled inside the tool, where its finally blocks are."""
    reached = []
    recorder = Recorder()

    @recorder.watch
    async def tool():
        yield 1
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            reached.append(True)
            raise
        yield 2

    async def main():
        async def drain():
            return [item async for item in tool()]

        task = asyncio.create_task(drain())
        for _ in range(3):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert reached == [True]
    assert [(outcome, type(error)) for outcome, error in recorder.streams[0].ends] == [
        ("raised", asyncio.CancelledError)
    ]


def test_context_variables_of_the_caller_are_the_tools():
    """Nothing is run in a context or a task of its own, and nothing is left in the caller's."""
    variable = contextvars.ContextVar("variable", default=0)
    recorder = Recorder()

    @recorder.watch
    async def tool():
        task = asyncio.current_task()
        variable.set(variable.get() + 1)
        yield variable.get(), task
        yield variable.get(), task

    async def main():
        before = contextvars.copy_context()
        found = []
        async for value, task in tool():
            assert task is asyncio.current_task()
            found.append(value)
            variable.set(10)
        assert found == [1, 10]
        assert set(contextvars.copy_context()) - set(before) == {variable}

    asyncio.run(main())


def test_async_generators_run_without_an_event_loop():
    """Other libraries drive coroutines too; nothing of asyncio is asked for."""
    recorder = Recorder()

    @recorder.watch
    async def tool():
        yield 1
        yield 2

    stream = tool()
    found = []
    for _ in range(3):
        try:
            stream.__anext__().send(None)
        except StopIteration as stop:
            found.append(stop.value)
        except StopAsyncIteration:
            break
    assert found == [1, 2]
    assert recorder.streams[0].ends == [("complete", None)]


def test_an_interrupt_while_observing_still_closes_the_tool(monkeypatch):
    """A signal may arrive in any line, also in one of the observer; the tool's finally is then awaited all the same."""
    closed = []
    recorder = Recorder()

    @recorder.watch
    async def tool():
        try:
            yield 1
        finally:
            await asyncio.sleep(0)
            closed.append(True)

    def interrupted(self, value):
        raise KeyboardInterrupt

    async def main():
        stream = tool()
        with pytest.raises(KeyboardInterrupt):
            await anext(stream)
        assert closed == [True]

    monkeypatch.setattr(RecordedStream, "item", interrupted)
    asyncio.run(main())


def test_wrong_arguments_of_a_generator_are_told():
    """The call failed before there was a stream."""
    recorder = Recorder()
    with pytest.raises(TypeError, match="city"):
        next(recorder.watch(watched_functions.items)())
    assert [type(error) for error in recorder.errors] == [TypeError]
    assert recorder.streams == []


def test_no_warnings_of_things_left_unawaited():
    """A watched async generator that is closed unstarted is as quiet as its tool."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(_unstarted())
        gc.collect()
    assert caught == []


async def _unstarted():
    await Recorder().watch(watched_functions.async_items)("Oslo").aclose()
    await Recorder().watch(watched_functions.handed_async_items)("Oslo").aclose()
