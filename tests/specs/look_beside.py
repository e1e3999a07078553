"""May a job look at the destination while it lists the areas? Every interleaving of small jobs.

A job writes its claim, and lists the areas beside that: the first listing. When both are done it
lists them again, and looks at the destination beside that, a name at a time. Then it reads the
state of each job that it has listed, and waits for those in its way. What it saw counts only if no
job can have changed the destination meanwhile and have been overlooked: the second listing shows
the epochs of the first and no others, and all its areas; each job that it shows was passed by names
of one moment, or that came in their order, claims and decision before `job.json`, so that it was
not over when they did; and each listing is one page, which shows one moment. Any listing, however
short, may be of two pages, the areas on one and the epochs on the other, between which others act:
what is seen beside it counts for nothing. Else the job looks once more, after all that.

Each job removes the marker that it saw before it publishes, and leaves one; it marks its key when
its marker stands, and its epoch may stand before both. A job that overwrites looks for the marker
first, or, where it replaces many files, when it knows which. Drivers may die anywhere; somebody
resumes what is decided, and aborts what is not, dead or alive.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from tests.specs.explore import Found, explore_model

if TYPE_CHECKING:
    from collections.abc import Iterator

Weakened: TypeAlias = Literal[
    "epochs_do_not_count",  # others may have ended between the two listings
    "areas_do_not_count",  # nor need the second listing show the areas of the first
    "over_does_not_count",  # a listed job may be found over, also after it was waited for
    "reading_more_counts",  # of a job that had a claim, and is found to be out of the way
    "passed_in_any_order",  # its area may show `job.json`, and then, when it is over, no claim
    "first_counts_by_pages",  # it shows areas first, and epochs after that, or the other way round
    "second_counts_by_pages",
    "lists_first_beside_the_look",  # and not before it
    "looks_beside_its_claim",  # all at once
    "ends_before_its_epoch",  # the epoch is written when the job is over
]
JOBS = ("AL", "AO", "OA", "EE", "KK", "OO", "LA", "LO", "EO", "OE", "AE", "EA", "KO", "OK")
"""What the jobs do, oldest first: append (A), with one key (K), overwrite a few files (O) or many
(L), or refuse what is there (E)."""
BY_DAY = JOBS[:7]
_FILE, _OLD, _DONE, _MARKER = "file ", "old", "done", "marker "


class Listing(NamedTuple):
    """What one listing has shown so far."""

    areas: frozenset[int] | None = None
    epochs: frozenset[int] | None = None
    pages: int = 0

    @property
    def is_done(self) -> bool:
        """Whether it has shown all."""
        return self.areas is not None and self.epochs is not None


_IN_VAIN = Listing(frozenset(), frozenset(), pages=2)
"""Its first page was not all, and nobody asks for more."""


class Driver(NamedTuple):
    """Where a driver is; what its two listings and its look have shown so far; what is left."""

    at: str = "start"
    claimed: bool = False
    first: Listing = Listing()
    second: Listing = Listing()
    looked: int = 0
    seen: frozenset[str] = frozenset()
    todo: tuple[object, ...] = ()
    again: bool = False


class State(NamedTuple):
    """The drivers, who resumes the jobs, and what stands at the destination and beside it."""

    drivers: tuple[Driver, ...]
    resumer: tuple[int, Driver]
    areas: frozenset[int]
    claims: frozenset[int]
    decided: tuple[str, ...]
    epochs: frozenset[int]
    unpublished: frozenset[int]
    there: frozenset[str]
    replaced: tuple[frozenset[str], ...]
    stands_for_half: str = ""


Step: TypeAlias = tuple[str, State]
Act: TypeAlias = tuple[str, Driver, State]
_DEAD, _NOBODY = Driver("dead"), (-1, Driver("idle"))


def search(modes: str, weakened: Weakened | None = None) -> Found:
    """Search every interleaving of jobs under the rules, but for one that may be *weakened*."""
    return explore_model(_Model(modes, weakened))


class _Model:
    def __init__(self, modes: str, weakened: Weakened | None) -> None:
        self._modes = modes
        self._jobs = range(len(modes))
        self._weakened = weakened
        markers = tuple(f"{_MARKER}{job}" for job in self._jobs)
        files = (*(f"{_FILE}{job}" for job in self._jobs), _OLD)
        looks = {
            "A": markers,
            "K": (*markers, _DONE),
            "E": (*files, *markers),
            "O": (*markers, *files),
            "L": files,
        }
        self._looks = [looks[mode] for mode in modes]
        self._markers = frozenset(markers)

    def start(self) -> State:
        nothing: frozenset[str] = frozenset()
        there = nothing if "E" in self._modes else frozenset({_OLD})
        return State(
            (Driver(),) * len(self._modes), _NOBODY, frozenset(), frozenset(),
            ("",) * len(self._modes), frozenset(), frozenset(self._jobs), there,
            (nothing,) * len(self._modes),
        )  # fmt: skip

    def steps(self, now: State) -> Iterator[Step]:
        for job, driver in enumerate(now.drivers):
            if driver.at in {"dead", "over"}:
                continue
            yield f"{job} dies", self._to(now, job, _DEAD)
            for label, following, left in self._drives(now, job, driver):
                yield f"{job} {label}", self._to(left, job, following)
        job, resumer = now.resumer
        if job >= 0:
            for label, following, left in self._finishes(now, job, resumer):
                whom = _NOBODY if following.at == "over" else (job, following)
                yield f"somebody {label} for {job}", left._replace(resumer=whom)
            return
        for job in now.areas:
            if now.decided[job] == "C":
                yield f"somebody resumes {job}", now._replace(resumer=(job, Driver("remove")))
            elif not now.decided[job]:
                yield f"somebody aborts {job}", self._decides(now, job, "X")

    def _drives(self, now: State, job: int, driver: Driver) -> Iterator[Act]:
        if driver.at == "start":
            yield "begins", Driver("waves"), now._replace(areas=now.areas | {job})
        elif driver.at == "waves":
            yield from self._waves(now, job, driver)
        elif driver.at == "clear":
            yield from self._clears(now, job, driver)
        elif driver.at == "look":
            if driver.looked < len(self._looks[job]):
                yield self._look(now, job, driver)
            else:
                yield "has looked again", Driver("decide", seen=driver.seen), now
        elif driver.at == "decide":
            yield from self._chooses(now, job, driver)
        else:
            yield from self._finishes(now, job, driver)

    def _waves(self, now: State, job: int, driver: Driver) -> Iterator[Act]:
        claims = now._replace(claims=now.claims | {job})
        if not driver.claimed:
            yield "claims", driver._replace(claimed=True), claims
        if not driver.first.is_done:
            counts = self._weakened == "first_counts_by_pages"
            for what, shown in self._lists(now, driver.first):
                is_whole = counts or shown.is_done
                yield f"lists {what}", driver._replace(first=shown if is_whole else _IN_VAIN), now
        one_wave = self._weakened == "looks_beside_its_claim"
        beside = self._weakened == "lists_first_beside_the_look"
        if not one_wave and not (driver.claimed and (beside or driver.first.is_done)):
            return
        if not driver.second.is_done:
            for what, shown in self._lists(now, driver.second):
                yield f"lists {what} again", driver._replace(second=shown), now
        if driver.looked < len(self._looks[job]) and not self._is_in_vain(driver):
            yield self._look(now, job, driver)
        elif driver.claimed and driver.first.is_done and driver.second.is_done:
            others = tuple(sorted((driver.second.areas or frozenset()) - {job}))
            again = self._may_have_missed_one(driver)
            cleared = Driver("clear", seen=driver.seen, todo=others, again=again)
            yield "has looked", cleared, now

    def _lists(self, now: State, listing: Listing) -> Iterator[tuple[str, Listing]]:
        """What the next page of a listing may show, and what it has shown then."""
        pages = listing.pages + 1
        if not listing.pages:
            yield "all", Listing(now.areas, now.epochs, pages)
        if listing.areas is None:
            yield "the areas", Listing(now.areas, listing.epochs, pages)
        if listing.epochs is None:
            yield "the epochs", Listing(listing.areas, now.epochs, pages)

    def _is_in_vain(self, driver: Driver) -> bool:
        """Whether a listing was of several moments, so that the look beside it does not count."""
        first = self._weakened != "first_counts_by_pages" and driver.first.pages > 1
        return first or (self._weakened != "second_counts_by_pages" and driver.second.pages > 1)

    def _look(self, now: State, job: int, driver: Driver) -> Act:
        name = self._looks[job][driver.looked]
        names = self._markers if name in self._markers else {name}  # There is one at a time.
        looked = driver.looked + (len(self._jobs) if name in self._markers else 1)
        seen = driver.seen | (names & now.there)
        return f"looks for {name}", driver._replace(looked=looked, seen=seen), now

    def _may_have_missed_one(self, driver: Driver) -> bool:
        areas = self._weakened != "areas_do_not_count"
        epochs = self._weakened != "epochs_do_not_count"
        gone = (driver.first.areas or frozenset()) - (driver.second.areas or frozenset())
        changed = epochs and driver.first.epochs != driver.second.epochs
        return changed or (areas and bool(gone)) or self._is_in_vain(driver)

    def _clears(self, now: State, job: int, driver: Driver) -> Iterator[Act]:
        """Others are looked at one after the other: at the names, and then at what they say."""
        if not driver.todo:
            if driver.again:
                yield "looks again", Driver("look"), now
            else:
                yield "keeps what it saw", Driver("decide", seen=driver.seen), now
            return
        other, *rest = driver.todo
        passes = driver._replace(todo=tuple(rest))
        counts = self._weakened != "over_does_not_count"  # Nor that it was waited for.
        over = passes._replace(again=driver.again or counts)
        if isinstance(other, str):
            yield from self._reads(now, job, int(other), passes)
        elif isinstance(other, tuple):
            yield from self._lists_area(now, job, driver, over)
        elif other not in now.areas:
            yield f"finds {other} over", over, now
        elif self._weakened == "passed_in_any_order":
            begins = driver._replace(todo=((other, "claims"), *rest))
            yield f"finds job.json of {other}", begins, now
        elif self._in_the_way(now, job, other):
            yield f"finds a claim of {other}", driver._replace(todo=(str(other), *rest)), now
        else:
            begins = driver._replace(todo=((other, "job.json"), *rest))
            yield f"finds no claim of {other}", begins, now

    def _lists_area(self, now: State, job: int, driver: Driver, over: Driver) -> Iterator[Act]:
        """The second of two pages of an area, where the first one has shown nothing in the way."""
        page, *rest = driver.todo
        assert isinstance(page, tuple)
        other, names = page
        passes = driver._replace(todo=tuple(rest))
        if names == "job.json" and other not in now.areas:
            yield f"finds {other} over by now", over, now
        elif names == "claims" and self._in_the_way(now, job, other):
            yield f"finds a claim of {other}", driver._replace(todo=(str(other), *rest)), now
        else:
            yield f"passes {other}", passes, now

    def _in_the_way(self, now: State, job: int, other: int) -> bool:
        """Whether there are names in its area that say so."""
        names = other in now.areas and (other in now.claims or bool(now.decided[other]))
        return names and self._conflict(job, other)

    def _reads(self, now: State, job: int, other: int, passes: Driver) -> Iterator[Act]:
        """What is done about a job that showed a claim in our way, or a decision."""
        counts = {"reading_more_counts", "over_does_not_count"}
        again = passes._replace(again=passes.again or self._weakened not in counts)
        withdrawn = now._replace(claims=now.claims - {job})
        decided = now.decided[other]
        if other not in now.areas or decided == "X" or (not decided and other not in now.claims):
            yield f"finds {other} out of the way", again, now
        elif decided == "C":
            yield "gives up", Driver("over"), withdrawn
        elif other < job:
            yield "withdraws", Driver("waves"), withdrawn
            yield "gives up", Driver("over"), withdrawn
        else:
            yield f"fences {other}", again, self._decides(now, other, "X")

    def _conflict(self, one: int, other: int) -> bool:
        modes = {self._modes[one], self._modes[other]}
        return modes == {"K"} or not modes <= {"A", "K"}

    def _chooses(self, now: State, job: int, driver: Driver) -> Iterator[Act]:
        mode = self._modes[job]
        seen = driver.seen
        if mode == "L" and not driver.claimed:
            seen |= self._markers & now.there
            yield "looks for the marker", Driver("decide", claimed=True, seen=seen), now
            return
        files = seen - {_DONE} - self._markers
        withdrawn = now._replace(claims=now.claims - {job})
        if (mode == "E" and files) or (mode == "K" and _DONE in seen):
            yield "is refused", Driver("over"), withdrawn
        elif now.decided[job] or job not in now.areas:
            yield "is too late", Driver("over"), withdrawn
        else:
            goes = (files if mode in "OL" else frozenset()) | (seen & self._markers)
            replaced = (*now.replaced[:job], goes, *now.replaced[job + 1 :])
            left = self._decides(now, job, "C")._replace(replaced=replaced)
            yield "decides", Driver("remove"), left

    def _finishes(self, now: State, job: int, driver: Driver) -> Iterator[Act]:
        """What the driver and whoever resumes the job do alike."""
        late = self._weakened == "ends_before_its_epoch"
        if driver.at == "late epoch":
            yield "begins an epoch", Driver("over"), now._replace(epochs=now.epochs | {job})
        elif job not in now.areas:
            yield "finds it over", Driver("over"), now
        elif driver.at == "remove":
            stale = now.replaced[job] & self._markers
            left = now._replace(there=now.there - stale)
            yield "removes the marker that it saw", Driver("publish"), left
        elif driver.at == "publish":
            goes = sorted(now.replaced[job] - self._markers)
            yield "publishes", Driver("delete", todo=tuple(goes)), self._published(now, job)
        elif driver.at == "delete" and driver.todo:
            name, *rest = driver.todo
            left = now._replace(there=now.there - {str(name)})
            yield f"deletes {name}", driver._replace(todo=tuple(rest)), left
        elif driver.at == "delete":
            marks = ("marker", *(("mark",) if self._modes[job] == "K" else ()))
            todo = (*marks, *(() if late else ("epoch",)))
            yield "has deleted", Driver("end", todo=todo), now
        elif driver.todo:
            yield from self._ends(now, job, driver)
        else:
            over = now._replace(areas=now.areas - {job}, claims=now.claims - {job})
            yield "ends", Driver("late epoch" if late else "over"), over

    def _published(self, now: State, job: int) -> State:
        """All files of *job* are in place, and those before the last were when a marker stood."""
        if job not in now.unpublished:
            return now
        for other in self._jobs:
            if f"{_MARKER}{other}" in now.there and self._conflict(job, other):
                now = now._replace(stands_for_half=f"P1: the marker of {other} for half of {job}")
        there = now.there | {f"{_FILE}{job}"}
        return now._replace(unpublished=now.unpublished - {job}, there=there)

    def _ends(self, now: State, job: int, driver: Driver) -> Iterator[Act]:
        """The marker and then the mark of the key, and the epoch before, between or after them."""
        marks = [one for one in driver.todo if one != "epoch"]
        for what in (*marks[:1], *(["epoch"] if "epoch" in driver.todo else ())):
            left = now
            if what == "epoch":
                left = now._replace(epochs=now.epochs | {job})
            elif what == "mark":
                left = now._replace(there=now.there | {_DONE})
            elif not self._markers & now.there:
                left = now._replace(there=now.there | {f"{_MARKER}{job}"})
            rest = tuple(one for one in driver.todo if one != what)
            yield f"leaves its {what}", driver._replace(todo=rest), left

    def _decides(self, now: State, job: int, decision: str) -> State:
        decided = (*now.decided[:job], decision, *now.decided[job + 1 :])
        return now._replace(decided=decided)

    def _to(self, now: State, job: int, driver: Driver) -> State:
        return now._replace(drivers=(*now.drivers[:job], driver, *now.drivers[job + 1 :]))

    def wrong(self, now: State) -> str | None:
        """What is wrong, most of it when all is over."""
        if now.stands_for_half:
            return now.stands_for_half
        committed = [job for job in self._jobs if now.decided[job] == "C"]
        if any(one.at not in {"dead", "over"} for one in now.drivers) or now.resumer != _NOBODY:
            return None
        if now.areas & frozenset(committed):
            return None
        if sum(self._modes[job] == "K" for job in committed) > 1:
            return f"P7: of {committed} two have one key"
        there = now.there - {_DONE} - self._markers
        if any(self._serial(order) == there for order in permutations(committed)):
            return None
        return f"P11: no order of {committed} gives {sorted(there)}"

    def _serial(self, order: tuple[int, ...]) -> frozenset[str] | None:
        there = self.start().there
        for job in order:
            if self._modes[job] == "E" and there:
                return None
            there = (frozenset() if self._modes[job] in "OL" else there) | {f"{_FILE}{job}"}
        return there
