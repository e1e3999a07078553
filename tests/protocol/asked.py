"""A reader that asks what is committed at each store call of a job, and whether it is told so."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import fsspec_commit as fc
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore
from tests.protocol.invariants import job_ids, state_of, visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store
    from tests.protocol.faults import Place
    from tests.scenes.scene import Scene

T = TypeVar("T")


def check_answer(scene: Scene, snapshot: dict[str, bytes], found: fc.CommittedFiles) -> str:
    """Check what a reader is told of a destination that stands still; return the job's state.

    Before the job has published that is what was there before it, and from then on what it leaves.
    A name that it replaces in place is listed with whatever stands there.
    """
    answer = visible({name: snapshot[name] for name in found.names})
    (job_id,) = job_ids(snapshot) or [""]
    state = state_of(snapshot, job_id) if job_id else "over"
    expected = {
        "undecided": scene.old,
        "aborted": scene.old,
        "decided": scene.old,
        "published": scene.after,
        "over": visible(snapshot),
    }[state]
    if state == "decided":
        for name in scene.old.keys() & scene.new.keys():
            assert answer.pop(name) in {scene.old[name], scene.new[name]}
        expected = {name: data for name, data in expected.items() if name not in scene.new}
    assert answer == expected, f"of a job that is {state}"
    assert expected in (scene.old, scene.after) or state == "decided"
    assert found.bytes == sum(len(snapshot[name]) for name in found.names)
    return state


class AtSomeCalls:
    """Makes the calls of jobs one at a time, and does something before those that are chosen.

    Args:
        chosen: Whether to do it before a call, by its number from 1.
        do: What; stores that it opens itself are left alone.
    """

    def __init__(self, chosen: Callable[[int], bool], do: Callable[[], Awaitable[None]]) -> None:
        self._chosen = chosen
        self._do = do
        self._calls = 0
        self._turn = asyncio.Lock()
        self._is_doing = False

    @contextmanager
    def throughout(self) -> Iterator[None]:
        """While jobs are at work in the block."""
        with wrapping(self._wrap):
            yield

    def _wrap(self, store: Store) -> Store:
        return store if self._is_doing else WrappedStore(store, self._carry)

    async def _carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        async with self._turn:
            self._calls += 1
            if self._chosen(self._calls):
                self._is_doing = True
                try:
                    await self._do()
                except (AssertionError, fc.CommitError) as error:
                    error.add_note(f"before {verb} of {path!r}, call {self._calls}")
                    raise
                finally:
                    self._is_doing = False
            return await call()


class Asking(AtSomeCalls):
    """A reader who is told the truth before the chosen calls.

    Attributes:
        states: In which states the job was when it was asked, in order.
    """

    def __init__(self, scene: Scene, place: Place, chosen: Callable[[int], bool]) -> None:
        super().__init__(chosen, self._ask)
        self.states: list[str] = []
        self._scene = scene
        self._place = place

    async def _ask(self) -> None:
        asking: Any = fc.committed_files
        found = await asking.__wrapped__(self._place.url)
        self.states.append(check_answer(self._scene, self._place.snapshot(), found))
