"""A writer in its own thread: what each side sees when the other ends, fails or is interrupted."""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.engines.feed import Feed, StoppedError, write_fed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SOON_S = 20.0


def test_everything_arrives_in_order_and_the_result_comes_back() -> None:
    assert write_fed(range(1_000), list, Feed()) == list(range(1_000))


def test_nothing_at_all_is_fine() -> None:
    assert write_fed([], list, Feed[int]()) == []


def test_the_source_runs_on_the_callers_thread_and_the_writer_does_not() -> None:
    def source() -> Iterator[int]:
        yield threading.get_ident()

    (of_source,), of_writer = write_fed(
        source(), lambda items: (list(items), threading.get_ident()), Feed()
    )
    assert of_source == threading.get_ident() != of_writer


def test_an_endless_source_waits_for_a_slow_writer() -> None:
    made = []

    def source() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    def write(items: Iterator[int]) -> int:
        next(items)
        time.sleep(0.2)
        ahead = len(made)
        for _ in items:
            pass
        return ahead

    assert write_fed(source(), write, Feed()) < 10


def test_an_error_of_the_source_is_raised_as_it_is_and_stops_the_writer() -> None:
    seen: list[BaseException] = []

    def source() -> Iterator[int]:
        yield 1
        raise LookupError("boom")

    def write(items: Iterator[int]) -> None:
        try:
            for _ in items:
                pass
        except StoppedError as error:
            seen.append(error)
            raise

    with pytest.raises(LookupError, match="boom"):
        write_fed(source(), write, Feed())
    assert len(seen) == 1


@pytest.mark.parametrize("source", [range(1_000), [], range(2)], ids=["long", "empty", "short"])
def test_an_error_of_the_writer_is_raised_as_it_is(source: Iterable[int]) -> None:
    def write(items: Iterator[int]) -> None:
        for _ in items:
            break
        raise LookupError("boom")

    with pytest.raises(LookupError, match="boom"):
        write_fed(source, write, Feed())


def test_a_writer_that_has_enough_ends_the_source() -> None:
    def endless() -> Iterator[int]:
        while True:
            yield 1

    assert write_fed(endless(), next, Feed()) == 1


@pytest.mark.parametrize("stuck", [False, True], ids=["writing", "stuck"])
def test_ctrl_c_is_heard_while_the_writer_is_waited_for(stuck: bool) -> None:
    main = threading.get_ident()
    released = threading.Event()
    stopped = threading.Event()

    def write(items: Iterator[int]) -> None:
        next(items)
        threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT)).start()
        try:
            next(items)
        except StoppedError:
            stopped.set()
        if stuck:
            released.wait(SOON_S)

    def source() -> Iterator[int]:
        yield 1
        time.sleep(SOON_S)

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        write_fed(source(), write, Feed())
    assert time.monotonic() - begin < SOON_S / 2
    assert stopped.wait(SOON_S)
    released.set()


def test_a_stopped_feed_takes_nothing_and_never_opens_again() -> None:
    feed = Feed[int]()
    feed.stop()
    feed.end()
    assert not feed.put(1)
    with pytest.raises(StoppedError):
        next(iter(feed))


def test_a_writer_that_refuses_more_ends_quietly_and_ends_the_source() -> None:
    feed = Feed[int]()
    seen: list[int] = []

    def endless() -> Iterator[int]:
        while True:
            yield 1

    def write(items: Iterator[int]) -> str:
        for item in items:
            seen.append(item)
            feed.refuse()
        return "written"

    assert write_fed(endless(), write, feed) == "written"
    assert seen == [1]


def test_a_refused_feed_can_still_be_stopped_and_not_the_other_way() -> None:
    feed = Feed[int]()
    assert feed.put(1)
    feed.refuse()
    feed.end()
    assert not feed.put(2)
    assert list(feed) == []
    feed.stop()
    feed.refuse()
    with pytest.raises(StoppedError):
        next(iter(feed))


def test_what_was_put_before_the_end_is_still_handed_out() -> None:
    feed = Feed[int]()
    assert feed.put(1)
    feed.end()
    assert not feed.put(2)
    assert list(feed) == [1]
