"""Jobs of earlier versions of this library, which died before a run begins.

Each is carried out call by call, as the recordings of its version say, up to the call at which it
died; the model sees every change, as it does those of a living driver. So it can judge whatever
state such a job is left in:

* open, with or without files, manifests and a claim: it may be aborted, never committed;
* decided, with none, some or all of its files in place, or some old files gone: it counts from its
  decision on, in the order of all decisions, and whoever resumes it must finish it;
* over, with a part of its area left: nothing of it may happen again, and the rest is removed;
* aborted, with a part of its area left: it must never count, and the rest is removed.

It has two tasks with two files each, and may leave an empty marker. Left out are:

* stores that keep uploads by path, as flat Azure does: there is no recording of one;
* ``overwrite_partitions``, messages that the store collects, and markers that hold anything: what
  they add to these calls is recorded, and every state of those recordings is settled by tests;
* hidden names, and exact ones that replace an old file in its place;
* the death of a driver within the deletion of a directory, or between calls that it makes at once;
* what a job notes of deletions that may be carried out late: all of its own are over.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal, NamedTuple
from urllib.parse import quote

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import AtomicRename, Capabilities, Expect, Expectation, PendingUpload
from fsspec_commit.testing.simulation.bucket import Bucket
from fsspec_commit.testing.simulation.earlier_records import (
    EarlierRecords,
    marker_token,
    replaced_line,
)
from fsspec_commit.testing.simulation.families import Family
from fsspec_commit.testing.simulation.plan import AttemptPlan, EarlierPlan, JobPlan
from fsspec_commit.testing.simulation.rules import replaces

VERSIONS = ("1", "1.1", "1.2")
"""The versions whose recordings differ in how such a job goes on; later ones differ in what a
claim's name says, and in when the marker is prepared."""
FILES = (("same.txt", "day=1/same.txt"), ("other.txt", "day=9/other.txt"))
"""What each task writes, in that order."""
_ATTEMPTS = ("a5" * 8, "b5" * 8)
_SUCCESS = "_SUCCESS"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Call(NamedTuple):
    """A call that an earlier version has made."""

    verb: str
    path: StorePath
    carry_out: Callable[[], object]


def can_be_left(family: Family) -> bool:
    """Whether jobs of earlier versions can be left on such a store."""
    return family.keeps_names_apart


def can_overwrite(family: Family, old: Iterable[str]) -> bool:
    """Whether earlier versions would not refuse to overwrite these *old* files there."""
    plan = as_plan(EarlierPlan(version=VERSIONS[0], mode="overwrite", calls=0), 0)
    return family.takes_any_name or all(
        _UUID.search(name) is not None for name in old if replaces(plan, {}, name)
    )


def earlier_id(number: int) -> str:
    """The id of the job of that *number*, with a date before all runs."""
    return f"20251130T101112-{number:016x}"


def as_plan(plan: EarlierPlan, number: int) -> JobPlan:
    """What the model has to know of the job."""
    return JobPlan(
        name=f"earlier{number}",
        mode=plan.mode,
        names=plan.names,
        files=FILES,
        attempts=tuple(AttemptPlan(task=task) for task in range(len(FILES))),
        success="marker" if plan.marks else "none",
    )


