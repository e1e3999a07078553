"""What jobs of Hadoop's own committers have left at a destination: shown, and never changed.

Spark may have written to a destination before, or be writing now: ``_temporary`` and ``__magic…``
are neither data nor this library's. The paths and names are those of Hadoop 3.5.0:

* ``FileOutputCommitter``, version 1: ``_temporary/<application attempt>/task_…`` is a committed
  task, ``_temporary/<application attempt>/_temporary/attempt_…`` an attempt that is not.
* ``ManifestCommitter``: ``_temporary/<job>/<job attempt>/manifests/task_…-manifest.json`` is a
  committed task, whose files are in ``…/tasks/attempt_…`` until the job commits. Earlier releases
  say ``manifest_<job>``.
* ``MagicS3GuardCommitter``: ``__magic_job-<job>/…/task_….pendingset`` is a committed task,
  ``…/tasks/attempt_…/__base/….pending`` a file of an attempt that is not; the data is in pending
  uploads. Releases before 3.4 say ``__magic``. Where the job id is one of this library's, Spark has
  written for a job that adopts its uploads: that directory is a part of the job, and goes with it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fsspec_commit.effects.confirmed.reads import refusals_as_damage
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.errors import RecordError
from fsspec_commit.hadoop.tasks import (
    HadoopTask,
    last_name,
    magic_tasks,
    manifest_tasks,
    v1_tasks,
)
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.store import Directory, Unusable

HadoopCommitter: TypeAlias = Literal["v1", "manifest", "magic"]

_TASKS = {"v1": v1_tasks, "manifest": manifest_tasks, "magic": magic_tasks}
_V1_JOB = re.compile(r"(?:task|attempt)_(\w+?)_[a-z]_\d+(?:_\d+)?\Z")
_JOB_PREFIXES = ("manifest_", "__magic_job-")


@dataclass(frozen=True, kw_only=True)
class HadoopJob:
    """One job of Hadoop's own committers that has left something at a destination.

    Attributes:
        job_id: Its id, if a name contains it.
        committer: Its committer.
        directory: Its directory, relative to the destination.
        tasks: What is left of its tasks: the committed ones first, by name.
        damage: Why its tasks cannot be read, if so: the directory is a link, or access is denied.
    """

    job_id: str | None
    committer: HadoopCommitter
    directory: str
    tasks: tuple[HadoopTask, ...]
    damage: str | None = None

    @property
    def tasks_committed(self) -> int:
        """How many tasks have committed, as far as what is left shows it."""
        return sum(task.committed for task in self.tasks)


@dataclass(frozen=True, slots=True)
class HadoopArea:
    """The directory in which one job of Hadoop's keeps unpublished files.

    Attributes:
        committer: The job's committer.
        path: The path of the directory.
        name: Its path relative to the destination.
        damage: Why it cannot be listed, if so.
    """

    committer: HadoopCommitter
    path: StorePath
    name: str
    damage: str | None = None


@dataclass(frozen=True, slots=True)
class WrittenByHadoop:
    """What Hadoop's classes have written at a destination besides data.

    Attributes:
        areas: The areas of Hadoop's own jobs, by name.
        for_ours: The jobs of this library for which S3A has begun uploads, by id.
    """

    areas: tuple[HadoopArea, ...]
    for_ours: tuple[JobLayout, ...]


async def written_by_hadoop(store: ConfirmedStore) -> WrittenByHadoop:
    """What Hadoop's classes have written; by one listing, or two if there are uploads.

    An area that cannot be listed, such as another user's, is returned with the reason, so that it
    does not hide the rest.
    """
    layout = DestinationLayout(store.root)
    areas = await _in_temporary(store, layout)
    beside = [] if store.uploads is None else await store.list_usable(layout.root)
    directories = [child.path for child in beside if isinstance(child, Directory)]
    areas += [
        HadoopArea("magic", path, layout.relative(path))
        for path in directories
        if layout.is_hadoop_magic(path)
    ]
    ours = [job_id for path in directories if (job_id := layout.magic_job_of(path)) is not None]
    return WrittenByHadoop(
        areas=tuple(sorted(areas, key=lambda area: area.name)),
        for_ours=tuple(map(layout.job, sorted(ours))),
    )


async def _in_temporary(store: ConfirmedStore, layout: DestinationLayout) -> list[HadoopArea]:
    path = layout.hadoop_temporary
    try:
        with refusals_as_damage():
            children = await store.list_area(path)
    except RecordError as error:
        return [HadoopArea("v1", path, layout.relative(path), str(error))]
    found: list[HadoopArea] = []
    for child in children:
        name = layout.relative(child.path)
        committer: HadoopCommitter = "v1" if last_name(name).isdecimal() else "manifest"
        if isinstance(child, Unusable):
            found.append(HadoopArea(committer, child.path, name, str(child.refusal)))
        elif isinstance(child, Directory):
            found.append(HadoopArea(committer, child.path, name))
    return found


async def hadoop_jobs(store: ConfirmedStore) -> list[HadoopJob]:
    """What every job of Hadoop's has left, in the order of the names of their areas."""
    return [await _job(store, area) for area in (await written_by_hadoop(store)).areas]


async def _job(store: ConfirmedStore, area: HadoopArea) -> HadoopJob:
    tasks: list[HadoopTask] = []
    damage = area.damage
    if damage is None:
        try:
            with refusals_as_damage():
                tasks = await _TASKS[area.committer](store, area.path)
        except RecordError as error:
            damage = str(error)
    tasks.sort(key=lambda task: (not task.committed, task.name))
    return HadoopJob(
        job_id=_job_id(area, tasks),
        committer=area.committer,
        directory=area.name,
        tasks=tuple(tasks),
        damage=damage,
    )


def _job_id(area: HadoopArea, tasks: Sequence[HadoopTask]) -> str | None:
    name = last_name(area.name)
    if area.committer == "v1":
        ids = {found.group(1) for task in tasks if (found := _V1_JOB.match(task.name))}
        return f"job_{ids.pop()}" if len(ids) == 1 else None
    for prefix in _JOB_PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name if area.committer == "manifest" else None
