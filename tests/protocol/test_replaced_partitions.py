"""Which old files go with the partitions that a job replaces, which stay, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import CommitError, RequestError
from fsspec_commit.ids import Nonce
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import put, url
from tests.protocol.in_virtual_time import Clock, started, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.protocol.result import CommitResult

pytestmark = pytest.mark.guarantees("P9")
NEW = "new.txt"


@pytest.fixture(params=["gcs", "gen2", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


async def replaced(
    bucket: Bucket, *written: str, old: tuple[str, ...], declared: tuple[str, ...] = ()
) -> tuple[CommitResult, set[str]]:
    """What a job that writes to some partitions says, and which of the old files stay."""
    for name in old:
        put(bucket, f"{bucket.name}/out/{name}", b"old")
    options: dict[str, Any] = {"mode": "overwrite_partitions", "partitions": [*declared]}
    driver = await started(url(bucket), Clock(), allow_empty=True, **options)
    message = await wrote(driver, *(f"{partition}/{NEW}" for partition in written))
    try:
        await driver.commit([message], wait_s=0)
    except CommitError:
        await driver.abort()
        raise
    assert driver.result is not None
    beginning = len(f"{bucket.name}/out/")
    names = {key[beginning:] for key in bucket.keys(f"{bucket.name}/out/")}
    assert {name.rpartition("/")[0] for name in driver.result.files} == {*written}
    return driver.result, names & {*old}


async def refused(bucket: Bucket, *written: str, **how: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        await replaced(bucket, *written, **how)
    assert caught.value.outcome == "not_committed"
    assert caught.value.stage == "check"
    return caught.value


OLD = (
    *("day=1/a", "day=1/b", "day=1/hour=1/a", "day=1/_hidden"),
    *("day=2/a", "day=2/hour=1/a", "day=2/hour=1/_hidden"),
    *("day=3/a", "day=30/a", "other/day=1/a"),
)


@pytest.mark.parametrize(
    ("written", "declared", "gone"),
    [
        (["day=1"], [], {"day=1/a", "day=1/b"}),
        (["day=1/hour=1"], [], {"day=1/hour=1/a"}),
        (["day=1", "day=1/hour=1"], [], {"day=1/a", "day=1/b", "day=1/hour=1/a"}),
        (["day=9"], [], set()),
        ([], ["day=2"], {"day=2/a", "day=2/hour=1/a"}),
        ([], ["day=2/hour=1"], {"day=2/hour=1/a"}),
        (["day=1"], ["day=2", "day=4"], {"day=1/a", "day=1/b", "day=2/a", "day=2/hour=1/a"}),
        (["day=3"], ["day=3"], {"day=3/a"}),
        (["day=2/hour=1"], ["day=2"], {"day=2/a", "day=2/hour=1/a"}),
    ],
)
def test_what_was_written_goes_alone_and_what_was_declared_with_all_below(
    bucket: Bucket, written: list[str], declared: list[str], gone: set[str]
) -> None:
    async def main() -> None:
        result, stay = await replaced(bucket, *written, old=OLD, declared=(*declared,))
        assert {*OLD} - stay == gone
        assert (result.replaced_count, result.warnings) == (len(gone), ())

    run(main())


@pytest.mark.parametrize(
    ("outside", "warning"),
    [
        (["b"], "not in a partition: 'b' stays, and readers of the whole"),
        (["b", "c", "a", "_hidden"], "not in a partition: 'a' and 2 more stay, and readers of"),
    ],
)
def test_of_files_in_no_partition_it_is_said_that_they_stay(
    bucket: Bucket, outside: list[str], warning: str
) -> None:
    async def main() -> None:
        result, stay = await replaced(bucket, "day=1", old=(*outside, "day=1/a", "day=2/a"))
        [said] = result.warnings
        assert said.startswith(warning)
        assert stay == {*outside, "day=2/a"}

    run(main())


@pytest.mark.parametrize("declared", [["day=1/a"], ["b"], ["day=1/a", "b"]])
def test_of_a_file_declared_for_a_partition_it_is_said_that_it_stays(
    bucket: Bucket, declared: list[str]
) -> None:
    async def main() -> None:
        result, stay = await replaced(
            bucket, old=("b", "day=1/a", "day=1/c"), declared=(*declared,)
        )
        told = [one for one in result.warnings if one.startswith("no partition: ")]
        assert [one.split("'")[1] for one in told] == sorted(declared)
        assert stay == {"b", "day=1/a", "day=1/c"}

    run(main())


@pytest.mark.parametrize(
    ("other", "written"),
    [("k=a%20b", "k=a b"), ("k=a b", "k=a%20b"), ("k=1/v=%41", "k=1/v=A"), ("k=%41", "k=A/v=1")],
)
def test_a_value_whose_only_rows_are_under_another_spelling_is_refused(
    bucket: Bucket, other: str, written: str
) -> None:
    """Readers take both for one: they would see the old rows beside the new ones."""

    async def main() -> None:
        inner = written.removeprefix("k=A") if written.startswith("k=A") else ""
        error = await refused(bucket, written, old=(f"{other}{inner}/a", "k=z/a"))
        spelled = f"{other}{inner}"
        assert (error.kind, error.path) == ("partition_spelled_otherwise", spelled)
        assert str(error).startswith(
            f"cannot replace partition {written!r} of {url(bucket)!r}: {spelled!r} holds rows that"
        )
        assert f"replace them as well with partitions=[{spelled!r}]" in str(error)

    run(main())


@pytest.mark.parametrize(
    ("old", "declared", "stay"),
    [
        pytest.param(("k=a%20b/a", "k=a b/a"), (), {"k=a%20b/a"}, id="both have rows"),
        pytest.param(("k=a%20b/_a",), (), {"k=a%20b/_a"}, id="nothing that is read"),
        pytest.param(("k=a%20b/a", "k=z/a"), ("k=a%20b",), {"k=z/a"}, id="it is replaced as well"),
        pytest.param(("k=a%20b/v=1/a",), ("k=a%20b",), set(), id="with what is below"),
        pytest.param(("k=a%2520b/a",), (), {"k=a%2520b/a"}, id="it is another value"),
    ],
)
def test_another_spelling_is_no_matter_where_its_rows_are_told_apart_or_go(
    bucket: Bucket, old: tuple[str, ...], declared: tuple[str, ...], stay: set[str]
) -> None:
    async def main() -> None:
        _, left = await replaced(bucket, "k=a b", old=old, declared=declared)
        assert left == stay

    run(main())


@pytest.mark.guarantees("P11")
def test_below_a_declared_partition_rows_of_the_same_value_are_not_added_to(
    bucket: Bucket,
) -> None:
    """The declared one has rows, but none of this value: those of it stay, under another name."""

    async def main() -> None:
        old = ("day=1/hour=2/a", "day=%31/hour=1/a")
        error = await refused(bucket, "day=1/hour=1", old=old, declared=("day=1",))
        assert (error.kind, error.path) == ("partition_spelled_otherwise", "day=%31/hour=1")
        both = ("day=1", "day=%31/hour=1")
        _, stay = await replaced(bucket, "day=1/hour=1", old=old, declared=both)
        assert not stay

    run(main())


@pytest.mark.parametrize(
    ("old", "written", "stay"),
    [
        pytest.param(
            ("day=1/hour=1/a", "day=%31/hour=1/a"),
            "day=1/hour=1",
            {"day=%31/hour=1/a"},
            id="both have rows",
        ),
        pytest.param(
            ("day=1/hour=2/a", "day=%31/hour=3/a"),
            "day=1/hour=1",
            {"day=%31/hour=3/a"},
            id="it is another value",
        ),
        pytest.param(("day=1/hour=%31/a",), "day=1/hour=1", set(), id="the last name alone"),
        pytest.param(("day=%31/hour=1/a",), "day=%31/hour=1", set(), id="it is replaced"),
    ],
)
def test_below_a_declared_partition_others_are_no_matter(
    bucket: Bucket, old: tuple[str, ...], written: str, stay: set[str]
) -> None:
    async def main() -> None:
        _, left = await replaced(bucket, written, old=old, declared=("day=1",))
        assert left == stay

    run(main())


def test_of_several_values_that_are_spelled_otherwise_the_first_is_told(bucket: Bucket) -> None:
    async def main() -> None:
        old = ("k=c%20/a", "k=b%20/a", "k=d%20/a")
        error = await refused(bucket, "k=d ", "k=b ", "k=c ", old=old)
        assert error.path == "k=b%20"

    run(main())


@pytest.mark.guarantees("P10")
@pytest.mark.parametrize("written", ["day=1", "day=1/hour=1"])
def test_a_destination_in_a_partition_or_above_it_is_refused(bucket: Bucket, written: str) -> None:
    """Its files are those of its own jobs; what such a job has left is empty, or stands alone."""

    async def main() -> None:
        inner = f"day=1/_commit/epoch-{Nonce('0' * 32)}"
        error = await refused(bucket, written, old=(inner, "day=1/a", "day=1/hour=1/a"))
        assert (error.kind, error.path) == ("nested_destination", "day=1")
        assert "another destination lies inside it, at 'day=1'" in str(error)

    run(main())


@pytest.mark.guarantees("P10")
def test_a_destination_below_a_declared_partition_is_refused(bucket: Bucket) -> None:
    async def main() -> None:
        inner = f"day=1/inner/_commit/epoch-{Nonce('0' * 32)}"
        error = await refused(bucket, old=(inner, "day=1/a"), declared=("day=1",))
        assert (error.kind, error.path) == ("nested_destination", "day=1/inner")
        _, stay = await replaced(bucket, "day=1", old=("day=1/a",))
        assert stay == set(), "which it is below, and not in"

    run(main())


@pytest.mark.parametrize("bucket", ["versioned"], indirect=True)
def test_a_file_in_the_path_of_a_new_one_is_refused(bucket: Bucket) -> None:
    async def main() -> None:
        error = await refused(bucket, "day=1/hour=1", "day=2", old=("day=1", "day=2/a"))
        assert (error.kind, error.path) == ("file_in_the_way", "day=1")

    run(main())
