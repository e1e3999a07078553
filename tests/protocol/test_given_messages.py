"""Messages and manifests that a driver is given, and refuses: each with its kind and its reason."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from fsspec_commit.errors import CommitError, RecordError, RequestError
from fsspec_commit.protocol import messages as reading
from fsspec_commit.protocol.messages import MissingTasks
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import url
from tests.protocol.in_virtual_time import Clock, started, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.protocol.driver import Driver


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


async def refused(driver: Driver, *given: object) -> CommitError:
    with pytest.raises((RequestError, RecordError)) as caught:
        await driver.commit(given, wait_s=0)
    assert driver.state == "open"
    error = caught.value
    assert (error.outcome, error.stage) == ("not_committed", "check")
    assert error.job_id in {None, driver.started().record.job_id}
    return error


@pytest.mark.guarantees("P2")
def test_a_message_of_another_job_is_refused(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        driver, other = [await started(url(bucket), clock) for _ in range(2)]
        error: Any = await refused(driver, await wrote(driver, "a.txt"), await wrote(other, "b"))
        assert error.kind == "other_job"
        assert "is another job's task" in str(error)

    run(main())


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        (SimpleNamespace(result=None), "pass what its .result() returns"),
        (SimpleNamespace(compute=None), "pass what its .compute() returns"),
        (SimpleNamespace(attempt_id="0", message=None), "pass its .message"),
        ("{}", "TaskCommit.from_json(text) reads one"),
        (None, "a worker must return task.message, and only after the task has committed"),
    ],
)
def test_what_is_no_message_is_refused_with_how_to_get_one(
    bucket: Bucket, given: object, advice: str
) -> None:
    async def main() -> None:
        driver = await started(url(bucket), Clock())
        error: Any = await refused(driver, given)
        assert error.kind == "not_a_message"
        assert str(error).endswith(advice)

    run(main())


@pytest.mark.guarantees("P3")
@pytest.mark.parametrize(
    ("tasks", "expected", "kind", "why"),
    [
        ((0, 1, 2), 2, "unexpected_task", "task 2, of 2 tasks, 0 to 1"),
        ((0, 1, 3, 2), 2, "unexpected_task", "task 2, of 2 tasks, 0 to 1"),
        ((0, 3), 5, "missing_tasks", "3 of 5 tasks have no message: 1 to 2, 4; pass every"),
        ((1, 2), 2, "missing_tasks", "0; but task 2 has one: of 2 tasks they are numbered 0 to 1"),
        ((), 2, "missing_tasks", "2 of 2 tasks have no message: 0 to 1; pass every"),
    ],
)
def test_a_task_too_many_or_too_few_is_named(
    bucket: Bucket, tasks: tuple[int, ...], expected: int, kind: str, why: str
) -> None:
    async def main() -> None:
        driver = await started(url(bucket), Clock(), tasks=expected)
        given = [await wrote(driver, f"{task}.txt", task=task) for task in tasks]
        error: Any = await refused(driver, *given)
        assert error.kind == kind
        assert why in str(error)

    run(main())


@pytest.mark.guarantees("P3")
def test_all_tasks_are_collected_some_at_a_time(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_AT_ONCE_MAX", 2)

    async def main() -> None:
        driver = await started(url(bucket), Clock(), tasks=5, collect="store")
        for task in range(5):
            await wrote(driver, f"{task}.txt", task=task)
        assert await driver.commit([], wait_s=0)
        assert driver.result is not None
        assert driver.result.file_count == 5

    run(main())


@pytest.mark.parametrize(("enough", "said"), [(2, "at least 2 of 9 tasks"), (3, "at least 4 of 9")])
def test_of_many_missing_tasks_the_first_are_named(
    bucket: Bucket, enough: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks for so many, a few at a time, and then for no more."""
    monkeypatch.setattr(reading, "_AT_ONCE_MAX", 2)
    monkeypatch.setattr(reading, "_LOOKED_FOR_MAX", enough)

    async def main() -> None:
        driver = await started(url(bucket), Clock(), tasks=9, collect="store")
        error = await refused(driver)
        assert said in str(error)
        assert "…; wait for them" in str(error)

    run(main())


def test_so_many_ranges_of_missing_tasks_are_shown() -> None:
    for count in (20, 21):
        missing = MissingTasks()
        for number in range(count):
            missing.add(range(10 * number, 10 * number + 2))
            missing.add(range(10 * number + 2, 10 * number + 3))
            missing.add(range(0))
        shown = str(missing).split(", ")
        assert shown[:2] == ["0 to 2", "10 to 12"]
        assert (shown[-1] == "…") is (count == 21)
        assert len(shown) == count
        assert missing.count == 3 * count


@pytest.mark.guarantees("P1", "P2")
@pytest.mark.parametrize("wrong", [{"file_count": 2}, {"bytes": 1}])
def test_a_message_that_counts_other_files_than_its_manifest_is_refused(
    bucket: Bucket, wrong: dict[str, int]
) -> None:
    async def main() -> None:
        driver = await started(url(bucket), Clock())
        message = replace(await wrote(driver, "a.txt"), **wrong)
        with pytest.raises(RecordError, match="count different files") as caught:
            await driver.commit([message], wait_s=0)
        assert caught.value.outcome == "not_committed"
        assert (caught.value.task_id, caught.value.path) == (0, message.manifest)

    run(main())


@pytest.mark.guarantees("P9")
def test_a_file_in_no_partition_is_refused_where_partitions_are_replaced(bucket: Bucket) -> None:
    async def main() -> None:
        driver = await started(url(bucket), Clock(), mode="overwrite_partitions")
        message = await wrote(driver, "day=1/a.txt", "b.txt")
        with pytest.raises(RequestError, match="cannot write 'b-") as caught:
            await driver.commit([message], wait_s=0)
        assert (caught.value.kind, driver.state) == ("file_outside_partition", "open")
        assert url(bucket) in str(caught.value)
        assert (caught.value.path or "").startswith("b-")

    run(main())


@pytest.mark.guarantees("P2")
def test_a_file_under_the_name_of_a_directory_is_refused(bucket: Bucket) -> None:
    async def main() -> None:
        driver = await started(url(bucket), Clock(), names="exact")
        given = [
            await wrote(driver, *names, task=task)
            for task, names in enumerate([("b", "c/d"), ("b/x", "a/y/z"), ("a/y", "e")])
        ]
        error: Any = await refused(driver, *given)
        assert (error.kind, error.path) == ("duplicate_file", "a/y")
        assert "'a/y' is written both as a file and as a directory" in str(error)

    run(main())


@pytest.mark.guarantees("P2")
def test_of_tasks_that_wrote_one_name_the_first_two_are_told(bucket: Bucket) -> None:
    async def main() -> None:
        for names, remedy in (("exact", 'use names="unique"'), ("unique", "use another name")):
            driver = await started(url(bucket), Clock(), names=names)
            name = "a" if names == "exact" else "_a"
            given = [await wrote(driver, name, f"{task}.txt", task=task) for task in (3, 1, 2, 0)]
            error: Any = await refused(driver, *given)
            assert (error.kind, error.path) == ("duplicate_file", name)
            assert f"tasks 0 and 1 both wrote {name!r}; {remedy}" in str(error)
            await driver.abort()

    run(main())
