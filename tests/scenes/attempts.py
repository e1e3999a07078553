"""Jobs on a store by this process, over whatever lies between: what it is told must be true."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from tests.protocol.invariants import check_settled, check_under_way, job_ids, state_of, visible
from tests.scenes.scene import HIDDEN

if TYPE_CHECKING:
    from tests.scenes.places import Reached, RemotePlace
    from tests.scenes.scene import Scene


DONE_BUT_FOR_THE_AREA = "done, and the area was not removed"


def learn(place: RemotePlace, committer: str = "magic") -> None:
    """Let this process find out what the server does, before what a test is about."""
    assert fc.explain(place.url, **place.how).committer == committer


def run(scene: Scene, place: RemotePlace, *, rewriting: bool = True) -> fc.CommitResult:
    """A whole job, as users write one; *rewriting*, the second task thinks better of a file."""
    options: dict[str, Any] = {**scene.options, **place.how}
    with fc.Job(place.url, **options) as job:
        for number, files in enumerate(scene.tasks):
            with job.task() as task:
                for name, text in files.items():
                    write(task, name, text)
                if number == 1 and rewriting:
                    # Written twice: the upload of the first text is aborted.
                    write(task, next(iter(files)), "not this")
                    write(task, *next(iter(files.items())))
    assert job.result is not None
    return job.result


def write(task: fc.Task, name: str, text: str) -> None:
    with task.open(name, "w", newline="") as file:
        file.write(text)


def attempt(scene: Scene, place: RemotePlace, *, rewriting: bool = True) -> tuple[str, str]:
    """Run it; what the caller was told, and the whole of the message, or the warnings."""
    try:
        result = run(scene, place, rewriting=rewriting)
    except fc.CommitError as error:
        return error.outcome, "\n".join([str(error), *getattr(error, "__notes__", [])])
    assert result.state == "committed"
    return "done", "\n".join(result.warnings)


def recover(
    scene: Scene,
    place: RemotePlace,
    told: str,
    *,
    marker: bool | None = True,
    spent_ids: bool = False,
) -> str:
    """Check what is there, and that it is what the caller was told; settle it; check again.

    Args:
        scene: The job.
        place: Where it was.
        told: What its caller was told; of an area that was not removed there is a warning.
        marker: Whether ``_SUCCESS`` must stand; ``None`` where the server may have lost it.
        spent_ids: Whether it may have left ids under which it could not begin.

    Returns:
        In which state the job was found.
    """
    snapshot = place.snapshot()
    state, happened = found(scene, snapshot, spent_ids=spent_ids)
    true = {
        "unknown": True,
        "not_committed": not happened,
        "partial": happened,
        "committed": happened,
        "done": happened and state == "over",
        DONE_BUT_FOR_THE_AREA: happened,
    }
    assert true[told], f"the caller was told {told!r}, and the job is {state}"
    settle_each(place, snapshot)
    clean(place)
    settled(scene, place, happened=happened, marker=marker)
    return state


def found(scene: Scene, snapshot: dict[str, bytes], *, spent_ids: bool) -> tuple[str, bool]:
    """In which state a job is, of which a reader may see what is there; and whether it happened."""
    state = check_under_way(
        snapshot,
        old=scene.old,
        new=scene.new,
        mode=scene.mode,
        declared=scene.declared,
        spent_ids=spent_ids,
    )
    is_shown = state == "over" and visible(snapshot) == scene.after
    return state, is_shown or state in {"decided", "published"}


def settle_each(place: Reached, snapshot: dict[str, bytes]) -> None:
    """Resume what is decided, and abort what is not; a second time there is nothing to resume."""
    for job_id in job_ids(snapshot):
        if state_of(snapshot, job_id) in {"decided", "published"}:
            fc.resume(place.url, job_id, **place.how)
        else:
            fc.abort(place.url, job_id, **place.how)
        with pytest.raises(fc.JobNotActiveError):
            fc.resume(place.url, job_id, **place.how)


def clean(place: Reached) -> None:
    report = fc.clean(place.url, older_than=timedelta(0), dry_run=False, **place.how)
    # An upload that was begun and not recorded cannot be attributed; it holds nothing.
    assert all("pending upload" in shown for shown in report.shown), report


def settled(scene: Scene, place: RemotePlace, *, happened: bool, marker: bool | None) -> None:
    snapshot = place.snapshot()
    check_settled(snapshot, expected=scene.after if happened else scene.old, marker=marker)
    hidden = HIDDEN.items() & scene.laid_out.items()
    assert {(name, snapshot.get(name)) for name, _ in hidden} == hidden
    assert place.pending() == []
