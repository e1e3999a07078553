"""Which directories of data a job lists before it decides, and how many of them at once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.effects import deletion
from fsspec_commit.errors import PartialCommitError, RequestError
from fsspec_commit.names import target
from fsspec_commit.protocol import branches, deleting
from fsspec_commit.protocol.attempt import commit_attempt
from fsspec_commit.protocol.list_ahead import ListAhead
from fsspec_commit.testing.simulation import FAMILIES
from tests.protocol.trips import Trips

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from fsspec_commit.effects.deletion import Permit
    from fsspec_commit.protocol.bound_job import BoundJob
    from fsspec_commit.protocol.result import CommitResult
    from fsspec_commit.store import Entry

pytestmark = pytest.mark.guarantees("P9")
UUID = "6a0d9b8e-5c0f-4a55-9f0e-0123456789ab"
WALKING = [name for name, family in FAMILIES.items() if family.page_entries is None]
PAGED = [name for name in FAMILIES if name not in WALKING]
FLAT = tuple(f"p={number:03}/old-{UUID}.txt" for number in range(900))
DEEP = tuple(
    f"y={year}/m={month}/d={day}/old-{UUID}.txt"
    for year in range(4)
    for month in range(5)
    for day in range(6)
)


async def replaced(
    trips: Trips, written: Iterable[str], **options: Any
) -> tuple[CommitResult, list[tuple[int, str]]]:
    """What a job says that writes to some partitions, and what it lists when it commits."""
    driver = await trips.begun(allow_empty=True, **options)
    job = driver.started()
    layout = job.layout.attempt(0, job.store.ids.attempt_id())
    output = job.committer.attempt(layout)
    for partition in written:
        await output.writer(job.final_name(target(f"{partition}/new.txt"), layout)).store(b"new")
    message = await commit_attempt(
        layout, output, job.store, rows=None, collect="messages", kept=job.own_manifests
    )
    begin = trips.taken
    await driver.commit([message], wait_s=0)
    assert driver.result is not None
    return driver.result, trips.listed(begin)


def looks_into(names: Iterable[str]) -> list[str]:
    """Where somebody else's work area is looked for once more."""
    return [f"{name}/_commit" for name in names]


@pytest.fixture
def _look_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is listed but by the look that counts."""
    monkeypatch.setattr(ListAhead, "begin", lambda *_: None)


@pytest.mark.usefixtures("_look_alone")
@pytest.mark.parametrize("family", FAMILIES)
def test_of_many_partitions_those_that_are_written_are_listed(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the directory they are in: for other spellings of a value, and files in no partition."""
    written = ["p=001", "p=450", "p=899"]
    trips = Trips(monkeypatch, family, old=FLAT)
    result, listed = trips.run(replaced(trips, written, mode="overwrite_partitions"))
    assert result.replaced_count == len(written)
    expected = ["", *written, *(looks_into(written) if family in WALKING else ())]
    assert Counter(name for _, name in listed) == Counter(expected)
    assert {trip for trip, name in listed if name in written} == {2}, "all at once"