@dataclass(frozen=True)
class EarlierJob:
    """A job of an earlier version.

    Args:
        plan: How it is left.
        number: Which of the jobs that are left.
        bucket: The store.
        family: The kind of store.
        root: The destination, which is also called *url*.
    """

    plan: EarlierPlan
    number: int
    bucket: Bucket
    family: Family
    root: StorePath
    url: str

    @property
    def job_id(self) -> str:
        """Its id."""
        return earlier_id(self.number)

    @property
    def committer(self) -> str:
        """Its committer, which its version has chosen from what the store declares."""
        facts = self._facts
        if facts.atomic_rename is AtomicRename.DIRECTORY and facts.paged_listing is False:
            return "v1"
        return "magic" if facts.atomic_rename is AtomicRename.NONE else "manifest"

    @cached_property
    def attempts(self) -> tuple[tuple[str, dict[str, bytes]], ...]:
        """The attempt of each task, and its files by their final names."""
        return tuple(
            (attempt_id, {self._final(name, task): f"{name} of old".encode() for name in names})
            for task, (attempt_id, names) in enumerate(zip(_ATTEMPTS, FILES, strict=True))
        )

    @cached_property
    def _records(self) -> EarlierRecords:
        success: Literal["marker", "none"] = "marker" if self.plan.marks else "none"
        return EarlierRecords(self.job_id, self.plan.mode, self.plan.names, success)

    def calls(self) -> Iterator[Call]:
        """The calls that it makes until it is over.

        Yields:
            A call; the next one depends on what that has done.
        """
        records = self._records
        yield self._create("job.json", records.job(self.url, self.committer, self._facts))
        manifests = []
        for task, (attempt_id, _) in enumerate(self.attempts):
            yield from self._write(task)
            manifests.append(self._manifest(task))
            yield self._create(f"manifests/{task}/{attempt_id}", manifests[-1])
        if self.plan.aborts:
            yield self._create("decision", records.aborted())
        else:
            yield from self._commit(manifests)
        yield from self._end()

    def _commit(self, manifests: list[bytes]) -> Iterator[Call]:
        records, nonce = self._records, self._records.nonce("Claim")
        touched = sorted({name.rpartition("/")[0] for names in FILES for name in names})
        claim, replaced = records.claim(touched), b"".join(self._old())
        yield self._create(f"claim-{nonce}", claim)
        if self.plan.mode == "overwrite":
            yield self._create(f"replaced-{nonce}", replaced)
        stale = self.bucket.get(self._final_path(_SUCCESS))
        marks = self.plan.marks or (stale is not None and self._restores)
        if marks:
            yield from self._prepare_marker()
        sizes = [(attempt_id, [*map(len, files.values())]) for attempt_id, files in self.attempts]
        tasks = [(*sized, manifest) for sized, manifest in zip(sizes, manifests, strict=True)]
        marker = self._marker_token() if marks else None
        found = None if stale is None else str(stale.token)
        decision = records.committed(claim, tasks, replaced, marker=marker, stale=found)
        yield self._create("decision", decision)
        if stale is not None and self.family.markers_go:
            yield self._remove_old(_SUCCESS)
            stale = None
        yield from self._make_directories(touched)
        for task, (_, files) in enumerate(self.attempts):
            for name in sorted(files):
                yield self._publish(self._written(task, name), name)
        yield self._create("published", records.published())
        for line in replaced.splitlines():
            yield self._remove_old(json.loads(line)[0])
        if marks:
            expecting = Expect.ABSENT if stale is None else stale.token
            yield self._publish(self._prepared, _SUCCESS, expecting)
        yield self._create(f"../epoch-{records.nonce('epoch')}", b"")

    def _old(self) -> Iterator[bytes]:
        """The list of old files, if it replaces any."""
        begin = f"{self.root}/"
        plan = as_plan(self.plan, self.number)
        new = {name: data for _, files in self.attempts for name, data in files.items()}
        for path in self.bucket.keys(begin):
            name, found = path[len(begin) :], self.bucket.get(path)
            if found is not None and name[:8] != "_commit/" and replaces(plan, new, name):
                yield replaced_line(name, len(found.data), found.token)

    def _manifest(self, task: int) -> bytes:
        attempt_id, files = self.attempts[task]
        if self.committer == "magic":
            uploads = [self._upload(name) for name in sorted(files)]
            return self._records.pending_set(task, attempt_id, uploads)
        found = {name: self.bucket.get(self._written(task, name)) for name in files}
        told = {name: (len(one.data), str(one.token)) for name, one in found.items() if one}
        return self._records.manifest(task, attempt_id, self._directory(task), told)

    # Calls.

    def _write(self, task: int) -> Iterator[Call]:
        attempt_id, files = self.attempts[task]
        bucket, nonce = self.bucket, Nonce(self._records.nonce(f"manifest {task}"))
        working = self._in_area(f"tasks/{task}/{attempt_id}")
        for name, data in files.items():
            if self.committer == "magic":
                path, own = self._final_path(name), Nonce(self._records.nonce(name))
                yield Call("start", path, partial(bucket.start, path, own))
                if self._records_uploads:
                    yield self._record_upload(f"uploads/{task}/{attempt_id}/{own}", name)
                yield Call("put_part", path, partial(bucket.put_part, self._upload(name), 1, data))
            else:
                path = StorePath(f"{working}/{name}.pending")
                yield Call("finish", path, partial(bucket.put, path, data, nonce, Expect.ANYTHING))
        if self.committer == "v1":
            committed = self._in_area(self._directory(task))
            bucket.make_directory(StorePath(committed.rpartition("/")[0]))
            renamed = partial(bucket.rename_directory, working, committed)
            yield Call("rename_directory", committed, renamed)

    def _make_directories(self, touched: Sequence[str]) -> Iterator[Call]:
        """Make directories first, where a rename into a missing one fails."""
        for name in touched if self.committer == "manifest" and self._has_directories else ():
            if name:
                path = self._final_path(name)
                yield Call("make_directory", path, partial(self.bucket.make_directory, path))

    def _publish(
        self, source: StorePath, name: str, expecting: Expectation = Expect.ABSENT
    ) -> Call:
        path = self._final_path(name)
        if self.committer == "magic":
            completed = partial(self.bucket.complete, self._upload(name), expecting)
            return Call("complete", path, completed)
        return Call("rename", path, partial(self._rename, source, path, expecting))

    def _prepare_marker(self) -> Iterator[Call]:
        if self.committer != "magic":
            yield self._create(self._prepared.rpartition("/")[2], b"")
            return
        path, own = self._final_path(_SUCCESS), Nonce(self._records.nonce(_SUCCESS))
        yield Call("start", path, partial(self.bucket.start, path, own))
        yield self._record_upload(self._prepared.rpartition("/")[2], _SUCCESS)
        stored = partial(self.bucket.put_part, self._upload(_SUCCESS), 1, b"")
        yield Call("put_part", path, stored)

    def _marker_token(self) -> str:
        if self.committer == "magic":
            return marker_token(self._upload(_SUCCESS))
        prepared = self.bucket.get(self._prepared)
        return "" if prepared is None else str(prepared.token)

    def _record_upload(self, where: str, name: str) -> Call:
        return self._create(where, self._records.upload(name, self._upload(name).upload_id))

    def _remove_old(self, name: str) -> Call:
        path = self._final_path(name)
        if self.committer != "v1" or self._facts.delete_if_match:
            return Call("delete", path, partial(self.bucket.delete, path, Expect.ANYTHING))
        trash = self._in_area(f"trash/{quote(name, safe='')}.pending")
        return Call("rename", trash, partial(self._rename, path, trash, Expect.ABSENT))

    def _end(self) -> Iterator[Call]:
        area = self._in_area("")[:-1]
        if self.committer == "v1":
            gone = self._in_area(f"../gone-{self._records.nonce('gone')}")
            renamed = partial(self.bucket.rename_directory, StorePath(area), gone)
            yield Call("rename_directory", gone, renamed)
            yield self._delete_tree(gone)
            return
        yield self._delete(self._in_area("job.json"))
        if self.plan.version == "1.2" and not self._has_directories:
            yield from self._delete_all(area)
            return
        yield from self._abort_uploads()
        if self.plan.version != "1":
            yield self._delete_tree(self._in_area("manifests"))
        yield self._delete(self._in_area("decision"))
        yield self._delete_tree(StorePath(area))

    def _delete_all(self, area: str) -> Iterator[Call]:
        """Delete the area; ``published``, or an aborted job's decision, goes after most others."""
        late = ["decision"] if self.plan.aborts else ["published"]
        order = ["", *late, "uploads"]
        found: list[list[StorePath]] = [[] for _ in order]
        for path in self.bucket.keys(f"{area}/"):
            kind = path[len(area) + 1 :].partition("/")[0]
            found[order.index(kind) if kind in order else 0].append(path)
        first, *rest = found
        yield from map(self._delete, first)
        yield from self._abort_uploads()
        for paths in rest:
            yield from map(self._delete, paths)

    def _abort_uploads(self) -> Iterator[Call]:
        """Drop the uploads of a job that is aborted."""
        for _, files in self.attempts if self.plan.aborts and self.committer == "magic" else ():
            for name in files:
                aborted = partial(self.bucket.abort, self._upload(name))
                yield Call("abort", self._final_path(name), aborted)

    def _create(self, name: str, data: bytes) -> Call:
        path = self._in_area(name)
        return Call("create", path, partial(self.bucket.put, path, data, None, Expect.ABSENT))

    def _delete(self, path: StorePath) -> Call:
        return Call("delete", path, partial(self.bucket.delete, path, Expect.ANYTHING))

    def _delete_tree(self, directory: StorePath) -> Call:
        def delete() -> None:
            for path in self.bucket.keys(f"{directory}/"):
                self.bucket.delete(path, Expect.ANYTHING)
            if self._has_directories:
                self.bucket.delete_directory(directory)

        return Call("delete_tree", directory, delete)

    def _rename(self, source: StorePath, target: StorePath, expecting: Expectation) -> None:
        if self._has_directories:
            self.bucket.make_directory(StorePath(target.rpartition("/")[0]))
        self.bucket.rename(source, target, None, expecting)

    def _upload(self, name: str) -> PendingUpload:
        """An upload that has begun, with its parts so far."""
        path, nonce = self._final_path(name), Nonce(self._records.nonce(name))
        (upload_id,) = (one for one, found in self.bucket.uploads.items() if found.nonce == nonce)
        upload = PendingUpload(path=path, upload_id=upload_id, nonce=nonce)
        return replace(upload, parts=tuple(self.bucket.stored_parts(upload) or ()))

    # What its version knows of the store.

    @property
    def _facts(self) -> Capabilities:
        return self.family.capabilities

    @property
    def _has_directories(self) -> bool:
        return self.family.has_directories

    @property
    def _records_uploads(self) -> bool:
        """Whether nobody could tell from a listing that an upload is this job's."""
        return self.plan.names == "exact" or self._facts.uploads_listable is not True

    @property
    def _restores(self) -> bool:
        """Whether it removes a marker beside files that stay: then it leaves one as well."""
        return self.plan.mode == "append" and self.family.markers_go

    # Names.

    @property
    def _prepared(self) -> StorePath:
        """Where its marker is prepared, or the upload of it is recorded."""
        return self._in_area(f"{_SUCCESS}-{self._records.nonce('Claim')}.pending")

    def _final(self, name: str, task: int) -> str:
        if self.plan.names == "exact":
            return name
        stem, _, extension = name.rpartition(".")
        return f"{stem}-{self.job_id}-{task}.{extension}"

    def _directory(self, task: int) -> str:
        """Where the files of a task are in the area, once it has committed."""
        where = "committed" if self.committer == "v1" else "tasks"
        return f"{where}/{task}/{self.attempts[task][0]}"

    def _written(self, task: int, name: str) -> StorePath:
        return self._in_area(f"{self._directory(task)}/{name}.pending")

    def _final_path(self, name: str) -> StorePath:
        return StorePath(f"{self.root}/{name}")

    def _in_area(self, name: str) -> StorePath:
        """The path of what is in the area, or beside it."""
        area = f"{self.root}/_commit/"
        return StorePath(area + name[3:] if name[:3] == "../" else f"{area}{self.job_id}/{name}")
