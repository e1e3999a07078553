"""All jobs of a destination, as a reader finds them, and whether any has moved between two looks.

From a job's decision to its end some files are visible that do not count. So a reader must know of
each job how far it has come, and that it came no further meanwhile. One that is over has left an
epoch, and so has one that began and ended between the two looks.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from fsspec_commit.effects.confirmed.reads import refusals_as_damage
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.parallel import all_of
from fsspec_commit.errors import JobNotActiveError, RecordError
from fsspec_commit.ids import JobId
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.protocol.damaged import damage_of
from fsspec_commit.protocol.job_records import (
    list_conclusively,
    list_records,
    recall_listed,
    standing_decision,
    standing_published,
)
from fsspec_commit.protocol.job_state import JobState, Listed, jobs_among, unusable_among
from fsspec_commit.protocol.marks import epochs_among
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Decision, Published


class Phase(Enum):
    """How far a job has come, as it matters to a reader."""

    QUIET = "undecided, or aborted: nothing of it is visible"
    DECIDED = "some of its files may be visible, and none counts"
    PUBLISHED = "all of its files count, and no old one that it replaces does"
    OVER = "without job.json, which it had: what it has done is in the listing"
    EMPTY = "there is nothing in its area: it has not begun"
    ENDED = "the same, but its area has gone since it was listed: it may have begun and ended"
    DAMAGED = "nobody knows"


@dataclass(frozen=True, slots=True)
class SeenJob:
    """A job as one look shows it.

    Attributes:
        layout: The job.
        phase: How far it has come.
        decision: Its decision, if that is to commit and the job is not over.
        published: The record that every file is in place, if it stands.
        damage: Why nobody knows how far it has come, if so.
    """

    layout: JobLayout
    phase: Phase
    decision: Standing[Decision] | None = None
    published: Standing[Published] | None = None
    damage: RecordError | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """All areas at one moment, and then the state of each job.

    Attributes:
        epochs: The epochs that stood.
        jobs: Every job that had an area.
    """

    epochs: frozenset[StorePath]
    jobs: Mapping[JobId, SeenJob]

    def agrees_with(self, later: "Look") -> bool:
        """Whether no job can have changed a visible file, or the meaning of one, in between."""
        if self.epochs != later.epochs:
            return False
        return all(
            _is_steady(self.jobs.get(job_id), later.jobs.get(job_id))
            for job_id in {*self.jobs, *later.jobs}
        )


def _is_steady(earlier: SeenJob | None, later: SeenJob | None) -> bool:
    """Whether a job did nothing visible between two looks, either of which may not show it.

    A job that had not decided, and is missing later, was aborted: had it finished, there would be
    another epoch. One that was listed, and is over when its state is read, may have finished just
    then. So may one whose area was empty before, since it had not begun, and is gone by now.
    """
    if later is None:
        return earlier is None or earlier.phase not in {
            Phase.DECIDED,
            Phase.PUBLISHED,
            Phase.DAMAGED,
        }
    if earlier is None:
        return later.phase is Phase.QUIET
    if earlier.phase is Phase.OVER:
        return later.phase in {Phase.OVER, Phase.EMPTY, Phase.ENDED}
    if earlier.phase in {Phase.EMPTY, Phase.ENDED}:
        return later.phase in {Phase.EMPTY, Phase.QUIET}
    return earlier.phase is later.phase


async def look_at_all(store: ConfirmedStore) -> Look:
    """All areas at one moment, and then the state of each job; claims are not read."""
    destination = DestinationLayout(store.root)
    whole = await store.list_at_once(destination.areas)
    areas = await store.list_area(destination.areas) if whole is None else whole

    async def read(layout: JobLayout) -> SeenJob:
        # Where epochs are listed afterwards, they tell of a job that ends while its area is listed.
        return await _read_job(store, layout, list_records if whole is None else list_conclusively)

    there, at_once = jobs_among(areas, destination), store.records_at_once_max
    jobs = await all_of(there, read, in_flight_max=at_once)
    for state in unusable_among(areas, destination):
        damage = RecordError(f"{state.layout.area!r}: {state.damage}", job_id=state.layout.job_id)
        jobs.append(SeenJob(state.layout, Phase.DAMAGED, damage=damage))
    if whole is None or _are_some_empty(jobs):
        # Epochs must be listed after the areas, and after one was found empty, or else a job that
        # has finished between the two would be in neither. And one listing of several moments may
        # show neither of two epochs.
        again = await _list_again(store, destination, is_first_whole=whole is not None)
        areas += again
        jobs = _with_ended(jobs, again, destination)
    epochs = frozenset(one.path for one in epochs_among(areas, destination))
    return Look(epochs, {job.layout.job_id: job for job in jobs})


def _are_some_empty(jobs: Iterable[SeenJob]) -> bool:
    """Whether an area was found empty: its job may have ended since all were listed."""
    return any(job.phase is Phase.EMPTY for job in jobs)


async def _list_again(
    store: ConfirmedStore, destination: DestinationLayout, *, is_first_whole: bool
) -> list[Listed]:
    """All areas and epochs once more.

    One listing of several moments is not enough, unless the first one was such a listing as well.
    """
    whole = await store.list_at_once(destination.areas) if is_first_whole else None
    if whole is not None:
        return whole
    again = await store.list_area(destination.areas)
    return again + await store.list_area(destination.areas) if is_first_whole else again


def _with_ended(
    jobs: Sequence[SeenJob], again: Sequence[Listed], destination: DestinationLayout
) -> list[SeenJob]:
    """The jobs; one whose area was empty is marked as ended if it is not listed *again*."""
    there = {layout.job_id for layout in jobs_among(again, destination)}
    return [
        replace(job, phase=Phase.ENDED)
        if job.phase is Phase.EMPTY and job.layout.job_id not in there
        else job
        for job in jobs
    ]


async def _read_job(
    store: ConfirmedStore,
    layout: JobLayout,
    listing: Callable[[ConfirmedStore, JobLayout], Awaitable[frozenset[StorePath] | None]],
) -> SeenJob:
    """The state of one job; claims are not read, since they say nothing about files."""
    try:
        with refusals_as_damage():
            children = await listing(store, layout)
            if children is None:
                return await _read_void(store, layout)
            if layout.decision in children:
                return await _read_decided(store, layout, is_published=layout.published in children)
            return SeenJob(layout, Phase.QUIET)
    except JobNotActiveError:
        return SeenJob(layout, Phase.OVER)
    except RecordError as error:
        return SeenJob(layout, Phase.DAMAGED, damage=error)


async def _read_decided(store: ConfirmedStore, layout: JobLayout, *, is_published: bool) -> SeenJob:
    """The state of a job in whose area a decision is listed, with or without ``published``."""
    decision = await standing_decision(store, layout)
    if decision is None:
        return SeenJob(layout, Phase.OVER)
    if decision.record.state == "aborted":
        return SeenJob(layout, Phase.QUIET)
    if not is_published:
        return SeenJob(layout, Phase.DECIDED, decision)
    published = await standing_published(store, layout, decision)
    if published is None:
        await recall_listed(store, layout, layout.published, Published)
        return SeenJob(layout, Phase.OVER)
    return SeenJob(layout, Phase.PUBLISHED, decision, published)


async def _read_void(store: ConfirmedStore, layout: JobLayout) -> SeenJob:
    """A job without ``job.json``: over, unless somebody has deleted that from a decided job.

    Where there are directories a job's area is there before the job begins, with nothing in it.
    """
    if store.directories is not None and not await _has_begun(store, layout):
        return SeenJob(layout, Phase.EMPTY)
    damage = await damage_of(store, JobState(layout, "void"), check=lambda _: None)
    if damage is None:
        return SeenJob(layout, Phase.OVER)
    return SeenJob(layout, Phase.DAMAGED, damage=damage)


async def _has_begun(store: ConfirmedStore, layout: JobLayout) -> bool:
    """Whether a job without ``job.json`` had one, which is the first thing in an area.

    It is looked for once more after the listing: the page that should show it may have been listed
    before it stood, and a later page after that.
    """
    children = {child.path for child in await store.list_area(layout.area)}
    if not children or layout.spec in children:
        return False
    return await store.stat(layout.spec) is None
