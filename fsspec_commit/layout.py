"""Every path under a destination: the only module that joins or splits one (P10).

A :data:`StorePath` is a path as the store takes it. It is made here only, from checked names and
checked ids; :mod:`fsspec_commit.names` checks names.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NewType

from fsspec_commit.errors import RequestError
from fsspec_commit.ids import (
    ATTEMPT_ID,
    NONCE,
    AttemptId,
    JobId,
    Nonce,
    checked_job_id,
    from_timestamp,
    is_job_id,
    timestamp,
)
from fsspec_commit.names import (
    AREA,
    HADOOP_MAGIC,
    HADOOP_TEMPORARY,
    JOB_RECORD,
    MAGIC_JOB,
    PENDING,
    SUCCESS,
    TASKS,
    Partition,
    Target,
    trash_names,
    working_name,
)

StorePath = NewType("StorePath", str)

_EPOCH, _DELETED, _PROBE, _GONE, _VOID = "epoch-", "deleted-", "probe-", "gone-", "void-"
_CLAIM, _ALIVE, _DONE, _LOST, _UPLOADS = "claim-", "alive-", "done", "lost", "uploads"


@dataclass(frozen=True, slots=True)
class DestinationLayout:
    """The paths of a destination that belong to no single job."""

    root: StorePath

    @property
    def is_whole_store(self) -> bool:
        """Whether the destination is a whole disk, or a whole bucket: a root without a slash."""
        return "/" not in self.root.rstrip("/")

    @property
    def areas(self) -> StorePath:
        """The directory of all work areas."""
        return self._below(AREA)

    @property
    def areas_in_capitals(self) -> StorePath:
        """A path at which nothing stands, unless the store folds case."""
        return self._below(AREA.upper())

    @property
    def success(self) -> StorePath:
        """The marker that readers and schedulers look for."""
        return self._below(SUCCESS)

    def final(self, name: Target) -> StorePath:
        """The path of a published file."""
        return self._below(name)

    def finals(self, names: Iterable[Target]) -> Iterator[StorePath]:
        """The paths of published files."""
        root = self._below("")
        return (StorePath(root + name) for name in names)

    def object_name(self, path: StorePath) -> tuple[str, str]:
        """The bucket or container of *path*, and its key there."""
        bucket, _, key = path.partition("/")
        return bucket, key

    def directory(self, partition: Partition) -> StorePath:
        """The directory of a partition."""
        return self._below(partition) if partition else self.root

    def relative(self, path: StorePath) -> str:
        """A listed path, relative to the destination."""
        return path[len(self._below("")) :]

    def others_above(self, path: StorePath) -> Iterator["DestinationLayout"]:
        """Every directory above *path* except this destination: each may be a destination, too."""
        above = path.rpartition("/")[0]
        while above:
            if above != self.root:
                yield DestinationLayout(StorePath(above))
            above = above.rpartition("/")[0]

    def others_between(self, path: StorePath) -> Iterator["DestinationLayout"]:
        """The directories between this destination and *path*, the uppermost first."""
        above = [other for other in self.others_above(path) if len(other.root) > len(self.root)]
        return reversed(above)

    def epoch(self, nonce: Nonce) -> StorePath:
        """The empty file that shows a reader that a job has finished meanwhile."""
        return self._below(f"{AREA}/{_EPOCH}{nonce}")

    def is_epoch(self, path: StorePath) -> bool:
        """Whether a listed child of :attr:`areas` is an epoch."""
        return self._is_one_of_ours(path, _EPOCH)

    @property
    def hadoop_temporary(self) -> StorePath:
        """The directory in which Hadoop's renaming committers keep unpublished files."""
        return self._below(HADOOP_TEMPORARY)

    def is_hadoop_magic(self, path: StorePath) -> bool:
        """Whether a listed child of the destination is the directory of a magic job of Hadoop's."""
        return self.relative(path).startswith(HADOOP_MAGIC) and self.magic_job_of(path) is None

    def magic_job_of(self, path: StorePath) -> JobId | None:
        """The job of ours whose magic directory a listed child of the destination is."""
        text = self.relative(path).removeprefix(MAGIC_JOB)
        return JobId(text) if is_job_id(text) and path == self.job(text).magic_directory else None

    def below(self, directory: StorePath, path: StorePath) -> str:
        """A path listed below *directory*, relative to it."""
        return path[len(directory) + 1 :]

    def done(self, key_digest: str) -> StorePath:
        """The empty file that says that a job with this idempotency key has committed."""
        return self._below(f"{AREA}/{_DONE}/{key_digest}")

    def lost(self, job_id: JobId) -> StorePath:
        """The empty file that says that a person has given up this job, or some of its files."""
        return self._below(f"{AREA}/{_LOST}/{job_id}")

    def gone(self, nonce: Nonce) -> StorePath:
        """The path to which a settled job's area is renamed before it is deleted."""
        return self._below(f"{AREA}/{_GONE}{nonce}")

    def is_gone(self, path: StorePath) -> bool:
        """Whether a listed child of :attr:`areas` is the renamed area of a settled job."""
        return self._is_one_of_ours(path, _GONE)

    def taken_from(self, path: StorePath) -> JobId | None:
        """The job whose area was renamed to *path*, a child of :attr:`areas`, to be inspected."""
        job_id, _, nonce = path.rpartition(_VOID)[2].rpartition("-")
        is_one = is_job_id(job_id) and NONCE.fullmatch(nonce) is not None
        return JobId(job_id) if is_one and path == self.taken(job_id, nonce) else None

    def taken(self, job_id: str, nonce: str) -> StorePath:
        """The path to which an area is renamed to be inspected before it is removed."""
        return self._below(f"{AREA}/{_VOID}{job_id}-{nonce}")

    def deleted(self, moment: datetime, nonce: Nonce) -> StorePath:
        """The directory in which a job that ended at *moment* records its possible late deletes."""
        return self._below(f"{AREA}/{_DELETED}{timestamp(moment)}-{nonce}")

    def deleted_at(self, path: StorePath) -> datetime | None:
        """The *moment* of :meth:`deleted`, if *path* is such a child of :attr:`areas`."""
        text, _, nonce = self.relative(path).removeprefix(f"{AREA}/{_DELETED}").partition("-")
        moment = from_timestamp(text)
        if moment is None or NONCE.fullmatch(nonce) is None:
            return None
        return moment if path == self.deleted(moment, Nonce(nonce)) else None

    def deleted_mark(self, directory: StorePath, mark: str) -> StorePath:
        """An empty file in a :meth:`deleted` directory, which says everything by its name."""
        return StorePath(f"{directory}/{mark}")

    def probe(self, nonce: Nonce) -> StorePath:
        """The directory in which one probe of the store writes."""
        return self._below(f"{AREA}/{_PROBE}{nonce}")

    def is_probe(self, path: StorePath) -> bool:
        """Whether a listed child of :attr:`areas` was left by a probe."""
        return self._is_one_of_ours(path, _PROBE)

    def is_in_probe(self, path: StorePath) -> bool:
        """Whether *path* is a file that a probe may have left behind."""
        return self.is_probe(StorePath(path.rpartition("/")[0]))

    def job_of(self, path: StorePath) -> JobId | None:
        """The job whose area a listed child of :attr:`areas` is, if it is one."""
        name = self.relative(path).removeprefix(f"{AREA}/").rstrip("/")
        return JobId(name) if is_job_id(name) else None

    def job(self, job_id: str) -> "JobLayout":
        """The paths of one job.

        Raises:
            RequestError: *job_id* is not a job id.
        """
        return JobLayout(self, checked_job_id(job_id))

    def _is_one_of_ours(self, path: StorePath, kind: str) -> bool:
        nonce = path.rpartition(kind)[2]
        return NONCE.fullmatch(nonce) is not None and path == self._below(f"{AREA}/{kind}{nonce}")

    def _below(self, name: str) -> StorePath:
        return StorePath(f"{self.root}{name}" if self.root.endswith("/") else f"{self.root}/{name}")


