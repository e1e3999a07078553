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
from dataclasses import dataclass, field
from functools import partial
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
class Shown:
    """What the areas of some jobs have shown while our claim stood; no record was read for it.

    Attributes:
        passed: The jobs that are neither over nor in our way, by names of one moment, or that came
            in their order. A listing of several moments in any order may show ``job.json``, and
            then miss the claim, which has gone meanwhile.
        without_spec: Those whose area was shown without ``job.json``. A listing alone does not
            prove that they are over: it may not have come from the store.
        children: The names in the areas of all others that were listed by themselves, each at one
            moment; ``None`` if it takes more than one.
    """

    passed: set[JobLayout] = field(default_factory=set)
    without_spec: set[JobLayout] = field(default_factory=set)
    children: dict[JobLayout, Children | None] = field(default_factory=dict)

    def learn(self, mine: Outline, other: JobLayout, children: Children) -> bool:
        """Note what the names in the area of *other* say, and return whether that is enough."""
        if is_passed(mine, other, children):
            self.passed.add(other)
        elif other.spec not in children:
            self.without_spec.add(other)
        else:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Met:
    """What was found of other jobs.

    Attributes:
        in_the_way: Those that are in the way, oldest first.
        doubted: Those that may have changed the destination since our claim stood: all that were
            not passed by names of one moment, or that came in their order. They may have been in
            the way, and be over by now, or have withdrawn their claims.
    """

    in_the_way: Sequence[JobLayout] = ()
    doubted: frozenset[JobLayout] = frozenset()


def may_pass(store: ConfirmedStore) -> bool:
    """Whether the names in an area may ever be shown so that its job is passed."""
    return store.lists_in_order or store.lists_at_once


def is_passed(mine: Outline, other: JobLayout, children: Children) -> bool:
    """Whether the names in the area of *other* say that it is neither over nor in our way."""
    if other.spec not in children:
        return False
    claims = [nonce for nonce in map(other.claim_nonce, children) if nonce is not None]
    if not claims:
        return other.decision not in children
    theirs = (Outline.told_by(nonce, other.job_id) for nonce in claims)
    return all(outline is not None and not mine.may_conflict(outline) for outline in theirs)


async def look_at_areas(store: ConfirmedStore, others: Sequence[JobLayout], mine: Outline) -> Shown:
    """List the areas of *others*, many by one request where that can be.

    Args:
        store: Where the jobs are.
        others: The jobs, in the order of their names.
        mine: The outline of our claim, which stands.
    """
    shown = Shown()

    async def together(some: Sequence[JobLayout]) -> Sequence[JobLayout]:
        return await _list_together(store, mine, some, shown) if len(some) > 1 else some

    async def alone(other: JobLayout) -> None:
        children = await _names_in(store, other)
        if children is None or not shown.learn(mine, other, children):
            shown.children[other] = children

    parts = list(_cut(others, _LISTED_TOGETHER_MAX if store.lists_in_order else 1))
    left = list(chain(*await all_of(parts, together, in_flight_max=store.in_flight_max)))
    await all_of(left, alone, in_flight_max=store.records_at_once_max)
    return shown


async def over_among(store: ConfirmedStore, others: Sequence[JobLayout]) -> frozenset[JobLayout]:
    """Those of *others* whose ``job.json`` is gone, and who change nothing after this call."""
    at_once_max = store.records_at_once_max
    found = await all_of(others, partial(_is_over, store), in_flight_max=at_once_max)
    return frozenset(other for other, over in zip(others, found, strict=True) if over)


async def those_in_the_way(
    store: ConfirmedStore,
    others: Sequence[JobLayout],
    mine: Outline,
    in_the_way: Callable[[JobState], bool],
    shown: Shown,
) -> Met:
    """The jobs that are in the way now, in the order of *others*, which is that of their names.

    What their records say is dropped: a claim may be a megabyte, and there may be many.

    Args:
        store: Where the jobs are.
        others: The jobs.
        mine: The outline of our claim, which stands.
        in_the_way: Whether a job is in the way, by what its records say.
        shown: What their areas have shown; who was passed by it is passed.
    """

    async def is_in_the_way(other: JobLayout) -> bool:
        if other in shown.without_spec and await _is_over(store, other):
            return False
        if other in shown.children:
            children = shown.children[other]
        else:
            children = await _names_in(store, other)
            if children is not None and is_passed(mine, other, children):
                passed.add(other)
                return False
        state = await read_state(
            store, other, shown=children, is_passed=lambda names: is_passed(mine, other, names)
        )
        return in_the_way(state)

    passed = set[JobLayout]()
    left = [other for other in others if other not in shown.passed]
    found = await all_of(left, is_in_the_way, in_flight_max=store.records_at_once_max)
    return Met(
        [other for other, is_one in zip(left, found, strict=True) if is_one],
        frozenset(left) - passed,
    )


async def _is_over(store: ConfirmedStore, other: JobLayout) -> bool:
    return await store.is_not_found(other.spec, limit_bytes=JobRecord.limit_bytes)


def _cut(others: Sequence[JobLayout], size_max: int) -> Iterator[Sequence[JobLayout]]:
    """As few parts as possible, alike in size: a job in one of its own would wait for the rest."""
    parts = -(-len(others) // size_max)
    for part in range(parts):
        yield others[part * len(others) // parts : (part + 1) * len(others) // parts]


async def _list_together(
    store: ConfirmedStore, mine: Outline, others: Sequence[JobLayout], into: Shown
) -> Sequence[JobLayout]:
    """List as many areas together as can be; those that are left must be listed one by one."""
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
        for one in seen:
            into.learn(mine, one, shown.get(one.job_id, ()))
        rest = rest[len(seen) :]
        if len(seen) < _WORTH_ANOTHER:
            break
    return rest


async def _names_in(store: ConfirmedStore, other: JobLayout) -> Children | None:
    """What is directly in the area of *other*, at one moment; ``None`` if that is not certain."""
    listed = await store.list_at_once(other.area)
    return None if listed is None else frozenset(child.path for child in listed)


def _by_job(destination: DestinationLayout, paths: Iterable[StorePath]) -> dict[str, Children]:
    """The files directly in the area of each job on a page."""
    shown: dict[str, set[StorePath]] = {}
    for path in paths:
        name, _, below = destination.below(destination.areas, path).partition("/")
        children = shown.setdefault(name, set())
        if "/" not in below:
            children.add(path)
    return dict(shown)
