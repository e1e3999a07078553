"""A probe tells whether a store does what its adapter declares; every lie here is found."""

from __future__ import annotations

import asyncio
import pickle
import random
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self
from uuid import uuid4

import pytest

import fsspec_commit as fc
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import IdSource, Nonce
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.selection import choose
from fsspec_commit.store import (
    AtomicRename,
    Capabilities,
    Directory,
    Entry,
    Expect,
    Expectation,
    OpenOptions,
    Part,
    PendingUpload,
    Store,
    Token,
    Writer,
    registry,
)
from fsspec_commit.store.capabilities import differences
from fsspec_commit.store.probe import ProbeReport, probe
from fsspec_commit.testing import Fault, FaultyStore, RecordingStore
from fsspec_commit_stores.local import LocalStore
from fsspec_commit_stores.memory import CAPABILITIES, MemoryStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

IDS = IdSource(random.Random(20), lambda: datetime(2026, 11, 20, 14, 3, 55, tzinfo=UTC))


def root() -> StorePath:
    return StorePath(f"/probe-{uuid4().hex}/out")


def probed(store: Store) -> Capabilities:
    async def run() -> Capabilities:
        scratch = DestinationLayout(store.root).probe(IDS.nonce())
        try:
            return await probe(store, scratch, IDS)
        finally:
            assert await leftovers(store, scratch) == []

    return asyncio.run(run())


async def leftovers(store: Store, scratch: StorePath) -> list[StorePath]:
    """Past every lie, which all are told by subclasses of the memory store."""
    plain = MemoryStore(store.root) if isinstance(store, MemoryStore) else store
    return [entry.path async for entry in plain.list_tree(scratch)]


def found(store: Store) -> set[str]:
    lines = differences(store.capabilities, probed(store))
    return {line.partition(":")[0] for line in lines}


def refuse(path: str) -> StoreError:
    return StoreError(f"{path!r} stands there", reply=Reply.REFUSED, path=path)


@pytest.fixture(params=["memory", "local"])
def honest(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore(root())
    return asyncio.run(LocalStore.open(str(tmp_path / "out"), OpenOptions()))


def test_an_honest_store_passes(honest: Store) -> None:
    declared, observed = honest.capabilities, probed(honest)
    assert differences(declared, observed) == ()
    assert observed.facts() == declared.facts()
    assert choose(observed).committer == choose(declared).committer == "v1"


def test_what_was_seen_is_marked_and_the_rest_stays_declared(honest: Store) -> None:
    declared, observed = honest.capabilities, probed(honest)
    seen = {
        "atomic_rename",
        "consistent_listing",
        "delete_if_match",
        "exclusive_create",
        "exclusive_rename",
        "replace_if_match",
        "token_survives_rename",
        "whole_object_publish",
    }
    # Looking alike from one client is no proof of atomicity: a declared absence stands.
    shown = {name for name in seen if declared.facts()[name] is not False}
    assert {name for name, how in observed.evidence.items() if how == "probed"} == shown


def test_a_probe_takes_a_few_dozen_small_requests(honest: Store) -> None:
    recording = RecordingStore(honest)
    probed(recording)
    assert len(recording.calls) <= 45
    inside = f"{honest.root}/_commit/probe-"
    assert [call for call in recording.calls if not call.path.startswith(inside)] == []


class Overwriting(MemoryStore):
    """An exclusive create that overwrites."""

    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,
        nonce: Nonce | None = None,
    ) -> Token:
        lie = Expect.ANYTHING if expecting is Expect.ABSENT else expecting
        return await super().put(path, data, expecting=lie, within=within, nonce=nonce)


class CheckingFirst(MemoryStore):
    """An exclusive create that looks, waits, and then overwrites."""

    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,
        nonce: Nonce | None = None,
    ) -> Token:
        if expecting is not Expect.ABSENT:
            return await super().put(path, data, expecting=expecting, within=within)
        if await self.stat(path) is not None:
            raise refuse(path)
        await asyncio.sleep(0)
        return await super().put(path, data, expecting=Expect.ANYTHING, within=within)


