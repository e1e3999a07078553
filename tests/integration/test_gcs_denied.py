"""One permission is missing: the error names it, and whoever has it finishes the job."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from tests.scenes.attempts import DONE_BUT_FOR_THE_AREA, attempt, learn, recover, write
from tests.scenes.gcs_places import GcsPlace, gcs_places
from tests.scenes.scene import SCENES

if TYPE_CHECKING:
    from tests.scenes.scene import Scene
    from tests.servers.gcs.plugin import GcsBucket

pytestmark = [
    pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True),
    pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning"),
]
OVERWRITE = SCENES["overwrite, in place"]
APPEND = SCENES["append"]
UNMARKED = {name: data for name, data in APPEND.laid_out.items() if name != "_SUCCESS"}
"""Old files without a marker, which a job would have to delete."""


@pytest.fixture
def place(gcs_bucket: GcsBucket) -> GcsPlace:
    place = gcs_places(gcs_bucket)("out")
    assert isinstance(place, GcsPlace)
    # What the server does is known from one who may do everything.
    learn(place, "manifest")
    return place


def without(place: GcsPlace, *permissions: str) -> GcsPlace:
    """The same destination, for somebody who may not do that."""
    options = place.bucket.server.storage_options_without(*permissions)
    return replace(place, storage_options=options)


def run(scene: Scene, place: GcsPlace) -> tuple[str, str]:
    """As `attempt`, by tasks that need not delete anything."""
    options: dict[str, Any] = {**scene.options, **place.how}
    try:
        with fc.Job(place.url, **options) as job:
            for files in scene.tasks:
                with job.task() as task:
                    for name, text in files.items():
                        write(task, name, text)
    except fc.CommitError as error:
        return error.outcome, "\n".join([str(error), *getattr(error, "__notes__", [])])
    assert job.result is not None
    return "done", "\n".join(job.result.warnings)


@pytest.mark.parametrize(
    "permission", ["storage.objects.create", "storage.objects.get", "storage.objects.list"]
)
def test_no_job_begins(place: GcsPlace, permission: str) -> None:
    place.put(OVERWRITE.laid_out)
    before = place.snapshot()
    told, message = attempt(OVERWRITE, without(place, permission))
    assert told == "not_committed"
    assert f"allow {permission}" in message
    assert {name for name in place.snapshot() if "_commit/" not in name} == before.keys()


def test_a_job_that_may_not_move_is_decided_and_resumed(place: GcsPlace) -> None:
    """A move needs a permission of its own, or those to read and to delete."""
    place.put(UNMARKED)
    told, message = run(APPEND, without(place, "storage.objects.move", "storage.objects.delete"))
    assert told == "partial"
    assert "allow storage.objects.move" in message
    assert recover(APPEND, place, told) == "decided"


def test_a_job_that_may_not_delete_leaves_its_area(place: GcsPlace) -> None:
    place.put(UNMARKED)
    told, message = run(APPEND, without(place, "storage.objects.delete"))
    assert told == "done"
    assert "allow storage.objects.delete" in message
    recover(APPEND, place, DONE_BUT_FOR_THE_AREA)


def test_an_overwrite_that_may_not_delete_is_resumed(place: GcsPlace) -> None:
    place.put(OVERWRITE.laid_out)
    told, message = run(OVERWRITE, without(place, "storage.objects.delete"))
    assert told == "partial"
    assert "allow storage.objects.delete" in message
    recover(OVERWRITE, place, told)


def test_a_bucket_that_may_not_be_looked_at_is_served(place: GcsPlace) -> None:
    place.put(APPEND.laid_out)
    denied = without(place, "storage.buckets.get")
    assert attempt(APPEND, denied) == ("done", "")
    recover(APPEND, place, "done")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"token": "anon"}, "check token="),
        ({"endpoint_url": "http://127.0.0.1:1"}, "cannot be reached; check endpoint_url="),
    ],
    ids=["nobody", "unreachable"],
)
def test_a_wrong_setting_is_named_at_the_start(
    place: GcsPlace, options: dict[str, Any], says: str
) -> None:
    place.bucket.server.control.set(anonymous=False)
    wrong = {**place.storage_options, **options}
    with pytest.raises(fc.CommitError, match=says) as caught:
        fc.Job(place.url, mode="append", storage_options=wrong).start()
    assert caught.value.outcome == "not_committed"


def test_a_bucket_that_is_not_there_is_named(place: GcsPlace) -> None:
    with pytest.raises(fc.CommitError, match="there is no such bucket"):
        fc.Job("gs://no-such-bucket-anywhere/out", mode="append", **place.how).start()
