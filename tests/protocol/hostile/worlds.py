"""Destinations with a job in each state that a driver can leave, kept to be looked at again.

A world is a bucket as it stood when the driver of one job, the victim, died at a call. Beside the
victim stand jobs of others and, outside of the destination, what nobody may touch.
"""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self, TypeVar
from uuid import uuid4

import fsspec_commit as fc
from fsspec_commit import ids
from fsspec_commit.layout import StorePath
from fsspec_commit.protocol import chosen
from fsspec_commit.store import Capabilities, Expect, Store, registry
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash
from fsspec_commit.testing.committer_contract.superseded import before
from fsspec_commit.testing.simulation.bucket import Object, Upload
from fsspec_commit.testing.simulation.families import FAMILIES
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat.bucket import Bucket, make_bucket
from tests.flat.store import FlatStore
from tests.integration.canaries import SECRET

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    import pytest

T = TypeVar("T")

HOSTILE = "hostile"
KINDS = {"v1": "memory", "manifest": "gcs", "magic": "s3-versioned", "magic, recorded": "minio"}
"""Committers, and the kind of store on which they are chosen."""
UUID = "6a0d9b8e-5c0f-4a55-9f0e-0123456789ab"
OLD = {f"p={part}/old-{UUID}.txt": f"old {part}".encode() for part in (0, 1)}
TASKS = ({"p=0/a.txt": b"a of 0", "p=0/b c.txt": b"b of 0"}, {"p=1/a.txt": b"a of 1"})
OTHERS = {"q=9/theirs.txt": b"theirs"}
OUTSIDE = ("kept.txt", "top/kept.txt", "top/out2/kept.txt", "top/ou/kept.txt", "top/out.txt")
JOBS: Mapping[str, dict[str, Any]] = {
    "overwrite": {"mode": "overwrite", "idempotency_key": "k", "success": "json"},
    "collected": {"mode": "append", "collect": "store", "tasks": 2},
    "exact": {"mode": "overwrite_partitions", "names": "exact", "partitions": ["p=1"]},
}
HOW: Mapping[str, Any] = {"storage_options": {"token": SECRET}}
"""With it every destination is opened; nobody may hear of it."""
_ID = re.compile(r"[0-9a-f]{16,}|upload-[0-9]+")


def make_bucket_of(family: str) -> Bucket:
    """A new bucket on a store of that kind, which its name begins with."""
    return make_bucket(FAMILIES[family].habits, name=f"{family}-{uuid4().hex[:12]}")


class HostileStore(FlatStore):
    """A bucket of `make_bucket_of`, which declares what its family does.

    Its habits alone do not tell: those of a store in memory, whose listings are whole, are Gen2's,
    whose listings are paged.
    """

    @staticmethod
    def declared(bucket: Bucket) -> Capabilities:
        """What the adapters of that family declare."""
        return FAMILIES[bucket.name.rpartition("-")[0]].capabilities


@dataclass(frozen=True)
class _Look:
    """All of a bucket at one moment."""

    objects: dict[StorePath, Object]
    uploads: dict[str, Upload]
    directories: frozenset[StorePath]
    consumed: frozenset[str]

    @classmethod
    def at(cls, bucket: Bucket) -> Self:
        return cls(
            dict(bucket.objects),
            deepcopy(bucket.uploads),
            frozenset(bucket.directories),
            frozenset(bucket._consumed),
        )

    def restore(self, bucket: Bucket) -> None:
        bucket.objects.clear()
        bucket.objects.update(self.objects)
        bucket.uploads.clear()
        bucket.uploads.update(deepcopy(self.uploads))
        bucket.directories.clear()
        bucket.directories.update(self.directories)
        bucket._consumed.clear()
        bucket._consumed.update(self.consumed)


@dataclass(frozen=True)
class World:
    """A bucket at one moment.

    Attributes:
        name: The committer, the job, and after which call its driver died.
        job_id: The victim.
        spec: Its spec.
        messages: What its tasks have sent.
        other_ids: Jobs of others at the same destination.
    """

    name: str
    bucket: Bucket
    job_id: str
    spec: fc.JobSpec
    messages: tuple[fc.TaskCommit, ...]
    other_ids: tuple[str, ...]
    look: _Look

    @property
    def root(self) -> str:
        return f"{self.bucket.name}/top/out"

    @property
    def url(self) -> str:
        return f"{HOSTILE}://{self.root}"

    @property
    def area(self) -> str:
        return f"{self.root}/_commit/{self.job_id}"

    def restore(self) -> None:
        """Make the bucket what it was."""
        self.look.restore(self.bucket)

    def records(self) -> list[StorePath]:
        """The paths of all that the victim has in its area."""
        return sorted(path for path in self.look.objects if path.startswith(f"{self.area}/"))

    def read(self, path: str) -> bytes:
        found = self.bucket.objects.get(StorePath(path))
        return b"" if found is None else found.data

    def write(self, path: str, data: bytes) -> None:
        with suppress(fc.StoreError):  # A file is in the place of one of its directories.
            self.bucket.put(StorePath(path), data, None, Expect.ANYTHING)

    def visible(self) -> dict[str, Object]:
        """What readers of the destination see."""
        begin = len(self.root) + 1
        return {
            path[begin:]: found
            for path, found in self.bucket.objects.items()
            if path.startswith(f"{self.root}/")
            and not any(part.startswith(("_", ".")) for part in path[begin:].split("/"))
        }

    def of_others(self) -> dict[StorePath, Object]:
        """What is neither the destination's data nor the victim's: nobody may change it."""
        areas = tuple(f"{self.root}/_commit/{job_id}/" for job_id in self.other_ids)
        return {
            path: found
            for path, found in self.bucket.objects.items()
            if path.startswith(areas) or not path.startswith(f"{self.root}/")
        }

    def uploads_of_others(self) -> dict[str, Upload]:
        return {
            upload_id: upload
            for upload_id, upload in self.bucket.uploads.items()
            if "theirs" in upload.path or not upload.path.startswith(f"{self.root}/")
        }


