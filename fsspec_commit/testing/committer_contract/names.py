"""Names: exact ones, odd ones, forbidden ones."""

import pytest

import fsspec_commit as fc
from fsspec_commit.testing.committer_contract.given import (
    Given,
    Place,
    raises,
    request_refused,
    write,
)
from fsspec_commit.testing.store_contract.names import ODD_NAMES, label

_OUTSIDE = ("../x", "a/../../x", "/abs/x", "..", "file:///x", "s3://bucket/x", "")
_RESERVED = (
    *("_commit/x", "a/_commit/x", "a/_Commit/x", "_commit"),
    *("_SUCCESS", "_SUCCESS/x", "a/_SUCCESS", "a/_SUCCESS/x", "_success", "a/_Success/x"),
)

_UUID = "6a0d9b8e-5c0f-4a55-9f0e-0123456789ab"
"""What makes a name one that is never used again, so that it may be deleted on every store."""


def _exact(place: Place) -> None:
    if not place.takes_exact_names():
        pytest.skip("uploads are keyed by path on this store: exact names are not declared safe")


@pytest.mark.guarantees("P10")
class NamesContract(Given):
    """`names`, and what a file may be called."""

    def test_unique_names_say_whose_they_are(self, place: Place) -> None:
        """Job and task before the extension."""
        result = place.commit([{"d/part.csv.gz": b"1", "plain": b"2"}])
        suffix = f"-{result.job_id}-0"
        names = sorted(result.files)
        assert names[0].startswith(f"d/part{suffix}")
        assert names[0].endswith(".csv.gz")
        assert names[1].startswith(f"plain{suffix}")

    def test_a_hidden_name_stays_as_it_is(self, place: Place) -> None:
        """Or is refused before the job has decided, where names must be unique (P8)."""
        files = [{"part.csv": b"1", "_meta": b"2", ".d/part.csv": b"3"}]
        if place.takes_exact_names():
            assert "_meta" in place.commit(files).files
        else:
            with raises(fc.UnsafeStoreError, "not_committed") as caught:
                place.commit(files)
            assert caught.value.path == "_meta"
            place.assert_untouched()

    def test_exact_names_are_kept(self, place: Place) -> None:
        """Byte for byte the names that were given."""
        _exact(place)
        result = place.commit([{"a.txt": b"a"}, {"d/e/b.txt": b"b"}], names="exact")
        assert sorted(result.files) == ["a.txt", "d/e/b.txt"]
        assert place.everything() == {"a.txt": b"a", "d/e/b.txt": b"b", "_SUCCESS": b""}
        place.assert_committed({"a.txt": b"a", "d/e/b.txt": b"b"})

    def test_one_name_of_two_tasks_is_refused(self, place: Place) -> None:
        """Exact names collide: nobody's file is lost in silence."""
        _exact(place)
        with request_refused("duplicate_file") as caught:
            place.commit(names="exact")
        assert "part.txt" in str(caught.value)
        place.assert_untouched()

    def test_append_never_replaces_a_name(self, place: Place) -> None:
        """The file that stands stays, and nothing beside it appears."""
        _exact(place)
        place.put({"a.txt": b"old"})
        with raises(fc.DestinationExistsError, "not_committed"):
            place.commit([{"a.txt": b"new", "b.txt": b"new"}], names="exact", mode="append")
        place.assert_untouched({"a.txt": b"old"})

    def test_overwrite_replaces_a_name_in_place(self, place: Place) -> None:
        """The result says so; the rest of the old files is removed (P9)."""
        _exact(place)
        place.put({"a.txt": b"old", "d/b.txt": b"old", "c.txt": b"old"})
        new = {"a.txt": b"new", "d/b.txt": b"new too", "e.txt": b"more"}
        result = place.commit([new], names="exact", mode="overwrite")
        assert sorted(result.in_place) == ["a.txt", "d/b.txt"]
        place.assert_committed(new)
        assert sorted(result.files) == sorted(new)

    def test_a_partition_is_replaced_in_place(self, place: Place) -> None:
        """As under overwrite, partition by partition."""
        _exact(place)
        place.put({"day=1/a.txt": b"old", "day=1/b.txt": b"old", "day=2/a.txt": b"2"})
        new = {"day=1/a.txt": b"new"}
        result = place.commit([new], names="exact", mode="overwrite_partitions")
        assert list(result.in_place) == ["day=1/a.txt"]
        place.assert_committed(new, {"day=2/a.txt": b"2"})

    def test_the_same_bytes_are_replaced_too(self, place: Place) -> None:
        """Equal content is no reason to lose a file, or to keep an old one."""
        _exact(place)
        for _ in range(3):
            place.commit([{"a.txt": b"same", "b.txt": b"same"}], names="exact", mode="overwrite")
            place.assert_committed({"a.txt": b"same", "b.txt": b"same"})

    @pytest.mark.parametrize("count", [1, 12])
    @pytest.mark.parametrize("mode", ["append", "overwrite"])
    def test_a_file_in_the_way_of_a_directory_is_refused(
        self, place: Place, mode: fc.Mode, count: int
    ) -> None:
        """Before the decision, however many files are written (P8)."""
        _exact(place)
        place.put({f"x-{_UUID}": b"old"})
        new = {f"d{n}/new.txt": b"new" for n in range(count - 1)}
        with request_refused("file_in_the_way"):
            place.commit([{f"x-{_UUID}/y/new.txt": b"new", **new}], names="exact", mode=mode)
        place.assert_untouched({f"x-{_UUID}": b"old"})

    @pytest.mark.parametrize("count", [1, 12])
    @pytest.mark.parametrize("mode", ["append", "overwrite", "overwrite_partitions"])
    def test_an_emptied_directory_in_the_way_is_refused(
        self, place: Place, mode: fc.Mode, count: int
    ) -> None:
        """Before the decision, where directories can be empty; else nothing is in the way (P8)."""
        _exact(place)
        place.put({f"d/x.txt/old-{_UUID}": b"old"})
        place.commit([{f"other-{_UUID}.txt": b"old"}], names="exact", mode="overwrite")
        place.assert_committed(old := {f"other-{_UUID}.txt": b"old"})
        new = {"d/x.txt": b"new", **{f"d/{n}.txt": b"new" for n in range(count - 1)}}
        try:
            place.commit([new], names="exact", mode=mode)
        except (fc.RequestError, fc.DestinationExistsError) as error:
            assert error.outcome == "not_committed"
            assert "d/x.txt" in str(error)
            place.assert_untouched(old)
        else:
            place.assert_committed(new, {} if mode == "overwrite" else old)

    @pytest.mark.parametrize("name", ODD_NAMES, ids=label)
    def test_an_odd_name_is_committed_or_refused(self, place: Place, name: str) -> None:
        """Kept to the byte through task, manifest and publishing, or refused at once."""
        _exact(place)
        files = {f"d/{name}/{name}": b"odd", "plain.txt": b"plain"}
        try:
            place.commit([files], names="exact")
        except (fc.RequestError, fc.StoreError, fc.CommitFailedError) as error:
            assert error.outcome == "not_committed"
            place.assert_untouched()
            return
        assert place.everything() == {**files, "_SUCCESS": b""}
        if not name.startswith((".", "_")):
            place.assert_committed(files)

    @pytest.mark.parametrize("name", ODD_NAMES, ids=label)
    def test_an_odd_name_is_overwritten(self, place: Place, name: str) -> None:
        """What an overwrite is to remove is found under its odd name too."""
        try:
            place.put({f"d/{name}": b"old"})
        except Exception:  # noqa: BLE001  # every fsspec refuses by a type of its own
            place.put({"d/plain": b"old"})  # which works, so it was the name
            pytest.skip("this store declares the name invalid: plain fsspec cannot write it")
        place.commit(mode="overwrite")
        assert f"d/{name}" not in place.everything() or name.startswith((".", "_"))

    @pytest.mark.parametrize("name", _OUTSIDE)
    def test_a_name_outside_of_the_destination_is_refused(self, place: Place, name: str) -> None:
        """At `open`, with an error kind of its own (P10)."""
        with place.job() as job, job.task() as task:
            with request_refused("outside_destination"):
                task.open(name)
            write(task, {"a.txt": b"a"})
        place.assert_committed({"a.txt": b"a"})

    @pytest.mark.parametrize("name", _RESERVED)
    def test_a_name_of_the_protocol_is_refused(self, place: Place, name: str) -> None:
        """Nobody writes our records but us."""
        with place.job() as job, job.task() as task:
            with request_refused("reserved_name"):
                task.open(name)
            write(task, {"a.txt": b"a"})
        place.assert_committed({"a.txt": b"a"})

    def test_deep_directories(self, place: Place) -> None:
        """Made as needed, by several tasks, and nothing nests."""
        files = [{f"a/b/c/d/e/{n}/f/{n}.txt": b"%d" % n} for n in range(4)]
        place.commit(files)
        place.assert_committed(*files)
