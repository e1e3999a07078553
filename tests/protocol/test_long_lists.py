"""Lists of a job that are too long to be held, whose writing is broken off or finds no area."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import fsspec
import pytest

from fsspec_commit.errors import JobNotActiveError, RequestError
from fsspec_commit.layout import StorePath
from fsspec_commit.protocol import chosen, messages, streamed_list
from fsspec_commit.store import Expect
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import cleaned
from tests.protocol.in_virtual_time import Clock, Stop, Then, started, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.protocol.driver import Driver


@pytest.fixture(params=["gcs", "versioned", "gen2"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    for name in ("a.txt", "day"):
        bucket.put(StorePath(f"{bucket.name}/out/{name}"), b"old", None, Expect.ANYTHING)
    yield bucket
    remove_bucket(bucket)


@pytest.fixture
def _long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line is sent by itself."""
    monkeypatch.setattr(chosen, "INLINE_BYTES_MAX", 0)
    monkeypatch.setattr(chosen, "_HELD_MAX", 1)
    monkeypatch.setattr(messages, "_AT_ONCE_MAX", 1)
    monkeypatch.setattr(streamed_list, "_HELD_BYTES_MAX", 1)


def url(bucket: Bucket) -> str:
    return f"flat://{bucket.name}/out"


def discarded(calls: Stop) -> list[str]:
    names = [path.rpartition("/")[2] for verb, path in calls.calls if verb == "discard"]
    return [name.partition("-")[0] for name in names]


@pytest.mark.usefixtures("_long")
def test_of_a_list_of_attempts_of_which_one_is_missing_nothing_is_left(bucket: Bucket) -> None:
    async def main() -> Stop:
        calls = Stop("never", "")
        driver = await started(url(bucket), Clock(), calls, collect="store", tasks=3)
        for task in range(2):
            await wrote(driver, "new.txt", task=task)
        with pytest.raises(RequestError, match="1 of 3 tasks have no message: 2"):
            await driver.commit([], wait_s=0)
        return calls

    assert discarded(run(main())[0]) == ["chosen"]
    assert not [key for key in bucket.keys("") if "/chosen-" in key]


@pytest.mark.usefixtures("_long")
def test_of_a_list_of_old_files_that_ends_in_a_refusal_nothing_is_left(bucket: Bucket) -> None:
    async def main() -> Stop:
        calls = Stop("never", "")
        driver = await started(url(bucket), Clock(), calls, mode="overwrite")
        message = await wrote(driver, "day/new.txt")
        with pytest.raises(RequestError, match="'day' is a file, and new files need a directory"):
            await driver.commit([message], wait_s=0)
        return calls

    assert discarded(run(main())[0]) == ["replaced"]
    assert not [key for key in bucket.keys("") if "/replaced-" in key]


async def lists_too_late(to: str, what: str) -> None:
    """The area goes just before a list is written to it."""
    driver: Driver

    async def end() -> None:
        await driver.started().store._store.delete_tree(driver.started().layout.area)

    hook = Then("create", f"/{what}-", end)
    driver = await started(to, Clock(), hook, mode="overwrite")
    message = await wrote(driver, "new.txt")
    with pytest.raises(JobNotActiveError) as caught:
        await driver.commit([message], wait_s=0)
    assert hook.done
    assert caught.value.outcome == "unknown"


@pytest.mark.guarantees("P6")
@pytest.mark.parametrize("what", ["chosen", "replaced"])
def test_a_list_in_an_area_that_is_gone_is_not_written(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chosen, "INLINE_BYTES_MAX", 0)
    memory, to = fsspec.filesystem("memory"), f"/{uuid4().hex}"
    memory.pipe_file(f"{to}/a.txt", b"old")
    run(lists_too_late(f"memory:/{to}", what))
    assert memory.find(to) == [f"{to}/a.txt"]


@pytest.mark.guarantees("P6", "P8")
@pytest.mark.parametrize("what", ["chosen", "replaced"])
def test_a_list_in_an_area_that_is_made_anew_is_nothing(
    bucket: Bucket, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing refuses it, the decision after it finds no job, and is taken back."""
    monkeypatch.setattr(chosen, "INLINE_BYTES_MAX", 0)
    run(lists_too_late(url(bucket), what))
    run(cleaned(bucket, Clock(), age_s=-1))
    names = {key.rpartition("/")[2] for key in bucket.keys("")}
    assert names == {"a.txt", "day"}
    assert not [path for path in bucket.directories if "/_commit/" in path]
