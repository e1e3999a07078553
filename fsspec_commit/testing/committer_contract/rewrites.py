"""A name that an attempt writes twice: one meaning on every store, however the second writing ends.

Some stores replace a file when it is opened and others when it is closed, so a second writing that
is given up leaves nothing on the former and the first content on the latter. Neither is committed.
"""

import gc
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from fsspec.compression import compr

import fsspec_commit as fc
from fsspec_commit.testing.committer_contract.given import Given, Place, request_refused, write

NAME = "day=1/twice.txt"
_OTHER = {"other.txt": b"other"}
_LONG = b"x" * (9 << 20)
"""More than is gathered before the first part is sent."""

GiveUp: TypeAlias = Callable[[fc.Task, bytes], None]


class GivenUpError(Exception):
    """The writer has failed; its caller goes on."""


def _exception(task: fc.Task, data: bytes) -> None:
    with pytest.raises(GivenUpError), task.open(NAME) as file:
        file.write(data)
        raise GivenUpError


def _exception_in_layers(task: fc.Task, data: bytes) -> None:
    with pytest.raises(GivenUpError), task.open(NAME, "w", compression="gzip") as file:
        file.write(data.decode())
        raise GivenUpError


def _exception_in_filesystem(task: fc.Task, data: bytes) -> None:
    with pytest.raises(GivenUpError), task.filesystem.open(NAME, "wb") as file:
        file.write(data)
        raise GivenUpError


def _exception_in_transaction(task: fc.Task, data: bytes) -> None:
    filesystem = task.filesystem
    with pytest.raises(GivenUpError), filesystem.transaction:
        filesystem.pipe_file(NAME, data)
        raise GivenUpError


def _discard(task: fc.Task, data: bytes) -> None:
    file: Any = task.open(NAME)
    file.write(data)
    file.discard()


def _garbage(task: fc.Task, data: bytes) -> None:
    file = task.open(NAME)
    file.write(data)
    del file
    gc.collect()


class _Unclosable:
    """A layer that cannot write what it holds when it is closed."""

    def __init__(self, below: Any, mode: str) -> None:  # noqa: ARG002  # as fsspec calls it
        self.write = below.write

    def close(self) -> None:
        raise GivenUpError


def _failed_close(task: fc.Task, data: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(compr, "unclosable", _Unclosable)
        file = task.open(NAME, compression="unclosable")
    file.write(data)
    with pytest.raises(GivenUpError):
        file.close()


class _Torn:
    """What a file is written to, on a store that does not take all of it."""

    def __init__(self, sink: Any) -> None:
        self._sink = sink

    def write(self, data: bytes) -> int:
        self._sink.write(data[: len(data) // 2])
        raise GivenUpError

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sink, name)


def _failed_write(task: fc.Task, data: bytes) -> None:
    """As libraries do that close a file before reporting a failed write and hide a failed close."""
    file: Any = task.open(NAME)
    sink, file._sink = file._sink, _Torn(file._sink)  # noqa: SLF001  # stores fail in many ways
    with pytest.raises(GivenUpError):
        file.write(data)
    file._sink = sink  # noqa: SLF001  # and not for ever
    file.write(data)
    with pytest.raises(OSError, match="a write to it failed"):
        file.close()


_WAYS: dict[str, tuple[GiveUp, str]] = {
    "exception": (_exception, "file_discarded"),
    "exception in layers": (_exception_in_layers, "file_discarded"),
    "exception in the filesystem": (_exception_in_filesystem, "file_discarded"),
    "exception in a transaction": (_exception_in_transaction, "file_discarded"),
    "discard": (_discard, "file_discarded"),
    "garbage": (_garbage, "file_abandoned"),
    "failed close": (_failed_close, "file_discarded"),
    "failed write": (_failed_write, "file_discarded"),
}


@pytest.mark.guarantees("P1", "P2")
class RewritesContract(Given):
    """A file whose second writing is given up, in all the ways there are."""

    @pytest.mark.parametrize("way", _WAYS)
    def test_a_name_given_up_is_written_again_or_removed(self, place: Place, way: str) -> None:
        """Until then the task does not commit, and shows neither content."""
        give_up, kind = _WAYS[way]
        job = place.job().start()
        rewritten, removed, removed_above = tasks = [job.task() for _ in range(3)]
        for task in tasks:
            write(task, {NAME: b"first", **_OTHER})
            give_up(task, b"second")
            assert task.filesystem.find("") == list(_OTHER)
            with request_refused(kind):
                task.commit()
        with request_refused("missing_tasks"):
            job.commit()
        assert place.visible() == []
        write(rewritten, {NAME: b"third"})
        removed.filesystem.rm(NAME)
        removed_above.filesystem.rm(NAME.partition("/")[0], recursive=True)
        for task in tasks:
            task.commit()
        job.commit()
        place.assert_committed({NAME: b"third", **_OTHER}, _OTHER, _OTHER)

    @pytest.mark.parametrize("way", ["exception", "garbage"])
    def test_a_long_file_given_up_leaves_nothing(self, place: Place, way: str) -> None:
        """Even where parts of it are on the store already, and even if it is what ends its task."""
        give_up, kind = _WAYS[way]
        with place.job() as job:
            with request_refused(kind), job.task() as task:
                write(task, {NAME: b"first"})
                give_up(task, _LONG)
            with job.task(task.task_id) as again:
                write(again, {NAME: b"first"})
                give_up(again, _LONG)
                write(again, {NAME: b"third"})
        place.assert_committed({NAME: b"third"})

    def test_a_name_given_up_at_once_is_not_missed(self, place: Place) -> None:
        """Whoever catches the exception of a first writing knows that the name holds nothing."""
        with place.job() as job, job.task() as task:
            for way in ("exception", "discard", "exception in a transaction"):
                _WAYS[way][0](task, b"first")
            write(task, _OTHER)
        place.assert_committed(_OTHER)