@dataclass(frozen=True, slots=True)
class JobLayout:
    """The paths of one job."""

    destination: DestinationLayout
    job_id: JobId

    @property
    def area(self) -> StorePath:
        """The work area, with everything of the job that is not published."""
        return StorePath(f"{self.destination.areas}/{self.job_id}")

    @property
    def magic_directory(self) -> StorePath:
        """The directory in which S3A records the uploads that it begins for the job."""
        return self.destination.directory(Partition(f"{MAGIC_JOB}{self.job_id}"))

    @property
    def spec(self) -> StorePath:
        """``job.json``, which stands as long as the job lives."""
        return self._record(JOB_RECORD)

    def taken(self, nonce: Nonce) -> StorePath:
        """The path to which the area is renamed to be inspected before it is removed."""
        return self.destination.taken(self.job_id, nonce)

    def spec_in(self, taken: StorePath) -> StorePath:
        """The path of ``job.json`` in the area that was renamed to *taken*."""
        return StorePath(f"{taken}/{JOB_RECORD}")

    def claim(self, nonce: str) -> StorePath:
        """A claim on the partitions; its nonce is never used again."""
        return self._record(_CLAIM + nonce)

    def claim_nonce(self, path: StorePath) -> Nonce | None:
        """The nonce of a listed child of :attr:`area` that is a claim."""
        name = path.rpartition("/")[2]
        nonce = name.removeprefix(_CLAIM)
        return Nonce(nonce) if name != nonce and NONCE.fullmatch(nonce) else None

    def sign_of_life(self, nonce: Nonce) -> StorePath:
        """The empty file that shows others that a committing job is alive."""
        return self._record(_ALIVE + nonce)

    def is_sign_of_life(self, path: StorePath) -> bool:
        """Whether a listed child of :attr:`area` shows that the job is alive; a claim does."""
        name = path.rpartition("/")[2]
        return name.startswith((_ALIVE, _CLAIM))

    def replaced(self, claim_nonce: str) -> StorePath:
        """The list of the old files to be removed, as listed under one claim."""
        return self._record(f"replaced-{claim_nonce}")

    @property
    def decision(self) -> StorePath:
        """``decision``: the commit point."""
        return self._record("decision")

    @property
    def published(self) -> StorePath:
        """``published``: every new file is in place."""
        return self._record("published")

    def prepared_success(self, claim_nonce: str) -> StorePath:
        """The marker before it is published, as prepared under one claim."""
        return self._record(f"{SUCCESS}-{claim_nonce}{PENDING}")

    def chosen(self, task_id: int) -> StorePath:
        """The record of which attempt of a task came first, for workers that send no messages."""
        return self._record(f"chosen/{task_id}")

    def chosen_list(self, nonce: str) -> StorePath:
        """The list of the attempts to publish, if they are too many for the decision."""
        return self._record(f"chosen-{nonce}")

    def is_chosen_list(self, path: StorePath) -> bool:
        """Whether a listed file of the area is a list of chosen attempts."""
        return path.startswith(self.chosen_list(""))

    def trash(self, name: str) -> StorePath:
        """The path of the replaced file *name* in the trash: its last component encodes *name*."""
        return self.trashes_in(self.area, name)[0]

    def trashes_in(self, area: StorePath, name: str) -> list[StorePath]:
        """:meth:`trash` in a perhaps renamed *area*: as named now, and by earlier versions."""
        return [StorePath(f"{area}/trash/{one}") for one in trash_names(name)]

    @property
    def uploads(self) -> StorePath:
        """The directory of the records of uploads that a listing could not attribute."""
        return self._record(_UPLOADS)

    def attempt_recorded_by(self, path: StorePath) -> AttemptId | None:
        """The attempt that has recorded an upload at *path*, if one has."""
        attempt_id = path.rpartition("/")[0].rpartition("/")[2]
        is_one = path.startswith(f"{self.uploads}/") and ATTEMPT_ID.fullmatch(attempt_id)
        return AttemptId(attempt_id) if is_one else None

    def is_upload_record(self, path: StorePath) -> bool:
        """Whether a listed file of the area records a pending upload."""
        name = path.removeprefix(self.prepared_success("").removesuffix(PENDING))
        is_of_marker = name != path and name.endswith(PENDING) and "/" not in name
        return is_of_marker or path.startswith(f"{self.uploads}/")

    @property
    def manifests(self) -> StorePath:
        """The directory in which every committed task has a directory of manifests."""
        return self._record("manifests")

    def task_of(self, path: StorePath) -> int | None:
        """The task whose directory of manifests *path* is; ``None`` if it is not one."""
        name = path.removeprefix(f"{self.manifests}/")
        return int(name) if name.isdecimal() and name.isascii() else None

    def attempt(self, task_id: int, attempt_id: str) -> "AttemptLayout":
        """The paths of one attempt.

        Raises:
            RequestError: An id is invalid; ids come from messages, which are not trusted.
        """
        if task_id < 0 or ATTEMPT_ID.fullmatch(str(attempt_id)) is None:
            message = f"not an attempt (16 hex digits): task {task_id!r:.80}, {attempt_id!r:.80}"
            raise RequestError(message, kind="invalid_attempt_id", job_id=self.job_id)
        return AttemptLayout(self, task_id, AttemptId(attempt_id))

    def _record(self, name: str) -> StorePath:
        return StorePath(f"{self.destination.areas}/{self.job_id}/{name}")