class IgnoringTokens(MemoryStore):
    """A replacement that takes any token."""

    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,
        nonce: Nonce | None = None,
    ) -> Token:
        lie = expecting if isinstance(expecting, Expect) else Expect.ANYTHING
        return await super().put(path, data, expecting=lie, within=within, nonce=nonce)


class RefusingTokens(MemoryStore):
    """A replacement on condition is refused always."""

    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,
        nonce: Nonce | None = None,
    ) -> Token:
        if not isinstance(expecting, Expect):
            raise refuse(path)
        return await super().put(path, data, expecting=expecting, within=within)


class DeletingAnything(MemoryStore):
    """A deletion that takes any token."""

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        await super().delete(path, expecting=Expect.ANYTHING)


class DeletingNothing(MemoryStore):
    """A deletion on condition that says yes and does nothing."""

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        if isinstance(expecting, Expect):
            await super().delete(path, expecting=expecting)


class StaleChildren(MemoryStore):
    """A listing of a directory that shows what the last one should have shown."""

    async def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        before = getattr(self, "before", [])
        self.before = [child async for child in super().list_children(path)]
        for child in before:
            yield child


class StaleTree(MemoryStore):
    """The same of a listing of a tree."""

    async def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        before = getattr(self, "before", [])
        self.before = [child async for child in super().list_tree(path)]
        for child in before:
            yield child


class KeepingDeleted(MemoryStore):
    """Listings that go on showing a deleted file."""

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        there = await self.stat(path)
        await super().delete(path, expecting=expecting)
        if isinstance(there, Entry):
            self.ghost = there

    async def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        async for child in super().list_children(path):
            yield child
        if hasattr(self, "ghost"):
            yield self.ghost


class OldTokens(MemoryStore):
    """Listings that show the first token of a name for ever."""

    async def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        async for entry in super().list_tree(path):
            yield Entry(path=entry.path, size_bytes=entry.size_bytes, token=Token("first"))

    async def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        async for child in super().list_children(path):
            if isinstance(child, Entry):
                yield Entry(path=child.path, size_bytes=child.size_bytes, token=Token("first"))


class WritingInPlace(MemoryStore):
    """A writer whose file is seen while it is written."""

    def writer(self, path: StorePath, *, within: StorePath) -> Writer[Entry]:
        return _InPlace(self, path, within)


class _InPlace:
    def __init__(self, store: MemoryStore, path: StorePath, within: StorePath) -> None:
        self._store, self._path, self._within, self._data = store, path, within, b""

    async def write(self, data: bytes) -> None:
        self._data += data
        await self._store.put(
            self._path, self._data, expecting=Expect.ANYTHING, within=self._within
        )

    async def finish(self) -> Entry:
        entry = await self._store.stat(self._path)
        assert isinstance(entry, Entry)
        return entry

    async def discard(self) -> None:
        await self._store.delete(self._path, expecting=Expect.ANYTHING)


@pytest.mark.parametrize(
    ("kind", "lies"),
    [
        (Overwriting, {"exclusive_create"}),
        (CheckingFirst, {"exclusive_create"}),
        (IgnoringTokens, {"replace_if_match"}),
        (RefusingTokens, {"replace_if_match"}),
        (DeletingAnything, {"delete_if_match"}),
        (DeletingNothing, {"delete_if_match"}),
        (StaleChildren, {"consistent_listing"}),
        (StaleTree, {"consistent_listing"}),
        (KeepingDeleted, {"consistent_listing"}),
        (OldTokens, {"consistent_listing"}),
        (WritingInPlace, {"whole_object_publish"}),
    ],
)
def test_a_lying_store_is_found_out(kind: type[MemoryStore], lies: set[str]) -> None:
    assert found(kind(root())) == lies


