"""Commit semantics for everything that writes through fsspec.

A job writes a directory of files. All of them become visible, or none does, whatever crashes, is
retried or runs twice.

    >>> import fsspec_commit as fc
    >>> with fc.Job("out/greetings", mode="append") as job, job.task() as task:
    ...     with task.open("notes.txt", "w") as file:
    ...         _ = file.write("hello")
    >>> job.result.file_count
    1
"""

from typing import TYPE_CHECKING, Any

from fsspec_commit.committers.adopted import AdoptedFile
from fsspec_commit.errors import (
    CommitError,
    CommitFailedError,
    CommitStateUnknownError,
    ConcurrentJobError,
    ConflictError,
    DestinationExistsError,
    JobNotActiveError,
    NewerVersionError,
    PartialCommitError,
    RecordError,
    RequestError,
    SnapshotUnstableError,
    StoreError,
    UnknownProtocolError,
    UnsafeStoreError,
)
from fsspec_commit.hadoop.jobs import HadoopJob
from fsspec_commit.hadoop.tasks import HadoopTask
from fsspec_commit.names import hive_path
from fsspec_commit.options import JobOptions
from fsspec_commit.protocol.clean import CleanReport
from fsspec_commit.protocol.file_names import FileNames
from fsspec_commit.protocol.publisher import Publisher
from fsspec_commit.protocol.recovery import JobInfo
from fsspec_commit.protocol.result import CommitResult
from fsspec_commit.protocol.verify import VerifyReport
from fsspec_commit.records.job import Mode, TaskCommit
from fsspec_commit.selection import Selection
from fsspec_commit.spec import JobSpec
from fsspec_commit.store.capabilities import AtomicRename, Capabilities
from fsspec_commit.store.probe import ProbeReport
from fsspec_commit.store.registry import register
from fsspec_commit.sync.job import Job
from fsspec_commit.sync.operations import abort, clean, explain, hadoop_jobs, jobs, probe, resume
from fsspec_commit.sync.reading import CommittedFiles, committed_files, verify
from fsspec_commit.sync.task import Task

__all__ = [
    "AdoptedFile",
    "AtomicRename",
    "Capabilities",
    "CleanReport",
    "CommitError",
    "CommitFailedError",
    "CommitResult",
    "CommitStateUnknownError",
    "CommittedFiles",
    "ConcurrentJobError",
    "ConflictError",
    "DestinationExistsError",
    "FileNames",
    "HadoopJob",
    "HadoopTask",
    "Job",
    "JobInfo",
    "JobNotActiveError",
    "JobOptions",
    "JobSpec",
    "Mode",
    "NewerVersionError",
    "PartialCommitError",
    "ProbeReport",
    "Publisher",
    "RecordError",
    "RequestError",
    "Selection",
    "SnapshotUnstableError",
    "StoreError",
    "Task",
    "TaskCommit",
    "UnknownProtocolError",
    "UnsafeStoreError",
    "VerifyReport",
    "abort",
    "clean",
    "committed_files",
    "dask",
    "dataset",
    "explain",
    "hadoop_jobs",
    "hive_path",
    "jobs",
    "probe",
    "register",
    "resume",
    "spark",
    "verify",
    "write_dataset",
]


if TYPE_CHECKING:
    from fsspec_commit.engines import dask as dask
    from fsspec_commit.engines import spark as spark
    from fsspec_commit.engines.arrow import write_dataset
    from fsspec_commit.engines.dataset import dataset

    __version__: str
else:
    # Hidden from type checkers, which would otherwise accept every attribute name.
    def __getattr__(name: str) -> Any:
        """Import what needs pyarrow, or is slow to import, on its first use."""
        if name in {"dataset", "write_dataset"}:
            try:
                from fsspec_commit.engines.arrow import write_dataset
                from fsspec_commit.engines.dataset import dataset
            except ModuleNotFoundError as error:
                if error.name != "pyarrow":
                    raise
                raise ImportError(
                    f"fsspec_commit.{name} needs pyarrow, which is not installed;"
                    " install it with: pip install 'fsspec-commit[arrow]'",
                    name=error.name,
                ) from error
            return write_dataset if name == "write_dataset" else dataset
        if name in {"dask", "spark"}:
            from fsspec_commit.engines import dask, spark

            return dask if name == "dask" else spark
        if name == "__version__":
            from importlib.metadata import version

            return version("fsspec-commit")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Every public name, so that tab completion offers it before its first use."""
    return sorted({*globals(), *__all__, "__version__"})
