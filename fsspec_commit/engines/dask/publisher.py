"""``publisher``: slices of a decided job as tasks of Dask, on the cluster that wrote its files."""

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from functools import reduce
from importlib.metadata import version
from operator import call
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from fsspec_commit.engines.dask.client import check_client, is_at_work, threads_of
from fsspec_commit.errors import CommitError

if TYPE_CHECKING:
    from distributed import Client, Future

    Ended = SimpleQueue[tuple[Future[str], str | BaseException]]

_LOOK_S = 5.0
"""After this long without an answer, check whether any worker is at work on a slice."""
_DESERTED_S = 30.0
"""How long no worker may be at work on any slice before all slices are taken back.

A nanny replaces a worker in a few seconds; a cloud takes minutes, in which the driver does more.
"""
_PRIORITY = 1
"""Ahead of what else waits on the cluster: some files of the job are visible, and not yet all."""


class DaskPublisher:
    """Runs slices of a decided job as tasks of Dask: what ``fc.dask.publisher`` returns.

    Attributes:
        runs_once: False: Dask runs a task again when it loses the task's worker, even a task that
            has succeeded, if nobody has fetched its result; and the worker may still be at work.
    """

    runs_once = False

    def __init__(self, client: "Client") -> None:
        check_client(client)
        self._client: Any = client  # Some of its methods declare no type of result.
        self._made_by = os.getpid()
        self._threads = threads_of(client)
        self._running: set[Future[str]] = set()

    @property
    def width(self) -> int:
        """How many slices run at once: as many as the workers that take tasks now have threads."""
        # Workers come and go between the start of a job and its commit.
        if not self._is_forked:
            self._threads = threads_of(self._client) or self._threads
        return max(self._threads, 1)

    def map(self, function: Callable[[str], str], texts: Sequence[str], /) -> Iterator[str]:
        """Call *function* with each of *texts* on workers; the results as they come.

        Raises:
            BrokenExecutor: At the end, if some calls have failed or were lost; or sooner, if the
                client is closed or belongs to a process that this one was forked from, or if no
                worker was at work on any call for half a minute.
        """
        if self._is_forked:
            raise BrokenExecutor(
                "a process cannot use a Client of Dask that was made before a fork"
            )
        ended: Ended = SimpleQueue()
        left: set[Future[str]] = set()
        failures: dict[str, str] = {}
        pickled = _pickled(function)
        try:
            for text in texts:
                future = self._submit(pickled, text)
                left.add(future)
                self._running.add(future)
                self._client.loop.add_callback(_fetch, future, ended)
            for future, answer in self._as_ended(ended, left):
                left.discard(future)
                self._running.discard(future)
                if isinstance(answer, BaseException):
                    failures.setdefault(type(answer).__name__, _said(answer))
                else:
                    yield answer
        finally:
            self._running -= left
            self._cancel(left)
        if failures:
            raise BrokenExecutor("; ".join(failures.values()))

    def stop(self) -> None:
        """Cancel the slices that have not begun, of every job with this publisher, without waiting.

        Slices that are running end by themselves.
        """
        self._cancel(self._running)

    def _submit(self, function: bytes, text: str) -> "Future[str]":
        try:
            # pickle.loads(function)(text), in names of the standard library: a worker that cannot
            # read a task dies of it, and a worker may lack this package, or have another Python,
            # which cannot run the code of this one. Each task has a key of its own: otherwise equal
            # slices of several attempts to finish a job would be answered without being run.
            future: Future[str] = self._client.submit(
                reduce,
                call,
                [function, text],
                pickle.loads,
                key=f"publish_slice-{uuid4()}",
                priority=_PRIORITY,
            )
        except Exception as error:
            raise BrokenExecutor(f"Dask takes no slices: {_in_words(error)}") from error
        return future

    def _as_ended(
        self, ended: "Ended", left: "set[Future[str]]"
    ) -> "Iterator[tuple[Future[str], str | BaseException]]":
        """Each future and its answer, once that is here, until the caller has emptied *left*."""
        deserted_at: float | None = None
        while left:
            try:
                future, answer = ended.get(timeout=_LOOK_S)
            except Empty:
                self._refuse_closed()
                if is_at_work(self._client, [future.key for future in left]):
                    deserted_at = None
                    continue
                deserted_at = deserted_at or monotonic()
                if monotonic() - deserted_at >= _DESERTED_S:
                    message = f"no worker of Dask was at work on a slice for {_DESERTED_S:.0f} s"
                    raise BrokenExecutor(message) from None
            else:
                deserted_at = None
                if isinstance(answer, BaseException):
                    self._refuse_closed()  # Closing it ends every future, without saying why.
                yield future, answer

    def _refuse_closed(self) -> None:
        if self._client.status in {"closing", "closed"}:
            raise BrokenExecutor("the Client of Dask was closed")

    def _cancel(self, futures: "Iterable[Future[str]]") -> None:
        cancelled = list(futures)
        if cancelled and not self._is_forked:
            self._client.loop.add_callback(_give_up, self._client, cancelled)

    @property
    def _is_forked(self) -> bool:
        """Whether this is a forked process, without the thread that serves the client."""
        return os.getpid() != self._made_by

    def __repr__(self) -> str:
        return f"<DaskPublisher of {self._threads} threads>"


