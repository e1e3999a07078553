"""Uploads to a simulated store, one request each."""

from collections.abc import AsyncIterator, Awaitable, Sequence

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import AdoptsUploads, Expectation, Part, PendingUpload
from fsspec_commit.store.opening import Ask
from fsspec_commit.testing.simulation.bucket import Bucket
from fsspec_commit.testing.simulation.families import Family
from fsspec_commit.testing.simulation.ordering import Order
from fsspec_commit.testing.simulation.process import Process


class SimulatedUploads:
    """Uploads that another process completes."""

    part_bytes: int | None = None

    def __init__(
        self, bucket: Bucket, family: Family, process: Process, ask: Ask, order: Order
    ) -> None:
        self._bucket = bucket
        self._order = order
        self._page_entries = family.page_entries or 1
        self._request = process.request
        self._ask = ask
        self.adopting: AdoptsUploads | None = (
            None if family.drops_uploads else _Adoption(bucket, process)
        )

    async def start(self, path: StorePath, nonce: Nonce) -> PendingUpload:
        """Begin an upload."""
        return await self._request("start", path, lambda: self._bucket.start(path, nonce))

    async def put_part(self, upload: PendingUpload, number: int, data: bytes) -> Part:
        """Store a part."""
        return await self._request(
            "put_part", upload.path, lambda: self._bucket.put_part(upload, number, data)
        )

    async def complete(self, upload: PendingUpload, *, expecting: Expectation) -> None:
        """Make the object visible."""
        await self._request(
            "complete", upload.path, lambda: self._bucket.complete(upload, expecting)
        )

    async def abort(self, upload: PendingUpload) -> None:
        """Drop an upload."""
        await self._request("abort", upload.path, lambda: self._bucket.abort(upload))

    async def pending(self, prefix: StorePath) -> AsyncIterator[PendingUpload]:
        """Every pending upload below *prefix*, in pages, those of one path by their ids."""
        after = ("", "")

        def page() -> list[PendingUpload]:
            found = sorted(self._bucket.pending(f"{prefix}/"), key=self._place)
            return [one for one in found if self._place(one) > after][: self._page_entries]

        def asked() -> Awaitable[list[PendingUpload]]:
            return self._request("pending", prefix, page, is_later_page=after != ("", ""))

        while True:
            uploads = await (self._ask(asked) if after != ("", "") else asked())
            for upload in uploads:
                yield upload
            if len(uploads) < self._page_entries:
                return
            after = self._place(uploads[-1])

    def _place(self, upload: PendingUpload) -> tuple[str, str]:
        return self._order(upload.path), upload.upload_id


class _Adoption:
    """Uploads that another program has begun."""

    def __init__(self, bucket: Bucket, process: Process) -> None:
        self._bucket = bucket
        self._request = process.request

    async def stored_parts(self, upload: PendingUpload) -> Sequence[Part] | None:
        return await self._request(
            "stored_parts", upload.path, lambda: self._bucket.stored_parts(upload)
        )

    def told_as(self, stored: Part, etag: str) -> Part | None:
        return stored if stored.token == etag else None

    def has_bytes_of(self, stored: Part, sent: Part) -> bool:
        return stored.token.rpartition(":")[2] == sent.token.rpartition(":")[2]
