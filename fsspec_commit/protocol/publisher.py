"""What may run the slices of a decided job, as callers and as the protocol see it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from fsspec_commit.records.slices import Slice, SliceAnswer


class Publisher(Protocol):
    """Anything with a ``map``: an executor, a pool of processes, a cluster.

    A job whose commit is decided can be cut into slices, which others publish. Whoever runs a slice
    opens the store with the credentials of its own environment, and reads what was decided before
    it changes anything. A slice may be run late, twice, or not at all: the driver itself does those
    that no answer has come for.

    A publisher may describe itself further by attributes: ``width``, about how many calls it runs
    at once, which is read on a thread of its own when there are slices to cut; ``runs_once``, true
    if it never begins a call a second time, so that files need not be looked at again. It may have
    a method ``stop()``, which another thread calls if the caller is interrupted: it must not block.
    """

    def map(self, function: Callable[[str], str], texts: Sequence[str], /) -> Iterable[str]:
        """Call *function*, which can be pickled, with each of *texts*, anywhere.

        The results may come in any order, each as soon as it is there; a call that fails may be
        left out, or may end the iteration.
        """


class Spread(Protocol):
    """A publisher, as the protocol sees it.

    Attributes:
        runs_once: Whether it begins no slice a second time.
    """

    runs_once: bool

    async def width(self) -> int:
        """About how many slices it runs at once; asked when there are some to cut."""

    async def run(self, slices: Sequence[Slice], told: Callable[[SliceAnswer], None]) -> None:
        """Run *slices*, and call *told* with the answers that come.

        It does not raise when slices fail, or are lost. After it has returned, or was cancelled,
        slices may still be running.
        """
