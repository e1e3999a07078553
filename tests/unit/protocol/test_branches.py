"""Long trees are listed by their branches: each file once, few requests more, in much less time."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.names import AREA
from fsspec_commit.protocol import branches
from fsspec_commit.protocol.branches import AT_ONCE_MAX, Branches
from fsspec_commit.store import Directory, Entry, Token
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

PAGE = 1_000
OUT = StorePath("b/out")
AREAS = StorePath(f"{OUT}/_commit")


class Paged:
    """A flat store: keys in their order, a page a request, each of which takes a second.

    Attributes:
        requests: How many there were.
        at_once: How many were under way at once.
        open: How many listings are open.
        shown: How many entries were on pages that were asked for.
        failing: A directory that cannot be listed.
    """

    def __init__(self, names: Iterable[str], page: int = PAGE, *, in_flight_max: int = 64) -> None:
        self.in_flight_max = in_flight_max
        self.keys = sorted(f"{OUT}/{name}" for name in names)
        self.page = page
        self.requests = self.under_way = self.at_once = self.open = self.shown = 0
        self.failing: str | None = None

    async def list_tree(self, path: str, *, without: str | None = None) -> AsyncIterator[Entry]:
        found = (key for key in self.keys if key.startswith(f"{path}/"))
        kept = (key for key in found if not key.endswith("/"))
        keys = [key for key in kept if without is None or not key.startswith(f"{without}/")]
        async for page in self._pages(path, keys):
            for key in page:
                yield entry(key)

    async def children(self, path: str) -> AsyncIterator[Entry | Directory]:
        found: dict[str, Entry | Directory] = {}
        for key in self.keys:
            if key.startswith(f"{path}/"):
                name, slash, _ = key[len(path) + 1 :].partition("/")
                child = f"{path}/{name}"
                if name or slash:  # else it is the directory's own marker
                    found[child + slash] = Directory(StorePath(child)) if slash else entry(child)
        async for page in self._pages(path, list(found)):
            for key in page:
                yield found[key]

    async def _pages(self, path: str, keys: list[str]) -> AsyncIterator[list[str]]:
        self.open += 1
        try:
            for begin in range(0, max(1, len(keys)), self.page):
                self.requests += 1
                self.under_way += 1
                self.at_once = max(self.at_once, self.under_way)
                try:
                    await asyncio.sleep(1)
                finally:
                    self.under_way -= 1
                if path == self.failing:
                    raise StoreError("not yours", reply=Reply.REFUSED)
                page = keys[begin : begin + self.page]
                self.shown += len(page)
                yield page
        finally:
            self.open -= 1


def entry(key: str) -> Entry:
    return Entry(path=StorePath(key), size_bytes=1, token=Token("1"))


def tree(shape: dict[str, int]) -> Iterator[str]:
    """So many files in each of some directories, whose name ends in a slash or is empty."""
    return (f"{above}part-{number:07}" for above, count in shape.items() for number in range(count))


async def listed(store: Paged) -> tuple[list[str], Branches, int]:
    """What is found, and the most that was shown and not yet taken."""
    held, found = 0, list[str]()
    lists = Branches(store, without=AREAS)  # type: ignore[arg-type]  # all that is asked of it
    async for one in lists.files_below(OUT):
        held = max(held, store.shown - len(found))
        found.append(one.path)
    return found, lists, held


def check(store: Paged) -> tuple[Branches, float]:
    """Check that each file is found once; return who listed them, and how long it took."""
    (found, lists, _), took = run(listed(store))
    expected = [key for key in store.keys if not key.startswith(f"{AREAS}/")]
    assert sorted(found) == [key for key in expected if not key.endswith("/")]
    assert (store.open, store.under_way) == (0, 0)
    return lists, took


def pages(count: int) -> int:
    return -(-count // PAGE)


def test_what_stays_is_listed_by_branches_without_the_area_of_another_destination() -> None:
    """It was listed page after page, and so were fifty thousand records."""
    files = tree({f"day=%31/hour={number}/": 5_000 for number in range(16)})
    records = tree({"day=%31/_commit/": 50_000})
    store = Paged([*files, *records])
    job: Any = SimpleNamespace(
        walks=False,
        looks_ahead=False,
        store=store,
        layout=SimpleNamespace(destination=DestinationLayout(OUT)),
    )

    async def stays() -> list[str]:
        path = StorePath(f"{OUT}/day=%31")
        return [name async for name in branches.files_that_stay(job, path, opening=asyncio.Lock())]

    found, took = run(stays())
    expected = [key.removeprefix(f"{OUT}/") for key in store.keys if f"/{AREA}/" not in key]
    assert sorted(found) == expected
    assert took < pages(len(expected)) / 4


@pytest.mark.parametrize("count", [0, 1, 999, 2_047])
def test_a_short_tree_is_listed_as_one(count: int) -> None:
    store = Paged(tree({f"day={number}/": count // 2 for number in range(2)}))
    lists, took = check(store)
    assert store.requests == took == max(1, pages(count // 2 * 2))
    assert not lists.opened


@pytest.mark.parametrize(
    ("shape", "requests", "trips"),
    [
        pytest.param(
            {f"day={number}/": 10_000 for number in range(20)},
            # Three pages show that it is long, one names the branches, of which 16 are looked at.
            *(3 + 1 + 16 + 20 * 10, 3 + 1 + 1 + 20),
            id="wide",
        ),
        pytest.param(
            {f"y={year}/m={month}/": 2_000 for year in range(5) for month in range(10)},
            *(3 + 1 + 5 * (3 + 1) + 50 * 2, 3 + 1 + 4 + 8),
            id="deep",
        ),
        pytest.param(
            {f"a/b/c={number}/": 5_000 for number in range(10)},
            *(3 + 3 + 10 * 5, 3 + 3 + 5),
            id="in one directory",
        ),
    ],
)
def test_a_long_tree_takes_few_more_requests_in_much_less_time(
    shape: dict[str, int], requests: int, trips: int
) -> None:
    store = Paged(tree(shape))
    _, took = check(store)
    assert store.requests == requests
    assert took == trips
    assert took < pages(sum(shape.values())) / 3
    assert store.at_once <= AT_ONCE_MAX


@pytest.mark.parametrize("most", [1, 2, 3, 5, 16])
@pytest.mark.parametrize("count", [10, 20], ids=["few", "many, of which some are looked at"])
def test_no_more_are_listed_at_once_than_calls_may_be_in_flight(most: int, count: int) -> None:
    shape = {f"day={number:02}/": 3_000 for number in range(count)}
    store = Paged(tree(shape), in_flight_max=most)
    lists, _ = check(store)
    assert store.at_once <= most
    assert bool(lists.opened) is (most > 2), "one after the other, branches shorten nothing"


@pytest.mark.parametrize(
    ("shape", "wasted"),
    [
        pytest.param({"": 20_000}, 0, id="flat"),
        pytest.param({f"c={number:05}/": 2 for number in range(10_000)}, 0, id="small ones"),
        pytest.param(
            {"a/": 5_000, **{f"c={number:05}/": 1 for number in range(8_000)}},
            *(9 + 16,),
            id="small ones after a large one",
        ),
        pytest.param({"a/": 3_000, "": 15_000}, 11, id="many files beside one"),
        pytest.param({"a/": 3_000, "/": 3_000, "z/": 5_000}, 1, id="a name that is none"),
        pytest.param({"a/": 3_000, "./": 3_000, "../": 5_000}, 1, id="a name with a meaning"),
    ],
)
def test_what_branches_would_not_shorten_is_listed_as_one(
    shape: dict[str, int], wasted: int
) -> None:
    store = Paged(tree(shape))
    lists, _ = check(store)
    assert store.requests == pages(sum(shape.values())) + wasted
    assert not lists.opened


def test_odd_names_are_found_once() -> None:
    """Those that begin alike, look encoded, are no letters, or only make a directory be seen."""
    odd = ("k=1", "k=1.", "k=10", "k=1/j", "k=%31", "k=a b", "ä", "a\u0308", "𝄞", "_hidden", "~")
    shape = {f"{name}/": 600 for name in odd}
    more = ["k=1", "_commit/epoch-1", "_commit/a/b", "k=1/", "k=10/", "empty/", "_commit2/x"]
    lists, _ = check(Paged([*tree(shape), *more]))
    assert lists.opened == [OUT]


def test_a_work_area_in_there_is_listed_first_of_all() -> None:
    """Whoever refuses it has it from the listing in which it was."""
    names = [*tree({f"day={number}/": 3_000 for number in range(3)}), "day=0/_commit/epoch-1"]
    lists, _ = check(Paged(names))
    assert not lists.opened


@pytest.mark.parametrize("count", [20_000, 80_000])
def test_how_much_is_held_does_not_depend_on_how_much_there_is(count: int) -> None:
    store = Paged(tree({f"day={number}/": count for number in range(4)}))
    (found, _, held), _ = run(listed(store))
    assert len(found) == 4 * count
    # Of each branch what it began with, and a page; and what has arrived and was not yet taken.
    assert held - 3 * PAGE - 2 * PAGE <= 4 * (branches.LONG + PAGE) + AT_ONCE_MAX * 256


def test_a_branch_that_cannot_be_listed_ends_it() -> None:
    store = Paged(tree({f"day={number}/": 3_000 for number in range(40)}))
    store.failing = f"{OUT}/day=39"
    with pytest.raises(StoreError, match="not yours"):
        run(listed(store))
    assert (store.open, store.under_way) == (0, 0)


def test_who_stops_asks_for_nothing_more() -> None:
    async def main() -> None:
        lists = Branches(store, without=AREAS)  # type: ignore[arg-type]  # all that is asked of it
        files: Any = lists.files_below(OUT)
        for _ in range(3_000):
            await anext(files)
        await files.aclose()
        before = store.requests
        await asyncio.sleep(100)
        assert store.requests == before

    store = Paged(tree({f"day={number}/": 3_000 for number in range(40)}))
    run(main())
    assert (store.open, store.under_way) == (0, 0)


NAMES = st.lists(
    st.lists(st.sampled_from(["a", "b", "a.", "a-", "", "é", "_commit"]), min_size=1, max_size=4),
    max_size=40,
).map(lambda names: {"/".join(name) for name in names} - {""})


@settings(max_examples=60, deadline=None)
@given(NAMES, st.integers(1, 4), st.integers(1, 3))
@example({"a/a", "a/b", "a/", "a"}, 1, 1)
@example({"a/a/a", "a/"}, 1, 1)
def test_any_tree_is_listed_whole(names: set[str], long: int, page: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branches, "LONG", long)
        patch.setattr(branches, "BRANCH_FILES_MIN", 1)
        check(Paged(names, page))
