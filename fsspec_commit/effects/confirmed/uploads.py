"""Uploads as the protocol sees them: begun and filled as often as needed, completed once.

Nothing of an upload is visible before it is completed, so beginning one and storing a part are
simply repeated. Completing consumes the upload, and its target then carries the upload's nonce:
that, and not a server's answer to a repeated request, shows whether it has happened. Servers answer
a repeated Complete with 200, 404 or 403, and with 412 if the first one has succeeded.

An upload that another program has begun carries no nonce. Its name is never used again, so a file
of its size under that name is its file.
"""

import errno
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from fsspec_commit.effects.confirm import Effect, Undone, to_its_end
from fsspec_commit.effects.confirmed.counted import Counted
from fsspec_commit.effects.confirmed.one_shot import (
    OBSERVATIONS_MAX,
    Seen,
    observe_again,
    publish_once,
)
from fsspec_commit.effects.deletion import Permit
from fsspec_commit.effects.pacing import Pace
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import IdSource, JobId
from fsspec_commit.layout import StorePath
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import (
    CompletesUploads,
    Directory,
    Entry,
    Expect,
    Expectation,
    Part,
    PendingUpload,
    Store,
)

# Of a refusal for a missing upload; any other number has another reason, such as a permission.
_GONE = (None, errno.ENOENT)


