"""Uploads that are completed later, by any process, from plain data."""

import asyncio
import pickle
from contextlib import suppress
from dataclasses import replace

import pytest

from fsspec_commit.errors import StoreError
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.layout import StorePath
from fsspec_commit.store import CompletesUploads, Expect, Part, PendingUpload, Store
from fsspec_commit.testing.store_contract.given import (
    CONTENDERS,
    At,
    Contender,
    Given,
    OpenAgain,
    ReadRaw,
    contend,
    driven,
    entry,
    place,
    refused,
    requires,
    tree,
)

_PART_BYTES = 5 << 20
"""The smallest part that stores accept, except as the last one."""


def _uploads(store: Store) -> CompletesUploads:
    if store.uploads is None:
        pytest.skip("this store does not declare multipart")
    return store.uploads


async def _uploaded(store: Store, path: StorePath, *pieces: bytes) -> PendingUpload:
    """An upload with all its parts, as it comes out of a manifest in another process."""
    uploads = _uploads(store)
    upload = await uploads.start(path, SYSTEM_IDS.nonce())
    numbered = list(enumerate(pieces, start=1))
    parts = await asyncio.gather(*(uploads.put_part(upload, n, data) for n, data in numbered))
    upload = PendingUpload(
        path=upload.path, upload_id=upload.upload_id, nonce=upload.nonce, parts=tuple(parts)
    )
    carried: PendingUpload = pickle.loads(pickle.dumps(upload))  # noqa: S301  # our own bytes
    return carried


async def _pending(store: Store, path: StorePath) -> list[StorePath]:
    return sorted([upload.path async for upload in _uploads(store).pending(path)])


