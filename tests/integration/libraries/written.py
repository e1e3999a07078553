"""One writer in one task, and what stands at the destination."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fsspec_commit as fc
from fsspec_commit.testing import assert_committed, assert_no_leftovers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def in_task(out: Path, write: Callable[[fc.Task], object], **options: Any) -> fc.CommitResult:
    """Run one writer in one task, and check what stands there when the job is committed."""
    with fc.Job(out, **options) as job, job.task() as task:
        write(task)
        assert not [name for name in files_in(out) if not name.startswith("_")]
    assert job.result is not None
    assert sorted(job.result.files) == [name for name in files_in(out) if not name.startswith("_")]
    assert_committed(str(out), file_count=job.result.file_count)
    assert_no_leftovers(str(out))
    return job.result


def files_in(out: Path) -> list[str]:
    return sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())


def only_file(out: Path) -> Path:
    (name,) = [name for name in files_in(out) if not name.startswith("_")]
    return out / name
