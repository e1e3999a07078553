"""May a job look at the destination while it lists the areas? Every interleaving of small jobs.

A job writes its claim, and lists the areas beside that: the first listing. When both are done it
lists them again, and beside that it looks at the destination, a name at a time, and at the area of
each job in the first listing. Then it looks at the areas that only the second one shows, reads the
state of each job that may be in its way, and waits for those that are. What it saw counts only if
no job can have changed the destination meanwhile and have been overlooked: the second listing shows
the epochs of the first and no others, and all its areas; each job that it shows was passed by names
of one moment, or that came in their order, claims and decision before `job.json`, so that it was
not over when they did; and each listing is one page, which shows one moment. Any listing, however
short, may be of two pages, the areas on one and the epochs on the other, between which others act:
what is seen beside it counts for nothing. Where only the listings speak against it, and jobs whose
area was shown without `job.json`, which is then read and is gone, the job looks once more as soon
as that is known, beside the areas that are left; else after all that. One listing of an area may be
answered by somebody else, who shows nothing.

Each job removes the marker that it saw before it publishes, and leaves one; it marks its key when
its marker stands, and its epoch may stand before both. A job that overwrites looks for the marker
first, or, where it replaces many files, when it knows which. Drivers may die anywhere; somebody
resumes what is decided, and aborts what is not, dead or alive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from tests.specs.explore import Found, explore_model
from tests.specs.look_beside_jobs import (
    DEAD,
    DONE,
    FILE,
    IN_VAIN,
    MARKER,
    NOBODY,
    OLD,
    Act,
    Driver,
    Jobs,
    Listing,
    State,
    Step,
)

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
    "reads_areas_beside_its_claim",  # and not when it stands
    "reads_no_areas_after_that",  # those that only the second listing shows are not looked at
]
WeakenedIfLiedTo: TypeAlias = Literal[
    "believes_an_empty_area",  # of a job that was not shown, `job.json` is read beside the look
]
TWO_PAGES = ("AL", "AO", "OA", "EE", "KK", "OO", "LA", "LO", "EO", "OE", "AE", "EA", "KO", "OK")
"""What the jobs do, oldest first: append (A), with one key (K), overwrite a few files (O) or many
(L), or refuse what is there (E)."""
LIED_TO = tuple(f"{jobs}, lied to" for jobs in ("AO", "OA", "EE", "KK", "OO"))
"""Those that somebody else may answer, and whose listings are one page each: both are too much."""
JOBS = (*TWO_PAGES, *LIED_TO)
BY_DAY = (*TWO_PAGES[:7], *LIED_TO[2:4])


def search(modes: str, weakened: Weakened | WeakenedIfLiedTo | None = None) -> Found:
    """Search every interleaving of jobs under the rules, but for one that may be *weakened*."""
    jobs, _, lied_to = modes.partition(", ")
    return explore_model(_Model(jobs, weakened, is_lied_to=bool(lied_to)))


def _whose(one: object) -> int:
    """The job of what is left to do."""
    return int(str(one[0] if isinstance(one, tuple) else one))


class _Model(Jobs):
    def __init__(
        self, modes: str, weakened: Weakened | WeakenedIfLiedTo | None, *, is_lied_to: bool
    ) -> None:
        super().__init__(modes, epoch_comes_late=weakened == "ends_before_its_epoch")
        self._is_lied_to = is_lied_to
        self._weakened = weakened
        markers = tuple(f"{MARKER}{job}" for job in self._jobs)
        files = (*(f"{FILE}{job}" for job in self._jobs), OLD)
        looks = {
            "A": markers,
            "K": (*markers, DONE),
            "E": (*files, *markers),
            "O": (*markers, *files),
            "L": files,
        }
        self._looks = [looks[mode] for mode in modes]

    def steps(self, now: State) -> Iterator[Step]:
        for job, driver in enumerate(now.drivers):
            if driver.at in {"dead", "over"}:
                continue
            yield f"{job} dies", self._to(now, job, DEAD)
            for label, following, left in self._drives(now, job, driver):
                yield f"{job} {label}", self._to(left, job, following)
        job, resumer = now.resumer
        if job >= 0:
            for label, following, left in self._finishes(now, job, resumer):
                whom = NOBODY if following.at == "over" else (job, following)
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
                yield f"lists {what}", driver._replace(first=shown if is_whole else IN_VAIN), now
        is_one_wave = self._weakened == "looks_beside_its_claim"  # Enough without these.
        if driver.begun is None and driver.first.is_done and not is_one_wave:
            begun = (driver.first.areas or frozenset()) - {job}
            driver = driver._replace(begun=begun, todo=tuple(sorted(begun)))
        stands = driver.claimed or self._weakened == "looks_beside_its_claim"
        ready = driver.first.is_done or self._weakened in {
            "lists_first_beside_the_look",
            "looks_beside_its_claim",
        }
        if stands and ready:
            yield from self._beside_the_second(now, job, driver)
        if driver.claimed or self._weakened == "reads_areas_beside_its_claim":
            yield from self._meets(now, job, driver)

    def _beside_the_second(self, now: State, job: int, driver: Driver) -> Iterator[Act]:
        if not driver.second.is_done:
            for what, shown in self._lists(now, driver.second):
                yield f"lists {what} again", driver._replace(second=shown), now
        has_listed = driver.claimed and driver.first.is_done and driver.second.is_done
        if driver.looked < len(self._looks[job]) and not self._is_in_vain(driver):
            yield self._look(now, job, driver)
        elif has_listed and all(isinstance(one, str) or self._is_late(one) for one in driver.todo):
            yield "has listed all", self._listed(job, driver), now

    def _is_late(self, one: object) -> bool:
        """Whether it is a read for which the look need not wait."""
        return self._weakened == "believes_an_empty_area" and one in {
            (job, "itself") for job in self._jobs
        }

    def _listed(self, job: int, driver: Driver) -> Driver:
        """What is left to do after the second listing: of jobs that it does not show, nothing."""
        areas = (driver.second.areas or frozenset()) - {job}
        new = areas - (driver.begun or frozenset())
        if self._weakened == "reads_no_areas_after_that":
            new = frozenset()
        todo = (*sorted(new), *(one for one in driver.todo if _whose(one) in areas))
        left = Driver("clear", todo=todo)
        is_late = any(map(self._is_late, todo))
        if self._may_have_missed_one(driver) or driver.doubted & areas or is_late:
            return left  # What is seen from now on is seen after they were over.
        return left._replace(looked=driver.looked, seen=driver.seen)

    def _lists(self, now: State, listing: Listing) -> Iterator[tuple[str, Listing]]:
        """What the next page of a listing may show, and what it has shown then."""
        pages = listing.pages + 1
        if not listing.pages:
            yield "all", Listing(now.areas, now.epochs, pages)
        if self._is_lied_to:
            return
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
        """Areas are looked at, and then jobs one after the other, beside a look that is left."""
        if driver.looked < len(self._looks[job]) and not driver.doubted:
            yield self._look(now, job, driver)
        yield from self._meets(now, job, driver)
        if all(isinstance(one, str) for one in driver.todo) and driver.todo:
            other, *rest = sorted(map(str, driver.todo))
            yield from self._reads(now, job, int(other), driver._replace(todo=tuple(rest)))
        elif not driver.todo and driver.doubted:
            yield "looks again", Driver("look"), now
        elif not driver.todo and driver.looked == len(self._looks[job]):
            yield "keeps what it saw", Driver("decide", seen=driver.seen), now

    def _meets(self, now: State, job: int, driver: Driver) -> Iterator[Act]:
        """The next area that is left is looked at: what its names say of the job."""
        other = next((one for one in driver.todo if not isinstance(one, str)), None)
        if other is None:
            return
        rest = tuple(one for one in driver.todo if one is not other)
        passes = driver._replace(todo=rest)
        if isinstance(other, tuple):
            yield from self._lists_area(now, job, other, passes)
            return
        assert isinstance(other, int)
        if other not in now.areas:
            yield f"finds {other} over", self._doubts(passes, other), now
            return
        if self._is_lied_to and not now.was_lied_to:
            reads = driver._replace(todo=((other, "itself"), *rest))
            yield f"is shown nothing of {other}", reads, now._replace(was_lied_to=True)
        if self._weakened == "passed_in_any_order":
            begins = driver._replace(todo=((other, "claims"), *rest))
            yield f"finds job.json of {other}", begins, now
        elif self._in_the_way(now, job, other):
            yield f"finds a claim of {other}", driver._replace(todo=(str(other), *rest)), now
        else:
            begins = driver._replace(todo=((other, "job.json"), *rest))
            yield f"finds no claim of {other}", begins, now

    def _lists_area(
        self, now: State, job: int, page: tuple[int, str], passes: Driver
    ) -> Iterator[Act]:
        """The second of two pages of an area, where the first one has shown nothing in the way.

        Or `job.json` itself, if it was not among the names.
        """
        other, names = page
        if names == "itself" and other in now.areas:
            found = passes._replace(todo=(str(other), *passes.todo))
            yield f"finds job.json of {other} after all", found, now
        elif names == "itself":
            doubts = passes if self._is_late(page) else self._doubts(passes, other)
            yield f"reads that {other} is over", doubts, now
        elif names == "job.json" and other not in now.areas:
            yield f"finds {other} over by now", self._doubts(passes, other), now
        elif names == "claims" and self._in_the_way(now, job, other):
            found = passes._replace(todo=(str(other), *passes.todo))
            yield f"finds a claim of {other}", found, now
        else:
            yield f"passes {other}", passes, now

    def _doubts(self, driver: Driver, other: int) -> Driver:
        if self._weakened == "over_does_not_count":  # Nor that it was waited for.
            return driver
        return driver._replace(doubted=driver.doubted | {other})

    def _in_the_way(self, now: State, job: int, other: int) -> bool:
        """Whether there are names in its area that say so."""
        names = other in now.areas and (other in now.claims or bool(now.decided[other]))
        return names and self._conflict(job, other)

    def _reads(self, now: State, job: int, other: int, passes: Driver) -> Iterator[Act]:
        """What is done about a job that showed a claim in our way, or a decision."""
        again = passes if self._weakened == "reading_more_counts" else self._doubts(passes, other)
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

    def _chooses(self, now: State, job: int, driver: Driver) -> Iterator[Act]:
        mode = self._modes[job]
        seen = driver.seen
        if mode == "L" and not driver.claimed:
            seen |= self._markers & now.there
            yield "looks for the marker", Driver("decide", claimed=True, seen=seen), now
            return
        files = seen - {DONE} - self._markers
        withdrawn = now._replace(claims=now.claims - {job})
        if (mode == "E" and files) or (mode == "K" and DONE in seen):
            yield "is refused", Driver("over"), withdrawn
        elif now.decided[job] or job not in now.areas:
            yield "is too late", Driver("over"), withdrawn
        else:
            goes = (files if mode in "OL" else frozenset()) | (seen & self._markers)
            replaced = (*now.replaced[:job], goes, *now.replaced[job + 1 :])
            left = self._decides(now, job, "C")._replace(replaced=replaced)
            yield "decides", Driver("remove"), left
