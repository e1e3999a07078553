"""A caller's publisher: who waits for it, and what it runs in other processes."""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from traceback import extract_tb

from fsspec_commit.errors import CommitError, RecordError
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.location import Location
from fsspec_commit.options import JobOptions
from fsspec_commit.protocol.elsewhere import Elsewhere
from fsspec_commit.protocol.publisher import Publisher
from fsspec_commit.protocol.slice_work import run_slice
from fsspec_commit.records.job import JobRecord
from fsspec_commit.records.slices import Slice, SliceAnswer, answer_of, slice_of, text_of
from fsspec_commit.spec import JobSpec, open_spec
from fsspec_commit.store.open_storage_options import open_part
from fsspec_commit.store.registry import protocol_of
from fsspec_commit.sync import bridge
from fsspec_commit.sync.opening import closing, or_damaged

_log = logging.getLogger("fsspec_commit")
FILES_MIN = 1_000
"""The fewest files of a slice: opening a store and reading records takes as long as these do."""
_IN_MEMORY = "memory"
_SHOWN_MAX = 3


def elsewhere_by(options: JobOptions, record: JobRecord, location: Location) -> Elsewhere | None:
    """The slices of a job, as its publisher runs them; ``None`` if the driver does it all.

    The driver does it with ``durability="full"``: names that come from a rename are flushed by the
    store that renamed, before ``published`` says that they are there. It also does it for files in
    memory, unless the publisher is a pool of threads: a forked process would publish its own copy
    of them, and report success.

    Threads of this process are given all storage options. Other processes get those that are not
    secret, unless all are shared, and take their credentials from their own environment.
    """
    publisher, known = options.get("publisher"), location.storage_options
    if publisher is None or record.durability == "full":
        return None
    is_of_threads = isinstance(publisher, ThreadPoolExecutor)
    if protocol_of(location.url) == _IN_MEMORY and not is_of_threads:
        return None
    shares_all = options.get("share_secrets") or is_of_threads
    given = dict(known) if shares_all else open_part(known)
    work = SliceWork(JobSpec(record, given, concurrency=options.get("concurrency")))
    spread = _Spread(publisher, work, is_all_given=len(given) == len(known))
    return Elsewhere(spread, FILES_MIN)


@dataclass(frozen=True, slots=True)
class SliceWork:
    """What a publisher calls: it runs one slice, given as text, and answers in text.

    Its pickle holds storage options: those that are not secret, unless the caller shares all.
    """

    spec: JobSpec

    def __call__(self, text: str) -> str:
        """Run a slice with the credentials of this process; a failure is an answer as well."""
        return text_of(bridge.run(_run(self.spec, slice_of(text))))


async def _run(spec: JobSpec, piece: Slice) -> SliceAnswer:
    try:
        opening = open_spec(spec, storage_options=None, filesystem=None, ids=SYSTEM_IDS)
        async with closing(await opening) as to:
            return await run_slice(or_damaged(to, to.bind, spec.record), piece)
    except (CommitError, ImportError) as error:
        return SliceAnswer(number=piece.number, failure=str(error) or type(error).__name__)
    except Exception as error:  # noqa: BLE001  # clusters log the text of what a task raises
        return SliceAnswer(number=piece.number, failure=_without_text(error))


def _without_text(error: Exception) -> str:
    """The type of *error*, and where it was raised; its text may hold a secret."""
    *_, raised = extract_tb(error.__traceback__)
    place = f"{PurePath(raised.filename).name}:{raised.lineno}"
    return f"{type(error).__name__} at {place}, which nothing here foresees"


