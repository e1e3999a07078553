"""The sign of life of a committing job, and how a conflicting job watches it.

Between its claim and its decision a job may take long to list what it replaces. An older job that
waits for it must not take it for dead, nor wait for ever if it is. So the job renews an empty file,
and an older job that has looked often enough, for long enough, and found no new one takes it for
dead. Correctness does not depend on this: fencing a job is always safe, and only a waste if the job
is alive.
"""

import asyncio
import logging

from fsspec_commit.effects import deletion
from fsspec_commit.effects.parallel import stop
from fsspec_commit.layout import StorePath
from fsspec_commit.protocol.bound_job import BoundJob

_log = logging.getLogger("fsspec_commit")

BEAT_S = 2.0
"""How often a job renews its sign of life; one that decides sooner writes none."""
FENCE_S = 10.0
"""How long a newer job is watched without a sign of life, before it is fenced."""
_LOOK_S_MAX = 2.0
"""The most that counts of the time between two looks: a suspended process has not watched."""


class SignOfLife:
    """The file that a driver renews while its claim stands; a failure does not stop the driver."""

    def __init__(self, job: BoundJob) -> None:
        self._job = job
        self._first: asyncio.TimerHandle | None = None
        self._beating: asyncio.Future[None] | None = None
        self._last: StorePath | None = None

    def begin(self) -> None:
        """Begin to renew the file, a while from now: a job that decides soon creates none."""
        self._first = asyncio.get_running_loop().call_later(BEAT_S, self._begin_to_beat)

    def _begin_to_beat(self) -> None:
        self._beating = asyncio.ensure_future(self._beat())

    async def end(self) -> None:
        """Stop renewing the file; if an adapter failed to renew it, the job does not fail."""
        if self._first is not None:
            self._first.cancel()
        beating = self._beating
        if beating is None:
            return
        await stop(beating)
        self._beating = None
        error = None if beating.cancelled() else beating.exception()
        if error is not None:
            # By its type only: a client's error message may contain the signature of a request.
            what, job_id = type(error).__name__, self._job.record.job_id
            _log.warning("job %s could no longer show that it lives: %s", job_id, what)

    async def _beat(self) -> None:
        while True:
            last, self._last = (
                self._last,
                self._job.layout.sign_of_life(self._job.store.ids.nonce()),
            )
            await self._renew(last, self._last)
            await asyncio.sleep(BEAT_S)

    async def _renew(self, last: StorePath | None, sign: StorePath) -> None:
        store, layout = self._job.store, self._job.layout
        await store.create_or_leave(sign, within=layout.area)
        if last is not None:
            await store.delete_or_leave(last, deletion.of_own_sign_of_life(layout, last))


class Watch:
    """How long a job has shown no new sign of life, by the clock of the process that watches it."""

    def __init__(self) -> None:
        self._signs: frozenset[str] | None = None
        self._looked_at = 0.0
        self._still_s = 0.0

    def saw(self, signs: frozenset[str], *, since: float, until: float) -> bool:
        """Note a look, and return whether the job seems dead.

        Args:
            signs: The signs of life that the look has shown.
            since: When the look began.
            until: When it ended: it shows what stood at some moment in between.
        """
        if signs == self._signs:
            self._still_s += min(since - self._looked_at, _LOOK_S_MAX)
            self._looked_at = since
        else:
            self._signs, self._still_s = signs, 0.0
            self._looked_at = until
        return self._still_s >= FENCE_S
