"""Jobs of earlier versions of this library, which died before a run begins.

Each is carried out call by call, as the recordings of its version say, up to the call at which it
died; the model sees every change, as of a driver that is alive. So it can judge whatever state such
a job is left in:

* open, with or without files, manifests and a claim: it may be aborted, never committed;
* decided, with none, some or all of its files in place, or some old files gone: it counts from its
  decision on, in the order of all decisions, and whoever resumes it must finish it;
* over, with a part of its area left: nothing of it may happen again, and the rest goes;
* aborted, with a part of its area left: it must never count, and the rest goes.

It writes no marker, has two tasks with two files each, and is left on stores of those kinds from
which there are recordings: markers, and uploads that cannot be listed, are left out. No aborts of
earlier versions are recorded: here they are a decision, and then what ends any job.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple
from urllib.parse import quote

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Capabilities, Expect, PendingUpload
from fsspec_commit.testing.simulation.bucket import Bucket
from fsspec_commit.testing.simulation.earlier_records import EarlierRecords, replaced_line
from fsspec_commit.testing.simulation.families import Family
from fsspec_commit.testing.simulation.plan import AttemptPlan, EarlierPlan, JobPlan
from fsspec_commit.testing.simulation.rules import replaces

VERSIONS = ("1", "1.1", "1.2")
"""The recordings that differ in how such a job goes on; those since then do in its marker alone."""
FILES = (("same.txt", "day=1/same.txt"), ("other.txt", "day=9/other.txt"))
"""What each task writes, in that order."""
_ATTEMPTS = ("a5" * 8, "b5" * 8)
_COMMITTERS = {"directory": "v1", "file": "manifest", "none": "magic"}


class Call(NamedTuple):
    """A call that an earlier version has made."""

    verb: str
    path: StorePath
    carry_out: Callable[[], object]


def can_be_left(family: Family) -> bool:
    """Whether jobs of earlier versions can be left on such a store."""
    return not family.habits.uploads or (family.keeps_names_apart and family.habits.listable)


def earlier_id(number: int) -> str:
    """The id of the job of that number, of a day before all runs."""
    return f"20251130T101112-{number:016x}"


def as_plan(plan: EarlierPlan, number: int) -> JobPlan:
    """What the model has to know of the job."""
    attempts = tuple(AttemptPlan(task=task) for task in range(len(FILES)))
    return JobPlan(
        name=f"earlier{number}", mode=plan.mode, files=FILES, attempts=attempts, success="none"
    )


@dataclass(frozen=True)
class EarlierJob:
    """One of them.

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
        """Its committer."""
        return _COMMITTERS[self.family.habits.renames.value]

    @cached_property
    def attempts(self) -> tuple[tuple[str, dict[str, bytes]], ...]:
        """Of each task the attempt, and its files by their final names."""
        return tuple(
            (attempt_id, {self._final(name, task): f"{name} of old".encode() for name in names})
            for task, (attempt_id, names) in enumerate(zip(_ATTEMPTS, FILES, strict=True))
        )

    @cached_property
    def _records(self) -> EarlierRecords:
        return EarlierRecords(self.job_id, self.plan.mode)

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
            yield from self._drop()
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
        sizes = [(attempt_id, [*map(len, files.values())]) for attempt_id, files in self.attempts]
        tasks = [(*sized, manifest) for sized, manifest in zip(sizes, manifests, strict=True)]
        yield self._create("decision", records.committed(claim, tasks, replaced))
        for task, (_, files) in enumerate(self.attempts):
            for name in sorted(files):
                yield self._publish(task, name)
        yield self._create("published", records.published())
        for line in replaced.splitlines():
            yield self._remove_old(json.loads(line)[0])
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
                yield Call("put_part", path, partial(bucket.put_part, self._upload(name), 1, data))
            else:
                path = StorePath(f"{working}/{name}.pending")
                yield Call("finish", path, partial(bucket.put, path, data, nonce, Expect.ANYTHING))
        if self.committer == "v1":
            committed = self._in_area(self._directory(task))
            bucket.make_directory(StorePath(committed.rpartition("/")[0]))
            renamed = partial(bucket.rename_directory, working, committed)
            yield Call("rename_directory", committed, renamed)

    def _publish(self, task: int, name: str) -> Call:
        path = self._final_path(name)
        if self.committer == "magic":
            completed = partial(self.bucket.complete, self._upload(name), Expect.ABSENT)
            return Call("complete", path, completed)
        return Call("rename", path, partial(self._rename, self._written(task, name), path))

    def _remove_old(self, name: str) -> Call:
        path = self._final_path(name)
        if self.family.capabilities.delete_if_match:
            return Call("delete", path, partial(self.bucket.delete, path, Expect.ANYTHING))
        trash = self._in_area(f"trash/{quote(name, safe='')}.pending")
        return Call("rename", trash, partial(self._rename, path, trash))

    def _drop(self) -> Iterator[Call]:
        """Of an aborted job what it would have published goes first, but for whole directories."""
        for task, (_, files) in enumerate(self.attempts):
            for name in files:
                if self.committer == "magic":
                    aborted = partial(self.bucket.abort, self._upload(name))
                    yield Call("abort", self._final_path(name), aborted)
                elif self.committer == "manifest":
                    yield self._delete(self._written(task, name))

    def _end(self) -> Iterator[Call]:
        area = self._in_area("")[:-1]
        if self.committer == "v1":
            gone = self._in_area(f"../gone-{self._records.nonce('gone')}")
            renamed = partial(self.bucket.rename_directory, StorePath(area), gone)
            yield Call("rename_directory", gone, renamed)
            yield self._delete_tree(gone)
            return
        yield self._delete(self._in_area("job.json"))
        if self.plan.version == "1.2":
            rest = [path for path in self.bucket.keys(f"{area}/") if "/published" not in path]
            for path in rest:
                yield self._delete(path)
            yield from map(self._delete, self.bucket.keys(f"{area}/"))
            return
        if self.plan.version == "1.1":
            yield self._delete_tree(self._in_area("manifests"))
        yield self._delete(self._in_area("decision"))
        yield self._delete_tree(StorePath(area))

    def _create(self, name: str, data: bytes) -> Call:
        path = self._in_area(name)
        return Call("create", path, partial(self.bucket.put, path, data, None, Expect.ABSENT))

    def _delete(self, path: StorePath) -> Call:
        return Call("delete", path, partial(self.bucket.delete, path, Expect.ANYTHING))

    def _delete_tree(self, directory: StorePath) -> Call:
        def delete() -> None:
            for path in self.bucket.keys(f"{directory}/"):
                self.bucket.delete(path, Expect.ANYTHING)
            if self.family.has_directories:
                self.bucket.delete_directory(directory)

        return Call("delete_tree", directory, delete)

    def _rename(self, source: StorePath, target: StorePath) -> None:
        if self.family.has_directories:
            self.bucket.make_directory(StorePath(target.rpartition("/")[0]))
        self.bucket.rename(source, target, None, Expect.ABSENT)

    def _upload(self, name: str) -> PendingUpload:
        """An upload that has begun, with its parts so far."""
        path, nonce = self._final_path(name), Nonce(self._records.nonce(name))
        (upload_id,) = (one for one, found in self.bucket.uploads.items() if found.nonce == nonce)
        upload = PendingUpload(path=path, upload_id=upload_id, nonce=nonce)
        return replace(upload, parts=tuple(self.bucket.stored_parts(upload) or ()))

    # Names.

    @property
    def _facts(self) -> Capabilities:
        return self.family.capabilities

    def _final(self, name: str, task: int) -> str:
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