class _Watch:
    """What stands in a bucket after each call of a driver: there it may have died."""

    def __init__(self, bucket: Bucket) -> None:
        self.looks = [_Look.at(bucket)]
        self._bucket = bucket

    def __call__(self, store: Store) -> Store:
        return WrappedStore(store, self._carry)

    async def _carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        answer = await call()
        self.looks.append(_Look.at(self._bucket))
        return answer


@contextmanager
def _clock(patch: pytest.MonkeyPatch, year: int) -> Iterator[None]:
    class Then(datetime):
        @classmethod
        def now(cls, tz: Any = UTC) -> Self:
            return cls(year, 1, 1, 12, tzinfo=tz)

    with patch.context() as inside:
        inside.setattr(ids, "datetime", Then)
        yield


def worlds(patch: pytest.MonkeyPatch) -> list[World]:
    """One world of each look: of the calls after which the same names stand, the first."""
    patch.setitem(registry._registered, HOSTILE, HostileStore)
    return [world for kind in KINDS for name in JOBS for world in _worlds(patch, kind, name)]


def _worlds(patch: pytest.MonkeyPatch, kind: str, name: str) -> list[World]:
    bucket = make_bucket_of(KINDS[kind])
    root = f"{bucket.name}/top/out"
    url = f"{HOSTILE}://{root}"
    for path, data in OLD.items():
        bucket.put(StorePath(f"{root}/{path}"), data, None, Expect.ANYTHING)
    for path in OUTSIDE:
        bucket.put(StorePath(f"{bucket.name}/{path}"), b"kept", None, Expect.ANYTHING)
    with _clock(patch, 2999):
        others = [_left(url, decided=decided) for decided in (False, True)]
    # A decided job is in the victim's way: it stands there again when that has died.
    aside = _taken_aside(bucket, f"{root}/_commit/{others[1]}/")
    with _clock(patch, 2026):
        job = fc.Job(url, wait_s=0, **JOBS[name], **HOW).start()
    job._begun_here = False  # Who dies is not warned of what it leaves.
    for path in ("job.json", "decision"):
        twin = StorePath(f"{bucket.name}/top/out2/_commit/{job.job_id}/{path}")
        bucket.put(twin, b"of a twin", None, Expect.ANYTHING)
    messages = tuple(_attempt(job.spec, number, files) for number, files in enumerate(TASKS))
    _attempt(job.spec, 0, TASKS[0])
    watch = _Watch(bucket)
    with wrapping(watch), patch.context() as inside:
        inside.setattr(chosen, "INLINE_BYTES_MAX", 0 if name == "collected" else 1 << 16)
        driver = fc.Job.from_spec(job.spec, **HOW)
        driver.commit(None if name == "collected" else messages)
        watch.looks[0].restore(bucket)
        fc.abort(url, job.job_id, **HOW)
    found: dict[tuple[str, ...], World] = {}
    for nth, look in enumerate(watch.looks):
        look.objects.update(aside)
        world = World(
            name=f"{kind}, {name}, look {nth}",
            bucket=bucket,
            job_id=job.job_id,
            spec=job.spec,
            messages=messages,
            other_ids=tuple(others),
            look=look,
        )
        if world.records():
            found.setdefault(tuple(sorted(_ID.sub("#", path) for path in look.objects)), world)
    return list(found.values())


def _taken_aside(bucket: Bucket, area: str) -> dict[StorePath, Object]:
    return {path: bucket.objects.pop(path) for path in bucket.keys(area)}


def _left(url: str, *, decided: bool) -> str:
    """A job of others: open with a task that has committed, or decided."""
    job = fc.Job(url, mode="overwrite_partitions", partitions=["q=9"], wait_s=0, **HOW).start()
    job._begun_here = False
    message = _attempt(job.spec, 0, OTHERS)
    if decided:
        with before("create", "/decision", lambda: None, dies=True):
            driver = fc.Job.from_spec(job.spec, **HOW)
        with suppress(Crash):
            driver.commit([message])
    return job.job_id


def _attempt(spec: fc.JobSpec, number: int, files: Mapping[str, bytes]) -> fc.TaskCommit:
    with fc.Task.from_spec(spec, number, **HOW) as task:
        for name, data in files.items():
            with task.open(name, "wb") as file:
                file.write(data)
    assert task.message is not None
    return task.message