class Files:
    """Renames of files as a lying store does them."""

    def __init__(self, store: MemoryStore, lie: str) -> None:
        self.store, self.lie = store, lie

    async def rename(
        self,
        source: StorePath,
        target: StorePath,
        *,
        token: Token | None,
        expecting: Expectation,
        within: StorePath,
    ) -> None:
        honest = MemoryStore(self.store.root).files
        assert honest is not None
        match self.lie:
            case "overwrites":
                await honest.rename(
                    source, target, token=token, expecting=Expect.ANYTHING, within=within
                )
            case "checks first":
                if await self.store.stat(target) is not None:
                    raise refuse(target)
                await asyncio.sleep(0)
                await honest.rename(
                    source, target, token=token, expecting=Expect.ANYTHING, within=within
                )
            case "says yes":
                pass
            case "refuses":
                raise refuse(target)
            case _:
                content = await self.store.read(source, limit_bytes=1 << 20)
                assert content is not None
                asked = Expect.ANYTHING if "overwrites" in self.lie else expecting
                await self.store.put(target, content.data, expecting=asked, within=within)
                if "deletes" in self.lie:
                    await self.store.delete(source, expecting=Expect.ANYTHING)


@pytest.mark.parametrize(
    ("lie", "lies"),
    [
        ("overwrites", {"exclusive_rename"}),
        ("checks first", {"exclusive_rename"}),
        ("copies", {"atomic_rename", "token_survives_rename"}),
        ("copies and deletes", {"atomic_rename", "token_survives_rename"}),
        (
            "copies and overwrites",
            {"atomic_rename", "exclusive_rename", "token_survives_rename"},
        ),
        ("says yes", {"atomic_rename", "exclusive_rename"}),
        ("refuses", {"atomic_rename", "exclusive_rename"}),
    ],
)
def test_a_lying_rename_is_found_out(lie: str, lies: set[str]) -> None:
    store = MemoryStore(root())
    store.files = Files(store, lie)
    assert found(store) == lies


def test_a_copy_that_keeps_the_source_is_found_out_where_tokens_are_not_kept() -> None:
    store = MemoryStore(root())
    store.capabilities = CAPABILITIES.known("declared", token_survives_rename=False)
    store.files = Files(store, "copies")
    assert found(store) == {"atomic_rename"}


class Directories:
    """Renames of directories as a lying store does them."""

    def __init__(self, store: MemoryStore, lie: str) -> None:
        self.store, self.lie = store, lie

    async def rename_directory(
        self, source: StorePath, target: StorePath, *, within: StorePath
    ) -> None:
        if self.lie == "refuses":
            raise refuse(target)
        async for entry in self.store.list_tree(source):
            content = await self.store.read(entry.path, limit_bytes=1 << 20)
            assert content is not None
            copy = StorePath(target + entry.path[len(source) :])
            if self.lie != "says yes":
                await self.store.put(copy, content.data, expecting=Expect.ANYTHING, within=within)
        if self.lie == "merges":
            await self.store.delete_tree(source)


@pytest.mark.parametrize("lie", ["refuses", "copies", "merges", "says yes"])
def test_a_lying_rename_of_directories_is_found_out(lie: str) -> None:
    store = MemoryStore(root())
    store.directories = Directories(store, lie)
    observed = probed(store)
    assert observed.atomic_rename is AtomicRename.FILE
    assert differences(store.capabilities, observed) == (
        "atomic_rename: declared 'directory', observed 'file'",
    )
    assert choose(observed).committer == "manifest"


def test_an_ability_that_is_declared_and_missing_is_found_out() -> None:
    store = MemoryStore(root())
    store.capabilities = CAPABILITIES.known("declared", multipart=True)
    store.files = store.directories = None
    assert found(store) == {"atomic_rename", "exclusive_rename", "multipart"}


def test_what_a_probe_can_show_replaces_what_was_unknown() -> None:
    store = MemoryStore(root())
    store.capabilities = Capabilities(paged_listing=True)
    observed = probed(store)
    assert differences(store.capabilities, observed) == ()
    # Atomicity cannot be seen, so the rename stays unknown, which counts as absent.
    assert observed == Capabilities(
        consistent_listing=True,
        delete_if_match=True,
        exclusive_create=True,
        exclusive_rename=True,
        multipart=False,
        paged_listing=True,
        replace_if_match=True,
        token_survives_rename=True,
        whole_object_publish=True,
        evidence=observed.evidence,
    )
    assert "atomic_rename" not in observed.evidence