async def _fetch(future: "Future[str]", ended: "Ended") -> None:
    """Run on the client's loop; the client has a slice run again if its answer is lost."""
    try:
        ended.put((future, await future))
    except BaseException as error:  # noqa: BLE001  # also what the slice has raised
        ended.put((future, error))


async def _give_up(client: Any, futures: "list[Future[str]]") -> None:
    """Run on the loop of the client, which may have been closed."""
    with suppress(Exception):
        await client.cancel(futures)


def _pickled(function: Callable[[str], str]) -> bytes:
    try:
        return pickle.dumps(function)
    except Exception as error:
        message = f"storage_options cannot be sent: pickling them has raised {_in_words(error)}"
        raise BrokenExecutor(message) from error


def _said(error: BaseException) -> str:
    """Why the answer of a slice is not there."""
    if _is_of_dask(error):
        return _in_words(error)
    here = f"fsspec-commit {version('fsspec-commit')}"
    return (
        f"a worker of Dask has raised {_in_words(error)}; its log says where, and each worker "
        f"needs {here}, as there is here, and what its store needs"
    )


def _in_words(error: BaseException) -> str:
    """The type of *error* and its text, unless the text may hold a secret."""
    name = type(error).__name__
    if _is_of_dask(error) or isinstance(error, (CommitError, ImportError)):
        return f"{name}: {' '.join(str(error).split())}"
    return name


def _is_of_dask(error: BaseException) -> bool:
    return type(error).__module__.startswith("distributed.")


def publisher(client: "Client") -> DaskPublisher:
    """Spread the publication of a decided job over the workers of a Dask cluster.

    One driver publishes as many files a second as its processor and its network allow. The workers
    of the cluster that has written the files can publish them together, each at its own rate, and
    delete what they replace. A job of fewer than 2,000 files is published by its driver.

    It needs the ``Client`` of any cluster, which is in use until the job has committed, and
    ``fsspec-commit`` on every worker, in the same version as here. A worker opens the store with
    the credentials of its own environment; of ``storage_options`` it is sent those that are not
    secret, or all with ``share_secrets=True``. Slices whose worker dies are run by others. The
    driver itself does those that fail or that Dask gives up, and all that are left if the cluster
    goes away, or works on none of them for half a minute: so the job commits without Dask as well,
    but later.

    Returns:
        What ``publisher=`` of a :class:`~fsspec_commit.Job`, or of
        :func:`~fsspec_commit.resume`, takes.

    Raises:
        RequestError: *client* is not a ``Client``, is closed, or is asynchronous; or
            ``distributed`` is not installed.
    """
    return DaskPublisher(client)