class UploadsContract(Given):
    """`uploads`."""

    @driven
    async def test_an_upload_is_visible_when_completed(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """Whole, and recognised by its nonce; not before."""
        pieces = [b"1" * _PART_BYTES, b"2" * _PART_BYTES, b"end"]
        upload = await _uploaded(store, at("d/a"), *pieces)
        assert read_raw(at("d/a")) is None
        assert await store.stat(at("d/a")) is None
        assert await tree(store, store.root) == []
        await _uploads(store).complete(upload, expecting=Expect.ABSENT)
        assert read_raw(at("d/a")) == b"".join(pieces)
        found = await entry(store, at("d/a"))
        assert found.size_bytes == sum(map(len, pieces))
        assert found.nonce == upload.nonce, "a lost reply could not be resolved"
        if store.capabilities.uploads_listable:
            assert await _pending(store, store.root) == []

    @driven
    async def test_parts_answer_what_they_are(self, store: Store, at: At) -> None:
        """Numbers and sizes as given: a manifest records them."""
        upload = await _uploaded(store, at("a"), b"only")
        assert [(part.number, part.size_bytes) for part in upload.parts] == [(1, 4)]
        assert all(isinstance(part, Part) for part in upload.parts)

    @driven
    async def test_the_parts_of_an_upload_are_listed(self, store: Store, at: At) -> None:
        """While it is pending, and of that path only."""
        adopting = _uploads(store).adopting
        if adopting is None:
            pytest.skip("only this adapter can begin an upload that it completes")
        upload = await _uploaded(store, at("a"), b"1" * _PART_BYTES, b"end")
        listed = await adopting.stored_parts(upload)
        assert listed is not None
        assert [(part.number, part.size_bytes) for part in listed] == [(1, _PART_BYTES), (2, 3)]
        first, second = (part.token for part in upload.parts)
        told = (adopting.told_as(listed[0], first), adopting.told_as(listed[1], second))
        assert told == upload.parts
        assert adopting.told_as(listed[0], second) is None
        assert not adopting.has_bytes_of(listed[0], upload.parts[1])
        for other in (replace(upload, path=at("b")), replace(upload, upload_id="none")):
            assert await adopting.stored_parts(other) is None
        await _uploads(store).complete(upload, expecting=Expect.ABSENT)
        assert (await entry(store, at("a"))).size_bytes == _PART_BYTES + 3
        assert await adopting.stored_parts(upload) is None

    @driven
    async def test_an_empty_file_is_uploaded(self, store: Store, at: At, read_raw: ReadRaw) -> None:
        """One part of no bytes."""
        upload = await _uploaded(store, at("a"), b"")
        await _uploads(store).complete(upload, expecting=Expect.ABSENT)
        assert read_raw(at("a")) == b""

    @driven
    async def test_an_aborted_upload_never_appears(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """It cannot be completed any more, and aborting it again succeeds."""
        upload = await _uploaded(store, at("a"), b"1")
        await _uploads(store).abort(upload)
        await _uploads(store).abort(upload)
        with pytest.raises(StoreError):
            await _uploads(store).complete(upload, expecting=Expect.ABSENT)
        assert read_raw(at("a")) is None
        if store.capabilities.uploads_listable:
            assert await _pending(store, store.root) == []

    @driven
    async def test_an_upload_is_of_its_name_alone(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """Under another name its id means nothing: a forged record takes no other job's upload."""
        uploads = _uploads(store)
        upload = await _uploaded(store, at("a"), b"1")
        elsewhere = replace(upload, path=at("b"))
        with suppress(StoreError):
            await uploads.abort(elsewhere)
        with pytest.raises(StoreError):
            await uploads.complete(elsewhere, expecting=Expect.ABSENT)
        assert read_raw(at("b")) is None
        await uploads.complete(upload, expecting=Expect.ABSENT)
        assert read_raw(at("a")) == b"1"

    @driven
    async def test_completing_again_changes_nothing(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """Whatever the answer is, even when another's file stands there by then, or none."""
        uploads = _uploads(store)
        for number, comes in enumerate((None, b"another's", b"")):
            path = at(f"a{number}")
            upload = await _uploaded(store, path, b"1")
            await uploads.complete(upload, expecting=Expect.ABSENT)
            if comes is not None:
                await store.put(path, comes, expecting=Expect.ANYTHING, within=None)
            if comes == b"":
                await store.delete(path, expecting=Expect.ANYTHING)
            before = await store.stat(path)
            for expecting in (Expect.ABSENT, Expect.ANYTHING):
                with suppress(StoreError):
                    await uploads.complete(upload, expecting=expecting)
                assert await store.stat(path) == before
            assert read_raw(path) == {None: b"1", b"another's": b"another's", b"": None}[comes]

    @driven
    async def test_an_upload_replaces_what_is_expected(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """And nothing else, where a replacement on condition is declared."""
        uploads = _uploads(store)
        requires(store.capabilities.replace_if_match, "replace_if_match")
        stale = await store.put(at("a"), b"old", expecting=Expect.ANYTHING, within=None)
        current = await store.put(at("a"), b"newer", expecting=Expect.ANYTHING, within=None)
        late = await _uploaded(store, at("a"), b"late")
        with refused():
            await uploads.complete(late, expecting=stale)
        assert read_raw(at("a")) == b"newer"
        await uploads.abort(late)
        upload = await _uploaded(store, at("a"), b"newest")
        await uploads.complete(upload, expecting=current)
        assert read_raw(at("a")) == b"newest"
        assert (await entry(store, at("a"))).nonce == upload.nonce

    @driven
    async def test_a_part_is_replaced_when_sent_again(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """A part whose reply was lost is sent again."""
        uploads = _uploads(store)
        upload = await uploads.start(at("a"), SYSTEM_IDS.nonce())
        await uploads.put_part(upload, 1, b"same")
        part = await uploads.put_part(upload, 1, b"same")
        whole = replace(upload, parts=(part,))
        await uploads.complete(whole, expecting=Expect.ABSENT)
        assert read_raw(at("a")) == b"same"

    @driven
    async def test_aborting_a_completed_upload_deletes_nothing(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """A late abort does not take a published file away."""
        upload = await _uploaded(store, at("a"), b"1")
        await _uploads(store).complete(upload, expecting=Expect.ABSENT)
        with suppress(StoreError):
            await _uploads(store).abort(upload)
        assert read_raw(at("a")) == b"1"

    @driven
    async def test_an_upload_refuses_what_exists(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """Completing is exclusive where a create is."""
        _uploads(store)
        requires(store.capabilities.exclusive_create, "exclusive_create")
        upload = await _uploaded(store, at("a"), b"late")
        await place(store, at, a=b"stands")
        with refused():
            await _uploads(store).complete(upload, expecting=Expect.ABSENT)
        assert read_raw(at("a")) == b"stands"

    @pytest.mark.guarantees("P8")
    @driven
    async def test_p8_an_upload_takes_a_deleted_name(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """A job removes an earlier `_SUCCESS`, decides, and publishes its own."""
        _uploads(store)
        requires(store.capabilities.exclusive_create, "exclusive_create")
        for data in (b"first", b"second"):
            upload = await _uploaded(store, at("a"), data)
            await _uploads(store).complete(upload, expecting=Expect.ABSENT)
            assert read_raw(at("a")) == data
            await store.delete(at("a"), expecting=Expect.ANYTHING)

    @driven
    async def test_one_of_many_uploads_gets_a_name(
        self, store: Store, at: At, open_again: OpenAgain | None, read_raw: ReadRaw
    ) -> None:
        """Of many uploads of one name completed at once, one appears."""
        _uploads(store)
        requires(store.capabilities.exclusive_create, "exclusive_create")
        requires(store.capabilities.upload_keyed_by == "upload_id", "upload_keyed_by='upload_id'")
        pending = [await _uploaded(store, at("a"), bytes([n])) for n in range(CONTENDERS)]

        def completing(upload: PendingUpload) -> Contender:
            return lambda s: _uploads(s).complete(upload, expecting=Expect.ABSENT)

        winners = await contend(store, open_again, [completing(upload) for upload in pending])
        assert len(winners) == 1
        assert read_raw(at("a")) == bytes(winners)

    @driven
    async def test_attempts_do_not_share_uploads(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """Two uploads of one name, where they are keyed by upload id, do not mix."""
        _uploads(store)
        requires(store.capabilities.upload_keyed_by == "upload_id", "upload_keyed_by='upload_id'")
        first = await _uploaded(store, at("a"), b"first")
        second = await _uploaded(store, at("a"), b"second")
        await _uploads(store).abort(first)
        await _uploads(store).complete(second, expecting=Expect.ABSENT)
        assert read_raw(at("a")) == b"second"

    @driven
    async def test_pending_uploads_are_listed_by_directory(self, store: Store, at: At) -> None:
        """`t` lists what is in `t`, not in `t0`: a cleanup must not abort a neighbour's."""
        _uploads(store)
        requires(store.capabilities.uploads_listable, "uploads_listable")
        for name in ("t/a", "t/d/b", "t0/a", "t.bak/a"):
            await _uploaded(store, at(name), b"1")
        assert await _pending(store, at("t")) == sorted([at("t/a"), at("t/d/b")])
        assert len(await _pending(store, store.root)) == 4  # noqa: PLR2004  # all of them