@dataclass(frozen=True, slots=True)
class AttemptLayout:
    """The paths of one task attempt."""

    job: JobLayout
    task_id: int
    attempt_id: AttemptId

    @property
    def working_directory(self) -> StorePath:
        """The directory in which a running attempt writes."""
        return StorePath(f"{self.job.area}/{self.working_name}")

    @property
    def working_name(self) -> str:
        """:attr:`working_directory` relative to the job's area, as manifests hold it."""
        return f"{TASKS}/{self.task_id}/{self.attempt_id}"

    @property
    def committed_directory(self) -> StorePath:
        """The path to which v1 renames the working directory when the attempt commits."""
        return StorePath(f"{self.job.area}/{self.committed_name}")

    @property
    def committed_name(self) -> str:
        """:attr:`committed_directory` relative to the job's area, as manifests hold it."""
        return f"committed/{self.task_id}/{self.attempt_id}"

    @property
    def manifest(self) -> StorePath:
        """The manifest of what the attempt produced."""
        return StorePath(f"{self.job.area}/manifests/{self.task_id}/{self.attempt_id}")

    @property
    def shared_directories(self) -> list[StorePath]:
        """The directories of the area in which other attempts write as well, the deepest first."""
        shared = [StorePath(f"{self.job.area}/{TASKS}"), self.job.manifests]
        return [*(StorePath(f"{one}/{self.task_id}") for one in shared), *shared]

    @property
    def manifest_name(self) -> str:
        """The manifest's path relative to the directory of all work areas, as messages hold it."""
        return f"{self.job.job_id}/manifests/{self.task_id}/{self.attempt_id}"

    @property
    def uploads(self) -> StorePath:
        """The directory in which the attempt records its uploads."""
        return StorePath(f"{self.job.uploads}/{self.task_id}/{self.attempt_id}")

    def upload_record(self, nonce: Nonce) -> StorePath:
        """The record of one upload of the attempt."""
        return StorePath(f"{self.uploads}/{nonce}")

    def sealed_files(self, directory: str, working_names: Iterable[str]) -> list[StorePath]:
        """The paths of files in *directory*: :attr:`working_name` or :attr:`committed_name`."""
        beginning = f"{self.job.area}/{directory}"
        return [StorePath(f"{beginning}/{name}") for name in working_names]

    def working_file(self, name: Target) -> StorePath:
        """The path at which a running attempt writes *name*."""
        return StorePath(f"{self.working_directory}/{working_name(name)}")