class ConfirmedUploads(Counted):
    """Uploads, confirmed: however often one is completed, the file appears once.

    Attributes:
        part_bytes: The length of every part but the last; ``None`` if parts may differ in length.
        adopts: Whether an upload can be completed that another program has begun.
    """

    def __init__(
        self,
        ability: CompletesUploads,
        store: Store,
        pace: Pace,
        statistics: Statistics,
        ids: IdSource,
    ) -> None:
        super().__init__(store, pace, statistics)
        self._ability = ability
        self._adopting = ability.adopting
        self._ids = ids
        self.part_bytes = ability.part_bytes
        self.adopts = self._adopting is not None
        self._begun_for: dict[tuple[StorePath, str], JobId] = {}

    async def start(
        self, path: StorePath, begun: Callable[[PendingUpload], None] = lambda _: None
    ) -> PendingUpload:
        """Begin an upload of *path*.

        If a request to begin one is not answered, that upload is given up, and another is begun.

        Args:
            path: The path of the file.
            begun: Called with the upload, even if the caller was cancelled while it was begun.

        Raises:
            StoreError: It was refused, or never answered.
        """

        async def start() -> PendingUpload:
            upload = await self._ability.start(path, self._ids.nonce())
            begun(upload)
            return upload

        return await self._ask("multipart_upload_started", lambda: to_its_end(start()))

    def remember(self, upload: PendingUpload, job_id: JobId) -> None:
        """Keep in mind that this process has begun *upload* for a job, for :meth:`is_known_of`."""
        self._begun_for[upload.path, upload.upload_id] = job_id

    def is_known_of(self, upload: PendingUpload, job_id: JobId) -> bool:
        """Whether this process itself has begun *upload* for the job: no record has to say so."""
        return self._begun_for.get((upload.path, upload.upload_id)) == job_id

    async def put_part(self, upload: PendingUpload, number: int, data: bytes) -> Part:
        """Store part *number*, counted from 1; the same part again replaces it.

        Raises:
            StoreError: It was refused, as when the upload is gone, or never answered.
        """
        return await self._ask(
            "multipart_upload_part_put",
            lambda: to_its_end(self._ability.put_part(upload, number, data)),
        )

    async def complete(
        self,
        upload: PendingUpload,
        *,
        expecting: Expectation,
        resuming: bool = False,
        observations: int = OBSERVATIONS_MAX,
        accept_existing: bool = False,
    ) -> bool:
        """Make the file of *upload* visible; safe to repeat, by anyone.

        Args:
            upload: The upload, with its parts.
            expecting: What must stand at its path.
            resuming: An earlier driver may have tried, so the store's answer is verified.
            observations: How often to observe while the upload is gone and the file is not there.
            accept_existing: A file of another writer at the path is as good.

        Returns:
            False when neither the upload nor its file is there: the content is lost, and nothing
            was changed.

        Raises:
            StoreError: It certainly did not happen: something else stands at the path.
            CommitStateUnknownError: The store did not say.
        """
        doubt = resuming

        def attempt(expecting: Expectation) -> Effect[Seen]:
            nonlocal doubt
            completion = _Completion(
                upload, expecting, doubt=doubt, accept_existing=accept_existing
            )
            doubt = True

            async def observe() -> Seen | Undone:
                return completion.seen_by(await self._store.stat(upload.path))

            return Effect(
                lambda: self._complete(completion, observations),
                lambda: observe_again(observe, observations),
                "completing",
                upload.path,
            )

        if await publish_once(attempt, expecting, self._pace):
            return True
        stored_again = await self._stored_again(upload)
        if stored_again is None:
            return False
        upload = stored_again
        return await publish_once(attempt, expecting, self._pace)

    async def _stored_again(self, upload: PendingUpload) -> PendingUpload | None:
        """*upload* with the etags that its parts have now, if their bytes are those we sent.

        If a request to store a part was given up and sent again, the first one can be carried out
        last; where the store encrypts, its part has another etag than the one that was answered.
        Only for an upload of our own, since nobody else stores parts of that.

        Returns:
            ``None`` if it is gone, or the store does not show that nothing else is the matter.
        """
        adopting = self._adopting
        if adopting is None or upload.object_bytes is not None:
            return None
        try:
            parts = await self._ask("multipart_upload_list", lambda: adopting.stored_parts(upload))
        except StoreError as error:
            if error.reply is not Reply.REFUSED:
                raise
            return None
        stored = {part.number: part for part in parts or ()}
        now = tuple(stored.get(part.number, part) for part in upload.parts)
        pairs = zip(now, upload.parts, strict=True)
        if now == upload.parts or not all(a == b or adopting.has_bytes_of(a, b) for a, b in pairs):
            return None
        return replace(upload, parts=now)

    async def _complete(self, completion: "_Completion", observations: int) -> Seen:
        # Not through `_counted`, to save time: a job does this for each of its files.
        begin = self.clock()
        try:
            await self._ability.complete(completion.upload, expecting=completion.expecting)
        except StoreError as error:
            self._statistics.failed("multipart_upload_completed")
            completion.note(error)
            if not completion.may_be_served_by_another(error):
                raise
            seen = await self._seen_at_once(completion)
            if seen is not None:
                return seen
            # What was in the way has gone, and may come again: that makes no refusal certain.
            raise StoreError(str(error), path=error.path) from error
        self._statistics.took("multipart_upload_completed", self.clock() - begin)
        if not completion.doubt:
            return Seen.DONE

        # A server that died while completing can answer a second request as done, since it finds
        # the upload half taken apart (versitygw 1.8.0): after that, the file alone is believed.
        async def observe() -> Seen:
            there = await self._store.stat(completion.upload.path)
            return Seen.DONE if completion.is_done_by(there) else Seen.NEITHER

        try:
            return await observe_again(observe, observations)
        except StoreError as error:
            # Why the file cannot be observed says nothing of the completion.
            raise StoreError(
                str(error), path=error.path, retry_after_s=error.retry_after_s
            ) from error

    async def _seen_at_once(self, completion: "_Completion") -> Seen | None:
        """What stands there just after a refusal, if that settles it: many jobs leave markers."""
        with suppress(StoreError):
            seen = completion.seen_by(await self._store.stat(completion.upload.path))
            return seen if seen in {Seen.DONE, Seen.MADE_WAY} else None
        return None

    async def is_pending(self, upload: PendingUpload) -> bool:
        """Whether *upload* can still be completed; False if the store does not show uploads.

        Raises:
            StoreError: It was refused, or never answered.
        """
        adopting = self._adopting
        if adopting is None:
            return False
        parts = await self._ask("multipart_upload_list", lambda: adopting.stored_parts(upload))
        return parts is not None

    async def is_empty(self, upload: PendingUpload) -> bool:
        """Whether *upload* holds no byte; False if the store does not show that, or not to us.

        Raises:
            StoreError: It was never answered.
        """
        adopting = self._adopting
        if adopting is None:
            return False
        try:
            parts = await self._ask("multipart_upload_list", lambda: adopting.stored_parts(upload))
        except StoreError as error:
            if error.reply is not Reply.REFUSED:
                raise
            return False
        return not any(part.size_bytes != 0 for part in parts or ())

    async def adopted(self, upload: PendingUpload, etags: Sequence[str]) -> tuple[Part, ...] | str:
        """The parts of an upload that another program has begun; or why they are not as it said.

        Args:
            upload: The upload, with the size of its object.
            etags: What the other program was answered for its parts, in their order.

        Raises:
            StoreError: They could not be listed.
        """
        adopting = self._adopting
        if adopting is None:
            return "an upload to this store can be completed only by the library that began it"
        parts = await self._ask("multipart_upload_list", lambda: adopting.stored_parts(upload))
        if parts is None:
            return (
                "no such upload of that name is pending: it was completed, or aborted, or never was"
            )
        numbers, count = [part.number for part in parts], len(etags)
        if numbers != list(range(1, count + 1)):
            return f"its upload has the parts {numbers}, and should have 1 to {count}"
        told: list[Part] = []
        for part, etag in zip(parts, etags, strict=True):
            same = adopting.told_as(part, etag)
            if same is None:
                return f"part {part.number} of its upload is {part.token!r}, and not {etag!r}"
            told.append(same)
        size_bytes = sum(part.size_bytes or 0 for part in parts)
        if size_bytes != upload.object_bytes:
            return f"its upload has {size_bytes} bytes, and should have {upload.object_bytes}"
        return tuple(told)

    async def abort(self, upload: PendingUpload, permit: Permit) -> None:
        """Drop an upload and its parts; one that is gone, or completed, is done.

        Raises:
            StoreError: It was refused, or never answered.
        """
        permit.check_upload(upload)
        await self._ask("multipart_upload_aborted", lambda: self._ability.abort(upload))

    async def abort_or_leave(self, upload: PendingUpload, permit: Permit) -> None:
        """Try to drop an upload that does no harm if it stays."""
        with suppress(StoreError):
            await self.abort(upload, permit)

    async def pending(
        self, prefix: StorePath, wanted: Callable[[PendingUpload], bool]
    ) -> list[PendingUpload]:
        """The *wanted* ones of all pending uploads below the directory *prefix*, all pages."""

        async def listing() -> list[PendingUpload]:
            return [upload async for upload in self._ability.pending(prefix) if wanted(upload)]

        return await self._ask("multipart_upload_list", listing)


