"""Whether an overwrite sees that files belong to a destination inside it: every interleaving.

A tree is listed one directory after the other, in any order or side by side, while a job goes on in
there: its area stands, its file appears, an epoch is left, the area goes. Or it is listed as one,
which is long, so that what it has shown is dropped, and then what is directly in the top, and each
branch as one: a page shows one moment. Or by two pages, of which the second begins after the place
of the area. Whoever lists the area itself may
come too late for that, and have come too early for the epoch. So who is about to delete files looks
once more when all are listed, for a work area beside or above each. A file of a job was seen: so
its area stood before that, and from then on the area stands, or the epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

from tests.specs.explore import Found, explore

if TYPE_CHECKING:
    from collections.abc import Iterator

Weakened: TypeAlias = Literal[
    "never_looks_again",  # what the walk has seen is all
    "looks_before_it_lists",  # and not after
    "looks_only_beside",  # for a work area in the file's own directory, and in none above
    "looks_for_files",  # an area counts only if job.json is still found in it
    "epoch_comes_last",  # the job leaves its epoch when its area is gone
]
Plan: TypeAlias = Literal["by directories", "by branches", "by pages"]
Job: TypeAlias = Literal["open", "begun", "published", "marked", "over"]
ALL, TOP, SUB = "all in inner", "inner", "inner/day=1"
AREAS, AREA = "inner/_commit", "inner/_commit/<job>"
PAGE = "all up to inner/_commit"
_FOLLOWING = {ALL: {TOP}, PAGE: {SUB}}
PLANS: tuple[Plan, ...] = get_args(Plan)


class World(NamedTuple):
    """What stands inside, and how far the two are.

    ``waiting`` are the directories that are still to be listed, ``sees_file`` whether the file of
    the job was among what was listed. ``at`` is what the overwrite does next.
    """

    job: Job = "open"
    has_area: bool = False
    has_epoch: bool = False
    has_file: bool = False
    at: Literal["list", "look", "look into", "decided", "refused"] = "list"
    waiting: frozenset[str] = frozenset({TOP})
    sees_file: bool = False


Step: TypeAlias = tuple[str, World]


def search(plan: Plan, weakened: Weakened | None = None) -> Found:
    """Search every interleaving under the rules, but for one that may be *weakened*."""
    model = _Model(plan, weakened)
    return explore(model.start(), model.steps, _wrong)


def _wrong(now: World) -> str | None:
    if now.at == "decided" and now.sees_file:
        return "an overwrite is about to delete what a job of another destination has committed"
    return None


class _Model:
    def __init__(self, plan: Plan, weakened: Weakened | None) -> None:
        self._first = {"by branches": ALL, "by pages": PAGE}.get(plan, TOP)
        self._weakened = weakened

    def start(self) -> World:
        first = self._weakened == "looks_before_it_lists"
        return World(at="look" if first else "list", waiting=frozenset({self._first}))

    def steps(self, now: World) -> Iterator[Step]:
        yield from self._job(now)
        if now.at == "list":
            for directory in now.waiting:
                yield self._lists(now, directory)
            if not now.waiting:
                looked = {"looks_before_it_lists", "never_looks_again"}
                yield (
                    "has listed all",
                    now._replace(at="decided" if self._weakened in looked else "look"),
                )
        elif now.at in {"look", "look into"}:
            yield self._looks(now)

    def _job(self, now: World) -> Iterator[Step]:
        late = self._weakened == "epoch_comes_last"
        if now.job == "open":
            yield "the job begins", now._replace(job="begun", has_area=True)
        elif now.job == "begun":
            yield "the job publishes its file", now._replace(job="published", has_file=True)
            yield "the job is aborted", now._replace(job="over", has_area=False)
        elif now.job == "published":
            marked = now._replace(job="marked")
            left = marked._replace(has_area=False) if late else marked._replace(has_epoch=True)
            yield "the job's area goes" if late else "the job leaves its epoch", left
        elif now.job == "marked":
            over = now._replace(job="over", has_area=False, has_epoch=True)
            yield "the job is over", over

    def _lists(self, now: World, directory: str) -> Step:
        """What a listing shows, at one moment: the names in a directory, or all in a branch."""
        rest, label = now.waiting - {directory}, f"the overwrite lists {directory}"
        if directory in _FOLLOWING:
            if now.has_area or now.has_epoch:
                return f"{label}, and sees a file there", now._replace(at="refused")
            return f"{label}, and more follows", now._replace(waiting=rest | _FOLLOWING[directory])
        if directory == TOP:
            areas = {AREAS} if now.has_area or now.has_epoch else set()
            return label, now._replace(waiting=rest | {SUB} | areas)
        if directory == SUB:
            return label, now._replace(waiting=rest, sees_file=now.has_file)
        is_refused = now.has_epoch if directory == AREAS else now.has_area
        if self._first == ALL:
            is_refused = now.has_epoch or now.has_area
        if is_refused:
            return f"{label}, and sees a file there", now._replace(at="refused")
        areas = {AREA} if directory == AREAS and now.has_area else set()
        return label, now._replace(waiting=rest | areas)

    def _looks(self, now: World) -> Step:
        is_there = now.has_area or (now.has_epoch and now.at == "look")
        passes: Literal["list", "decided"] = (
            "list" if self._weakened == "looks_before_it_lists" else "decided"
        )
        if self._weakened == "looks_only_beside":
            is_there = False  # There never is one in `SUB`.
        if self._weakened == "looks_for_files" and now.at == "look" and not now.has_epoch:
            return "the overwrite sees an area" if is_there else "and none", now._replace(
                at="look into" if is_there else passes
            )
        return "the overwrite looks again", now._replace(at="refused" if is_there else passes)
