"""The manifests of the chosen attempts: streamed, limited in size, verified by their digests."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from fsspec_commit.committers import AttemptFiles, ManifestBytes
from fsspec_commit.effects.ending import ending
from fsspec_commit.effects.parallel import all_of
from fsspec_commit.effects.read_ahead import read_ahead
from fsspec_commit.errors import RecordError, RequestError
from fsspec_commit.names import (
    ROOT_PARTITION,
    Target,
    is_hidden_name,
    is_visible,
    partitions_of,
    unique_suffix,
)
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.chosen import ChosenTasks
from fsspec_commit.protocol.directory_names import DirectoryNames
from fsspec_commit.protocol.file_names import FileNames, NameIndex, repeated_names
from fsspec_commit.protocol.kept_manifests import KeptManifests
from fsspec_commit.records.entries import in_batches
from fsspec_commit.records.job import TaskCommit

_READ_AT_ONCE_MAX = 64
_FILES_AT_ONCE_MAX = 16_384
_GROUPS_AT_ONCE_MAX = 4
_AHEAD_BYTES_MAX = 8 << 20


@dataclass(frozen=True, slots=True)
class ChosenManifests:
    """The manifests of *chosen*, to be iterated as often as needed.

    Memory does not grow with the job: each manifest is read, checked and dropped, except for the
    first few, which are *kept*. Once all are checked (*are_checked*), the right digest is enough.
    """

    job: BoundJob
    chosen: ChosenTasks
    kept: KeptManifests = field(default_factory=KeptManifests)
    are_checked: bool = False

    async def __aiter__(self) -> AsyncIterator[ManifestBytes]:
        async with ending(self.loaded()) as groups:
            async for group in groups:
                for _, manifest in group:
                    yield manifest
                del group  # Not held while the next one is read: both may be large.

    async def loaded(self) -> AsyncIterator[list[tuple[TaskCommit, ManifestBytes]]]:
        """Each message with its manifest, in order, in groups; the next few are read meanwhile.

        Raises:
            RecordError: A manifest is gone, or has other bytes.
        """
        groups = self.groups()
        ahead = read_ahead(
            groups,
            self._load_all,
            at_once_max=_GROUPS_AT_ONCE_MAX,
            size_of=_bytes_of,
            size_max=_AHEAD_BYTES_MAX,
        )
        async with ending(groups), ending(ahead):
            async for group in ahead:
                yield group
                del group

    async def groups(self) -> AsyncIterator[list[TaskCommit]]:
        """The messages in order, in groups whose manifests are read concurrently."""
        group: list[TaskCommit] = []
        files = 0
        async with ending(self.chosen.batches()) as batches:
            async for batch in batches:
                for message in batch:
                    more = files + message.file_count
                    if group and (len(group) == _READ_AT_ONCE_MAX or more > _FILES_AT_ONCE_MAX):
                        yield group
                        group, files = [], 0
                    group.append(message)
                    files += message.file_count
        if group:
            yield group

    async def _load_all(
        self, group: Sequence[TaskCommit]
    ) -> list[tuple[TaskCommit, ManifestBytes]]:
        in_flight_max = self.job.store.in_flight_max
        manifests = await all_of(group, self.load, in_flight_max=in_flight_max)
        return list(zip(group, manifests, strict=True))

    async def load(self, message: TaskCommit) -> ManifestBytes:
        """Read one manifest, exactly the one that its message names; a kept one is not read again.

        Raises:
            RecordError: It is gone, or has other bytes.
        """
        layout = self.job.layout.attempt(message.task_id, message.attempt_id)
        if message.manifest != layout.manifest_name:
            raise self._damaged(message, f"{message.manifest!r} is not where it is kept")
        kept = self.kept.get(message)
        if kept is not None:
            return ManifestBytes(layout, kept, self.are_checked)
        data = await self.job.store.read(layout.manifest)
        if data is None:
            elsewhere = "or was written elsewhere, as to the worker's own memory or disk"
            raise self._damaged(message, f"{layout.manifest} is gone, {elsewhere}")
        if sha256(data).hexdigest() != message.digest:
            raise self._damaged(message, f"{layout.manifest} is not the one its message names")
        return ManifestBytes(layout, data, self.are_checked)

    def _damaged(self, message: TaskCommit, what: str) -> RecordError:
        return RecordError(
            f"the manifest of task {message.task_id} cannot be used: {what}",
            job_id=self.job.record.job_id,
            task_id=message.task_id,
            path=message.manifest,
            stage="check",
        )


@dataclass(slots=True)
class NewFiles:
    """The files that a job is about to publish, collected while its manifests are streamed.

    Attributes:
        names: Every final name.
        reusable: The names that another job could write as well: those of ``names="exact"``, and
            hidden ones. All others contain this job's id.
        reusable_in: The partitions of the reusable names.
        folded: The reusable names with case folded, on stores that fold case.
        partitions: The partitions of all names.
        manifests: The manifests with the names; the first few are kept.
        adopted: Whether another program has written some of the files.
    """

    manifests: ChosenManifests = field(repr=False)
    count: int = 0
    bytes: int = 0
    rows: int | None = 0
    names: FileNames = field(default_factory=FileNames)
    reusable: NameIndex = field(default_factory=NameIndex)
    reusable_in: DirectoryNames = field(default_factory=DirectoryNames)
    folded: NameIndex = field(default_factory=NameIndex)
    partitions: DirectoryNames = field(default_factory=DirectoryNames)
    adopted: bool = False

    def add(self, message: TaskCommit, manifest: ManifestBytes, files: AttemptFiles) -> None:
        """Count one attempt's files.

        Raises:
            RecordError: Their number or size differs from what the attempt's message says, or one
                has a name that no task of the job could have given it.
        """
        layout = manifest.layout
        own = unique_suffix(layout.job.job_id, layout.task_id)
        count, size_bytes = len(files.files), 0
        for batch in in_batches(files.files):
            names = [file.target for file in batch]
            self.names.extend(names)
            size_bytes += sum(file.size_bytes for file in batch)
            self.partitions.update(partitions_of(names))
            reusable = [name for name in names if own not in name]
            if self.manifests.job.record.names == "unique":
                _refuse_foreign_names(message, reusable)
            self.reusable.extend(reusable)
            self.reusable_in.update(partitions_of(reusable))
        if (count, size_bytes) != (message.file_count, message.bytes):
            text = f"task {message.task_id}: its message and its manifest count different files"
            raise RecordError(text, task_id=message.task_id, path=message.manifest)
        self.count += count
        self.bytes += size_bytes
        self.adopted = self.adopted or files.adopted
        if count:
            unknown = self.rows is None or files.rows is None
            self.rows = None if unknown else (self.rows or 0) + (files.rows or 0)

    @property
    def may_meet_others(self) -> bool:
        """Whether another job could write one of the names as well.

        A hidden directory counts: another job's hidden file, which keeps its name, could have the
        same name.
        """
        return len(self.reusable) > 0 or not all(map(is_visible, self.partitions))

    def names_digest(self) -> str:
        """The SHA-256 of all names, one per line, in order."""
        digest = sha256()
        for name in self.names:
            digest.update(name.encode() + b"\n")
        return digest.hexdigest()


async def check_new_files(job: BoundJob, manifests: ChosenManifests) -> NewFiles:
    """Load and validate every chosen manifest; nothing is changed (P1, P2, P10).

    Raises:
        RecordError: A manifest is gone, torn, hostile, or not the one its message names.
        RequestError: Two files have the same name, a file is in no partition where partitions are
            replaced, or the job has no file at all.
    """
    new = NewFiles(manifests)
    async with ending(manifests.loaded()) as groups:
        async for group in groups:
            for message, manifest in group:
                new.add(message, manifest, job.committer.read(manifest))
                manifests.kept.keep(message, manifest.data)
            del group
    new.manifests = replace(manifests, are_checked=True)
    repeated = new.reusable.freeze()
    if repeated:
        names = repeated_names(new.names, repeated)
        if names:
            await _refuse_repeated(job, manifests, names[0])
    _refuse_file_as_directory(job, new)
    if job.record.mode == "overwrite_partitions" and ROOT_PARTITION in new.partitions:
        stray = next(name for name in new.names if "/" not in name)
        raise outside_partition(job.record.destination, stray)
    return new


def _bytes_of(group: Sequence[tuple[TaskCommit, ManifestBytes]]) -> int:
    return sum(len(manifest.data) for _, manifest in group)


def another_name(name: str) -> str:
    """How to give a file a name other than the reusable *name*, for an error message."""
    return 'names="unique"' if is_visible(name) else "another name (hidden ones stay as given)"


def outside_partition(destination: str, name: str) -> RequestError:
    """The refusal of a file whose partition would be the whole destination."""
    message = (
        f'cannot write {name!r} to {destination!r} itself: mode="overwrite_partitions" replaces '
        "whole directories, and for a file in none it would clear everything there; give "
        "partition_by=, or write it into a partition's directory, such as 'day=2026-11-20', or use "
        'mode="overwrite" if all of it is to be replaced'
    )
    return RequestError(message, kind="file_outside_partition", path=name)


def _refuse_foreign_names(message: TaskCommit, names: Sequence[Target]) -> None:
    """Refuse *names* without the suffix of a job with unique names, unless they are hidden.

    They may belong to another job, whose pending uploads a forged manifest could name.
    """
    for name in names:
        if not is_hidden_name(name.rpartition("/")[2]):
            text = f"the manifest of task {message.task_id} names {name!r}, which is not its own"
            raise RecordError(text, task_id=message.task_id, path=message.manifest, stage="check")


def _refuse_file_as_directory(job: BoundJob, new: NewFiles) -> None:
    """Refuse a file with the name of a directory of another file."""
    name = min(filter(new.reusable.holds, new.partitions.with_those_above()), default=None)
    if name is not None:
        message = f"{name!r} is written both as a file and as a directory; rename one of them"
        raise RequestError(
            message, kind="duplicate_file", job_id=job.record.job_id, path=name, stage="check"
        )


async def _refuse_repeated(job: BoundJob, manifests: ChosenManifests, name: str) -> None:
    tasks: list[int] = []
    async for manifest in manifests:
        files = job.committer.read(manifest).files
        tasks.extend(manifest.layout.task_id for file in files if file.target == name)
    both = " and ".join(str(task) for task in sorted(tasks)[:2])
    message = f"tasks {both} both wrote {name!r}; use {another_name(name)}"
    raise RequestError(
        message, kind="duplicate_file", job_id=job.record.job_id, path=name, stage="check"
    )