class _Spread:
    """A publisher, as the protocol sees it; a thread of its own waits for it."""

    def __init__(self, publisher: Publisher, work: SliceWork, *, is_all_given: bool) -> None:
        self._publisher = publisher
        self._work = work
        self._is_all_given = is_all_given
        # If nobody has imported the module, *publisher* is not one of its pools.
        processes = getattr(
            sys.modules.get("concurrent.futures.process"), "ProcessPoolExecutor", ()
        )
        is_pool = isinstance(publisher, (ThreadPoolExecutor, processes))
        self.runs_once: bool = is_pool or getattr(publisher, "runs_once", False)

    async def width(self) -> int:
        """About how many slices run at once; a cluster may be slow to say so, or say nothing."""
        (width,) = [
            one async for one in bridge.iterated(self._widths, "fsspec-commit-publisher-width")
        ]
        return width

    def _widths(self) -> Iterator[int]:
        width = None
        with suppress(Exception):  # The job has decided: it is published in any case.
            width = getattr(self._publisher, "width", None)
        width = width or getattr(self._publisher, "_max_workers", None)
        yield width if isinstance(width, int) else os.cpu_count() or 1

    async def run(self, slices: Sequence[Slice], told: Callable[[SliceAnswer], None]) -> None:
        """Run *slices*, and call *told* with the answers that come."""
        running = _Running(self._publisher, self._work, list(map(text_of, slices)))
        left = {one.number for one in slices}
        try:
            async for text in bridge.iterated(running.results, "fsspec-commit-publisher"):
                answer = self._answer(text)
                if answer is not None:
                    left.discard(answer.number)
                    told(answer)
        except asyncio.CancelledError:
            running.stop()
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001  # see below
            running.failures.append(_said(error))  # Whatever it is, the driver does what is left.
        if left:
            self._say_lost(len(left), len(slices), running.failures)

    def _answer(self, text: str) -> SliceAnswer | None:
        try:
            answer = answer_of(text)
        except (AttributeError, RecordError) as error:
            _log.warning("a publisher gave what is no answer of a slice: %s", error)
            return None
        if answer.failure:
            _log.warning(
                "job %s: slice %d was not done elsewhere, and is done here: %s%s",
                self._work.spec.job_id,
                answer.number,
                answer.failure,
                self._hint,
            )
        return answer

    def _say_lost(self, lost: int, count: int, failures: Sequence[str]) -> None:
        why = "; ".join(dict.fromkeys(failures[:_SHOWN_MAX])) or "no answer came"
        _log.warning(
            "job %s: %d of %d slices were lost elsewhere, and are done here: %s",
            self._work.spec.job_id,
            lost,
            count,
            why,
        )

    @property
    def _hint(self) -> str:
        if self._is_all_given:
            return ""
        return (
            "; other processes had the credentials of their own environment: storage_options that "
            "may hold a secret reach them with share_secrets=True only"
        )


class _Running:
    """One call of a publisher, which a thread waits for.

    Attributes:
        failures: Why slices were lost, as far as that is known.
    """

    def __init__(self, publisher: Publisher, work: SliceWork, texts: Sequence[str]) -> None:
        self.failures: list[str] = []
        self._publisher = publisher
        self._work = work
        self._texts = texts
        self._futures: list[Future[str]] = []
        self._is_stopped = False

    def stop(self) -> None:
        """Begin nothing more."""
        self._is_stopped = True
        for future in self._futures:
            future.cancel()
        stop = getattr(self._publisher, "stop", None)
        if stop is not None:
            stop()

    def results(self) -> Iterable[str]:
        """The answers, as they come."""
        if isinstance(self._publisher, Executor):
            return self._of_executor(self._publisher)
        return self._publisher.map(self._work, self._texts)

    def _of_executor(self, executor: Executor) -> Iterator[str]:
        """Each result as soon as it is there; ``Executor.map`` ends with the first failure."""
        for text in self._texts:
            self._futures.append(executor.submit(self._work, text))
            if self._is_stopped:
                self.stop()
                return
        for future in as_completed(self._futures):
            error = CancelledError() if future.cancelled() else future.exception()
            if error is None:
                yield future.result()
            else:
                self.failures.append(_said(error))  # Lost, like its worker.


def _said(error: BaseException) -> str:
    """What to report of a loss: the type alone of an error whose text may hold a secret."""
    name = type(error).__name__
    is_of_executor = type(error).__module__.startswith("concurrent.futures")
    return f"{name}: {error}" if is_of_executor or isinstance(error, CommitError) else name