def test_the_listing_of_a_mount_stays_unknown() -> None:
    store = MemoryStore(root())
    store.capabilities = CAPABILITIES.known("declared", consistent_listing=None)
    observed = probed(store)
    assert observed.consistent_listing is None
    assert choose(observed).committer is None


def test_what_is_assumed_stays_assumed_unless_it_is_refuted() -> None:
    store = MemoryStore(root())
    store.capabilities = CAPABILITIES.known("assumed", consistent_listing=True)
    assert probed(store).evidence["consistent_listing"] == "assumed"
    stale = StaleTree(root())
    stale.capabilities = CAPABILITIES.known("assumed", consistent_listing=True)
    observed = probed(stale)
    assert observed.consistent_listing is False
    assert observed.evidence["consistent_listing"] == "probed"


def test_a_declared_absence_stands() -> None:
    absent = Capabilities(
        atomic_rename=AtomicRename.NONE,
        consistent_listing=False,
        delete_if_match=False,
        exclusive_create=False,
        exclusive_rename=False,
        multipart=False,
        replace_if_match=False,
        token_survives_rename=False,
        whole_object_publish=False,
    )
    store = MemoryStore(root())
    store.capabilities = absent
    assert probed(store) == absent


class Uploads:
    """Multipart uploads into memory, as honest as it is told to be."""

    def __init__(self, store: MemoryStore, lie: str = "") -> None:
        self.store, self.lie = store, lie
        self.begun: dict[str, PendingUpload] = {}
        self.parts: dict[tuple[str, int], bytes] = {}

    async def start(self, path: StorePath, nonce: Nonce) -> PendingUpload:
        key = path if self.lie == "one a path" else uuid4().hex
        self.begun[key] = PendingUpload(path=path, upload_id=key, nonce=nonce)
        return self.begun[key]

    async def put_part(self, upload: PendingUpload, number: int, data: bytes) -> Part:
        self.parts[upload.upload_id, number] = data
        if self.lie == "visible":
            await self.store.put(upload.path, data, expecting=Expect.ANYTHING, within=None)
        return Part(number, Token(data.hex()), len(data))

    async def complete(self, upload: PendingUpload, *, expecting: Expectation) -> None:
        if upload.upload_id not in self.begun or self.lie == "never completes":
            raise refuse(upload.path)
        del self.begun[upload.upload_id]
        data = b"".join(self.parts[upload.upload_id, part.number] for part in upload.parts)
        await self.store.put(upload.path, data, expecting=expecting, within=None)

    async def abort(self, upload: PendingUpload) -> None:
        self.begun.pop(upload.upload_id, None)

    async def pending(self, prefix: StorePath) -> AsyncIterator[PendingUpload]:
        for upload in list(self.begun.values()):
            if upload.path.startswith(f"{prefix}/") and self.lie != "lists none":
                yield upload


class MultipartStore(MemoryStore):
    """An object store, in memory."""

    uploads: Uploads | None = None  # type: ignore[assignment]
    files = None
    directories = None
    capabilities = Capabilities(
        atomic_rename=AtomicRename.NONE,
        consistent_listing=True,
        delete_if_match=True,
        exclusive_create=True,
        exclusive_rename=False,
        multipart=True,
        paged_listing=True,
        replace_if_match=True,
        upload_keyed_by="upload_id",
        uploads_listable=True,
        whole_object_publish=True,
    )

    def __init__(self, path: StorePath, lie: str) -> None:
        super().__init__(path)
        self.files = self.directories = None
        self.uploads = Uploads(self, lie)


@pytest.mark.parametrize(
    ("lie", "lies"),
    [
        ("", set[str]()),
        ("lists none", {"uploads_listable"}),
        ("one a path", {"upload_keyed_by"}),
        ("visible", {"multipart"}),
        ("never completes", {"multipart"}),
    ],
)
def test_lies_about_uploads_are_found_out(lie: str, lies: set[str]) -> None:
    store = MultipartStore(root(), lie)
    assert found(store) == lies
    assert store.uploads is not None
    assert store.uploads.begun == {}, "the probe leaves no upload behind"


