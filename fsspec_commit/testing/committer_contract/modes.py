"""What happens to what is already there: error, ignore, append, overwrite."""

from typing import Any, Literal

import pytest

import fsspec_commit as fc
from fsspec_commit.testing.assertions import assert_committed, assert_no_leftovers
from fsspec_commit.testing.committer_contract.given import (
    TASKS,
    Given,
    Place,
    raises,
    request_refused,
    shown,
    write,
)

OLD = {"old.txt": b"old", "day=1/old.txt": b"old of day 1"}
HIDDEN = {"_hidden": b"hidden", ".hidden/a": b"hidden", "_archive/day=1/_metadata": b"hidden"}


@pytest.mark.guarantees("P9")
class ModesContract(Given):
    """`mode`."""

    def test_error_refuses_data_at_start(self, place: Place) -> None:
        """Before the work is done; hidden files are not data."""
        place.put(HIDDEN)
        place.commit(mode="error")
        with raises(fc.DestinationExistsError, "not_committed"):
            place.job(mode="error").start()
        assert issubclass(fc.DestinationExistsError, FileExistsError)
        place.assert_committed(*TASKS)

    def test_error_refuses_data_at_commit(self, place: Place) -> None:
        """What came while the job ran is found under its claim, and stays."""
        with raises(fc.DestinationExistsError, "not_committed"), place.job(mode="error") as job:
            with job.task() as task:
                write(task, TASKS[0])
            place.put(OLD)
        place.assert_untouched(OLD)

    def test_ignore_skips_when_there_is_data(self, place: Place) -> None:
        """At start, so that the work can be left out."""
        place.put(OLD)
        with place.job(mode="ignore") as job:
            assert job.skipped
        assert job.result is not None
        assert (job.result.state, job.result.file_count) == ("skipped", 0)
        place.assert_untouched(OLD)

    def test_ignore_drops_the_work_when_data_came_meanwhile(self, place: Place) -> None:
        """At commit too: skipped, not an error."""
        with place.job(mode="ignore") as job:
            assert not job.skipped
            with job.task() as task:
                write(task, TASKS[0])
            place.put(OLD)
        assert job.result is not None
        assert job.result.state == "skipped"
        place.assert_untouched(OLD)

    def test_ignore_writes_where_there_is_none(self, place: Place) -> None:
        """Hidden files are not data."""
        place.put(HIDDEN)
        assert place.commit(mode="ignore").state == "committed"
        place.assert_committed(*TASKS)

    def test_append_keeps_and_adds(self, place: Place) -> None:
        """Names that are written twice become files of their own."""
        place.put(OLD)
        for _ in range(2):
            assert place.commit(mode="append").replaced_count == 0
        place.assert_committed(OLD, *TASKS, *TASKS)

    def test_overwrite_replaces_all(self, place: Place) -> None:
        """Every visible file and the summary files go, whoever wrote them; hidden stay (P9)."""
        place.put({**OLD, "deep/er/old.txt": b"x", "_metadata": b"m", "_common_metadata": b"m"})
        place.put(HIDDEN)
        result = place.commit(mode="overwrite")
        place.assert_committed(*TASKS)
        found = place.everything()
        assert "_metadata" not in found
        assert "_common_metadata" not in found
        assert {name: found[name] for name in HIDDEN} == HIDDEN
        assert result.replaced_count >= 3  # noqa: PLR2004  # the data files; summaries may count

    @pytest.mark.parametrize("names", ["unique", "exact"])
    def test_overwrite_refuses_what_it_could_not_tell_from_newer_files(
        self, place: Place, names: Literal["unique", "exact"]
    ) -> None:
        """Before the work where that is possible, before the decision in any case (P9)."""
        if place.replaces_any_name() or (names == "exact" and not place.takes_exact_names()):
            pytest.skip("here an overwrite needs no promise, or exact names are refused")
        place.put(OLD)
        job = fc.Job(place.url, mode="overwrite", names=names, **place.how)

        def run() -> None:
            with job, job.task() as task:
                write(task, TASKS[0])

        with request_refused("unsafe_overwrite") as caught:
            run()
        assert "versioning" in str(caught.value)
        assert "single_writer=True" in str(caught.value)
        assert "delete_by_name=True" in str(caught.value)
        place.assert_untouched(OLD)
        for promise in ("single_writer", "delete_by_name"):
            place.put(OLD)
            options: Any = {promise: True}
            alone = fc.Job(place.url, mode="overwrite", **options, **place.how)
            with alone, alone.task() as task:
                write(task, TASKS[0])
            place.assert_committed(TASKS[0])

    @pytest.mark.parametrize("mode", ["append", "overwrite", "overwrite_partitions"])
    def test_a_deleted_name_does_not_come_back_at_once(
        self, place: Place, mode: Literal["append", "overwrite", "overwrite_partitions"]
    ) -> None:
        """Where a deletion that is carried out late could take the new file for the old (P9)."""
        if place.deletes_late_at_worst() or not place.takes_exact_names():
            pytest.skip("here no deletion comes late, or exact names are refused")
        place.put(OLD)
        first = fc.Job(place.url, mode="overwrite", delete_by_name=True, **place.how)
        with first, first.task() as task:
            write(task, TASKS[0])
        place.assert_committed(TASKS[0])

        def come_back(data: bytes, name: str = "day=1/old.txt") -> None:
            job = fc.Job(place.url, mode=mode, names="exact", delete_by_name=True, **place.how)
            with job, job.task() as task:
                write(task, {name: data})

        with request_refused("late_delete") as caught:
            come_back(OLD["day=1/old.txt"])
        assert "may still arrive" in str(caught.value)
        assert "try again then" in str(caught.value)
        place.assert_committed(TASKS[0])
        come_back(b"other", "day=1/other.txt")
        if place.replaces_any_name():  # a late deletion's condition never fits another size
            come_back(b"longer than the old of day 1")
        assert_committed(place.url, **place.how)
        assert_no_leftovers(place.url, **place.how)

    def test_overwrite_keeps_the_old_until_it_commits(self, place: Place) -> None:
        """And for good, if it does not (P9)."""
        place.put(OLD)
        with pytest.raises(ValueError, match="boom"), place.job(mode="overwrite") as job:
            with job.task() as task:
                write(task, TASKS[0])
                assert place.visible() == shown(OLD)
            assert place.visible() == shown(OLD)
            raise ValueError("boom")
        place.assert_untouched(OLD)

    def test_overwrite_replaces_an_earlier_job(self, place: Place) -> None:
        """One job's output in the place of another's, again and again."""
        for number in range(3):
            files = {"part.txt": b"%d" % number, f"only{number}/x.txt": b"x"}
            place.commit([files], mode="overwrite")
            place.assert_committed(files)

    def test_overwrite_with_nothing_empties(self, place: Place) -> None:
        """When an empty job is meant, the destination is empty afterwards."""
        place.put(OLD)
        place.commit([{}], mode="overwrite", allow_empty=True)
        place.assert_committed()

    def test_overwrite_spares_what_came_later(self, place: Place) -> None:
        """An old file that is replaced by somebody else after the job ended is not ours (P6)."""
        place.put(OLD)
        place.commit(mode="overwrite")
        place.put({"old.txt": b"new life"})
        place.commit([{"more.txt": b"more"}], mode="append")
        place.assert_committed(*TASKS, {"old.txt": b"new life"}, {"more.txt": b"more"})

    @pytest.mark.parametrize("mode", ["error", "append", "overwrite", "overwrite_partitions"])
    @pytest.mark.parametrize("success", ["marker", "none"])
    def test_a_directory_in_the_place_of_the_marker_is_refused(
        self, place: Place, mode: fc.Mode, success: Literal["marker", "none"]
    ) -> None:
        """Before the decision: no job could ever put its marker there (P8)."""
        place.put({"_SUCCESS/x": b"foreign"})
        with request_refused("directory_in_the_way"):
            place.commit([{"day=1/part.txt": b"new"}], mode=mode, success=success)
        assert place.everything() == {"_SUCCESS/x": b"foreign"}
        place.assert_untouched()

    def test_marker_of_a_stale_run_does_not_stay(self, place: Place) -> None:
        """`_SUCCESS` is the marker of what is there now."""
        place.put({"_SUCCESS": b"stale"})
        place.commit(mode="overwrite")
        assert place.everything()["_SUCCESS"] == b""
        place.assert_committed(*TASKS)
