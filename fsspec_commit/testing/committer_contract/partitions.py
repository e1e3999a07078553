"""overwrite_partitions: the partitions that are written to are replaced, the rest is left."""

import pytest

import fsspec_commit as fc
from fsspec_commit.testing.committer_contract.given import Given, Place, request_refused

_OLD = {
    "top.txt": b"top",
    "day=1/a.txt": b"1a",
    "day=1/hour=1/a.txt": b"11a",
    "day=2/a.txt": b"2a",
    "day=2/hour=1/a.txt": b"21a",
    "day=3/a.txt": b"3a",
    "day=30/a.txt": b"30a",
}

NAMED = "part-6a0d9b8e-5c0f-4a55-9f0e-0123456789ab.txt"
"""A name that is never used again, so it may be deleted on every store."""
ALIKE = [
    pytest.param("code=A", "code=a", id="case"),
    pytest.param("name=stra\N{LATIN SMALL LETTER SHARP S}e", "name=STRASSE", id="case of two"),
    pytest.param("name=\N{LATIN SMALL LETTER E WITH ACUTE}", "name=e\u0301", id="normal form"),
    pytest.param("name=a b", "name=a%20b", id="escape"),
    pytest.param("month=1", "month=01", id="zero"),
    pytest.param("k=1/code=A", "k=1/code=a", id="below"),
    pytest.param("K=1/code=a", "k=1/code=a", id="above"),
]
"""Partitions that a file system, or a reader, may take for one and the same."""


def _without(*prefixes: str) -> dict[str, bytes]:
    return {name: data for name, data in _OLD.items() if not name.startswith(prefixes)}


@pytest.mark.guarantees("P9")
class PartitionsContract(Given):
    """`mode="overwrite_partitions"`."""

    def test_only_what_is_written_is_replaced(self, place: Place) -> None:
        """Each directory that is written, without its subdirectories; `day=3` is not `day=30`."""
        place.put(_OLD)
        new = {"day=1/b.txt": b"new 1", "day=3/a.txt": b"new 3"}
        result = place.commit([new], mode="overwrite_partitions")
        assert sorted(result.partitions) == ["day=1", "day=3"]
        assert result.replaced_count == len({"day=1/a.txt", "day=3/a.txt"})
        place.assert_committed(_without("day=1/a", "day=3/"), new)

    def test_a_declared_partition_goes_with_all_below_it(self, place: Place) -> None:
        """And another declared one, to which nothing was written, is cleared."""
        place.put(_OLD)
        new = {"day=1/hour=2/b.txt": b"new"}
        place.commit([new], mode="overwrite_partitions", partitions=["day=1", "day=2"])
        place.assert_committed(_without("day=1/", "day=2/"), new)

    def test_an_empty_result_clears_what_is_declared(self, place: Place) -> None:
        """A query without rows for a day is a result."""
        place.put(_OLD)
        place.commit([{}], mode="overwrite_partitions", partitions=["day=3"])
        place.assert_committed(_without("day=3/"))

    def test_a_file_outside_of_any_partition_is_refused(self, place: Place) -> None:
        """It would clear everything."""
        place.put(_OLD)
        with request_refused("file_outside_partition"):
            place.commit([{"top.txt": b"new"}], mode="overwrite_partitions")
        place.assert_untouched(_OLD)

    def test_files_in_no_partition_stay_and_are_told_of(self, place: Place) -> None:
        """Readers of the whole dataset mix them with the new rows, and the job's result says so."""
        old = {"part-0.txt": b"0", "part-1.txt": b"1", "year=1/x.txt": b"1", "year=2/x.txt": b"2"}
        place.put({**old, "_hidden": b"h"})
        new = {"year=1/day=1/a.txt": b"new"}
        result = place.commit([new], mode="overwrite_partitions")
        place.assert_committed(old, new)
        [told] = result.warnings
        assert "'part-0.txt' and 1 more" in told
        assert 'mode="overwrite"' in told

    def test_several_tasks_write_one_partition(self, place: Place) -> None:
        """It is replaced once, by all of them."""
        place.put(_OLD)
        new = [{"day=1/part.txt": b"%d" % number} for number in range(3)]
        place.commit(new, mode="overwrite_partitions")
        place.assert_committed(_without("day=1/a"), *new)

    def test_a_new_partition_is_added(self, place: Place) -> None:
        """Nothing needs to be there to be replaced."""
        place.put(_OLD)
        place.commit([{"day=9/a.txt": b"new"}], mode="overwrite_partitions")
        place.assert_committed(_OLD, {"day=9/a.txt": b"new"})

    @pytest.mark.parametrize(("written", "other"), ALIKE)
    def test_a_partition_of_another_name_is_left_alone(
        self, place: Place, written: str, other: str
    ) -> None:
        """However alike they are: what is removed is removed by its exact name.

        A store that takes both for one keeps the name that was there first, and the other is
        refused.
        """
        old = {f"{written}/{NAMED}": b"old", f"{other}/{NAMED}": b"another's"}
        place.put(old)
        there = place.everything()
        if len(there) != len(old):
            with request_refused("partition_spelled_otherwise") as caught:
                place.commit([{f"{other}/a.txt": b"new"}], mode="overwrite_partitions")
            for name in (written, other):
                assert name.rsplit("=", maxsplit=1)[-1] in str(caught.value)
            assert place.everything() == there
            return
        new = {f"{written}/a.txt": b"new"}
        result = place.commit([new], mode="overwrite_partitions")
        assert result.replaced_count == 1
        place.assert_committed(new, {f"{other}/{NAMED}": b"another's"})

    def test_a_second_spelling_of_a_value_is_refused(self, place: Place) -> None:
        """Readers would see old rows beside the new: the error gives both names, and a remedy."""
        old = {f"name=a%20b/{NAMED}": b"old", f"name=1/{NAMED}": b"1"}
        place.put(old)
        new = {"name=a b/x.txt": b"new"}
        with request_refused("partition_spelled_otherwise") as caught:
            place.commit([new], mode="overwrite_partitions")
        assert "name=a b" in str(caught.value)
        assert "name=a%20b" in str(caught.value)
        place.assert_untouched(old)
        place.commit([new], mode="overwrite_partitions", partitions=["name=a%20b"])
        place.assert_committed(new, {f"name=1/{NAMED}": b"1"})

    @pytest.mark.parametrize("partition", ["../x", "/abs", "_commit", "s3://b/x", "a/../.."])
    def test_a_partition_outside_of_the_destination_is_refused(
        self, place: Place, partition: str
    ) -> None:
        """Whatever a caller says, nothing outside is cleared (P10)."""
        place.put(_OLD)
        with pytest.raises(fc.RequestError):
            place.commit([{}], mode="overwrite_partitions", partitions=[partition])
        place.assert_untouched(_OLD)