LOST_REFUSALS = {
    ("error_but_applied", verb)
    for verb in ("create", "put", "delete", "rename", "rename_directory")
}


@pytest.mark.parametrize("kind", ["error", "throttled", "error_but_applied", "hang"])
def test_a_probe_leaves_nothing_and_concludes_nothing_when_a_request_fails(kind: str) -> None:
    plain = RecordingStore(MemoryStore(root()))
    probed(plain)
    verbs = [call.verb for call in plain.calls]
    verbs = verbs[: verbs.index("delete_tree") + 1]  # what follows is the test's own look
    for number, verb in enumerate(verbs):
        store = MemoryStore(root())
        nth = verbs[: number + 1].count(verb)
        faulty = FaultyStore(store, [Fault(verb, nth, kind)])  # type: ignore[arg-type]
        scratch = DestinationLayout(store.root).probe(IDS.nonce())
        observed: Capabilities | None = None
        with suppress(StoreError):
            observed = asyncio.run(probe(faulty, scratch, IDS))
        if observed is not None:
            # Only cleaning up is tried again; a refused request has no reply to lose.
            assert verb == "delete_tree" or (kind, verb) in LOST_REFUSALS
            assert observed.facts() == CAPABILITIES.facts()
        assert faulty.plan.fired
        assert asyncio.run(leftovers(store, scratch)) == []


def test_a_probe_leaves_nothing_when_it_is_cancelled() -> None:
    async def run() -> None:
        store = MemoryStore(root())
        scratch = DestinationLayout(store.root).probe(IDS.nonce())
        faulty = FaultyStore(store, [Fault("rename", 1, "hang")])
        running = asyncio.ensure_future(probe(faulty, scratch, IDS))
        while not faulty.plan.fired:  # noqa: ASYNC110  # nobody sets an event inside the store
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await leftovers(store, scratch) == []

    asyncio.run(run())


class Unwritable(MemoryStore):
    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,
        nonce: Nonce | None = None,
    ) -> Token:
        raise refuse(path)


def test_where_nothing_can_be_written_nothing_is_concluded() -> None:
    with pytest.raises(StoreError):
        probed(Unwritable(root()))


class OverwritingByUrl(Overwriting):
    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        return cls(StorePath(f"/{url.partition('://')[2]}"))


@pytest.fixture
def lying() -> Iterator[str]:
    registry.register("lying", OverwritingByUrl)
    yield "lying"
    del registry._registered["lying"]


class TestOperation:
    def test_it_reports(self, tmp_path: Path) -> None:
        report = fc.probe(tmp_path / "out")
        assert report.ok
        assert report.destination == str(tmp_path / "out")
        assert report.differences == ()
        assert repr(report) == f"<ProbeReport of {tmp_path}/out: ok, 5 facts probed>"
        assert pickle.loads(pickle.dumps(report)) == report
        assert [path.name for path in tmp_path.rglob("*")] == ["out", "_commit"]

    def test_it_touches_no_data(self, tmp_path: Path) -> None:
        with fc.Job(tmp_path, mode="append") as job, job.task() as task:
            task.open("a.txt").close()
        before = {path: path.stat() for path in tmp_path.rglob("*") if path.is_file()}
        assert fc.probe(str(tmp_path)).ok
        assert {path: path.stat() for path in tmp_path.rglob("*") if path.is_file()} == before

    def test_it_says_what_is_different(self, lying: str) -> None:
        report = fc.probe(f"{lying}://x")
        assert not report.ok
        assert report.differences == ("exclusive_create: declared True, observed False",)
        assert repr(report) == (
            "<ProbeReport of lying://x: not ok, exclusive_create: declared True, observed False>"
        )

    def test_it_is_exported(self) -> None:
        assert fc.ProbeReport is ProbeReport
