"""How ``jobs`` and ``show`` tell of what Hadoop's own committers have left."""

import fsspec_commit as fc
from fsspec_commit.cli.output import counted, human_bytes, plain

TASKS_MAX = 20
"""The most tasks that are shown to people; programs are given all."""

_KEPT = "fsspec-commit changes and deletes nothing of Hadoop's"
# What becomes of it by Hadoop's own doing.
_MEANING = {
    "v1": "not finished, or its driver is still at work. The next job that Hadoop's v1 committer"
    " commits here publishes its committed tasks as well, and removes all the rest.",
    "manifest": "not finished, or its driver is still at work. It cannot be resumed. The next job"
    " that Hadoop's v1 or manifest committer commits here removes it.",
    "magic": "not finished, or its driver is still at work. It cannot be resumed. Its pending"
    " uploads are kept, and paid for, until they are aborted: by the next job that Hadoop's magic"
    " committer commits here, unless told not to, or by a lifecycle rule.",
}


def hadoop_row(job: fc.HadoopJob) -> list[object]:
    """A job of Hadoop's among the rows of ``jobs``; its directory stands in for a missing id."""
    committed = None if job.damage is not None else job.tasks_committed
    return [job.job_id or job.directory, "hadoop", None, None, None, committed]


def hadoop_summary(job: fc.HadoopJob) -> dict[str, object]:
    """A job of Hadoop's in the document of ``jobs``."""
    return {
        "job_id": job.job_id,
        "committer": job.committer,
        "directory": job.directory,
        "tasks_committed": None if job.damage is not None else job.tasks_committed,
        "damage": job.damage,
    }


def hadoop_document(job: fc.HadoopJob) -> dict[str, object]:
    """A job of Hadoop's in the document of ``show``."""
    return {
        **hadoop_summary(job),
        "state": "hadoop",
        "meaning": _MEANING[job.committer],
        "settle_with": None,
        "tasks": plain(job.tasks),
    }


def hadoop_rows(job: fc.HadoopJob) -> list[tuple[str, object]]:
    """A job of Hadoop's as ``show`` tells people of it."""
    kept = ("settle with", f"nothing: {_KEPT}")
    if job.damage is not None:
        seen = f"cannot be looked at: {job.damage}"
        return [("directory", job.directory), ("state", "hadoop"), ("damage", seen), kept]
    rows: list[tuple[str, object]] = [
        ("job id", job.job_id),
        ("state", "hadoop"),
        ("committer", f"Hadoop's {job.committer}"),
        ("directory", job.directory),
        ("tasks committed", job.tasks_committed),
    ]
    rows += [(task.name, _told(task)) for task in job.tasks[:TASKS_MAX]]
    if len(job.tasks) > TASKS_MAX:
        rows.append(("and", f"{len(job.tasks) - TASKS_MAX:,} more; --json names all"))
    return [*rows, ("meaning", _MEANING[job.committer]), kept]


def _told(task: fc.HadoopTask) -> str:
    what = "committed" if task.committed else "not committed"
    if task.file_count is None or task.bytes is None or task.pending is None:
        return f"{what}; what it holds cannot be read: {task.damage}"
    files = f"{what}: {counted(task.file_count, 'file')}, {human_bytes(task.bytes)}"
    if not task.committed:
        return f"{files}; never published"
    if task.published is None:
        return f"{files}; all of that is pending"
    lost = task.file_count - task.pending - task.published
    parts = [f"{task.pending:,} pending", f"{task.published:,} published"]
    return f"{files}; {', '.join([*parts, f'{lost:,} lost'] if lost else parts)}"


def is_called(job: fc.HadoopJob, text: str) -> bool:
    """Whether *text* names a job of Hadoop's: its directory, or part of its id, as for others."""
    job_id = job.job_id or ""
    return bool(text) and (
        text == job.directory or job_id.startswith(text) or job_id.endswith(text)
    )