@pytest.mark.usefixtures("_look_alone")
@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_is_listed_above_or_beside_what_it_must(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = ["y=1/m=2/d=3", "y=1/m=3/d=0", "y=3/m=0/d=5"]
    above = ["y=1", "y=3"], ["y=1/m=2", "y=1/m=3", "y=3/m=0"]
    trips = Trips(monkeypatch, family, old=DEEP)
    result, listed = trips.run(replaced(trips, written, mode="overwrite_partitions"))
    assert result.replaced_count == len(written)
    levels = [[""], *above, written]
    looks = looks_into([*above[0], *above[1], *(written if family in WALKING else ())])
    found = Counter(listed)
    assert found == Counter(
        [(trip, name) for trip, names in enumerate(levels, 1) for name in names]
        + [(len(levels) + 1, name) for name in looks]
    )


@pytest.mark.usefixtures("_look_alone")
@pytest.mark.parametrize("family", PAGED)
def test_what_is_declared_is_listed_as_one_each_and_at_once(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips = Trips(monkeypatch, family, old=DEEP)
    declared = ["y=0", "y=2", "y=3/m=1", "y=9"]
    result, listed = trips.run(
        replaced(trips, [], mode="overwrite_partitions", partitions=declared)
    )
    assert result.replaced_count == 2 * 5 * 6 + 6
    expected = [(1, ""), (2, "y=0"), (2, "y=2"), (3, "y=3"), (4, "y=3/m=1"), (5, "y=3/_commit")]
    assert sorted(listed) == expected, "what is above another one comes when these are listed"


@pytest.mark.parametrize("family", FAMILIES)
def test_an_overwrite_lists_an_empty_destination_once(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips = Trips(monkeypatch, family)
    result, listed = trips.run(replaced(trips, ["p=1"], mode="overwrite"))
    assert result.replaced_count == 0
    once = [(1, "")] if family in WALKING else [(1, ""), (2, "")]
    assert listed == once, "beside the claim, where that pays, and by the look"


@pytest.mark.parametrize("family", PAGED)
def test_a_short_tree_is_overwritten_with_one_listing(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips = Trips(monkeypatch, family, old=FLAT)
    result, listed = trips.run(replaced(trips, ["p=1"], mode="overwrite"))
    assert result.replaced_count == len(FLAT)
    assert listed == [(1, ""), (2, "")], "beside the claim, and by the look"


@pytest.mark.usefixtures("_soon_long")
@pytest.mark.parametrize("family", PAGED)
@pytest.mark.parametrize(
    ("mode", "partitions", "more"),
    [
        ("overwrite", 60, range(1, 2)),
        ("overwrite_partitions", 60, range(1)),
        ("overwrite_partitions", 16, range(1, 18)),
    ],
)
def test_beside_the_claim_little_is_listed(
    family: str, mode: str, partitions: int, more: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page of a long tree or directory, and no more than a few partitions."""
    monkeypatch.setattr(branches, "AHEAD_ENTRIES_MAX", 20)
    written = [f"p={number:03}" for number in range(partitions)]
    count = len(FLAT) if mode == "overwrite" else partitions
    for page_entries in (100, 1_000):
        found = []
        for is_alone in (False, True):
            with monkeypatch.context() as patch:
                if is_alone:
                    patch.setattr(ListAhead, "begin", lambda *_: None)
                trips = Trips(patch, family, old=FLAT, page_entries=page_entries)
                result, listed = trips.run(replaced(trips, written, mode=mode))
                assert result.replaced_count == count
                found.append(Counter(name for _, name in listed))
        assert (found[0] - found[1]).total() in more
        assert not found[1] - found[0]


@pytest.fixture
def _soon_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree of twenty files is long, and so is a branch of five."""
    monkeypatch.setattr(branches, "LONG", 20)
    monkeypatch.setattr(branches, "BRANCH_FILES_MIN", 5)


@pytest.mark.usefixtures("_soon_long")
@pytest.mark.parametrize("mode", ["overwrite", "overwrite_partitions"])
@pytest.mark.parametrize("most", [1, 3, 4])
@pytest.mark.parametrize("family", ["s3", *WALKING[:1]])
def test_no_more_are_listed_at_once_than_calls_may_be_in_flight(
    family: str, most: int, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a user says by ``concurrency=`` holds for pages after the first as well."""
    monkeypatch.setattr("fsspec_commit.effects.confirmed.store.IN_FLIGHT_MAX", most)
    trips = Trips(monkeypatch, family, old=DEEP, page_entries=2)
    years = [f"y={year}" for year in range(4)] if mode == "overwrite_partitions" else []
    doing = replaced(trips, ["y=1/m=1/d=1"], mode=mode, partitions=years)
    result, listed = trips.run(doing)
    assert result.replaced_count == len(DEEP)
    assert max(Counter(trip for trip, _ in listed).values()) <= most


@pytest.mark.usefixtures("_soon_long")
def test_a_long_tree_that_is_listed_in_no_order_is_overwritten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its first page is of many branches, so that it may seem to have many short ones."""
    trips = Trips(monkeypatch, "s3-express", old=DEEP)
    result, listed = trips.run(replaced(trips, ["y=1/m=1/d=1"], mode="overwrite"))
    assert result.replaced_count == len(DEEP)
    assert "" in {name for _, name in listed}


@pytest.mark.usefixtures("_look_alone", "_soon_long")
@pytest.mark.parametrize("family", [one for one in PAGED if FAMILIES[one].lists_by_name])
def test_a_long_tree_is_overwritten_branch_by_branch(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file once; and one more look for a work area, into what was listed by its branches."""
    trips = Trips(monkeypatch, family, old=DEEP)
    result, listed = trips.run(replaced(trips, ["y=1/m=1/d=1"], mode="overwrite"))
    assert result.replaced_count == len(DEEP)
    years = [f"y={year}" for year in range(4)]
    months = [f"{year}/m={month}" for year in years for month in range(5)]
    # Both are named twice: by the listing that turned out to be long, and by that of its branches.
    expected = ["", "", *years, *years, *looks_into(years)]
    below = [name for _, name in listed if name not in expected]
    assert Counter(name for _, name in listed if name in expected) == Counter(expected)
    assert sorted(below) == sorted(months)
    # Twenty months are two waves, of sixteen at most.
    assert [trip for trip, name in listed if name in looks_into(years)] == [7] * 4


@pytest.mark.guarantees("P10")
@pytest.mark.usefixtures("_soon_long")
@pytest.mark.parametrize("family", PAGED)
@pytest.mark.parametrize(
    "inner", ["y=2/_commit/epoch-0", "y=2/m=1/_commit/epoch-0", "y=2/m=1/d=1/_commit/a/job.json"]
)
def test_another_destination_in_a_long_tree_is_refused(
    family: str, inner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips = Trips(monkeypatch, family, old=(*DEEP, inner))
    with pytest.raises(RequestError, match="another destination lies inside it") as caught:
        trips.run(replaced(trips, ["y=1/m=1/d=1"], mode="overwrite"))
    assert caught.value.path == inner.partition("/_commit")[0]
    assert caught.value.outcome == "not_committed"


def test_old_files_of_many_batches_are_deleted_without_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While the last of one batch go, it is looked whether those of the next may."""
    monkeypatch.setattr("fsspec_commit.protocol.streamed_list._LINES_BYTES", 1_000)
    trips = Trips(monkeypatch, "s3", old=DEEP)

    async def commit() -> list[int]:
        begin = trips.taken
        result, _ = await replaced(trips, ["y=1"], mode="overwrite")
        assert result.replaced_count == len(DEEP)
        return trips.deleted(begin)

    deleted = trips.run(commit())
    assert len(deleted) == len(DEEP)
    batches = len(set(deleted))
    assert batches > 10
    assert max(deleted) - min(deleted) == batches - 1


@pytest.mark.guarantees("P8")
@pytest.mark.parametrize("stands", [1, 2, 5])
def test_nothing_of_a_batch_is_deleted_once_another_has_ended_the_job(
    stands: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the batches overlap: ``job.json`` is read for each, before the first of its files."""
    monkeypatch.setattr("fsspec_commit.protocol.streamed_list._LINES_BYTES", 1_000)
    looked, batches = 0, list[int]()
    stood, permitted = deleting._stood, deletion.of_replaced

    async def looks(job: BoundJob) -> datetime:
        nonlocal looked
        looked += 1
        if looked > stands:
            raise PartialCommitError("job.json is not there", stage="replace")
        return await stood(job)

    def counted(*given: Any) -> tuple[Permit, list[Entry]]:
        permit, entries = permitted(*given)
        batches.append(len(entries))
        return permit, entries

    monkeypatch.setattr(deleting, "_stood", looks)
    monkeypatch.setattr(deletion, "of_replaced", counted)
    trips = Trips(monkeypatch, "s3", old=DEEP)
    with pytest.raises(PartialCommitError, match=r"job\.json is not there"):
        trips.run(replaced(trips, ["y=1"], mode="overwrite"))
    assert len(batches) == stands + 1
    assert len(trips.deleted(0)) == sum(batches[:-1])
