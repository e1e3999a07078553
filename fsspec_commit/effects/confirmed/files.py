"""Renames of files, confirmed: however often one is repeated, the file arrives once."""

import errno
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from fsspec_commit.effects.confirm import Effect, Undone
from fsspec_commit.effects.confirmed.counted import Counted
from fsspec_commit.effects.confirmed.one_shot import (
    OBSERVATIONS_MAX,
    Seen,
    observe_again,
    publish_once,
)
from fsspec_commit.effects.pacing import Pace
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

BULK_MAX = 128
"""The most files renamed by one call: few enough that a cancellation takes effect soon."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What identifies a file whose token has changed, by a rename or a change of metadata.

    Several files may carry one nonce: the token by which the source of the rename is pinned says
    which of them it is. Without a nonce, the size identifies a file whose name is never used again.
    """

    nonce: Nonce | None
    size_bytes: int

    def is_of(self, there: Entry) -> bool:
        """Whether the file *there* carries it."""
        is_same_writer = self.nonce is None or there.nonce == self.nonce
        return is_same_writer and there.size_bytes == self.size_bytes


class ConfirmedFiles(Counted):
    """Renames of files, confirmed: source gone and target as expected is done."""

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
        """Carry out *renames* in turn, to names that must be free, until one fails.

        Returns:
            How many are done. The next one is to be repeated by :meth:`rename`, which confirms it.
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
        observations: int = OBSERVATIONS_MAX,
        accept_existing: bool = False,
    ) -> bool:
        """Bring the content *token* from *source* to *target*; safe to repeat, by anyone.

        Args:
            source: The path it is at.
            target: The path it is to have.
            token: The content's token at *source*.
            expecting: What must stand at *target*.
            within: Directories of *target* below it are made as needed.
            carried: What identifies the content at *target*, if its token may differ there.
            observations: How often to observe while neither source nor target shows the content.
            accept_existing: A file of another writer at *target* is as good.

        Returns:
            False when neither the source nor the expected content at the target is there: the
            content is lost, and nothing was changed.

        Raises:
            StoreError: It certainly did not happen: something else stands at the target.
            CommitStateUnknownError: The store did not say.
        """
        move = _Move(source, target, token, carried, within, accept_existing)

        async def observe(expecting: Expectation) -> Seen | Undone:
            there = await self._store.stat(target)
            if isinstance(there, Entry) and move.is_done_by(there):
                return Seen.DONE
            left = await self._store.stat(source)
            if left is None:
                return Seen.NEITHER
            if isinstance(left, Entry) and left.token != token:
                return Seen.LOST  # Another's content has the name: there is nothing to bring.
            refused = move.refusal is not None and there is None
            makes_way = refused and not isinstance(expecting, Expect)
            return Seen.MADE_WAY if makes_way else move.undone()

        def attempt(expecting: Expectation) -> Effect[Seen]:
            return Effect(
                lambda: self._rename(move, expecting),
                lambda: observe_again(lambda: observe(expecting), observations),
                "renaming",
                source,
            )

        return await publish_once(attempt, expecting, self._pace)

    async def _rename(self, move: "_Move", expecting: Expectation) -> Seen:
        # Not through `_counted`, to save time: a job does this for each of its files.
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
            classified = move.classify(error)
            if classified is error:
                raise
            if await self._is_taken(move.target):
                return Seen.DONE
            raise classified from error
        self._statistics.took("op_rename", self.clock() - begin)
        return Seen.DONE

    async def _is_taken(self, target: StorePath) -> bool:
        """Whether a file stands at *target* just after a refusal: many jobs may leave one there."""
        with suppress(StoreError):
            return isinstance(await self._store.stat(target), Entry)
        return False


@dataclass(slots=True)
class _Move:
    """One rename, how its result is recognised, and what was answered so far."""

    source: StorePath
    target: StorePath
    token: Token
    carried: Carried | None
    within: StorePath
    accept_existing: bool
    refusal: StoreError | None = None

    def classify(self, error: StoreError) -> StoreError:
        """*error*; a refusal is remembered, and final unless another's file is accepted.

        Then what is in the way may go, and the rename may be tried again.
        """
        if error.reply is not Reply.REFUSED:
            return error
        self.refusal = error
        return StoreError(str(error), path=error.path) if self.accept_existing else error

    def undone(self) -> Undone:
        """What it means that the source is still there.

        Where files are removed by way of a trash, another driver may move one there to identify it,
        and put it back: a source that was missing for a moment is tried again.
        """
        missed = self.refusal is not None and self.refusal.errno == errno.ENOENT
        return Undone.OUTDATED if missed else Undone.UNDONE

    def is_done_by(self, there: Entry) -> bool:
        """Whether the file at the target is the renamed one, or accepted in its place."""
        if self.accept_existing:
            return True
        if there.token == self.token:
            return True
        carried = self.carried
        return carried is not None and carried.is_of(there)