@dataclass(slots=True)
class _Completion:
    """One completion, and what was answered so far.

    Attributes:
        doubt: Whether it may have been requested before: then only the file shows that it is done.
    """

    upload: PendingUpload
    expecting: Expectation
    doubt: bool
    accept_existing: bool
    refusals: list[StoreError] = field(default_factory=list)

    def note(self, error: StoreError) -> None:
        """Remember a failure of the completion."""
        if error.reply is Reply.REFUSED:
            self.refusals.append(error)
        self.doubt = self.doubt or error.reply is Reply.UNKNOWN

    def may_be_served_by_another(self, error: StoreError) -> bool:
        """Whether it was refused because of a file that may be as good as this one."""
        is_taken = error.reply is Reply.REFUSED and error.errno == errno.EEXIST
        return self.accept_existing and is_taken

    def is_done_by(self, there: Entry | Directory | None) -> bool:
        """Whether what stands at the path is what was uploaded."""
        if not isinstance(there, Entry):
            return False
        if self.upload.object_bytes is not None:
            return there.size_bytes == self.upload.object_bytes
        return there.nonce == self.upload.nonce

    def seen_by(self, there: Entry | Directory | None) -> Seen | Undone:
        """What *there*, which stands at the path, shows of the completion."""
        if self.is_done_by(there):
            return Seen.DONE
        if not self.refusals:
            return Undone.UNDONE
        if there is None and not isinstance(self.expecting, Expect):
            return Seen.MADE_WAY
        if not _as_expected(there, self.expecting):
            is_as_good = self.accept_existing and isinstance(there, Entry)
            return Seen.DONE if is_as_good else Undone.UNDONE
        is_gone = any(refusal.errno in _GONE for refusal in self.refusals)
        return Seen.NEITHER if is_gone else Undone.UNDONE


def _as_expected(there: Entry | Directory | None, expecting: Expectation) -> bool:
    """Whether a refusal cannot be due to what stands there, so that the upload must be gone."""
    if isinstance(there, Entry):
        return expecting is Expect.ANYTHING or there.token == expecting
    return expecting in (Expect.ABSENT, Expect.ANYTHING)
