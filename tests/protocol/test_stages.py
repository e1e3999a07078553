"""`CommitError.stage`: whatever fails, and wherever, it is one of the words that are documented."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_args
from uuid import uuid4

import pytest

import fsspec_commit as fc
from fsspec_commit.errors import Reply, Stage
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from fsspec_commit.store import Store

T = TypeVar("T")
pytestmark = pytest.mark.checkout
PAGE = Path(__file__).parents[2] / "docs/api.md"
REFUSED = ("stat", "list_children", "create", "delete", "rename", "rename_directory")
# They take somebody else's file or directory in the way of what goes; test_trash.py has both.
REACHED_ELSEWHERE = {"replace", "retire"}
NEVER_WAS = "20261120T140355-9c1e5d0a7b2f4e68"


def write(url: str, **options: object) -> None:
    job = fc.Job(url, **{"mode": "append", **options}).start()  # type: ignore[arg-type]
    job._begun_here = False  # It is left behind, and warns nobody.
    with job.task() as task, task.open("a.txt", "w") as file:
        file.write("hello")
    job.commit()


def raised(call: Callable[[], object]) -> list[fc.CommitError]:
    try:
        call()
    except fc.CommitError as error:
        return [error]
    return []


def refusing(refused: str) -> Callable[[Store], WrappedStore]:
    """A store that refuses the calls of one verb."""

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if verb == refused:
            raise fc.StoreError("not yours", path=path, reply=Reply.REFUSED)
        return await call()

    return lambda store: WrappedStore(store, carry)


def of_a_life(refused: str) -> Iterator[fc.CommitError]:
    """What an overwrite raises on such a store, then another that meets it, then who settles it."""
    url = f"memory://stages-{uuid4().hex}"
    write(url)
    with wrapping(refusing(refused)):
        yield from raised(lambda: write(url, mode="overwrite"))
    left = fc.jobs(url)
    with wrapping(refusing(refused)):
        yield from raised(lambda: write(url, mode="overwrite", wait_s=0))
        for info in left:
            yield from raised(partial(fc.resume, url, info.job_id))
            yield from raised(partial(fc.abort, url, info.job_id))


def of_mistakes() -> Iterator[fc.CommitError]:
    url = f"memory://stages-{uuid4().hex}"
    late = fc.Job(url, mode="append", allow_empty=True).start()
    fc.abort(url, late.job_id)
    mistakes: list[Callable[[], object]] = [
        lambda: write(url, committer="magic"),
        lambda: write(url, tasks=2),
        lambda: fc.Task.from_spec(late.spec, 0).open("a"),
        lambda: fc.Task.from_spec(late.spec, 0).commit(),
        late.commit,
        lambda: fc.clean(url, damaged=[NEVER_WAS]),
        lambda: fc.resume(url, NEVER_WAS),
        lambda: fc.dataset(url),
    ]
    for mistake in mistakes:
        yield from raised(mistake)


def test_every_stage_that_is_raised_is_documented() -> None:
    text = re.search(r"The `stage` of an error .*?:(.*?)\.", PAGE.read_text(), re.DOTALL)
    assert text is not None
    documented = re.findall(r"`(\w+)`", text[1])
    assert tuple(documented) == get_args(Stage)
    found = [error for verb in REFUSED for error in of_a_life(verb)]
    stages = {error.stage for error in [*found, *of_mistakes()]}
    assert stages - {None} == {*documented} - REACHED_ELSEWHERE
