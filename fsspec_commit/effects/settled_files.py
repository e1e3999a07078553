"""Renames of files, settled: whoever repeats one, the file is at its target once."""

import asyncio
import errno
from collections.abc import Sequence
from dataclasses import dataclass

from fsspec_commit.effects.counted import Counted
from fsspec_commit.effects.pacing import Pace
from fsspec_commit.effects.settle import Effect, Undone, settle
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import (
    Entry,
    Expect,
    Expectation,
    RenamesFiles,
    RenamesInBulk,
    Store,
    Token,
)

LOOKS_MAX = 4
BULK_MAX = 128
"""Files renamed by one call: few enough that the loop soon hears of a cancellation."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What a file still has when its token is another: by a rename, or by who changed metadata.

    The nonce need not be the file's alone: which content of several with one nonce it is, the
    token says that pins the source of the rename.
    """

    nonce: Nonce
    size_bytes: int

    def is_of(self, there: Entry) -> bool:
        """Whether it is what a file carries."""
        return (there.nonce, there.size_bytes) == (self.nonce, self.size_bytes)


class SettledFiles(Counted):
    """Renames of files, settled: source gone and target as expected is done."""

    def __init__(
        self, ability: RenamesFiles, store: Store, pace: Pace, statistics: Statistics
    ) -> None:
        super().__init__(store, pace, statistics)
        self._ability = ability
        self._bulk: RenamesInBulk | None = store.bulk
        self.bulk_max = 1 if store.bulk is None else BULK_MAX

    async def rename_in_bulk(
        self, renames: Sequence[tuple[StorePath, StorePath]], *, within: StorePath
    ) -> int:
        """Rename the first of *renames* to names that are free, as far as that goes smoothly.

        Returns:
            How many are done. The next one is a case for :meth:`rename`, which settles it.
        """
        if self._bulk is None or not self._pace.enter_now():
            return 0
        begin = self.clock()
        try:
            done = await self._bulk.rename_in_bulk(renames, within=within)
            self._pace.silence.end()
        finally:
            self._pace.leave()
        self._statistics.took("op_rename", self.clock() - begin, times=done)
        return done

    async def rename(
        self,
        source: StorePath,
        target: StorePath,
        *,
        token: Token,
        expecting: Expectation,
        within: StorePath,
        carried: Carried | None = None,
        looks: int = LOOKS_MAX,
        yielding: bool = False,
    ) -> bool:
        """Bring the content *token* from *source* to *target*; safe to repeat, by anyone.

        Args:
            source: Where it is.
            target: Where it goes.
            token: Which content it is at *source*.
            expecting: What must stand at *target*.
            within: Directories of *target* below it are made as needed.
            carried: By what it is recognised at *target*, where it may have another token there.
            looks: How often to look again while neither source nor target shows the content.
            yielding: Another's file at *target* is as good as ours.

        Returns:
            False when neither the source nor the expected content at the target is there: the
            content is lost, and nothing was changed.

        Raises:
            StoreError: It certainly did not happen: something else stands at the target.
            CommitStateUnknownError: The store would not say.
        """
        move = _Move(source, target, token, carried, within, looks, yielding)
        done = await self._rename(move, expecting)
        if done is None:
            # Who removed the file that was to be replaced has made way.
            done = await self._rename(move, Expect.ABSENT)
        return done is True

    async def _rename(self, move: "_Move", expecting: Expectation) -> bool | None:
        """The same; ``None`` when it was refused and the file that was expected is not there."""

        async def apply() -> bool:
            # Not through `_counted`: a job renames every file of it.
            begin = self.clock()
            try:
                await self._ability.rename(
                    move.source,
                    move.target,
                    token=move.token,
                    expecting=expecting,
                    within=move.within,
                )
            except StoreError as error:
                self._statistics.failed("op_rename")
                told = move.heard(error)
                if told is error:
                    raise
                raise told from error
            self._statistics.took("op_rename", self.clock() - begin)
            return True

        async def observe() -> bool | Undone | None:
            # A rename in flight, or a listing of a peer, can show neither for a moment.
            for look in range(move.looks):
                there = await self._store.stat(move.target)
                if isinstance(there, Entry) and move.is_done_by(there):
                    return True
                left = await self._store.stat(move.source)
                if isinstance(left, Entry) and left.token != move.token:
                    return False  # Another's content has the name: there is nothing to bring.
                if left is not None:
                    refused = move.refusal is not None and there is None
                    makes_way = refused and not isinstance(expecting, Expect)
                    return None if makes_way else move.undone()
                if look + 1 < move.looks:
                    await asyncio.sleep(0.01 * 4**look)
            return False

        effect: Effect[bool | None] = Effect(apply, observe, "renaming", move.source)
        return await settle(effect, self._pace)


@dataclass(slots=True)
class _Move:
    """What is to be brought where, how it is recognised there, and what was answered so far."""

    source: StorePath
    target: StorePath
    token: Token
    carried: Carried | None
    within: StorePath
    looks: int
    yielding: bool
    refusal: StoreError | None = None

    def heard(self, error: StoreError) -> StoreError:
        """What a failure of the rename says; what is in the way of one that yields may go."""
        if error.reply is not Reply.REFUSED:
            return error
        self.refusal = error
        return StoreError(str(error), path=error.path) if self.yielding else error

    def undone(self) -> Undone:
        """What it says that the source is still there.

        Where files are removed by way of a trash others take them to look at them, and put them
        back: one that was missing is tried again.
        """
        missed = self.refusal is not None and self.refusal.errno == errno.ENOENT
        return Undone.OVERTAKEN if missed else Undone.UNDONE

    def is_done_by(self, there: Entry) -> bool:
        """Whether what stands at the target is what was to come, or as good."""
        if self.yielding:
            return True
        if there.token == self.token:
            return True
        carried = self.carried
        return carried is not None and carried.is_of(there)
