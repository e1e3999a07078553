"""``publisher``: slices of a decided job as tasks of Dask, on the cluster that wrote its files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from importlib.metadata import version
from pickle import dumps
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any

from fsspec_commit.engines.dask.client import check_client, threads_of
from fsspec_commit.errors import CommitError

if TYPE_CHECKING:
    from distributed import Client, Future

_LOOK_S = 5.0
"""So long without an answer, and it is looked whether there is anybody who could give one."""
_DESERTED_S = 30.0
"""So long a cluster may be without workers before its slices are taken back.

A nanny replaces a worker in a few seconds; a cloud takes minutes, and the driver does more in them.
"""
_FETCH_S = 60.0
"""So long an answer may take to come from a worker that has it, or to be found once more."""
_PRIORITY = 1
"""Before what else waits on the cluster: some files of the job are visible already, and not all."""


class DaskPublisher:
    """Runs slices of a decided job as tasks of Dask: what ``fc.dask.publisher`` returns.

    Attributes:
        runs_once: False: Dask runs a task again when it loses its worker, even one that has ended
            well, if nobody has fetched its result yet; and the worker may be at work still.
    """

    runs_once = False

    def __init__(self, client: "Client") -> None:
        check_client(client)
        self._client: Any = client  # It says of some of its methods only what they take.
        self._threads = threads_of(client)
        self._running: set[Future[str]] = set()

    @property
    def width(self) -> int:
        """How many slices run at once: as many as the workers that are there now have threads."""
        # Workers come and go between the start of a job and its commit.
        self._threads = threads_of(self._client) or self._threads
        return max(self._threads, 1)

    def map(self, function: Callable[[str], str], texts: Sequence[str], /) -> Iterator[str]:
        """Call *function* with each of *texts* on workers; the results as they come.

        Raises:
            BrokenExecutor: In the end, if some calls have failed or were lost; or sooner, if the
                client is closed, or its cluster was without workers for half a minute.
        """
        ended = SimpleQueue["Future[str]"]()
        mine: set[Future[str]] = set()
        failures: dict[str, str] = {}
        try:
            pickled = dumps(function)
            for text in texts:
                future = self._submit(pickled, text)
                mine.add(future)
                self._running.add(future)
                future.add_done_callback(ended.put)
            for future in self._as_ended(ended, len(mine)):
                try:
                    # It lies on the worker still, and is lost if that dies.
                    answer = future.result(timeout=_FETCH_S)
                except Exception as error:  # noqa: BLE001  # also what the slice has raised
                    failures.setdefault(type(error).__name__, _said(error))
                else:
                    yield answer
                mine.discard(future)
                self._running.discard(future)
        finally:
            self._running -= mine
            self._cancel(mine)
        if failures:
            raise BrokenExecutor("; ".join(failures.values()))

    def stop(self) -> None:
        """Give up what has not begun; slices that run end by themselves."""
        self._cancel(self._running)

    def _submit(self, function: bytes, text: str) -> "Future[str]":
        try:
            # Equal slices of several attempts to finish a job would have one key if they were
            # `pure`, and be answered without being run.
            future: Future[str] = self._client.submit(
                _task(), function, text, pure=False, priority=_PRIORITY
            )
        except Exception as error:
            raise BrokenExecutor(f"Dask takes no slices: {_in_words(error)}") from error
        return future

    def _as_ended(self, ended: "SimpleQueue[Future[str]]", count: int) -> "Iterator[Future[str]]":
        """Each of *count* futures once it has ended, however it did."""
        deserted_at: float | None = None
        while count:
            try:
                future = ended.get(timeout=_LOOK_S)
            except Empty:
                if self._client.status == "closed":
                    raise BrokenExecutor("the Client of Dask was closed") from None
                if threads_of(self._client):
                    deserted_at = None
                    continue
                deserted_at = deserted_at or monotonic()
                if monotonic() - deserted_at >= _DESERTED_S:
                    message = f"no worker of Dask was heard of for {_DESERTED_S:.0f} s"
                    raise BrokenExecutor(message) from None
            else:
                count -= 1
                yield future

    def _cancel(self, futures: "Iterable[Future[str]]") -> None:
        with suppress(Exception):  # The client may have been closed.
            self._client.cancel(list(futures))

    def __repr__(self) -> str:
        return f"<DaskPublisher of {self._threads} threads>"


def _task() -> Callable[[bytes, str], str]:
    """What a worker runs, by a name that Dask shows.

    A worker of Dask that cannot read a task dies of it. So the task asks for nothing that a worker
    may lack: it goes by value, being no name of a module, and reads what it calls when it is run.
    """

    def publish_slice(function: bytes, text: str) -> str:
        import pickle

        answer: str = pickle.loads(function)(text)  # noqa: S301  # made by `map`
        return answer

    return publish_slice


def _said(error: Exception) -> str:
    """Why the answer of a slice is not there."""
    if _is_of_dask(error):
        return _in_words(error)
    if isinstance(error, TimeoutError):
        return f"an answer was lost with its worker, and not there again after {_FETCH_S:.0f} s"
    here = f"fsspec-commit {version('fsspec-commit')}"
    return (
        f"a worker of Dask has raised {_in_words(error)}; its log says where, and each worker "
        f"needs {here}, as there is here, and what its store needs"
    )


def _in_words(error: Exception) -> str:
    """What it is, and what it says, unless that may hold a secret."""
    name = type(error).__name__
    if _is_of_dask(error) or isinstance(error, (CommitError, ImportError)):
        return f"{name}: {' '.join(str(error).split())}"
    return name


def _is_of_dask(error: Exception) -> bool:
    return type(error).__module__.startswith("distributed.")


def publisher(client: "Client") -> DaskPublisher:
    """Spread the publication of a decided job over the workers of a Dask cluster.

    One driver publishes as many files a second as its processor and its network allow. The workers
    of the cluster that has written the files can publish them together, each at its own rate, and
    delete what they replace. A job of less than 2,000 files is published by its driver.

    It takes the ``Client`` of any cluster, which is in use until the job has committed, and
    ``fsspec-commit`` on every worker, in the version that is here. A worker opens the store with
    the credentials of its own environment; of ``storage_options`` it is sent those that are no
    secret, or all with ``share_secrets=True``. Slices whose worker dies are run by others. Those
    that fail, or that Dask gives up, the driver does itself, and all that are left if the cluster
    goes away, or has no workers for half a minute: so the job commits without Dask as well, but
    later.

    Returns:
        What ``publisher=`` of a :class:`~fsspec_commit.Job`, or of
        :func:`~fsspec_commit.resume`, takes.

    Raises:
        RequestError: *client* is no client, is closed, or is asynchronous; or ``distributed`` is
            not installed.
    """
    return DaskPublisher(client)
