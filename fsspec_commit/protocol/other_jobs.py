"""The other jobs of a destination, looked at together, after a claim: which of them are in its way?

The name of a claim says what the claim holds, so a listing of an area says it as well. A claim that
is missing in a listing begun when our claim stood came after ours, so whoever wrote it sees ours.
So a job that shows neither a claim nor a decision, or no claim that may conflict, is passed, and
nothing of it is read: neither its decision, which is about one of those claims or about a later
one, nor ``job.json``. Only if an area does not show ``job.json`` is it looked at more closely,
whatever claims it shows: once that is gone, claims go in any order, and the one that the job
decided on may have gone before others.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.parallel import all_of
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.protocol.job_state import Children, JobState, read_state
from fsspec_commit.records.job import JobRecord
from fsspec_commit.records.outline import Outline

_LISTED_TOGETHER_MAX = 64
"""Areas that one request lists, where names come in order: a page has room for 15 names of each."""
_WORTH_ANOTHER = 8
"""If a page shows fewer areas than this, the rest are listed one by one, many at the same time."""


@dataclass(frozen=True, slots=True)
class Met:
    """What was found of the other jobs that are listed.

    Attributes:
        in_the_way: Those that are in the way, oldest first.
        all_are_passed: Whether names of one moment, or shown in their order, say of each job that
            it is not in the way, and was not over at that time. A listing of several moments in any
            order may show ``job.json``, and then miss the claim, which has gone meanwhile; and a
            job whose records were read as well may have been in the way, and be over by now, or
            have withdrawn its claim.
    """

    in_the_way: list[JobLayout]
    all_are_passed: bool


def is_passed(mine: Outline, other: JobLayout, children: Children) -> bool:
    """Whether the names in the area of *other* say that it is neither over nor in our way."""
    if other.spec not in children:
        return False
    claims = [nonce for nonce in map(other.claim_nonce, children) if nonce is not None]
    if not claims:
        return other.decision not in children
    theirs = (Outline.told_by(nonce, other.job_id) for nonce in claims)
    return all(outline is not None and not mine.may_conflict(outline) for outline in theirs)


async def those_in_the_way(
    store: ConfirmedStore,
    others: Sequence[JobLayout],
    mine: Outline,
    in_the_way: Callable[[JobState], bool],
) -> Met:
    """The jobs that are in the way now, in the order of *others*, which is that of their names.

    What their records say is dropped: a claim may be a megabyte, and there may be many.

    Args:
        store: Where the jobs are.
        others: The jobs.
        mine: The outline of our claim, which stands.
        in_the_way: Whether a job is in the way, by what its records say.
    """

    async def found(other: JobLayout) -> tuple[bool, bool]:
        """Whether it is in the way, and whether names of one moment say that it is not."""
        limit_bytes = JobRecord.limit_bytes
        if other in over and await store.is_not_found(other.spec, limit_bytes=limit_bytes):
            return False, False
        listed = await store.list_at_once(other.area)
        shown = None if listed is None else frozenset(child.path for child in listed)
        if shown is not None and is_passed(mine, other, shown):
            return False, True
        state = await read_state(
            store, other, shown=shown, is_passed=lambda children: is_passed(mine, other, children)
        )
        return in_the_way(state), False

    async def listed(some: Sequence[JobLayout]) -> list[JobLayout]:
        return await _not_passed(store, mine, some, over) if len(some) > 1 else list(some)

    over: set[JobLayout] = set()
    together = _LISTED_TOGETHER_MAX if store.lists_in_order else 1
    parts = list(_cut(others, together))
    left = list(chain(*await all_of(parts, listed, in_flight_max=store.in_flight_max)))
    states = await all_of(left, found, in_flight_max=store.records_at_once_max)
    in_it = [other for other, (is_in_it, _) in zip(left, states, strict=True) if is_in_it]
    return Met(in_it, all_are_passed=all(passed for _, passed in states))


def _cut(others: Sequence[JobLayout], size_max: int) -> Iterator[Sequence[JobLayout]]:
    """As few parts as possible, alike in size: a job in one of its own would wait for the rest."""
    parts = -(-len(others) // size_max)
    for part in range(parts):
        yield others[part * len(others) // parts : (part + 1) * len(others) // parts]


async def _not_passed(
    store: ConfirmedStore, mine: Outline, others: Sequence[JobLayout], over: set[JobLayout]
) -> list[JobLayout]:
    """Those that must be looked at one by one, after as many were listed together as can be.

    Those that are listed without ``job.json`` are added to *over*.
    """
    kept: list[JobLayout] = []
    rest = others
    while len(rest) > 1:
        areas = rest[0].destination.areas
        page = await store.list_in_order(areas, rest[0].area, rest[-1].area)
        if page is None:
            break
        paths, is_whole = page
        shown = _by_job(rest[0].destination, paths)
        # The next page may show more of the last directory on this one. Directories sort with their
        # slash: a name that begins like an area's and goes on with "-" comes before that area.
        last = max((f"{name}/" for name in shown), default="")
        seen = rest if is_whole else [one for one in rest if f"{one.job_id}/" < last]
        left = [one for one in seen if not is_passed(mine, one, shown.get(one.job_id, ()))]
        over.update(one for one in left if one.spec not in shown.get(one.job_id, ()))
        kept += left
        rest = rest[len(seen) :]
        if len(seen) < _WORTH_ANOTHER:
            break
    return [*kept, *rest]


def _by_job(destination: DestinationLayout, paths: Iterable[StorePath]) -> dict[str, Children]:
    """The files directly in the area of each job on a page."""
    shown: dict[str, set[StorePath]] = {}
    for path in paths:
        name, _, below = destination.below(destination.areas, path).partition("/")
        children = shown.setdefault(name, set())
        if "/" not in below:
            children.add(path)
    return dict(shown)
