"""The state of a job, as its area shows it to every other process."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from fsspec_commit.effects.confirmed.reads import refusals_as_damage
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.stored_records import recall
from fsspec_commit.errors import JobNotActiveError, NewerVersionError, RecordError
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.protocol.job_records import (
    list_records,
    read_record,
    recall_listed,
    standing_decision,
    standing_published,
)
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Claim, Decision, Published
from fsspec_commit.store import Directory, Entry, Unusable

State: TypeAlias = Literal[
    "open", "committing", "decided", "published", "aborted", "damaged", "void"
]


@dataclass(frozen=True, slots=True)
class JobState:
    """A job as its area shows it at one moment.

    Attributes:
        layout: The job.
        state: ``"void"`` if ``job.json`` is gone: the job is over and the rest means nothing.
        decision: The decision that stands, if it can be read.
        claims: While undecided, every claim of the job.
        has_manifests: Whether a task has left a manifest.
        signs_of_life: While undecided, what changes as long as its driver is alive: its claims, and
            the file that it renews.
        damage: Why a record cannot be read, if one cannot.
        records: The records that were listed.
    """

    layout: JobLayout
    state: State
    decision: Standing[Decision] | None = None
    claims: tuple[Claim, ...] = ()
    has_manifests: bool = False
    damage: RecordError | None = None
    signs_of_life: frozenset[StorePath] = frozenset()
    records: frozenset[StorePath] = frozenset()

    @property
    def stands_for(self) -> tuple[Claim, ...]:
        """The claims that the job holds; after a committed decision, the claim in that decision."""
        if self.decision is None:
            return self.claims
        claim = self.decision.record.claim
        return () if claim is None or self.state == "aborted" else (claim,)


Listed: TypeAlias = Entry | Directory | Unusable


def unusable_among(children: Iterable[Listed], destination: DestinationLayout) -> list[JobState]:
    """Jobs with a link or the like in place of their area, as damaged jobs, oldest first.

    Anything that is not named like a job is ignored.
    """
    odd = ((destination.job_of(c.path), c) for c in children if isinstance(c, Unusable))
    found = {job_id: child for job_id, child in odd if job_id is not None}
    return [
        JobState(destination.job(job_id), "damaged", damage=RecordError(str(child.refusal)))
        for job_id, child in sorted(found.items())
    ]


def jobs_among(children: Iterable[Listed], destination: DestinationLayout) -> list[JobLayout]:
    """The jobs whose areas are among the listed children of all areas, oldest first."""
    found = (destination.job_of(c.path) for c in children if isinstance(c, Directory))
    return [destination.job(job_id) for job_id in sorted(filter(None, found))]


Children: TypeAlias = Collection[StorePath]


def _reads_all(_: Children) -> bool:
    return False


async def read_state(
    store: ConfirmedStore,
    layout: JobLayout,
    *,
    before: JobState | None = None,
    shown: Children | None = None,
    is_passed: Callable[[Children], bool] = _reads_all,
) -> JobState:
    """The state of the job of *layout*; a damaged record is reported as such, and not raised.

    So is a record that this caller may not read: it may be of a job that is in the way.

    Args:
        store: Where the job is.
        layout: The job.
        before: What an earlier call has returned, for whoever waits for the job. No record is ever
            changed, so if none has come or gone, none is read again.
        shown: What its area has just shown, where that is known: then it is not listed again.
        is_passed: Whether what the area shows is enough for the caller: then nothing in it is read,
            and the job counts as open.
    """
    claims: tuple[Claim, ...] = ()
    decision: Standing[Decision] | None = None
    try:
        with refusals_as_damage():
            children = await list_records(store, layout, shown)
            if children is None:
                return JobState(layout, "void")
            signs = frozenset(filter(layout.is_sign_of_life, children))
            records = children - {path for path in signs if layout.claim_nonce(path) is None}
            if before is not None and before.damage is None and before.records == records:
                return replace(before, signs_of_life=signs)
            if is_passed(children):
                return JobState(layout, "open", signs_of_life=signs, records=records)
            if layout.decision in children:
                decision = await standing_decision(store, layout)
                if (
                    decision is not None
                    and layout.published in children
                    and await standing_published(store, layout, decision) is None
                ):
                    await recall_listed(store, layout, layout.published, Published)
            else:
                claims = await _claims(store, layout, sorted(signs))
    except JobNotActiveError:
        return JobState(layout, "void")
    except RecordError as error:
        damage = await newer_than_known(store, layout) or error
        return JobState(layout, "damaged", decision, damage=damage)
    state: State = "committing" if claims else "open"
    if decision is not None:
        if decision.record.state == "aborted":
            state = "aborted"
        else:
            state = "published" if layout.published in children else "decided"
    return JobState(
        layout,
        state,
        decision,
        claims,
        has_manifests=any(path.endswith("/manifests") for path in children),
        signs_of_life=signs,
        records=records,
    )


async def _claims(
    store: ConfirmedStore, layout: JobLayout, paths: Iterable[StorePath]
) -> tuple[Claim, ...]:
    """The claims among *paths* that are not withdrawn yet."""
    named = [path for path in paths if layout.claim_nonce(path) is not None]
    found = [await recall(store, layout, path, Claim) for path in named]
    return tuple(claim.record for claim in found if claim is not None)


async def newer_than_known(store: ConfirmedStore, layout: JobLayout) -> NewerVersionError | None:
    """The error for a job of a newer version, if its ``job.json`` says that it is one."""
    try:
        with refusals_as_damage():
            await read_record(store, layout)
    except NewerVersionError as newer:
        return newer
    except RecordError:
        return None  # It is damaged, and says nothing.
    return None
