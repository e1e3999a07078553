"""A decided job whose files somebody has deleted: settled by hand, with what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

import fsspec_commit as fc
from fsspec_commit.testing import Crash, Fault, assert_no_leftovers, inject

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def visible(destination: Path) -> dict[str, str]:
    return {
        path.name: path.read_text()
        for path in destination.iterdir()
        if path.is_file() and not path.name.startswith("_")
    }


@pytest.fixture
def left_partial(tmp_path: Path) -> Callable[[], tuple[Path, str]]:
    """An overwrite that died after its decision, one of whose three files is then deleted."""

    def leave() -> tuple[Path, str]:
        destination = tmp_path / "out"
        destination.mkdir()
        (destination / "old.txt").write_text("old")
        job = fc.Job(destination, mode="overwrite", names="exact")
        # The first rename of a file takes the old marker away, the second publishes a file.
        with inject(Fault("rename", 2, "crash_after")) as fired:
            job.start()
            task = job.task()
            for name in ("a.txt", "b.txt", "c.txt"):
                with task.open(name, "w") as file:
                    file.write(name)
            task.commit()
            with pytest.raises(Crash):
                job.commit()
        assert fired
        lost = next(path for path in destination.rglob("*.txt.pending"))
        lost.unlink()
        return destination, lost.name.removesuffix(".pending")

    return leave


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_is_left_is_published_and_nothing_deleted(
    left_partial: Callable[[], tuple[Path, str]],
) -> None:
    destination, lost = left_partial()
    (job,) = fc.jobs(destination)
    assert job.state == "decided"
    for _ in range(2):
        with pytest.raises(fc.PartialCommitError, match=lost) as caught:
            fc.resume(destination, job.job_id)
        assert caught.value.outcome == "partial"
    with pytest.raises(fc.JobNotActiveError) as refused:
        fc.abort(destination, job.job_id)
    assert refused.value.outcome == "committed"
    result = fc.resume(destination, job.job_id, accept_loss=True)
    assert any(lost in warning for warning in result.warnings)
    kept = {"a.txt", "b.txt", "c.txt"} - {lost}
    assert visible(destination) == {"old.txt": "old", **{name: name for name in kept}}
    assert not (destination / "_SUCCESS").exists()
    assert fc.jobs(destination) == []
    assert_no_leftovers(str(destination))


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_whoever_finishes_it_after_that_is_told_of_the_loss(
    left_partial: Callable[[], tuple[Path, str]],
) -> None:
    """Whoever accepted it died, and the next one said that all was there and the old one gone."""
    destination, _ = left_partial()
    (job,) = fc.jobs(destination)
    with inject(Fault("create", 2, "crash_before")), pytest.raises(Crash):
        fc.resume(destination, job.job_id, accept_loss=True)
    result = fc.resume(destination, job.job_id)
    [warning] = result.warnings
    assert warning.startswith("lost: 1 of the files")
    assert result.replaced_count == 0
    assert (destination / "old.txt").exists()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("success", ["marker", "json"])
def test_a_lost_marker_is_found_out(tmp_path: Path, success: Literal["marker", "json"]) -> None:
    """And nothing is lost with it: old files have gone, new ones are in place."""
    destination = tmp_path / "out"
    destination.mkdir()
    (destination / "old.txt").write_text("old")
    job = fc.Job(destination, mode="overwrite", names="exact", success=success)
    with inject(Fault("rename", 1, "crash_before")):
        job.start()
        with job.task() as task, task.open("a.txt", "w") as file:
            file.write("a")
        with pytest.raises(Crash):
            job.commit()
    (prepared,) = (destination / "_commit" / job.job_id).glob("_SUCCESS-*")
    prepared.unlink()
    for _ in range(2):
        with pytest.raises(fc.PartialCommitError, match="every file is in place, but '_SUCCESS'"):
            fc.resume(destination, job.job_id)
        assert visible(destination) == {"a.txt": "a"}
    result = fc.resume(destination, job.job_id, accept_loss=True)
    assert result.warnings == ("lost: '_SUCCESS' is gone, and was left out",)
    assert visible(destination) == {"a.txt": "a"}
    assert not (destination / "_SUCCESS").exists()
    assert_no_leftovers(str(destination))


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_job_that_lost_nothing_is_simply_finished(tmp_path: Path) -> None:
    destination = tmp_path / "out"
    job = fc.Job(destination, mode="append", names="exact")
    with inject(Fault("rename", 1, "crash_before")):
        job.start()
        with job.task() as task, task.open("a.txt", "w") as file:
            file.write("a")
        with pytest.raises(Crash):
            job.commit()
    (found,) = fc.jobs(destination)
    result = fc.resume(destination, found.job_id, accept_loss=True)
    assert result.warnings == ()
    assert visible(destination) == {"a.txt": "a"}
    assert (destination / "_SUCCESS").exists()
