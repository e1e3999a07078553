"""The result of a commit."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.file_names import FileNames
from fsspec_commit.protocol.manifests import NewFiles
from fsspec_commit.records.job import CommitterName, Mode

_KILO = 1000


@dataclass(frozen=True, slots=True)
class Finished:
    """What finishing a job has done: new files, old files removed, and warnings."""

    new: NewFiles
    task_count: int
    replaced_count: int = 0
    in_place: FileNames = field(default_factory=FileNames)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class CommitResult:
    """What one job did to its destination.

    Attributes:
        job_id: The job.
        destination: The URL or path, as the caller gave it.
        mode: The job's mode.
        committer: Which committer published the files.
        state: ``"committed"``; or ``"skipped"``: there was nothing to do, and nothing was changed.
        files: The names of the files, relative to the destination; held compressed. Files that were
            lost (``accept_loss``) are included here and in the counts, and named in the warnings.
        file_count: How many files were published.
        bytes: How large they are together.
        rows: How many rows they hold, if this library wrote the format.
        partitions: The directories that hold the files.
        replaced_count: How many old files were deleted or replaced.
        in_place: New files that took the name of an old one; held compressed.
        warnings: What a person should look at. Every file is in place all the same, except for
            those that are named as lost.
        statistics: Counts, and durations in milliseconds, under Hadoop's names.
        duration_s: From the start of ``commit()`` to its end.
    """

    job_id: str
    destination: str
    mode: Mode
    committer: CommitterName
    state: Literal["committed", "skipped"]
    files: FileNames = field(default_factory=FileNames)
    file_count: int = 0
    bytes: int = 0
    rows: int | None = None
    partitions: tuple[str, ...] = ()
    replaced_count: int = 0
    in_place: FileNames = field(default_factory=FileNames)
    warnings: tuple[str, ...] = ()
    statistics: Mapping[str, int] = field(default_factory=dict)
    duration_s: float = 0.0

    def __repr__(self) -> str:
        if self.state == "skipped":
            return f"<CommitResult skipped {self.destination}: {self.mode}, job {self.job_id}>"
        count = f"{self.file_count:,} file{'' if self.file_count == 1 else 's'}"
        return (
            f"<CommitResult committed {count}, {shown_bytes(self.bytes)} to {self.destination}: "
            f"{self.mode}, {self.committer}, {self.duration_s:.1f} s, job {self.job_id}>"
        )


def shown_bytes(count: int) -> str:
    """A size for people, in decimal units, as storage is sold."""
    if count < _KILO:
        return f"{count} B"
    size = float(count)
    for unit in ("kB", "MB", "GB", "TB"):
        size /= _KILO
        if size < _KILO:
            return f"{size:.1f} {unit}"
    return f"{size:,.1f} TB"


async def result_of(job: BoundJob, finishing: Awaitable[Finished | None]) -> CommitResult:
    """Await *finishing*, which commits the job, and return the result and the time it took."""
    begin = job.store.clock()
    finished = await finishing
    duration_s = job.store.clock() - begin
    record = job.record
    statistics = job.store.statistics
    if finished is None:
        return CommitResult(
            job_id=record.job_id,
            destination=record.destination,
            mode=record.mode,
            committer=record.committer,
            state="skipped",
            statistics=statistics.snapshot(),
            duration_s=duration_s,
        )
    new = finished.new
    statistics.count("committer_files_committed", new.count)
    statistics.count("committer_bytes_committed", new.bytes)
    statistics.count("committer_tasks_completed", finished.task_count)
    statistics.count("committer_jobs_completed")
    return CommitResult(
        job_id=record.job_id,
        destination=record.destination,
        mode=record.mode,
        committer=record.committer,
        state="committed",
        files=new.names,
        file_count=new.count,
        bytes=new.bytes,
        rows=new.rows,
        partitions=tuple(sorted(new.partitions)),
        replaced_count=finished.replaced_count,
        in_place=finished.in_place,
        warnings=finished.warnings,
        statistics=statistics.snapshot(),
        duration_s=duration_s,
    )
