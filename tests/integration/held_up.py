"""Destinations of each kind for the tests of tasks in several threads, and what holds them up."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from uuid import uuid4

import fsspec_commit as fc
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat import store as _flat  # noqa: F401  # the protocol of `flat://`
from tests.flat.bucket import AWS, GCS, make_bucket

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from fsspec_commit.layout import StorePath

T = TypeVar("T")


class Place(NamedTuple):
    url: str
    options: dict[str, Any]

    def start(self, **options: Any) -> fc.Job:
        given: dict[str, Any] = {**self.options, "allow_empty": True, **options}
        return fc.Job(self.url, mode="append", names="exact", **given).start()

    def sizes(self) -> tuple[list[str], int]:
        """The names of the committed files, and how large they are together."""
        files = fc.committed_files(self.url)
        return files.names, files.bytes


KINDS = ["disk", "disk by manifest", "memory", "magic", "gcs"]


def make_place(kind: str, directory: Path) -> Place:
    """A new destination of one of KINDS, on a disk in *directory*."""
    if kind.startswith("disk"):
        options = {"committer": "manifest"} if "manifest" in kind else {}
        return Place(str(directory / "out"), options)
    if kind == "memory":
        return Place(f"memory://{uuid4().hex}/out", {})
    return Place(f"flat://{make_bucket({'magic': AWS, 'gcs': GCS}[kind]).name}/out", {})


class Held:
    """Holds back the first creation of a path that holds *part*, until it may go on.

    Attributes:
        inside: Whether that has come.
        go: Whether it may go on.
        fails: Whether the store then refuses it.
    """

    def __init__(self, part: str) -> None:
        self._part = part
        self.inside, self.go = Event(), Event()
        self.fails = False

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "create" and self._part in path and not self.inside.is_set():
            self.inside.set()
            await asyncio.to_thread(self.go.wait, 10)
            if self.fails:
                raise StoreError("there is no room", reply=Reply.REFUSED, path=path)
        return await call()


@contextmanager
def held(part: str) -> Iterator[Held]:
    held = Held(part)
    with wrapping(lambda store: WrappedStore(store, held.carry)):
        try:
            yield held
        finally:
            held.go.set()


class Abandoned:
    """The writer of a file that was garbage: to discard it takes as long as the store takes."""

    def __init__(self, task: fc.Task) -> None:
        self.inside, self.go = Event(), Event()
        task._files.leave(self)  # type: ignore[arg-type]

    def discard(self) -> None:
        self.inside.set()
        self.go.wait(10)


class SlowName:
    """A name that another thread takes long to tell."""

    def __init__(self, name: str) -> None:
        self.tells = name
        self.inside, self.go = Event(), Event()

    def __fspath__(self) -> str:
        self.inside.set()
        self.go.wait(10)
        return self.tells
