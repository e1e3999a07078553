"""A loop whose clock jumps to the next timer: sleeping lasts as asked, and takes no time."""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


class _Selector(selectors.SelectSelector):
    """Waits for nothing: the time of the longest wait has passed instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.selector = _Selector()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.now


def run(main: Coroutine[object, object, T]) -> tuple[T, float]:
    """What *main* returns, and how long it took."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        answer = runner.run(main)
        return answer, runner.get_loop().time()
