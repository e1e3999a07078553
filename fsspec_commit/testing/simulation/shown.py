"""What readers may be told is committed: what was so at some moment since they asked."""

from collections.abc import Callable, Collection, Iterator

from fsspec_commit.testing.simulation.rules import is_visible


class Shown:
    """The files of whole jobs, one after the other, in the order in which jobs were published.

    Args:
        old: The files that stand there before.
        clock: The virtual time.
    """

    def __init__(self, old: Collection[str], clock: Callable[[], float]) -> None:
        self._clock = clock
        self._whole = [(0.0, frozenset(old))]

    def published(self, new: Collection[str], replaced: Collection[str]) -> None:
        """From now on a reader that asks is told of a job; of jobs that conflict, one by one."""
        whole = self._whole[-1][1].difference(replaced).union(new)
        self._whole.append((self._clock(), whole))

    def untruths(
        self, actor: str, began_s: float, names: Collection[str], touched: Collection[str]
    ) -> Iterator[tuple[str, str]]:
        """What is wrong with an answer to a reader that asked at *began_s*.

        What others have *touched* is not judged.
        """
        told = frozenset(names).difference(touched)
        first = max(n for n, (at_s, _) in enumerate(self._whole) if at_s <= began_s)
        shown = [
            frozenset(filter(is_visible, whole)).difference(touched)
            for _, whole in self._whole[first:]
        ]
        if len(names) != len({*names}):
            yield "P1 P2", f"{actor} is told of a file twice: {sorted(names)}"
        if told not in shown:
            missing, surplus = sorted(shown[-1] - told), sorted(told - shown[-1])
            yield "P1 P2", f"{actor} is told of half a job: {missing=}, {surplus=}"
