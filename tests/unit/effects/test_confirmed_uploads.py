"""Completing an upload, whatever a server answers to it, and however often it is done."""

from __future__ import annotations

import asyncio
import errno
import random
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypeVar

import pytest

from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.one_shot import OBSERVATIONS_MAX, Seen, observe_again
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.errors import CommitStateUnknownError, Reply, StoreError
from fsspec_commit.ids import IdSource
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import Expect, Expectation, PendingUpload
from fsspec_commit.testing.simulation.families import capabilities_of
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat.bucket import Bucket, Habits
from tests.flat.store import FlatStore
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.effects.confirmed.uploads import ConfirmedUploads

T = TypeVar("T")
IDS = IdSource(random.Random(11), lambda: datetime(2026, 11, 21, tzinfo=UTC))
PATH = StorePath("b/out/a.bin")
REFUSALS = {"denied": errno.EACCES, "missing": errno.ENOENT, "taken": errno.EEXIST}
AGAIN: tuple[Literal[200, 403, 404], ...] = (200, 403, 404)


class Server:
    """One bucket; the replies to `complete` are lost or changed as scripted."""

    def __init__(
        self, again: Literal[200, 403, 404] = 404, script: str = "", **habits: bool | str
    ) -> None:
        self.bucket = Bucket("b", Habits(again=again, **habits))  # type: ignore[arg-type]  # of switches
        self.calls: list[str] = []
        self.unseen: Reply | None = None
        self.unlisted: Reply | None = None
        self._script = list(script.split())

    async def _carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        self.calls.append(verb)
        if verb == "stat" and self.unseen is not None:
            raise StoreError("unseen", reply=self.unseen, path=path)
        if verb == "stored_parts" and self.unlisted is not None:
            raise StoreError("unlisted", reply=self.unlisted, path=path)
        step = self._script.pop(0) if self._script and verb == "complete" else "ok"
        if step in {"lost request", "lost", "conflict"}:
            reply = Reply.NOT_DONE if step == "conflict" else Reply.UNKNOWN
            raise StoreError(step, reply=reply, path=path)
        if step in REFUSALS:
            error = StoreError(step, reply=Reply.REFUSED, path=path)
            error.errno = REFUSALS[step]
            raise error
        answer = await call()
        if step == "unanswered":
            raise StoreError(step, reply=Reply.UNKNOWN, path=path)
        if step == "echo":
            raise StoreError(step, reply=Reply.REFUSED, path=path)
        return answer

    def use(self, main: Callable[[ConfirmedUploads], Awaitable[T]]) -> T:
        async def confirmed() -> T:
            store = FlatStore(StorePath("b/out"), self.bucket, capabilities_of(self.bucket.habits))
            wrapped = WrappedStore(store, self._carry)
            uploads = ConfirmedStore(wrapped, ids=IDS, statistics=Statistics()).uploads
            assert uploads is not None
            return await main(uploads)

        return run(confirmed())[0]

    def begin(self, data: bytes = b"ours") -> PendingUpload:
        upload = self.bucket.start(PATH, IDS.nonce())
        return replace(upload, parts=(self.bucket.put_part(upload, 1, data),))

    def put(self, data: bytes) -> Expectation:
        return self.bucket.put(PATH, data, None, Expect.ANYTHING)

    def complete(self, upload: PendingUpload, expecting: Expectation = Expect.ABSENT) -> bool:
        return self.use(lambda uploads: uploads.complete(upload, expecting=expecting))

    @property
    def shown(self) -> bytes | None:
        found = self.bucket.get(PATH)
        return None if found is None else found.data


@pytest.mark.parametrize(
    ("script", "calls"),
    [
        ("", "complete"),
        ("conflict conflict", "complete complete complete"),
        ("unanswered", "complete stat"),
        ("echo", "complete stat"),
        # Of a second one, only the file itself is believed.
        ("lost", "complete stat complete stat"),
        ("lost unanswered", "complete stat complete stat"),
        ("conflict echo", "complete complete stat"),
    ],
)
@pytest.mark.parametrize("again", AGAIN)
def test_a_file_appears_once(again: Literal[200, 403, 404], script: str, calls: str) -> None:
    server = Server(again, script)
    upload = server.begin()
    assert server.complete(upload)
    assert server.shown == b"ours"
    assert server.calls == calls.split()


@pytest.mark.parametrize("again", AGAIN)
def test_completing_again_is_done(again: Literal[200, 403, 404]) -> None:
    server = Server(again)
    upload = server.begin()
    assert server.complete(upload)
    assert server.complete(upload)
    assert server.shown == b"ours"
    assert server.calls == ["complete", "complete"] + ["stat"] * (again != 200)


@pytest.mark.parametrize("again", AGAIN)
def test_a_part_that_came_again_under_another_etag_is_the_same(
    again: Literal[200, 403, 404],
) -> None:
    server = Server(again, encrypts=True)
    upload = server.begin()
    server.bucket.put_part(upload, 1, b"ours")
    assert server.complete(upload)
    assert server.shown == b"ours"
    assert server.calls[-4:-2] == ["stat", "stored_parts"]
    assert server.complete(upload), "it is done, whichever etag is named"


def test_a_part_of_other_bytes_is_not_completed() -> None:
    """Nor one of another program, which may have sent anything since."""
    server = Server(encrypts=True)
    others, theirs = server.begin(), server.begin()
    server.bucket.put_part(others, 1, b"other")
    server.bucket.put_part(theirs, 1, b"ours")
    assert not server.complete(others)
    assert not server.complete(replace(theirs, object_bytes=4))
    assert server.shown is None
    assert server.complete(theirs)


@pytest.mark.parametrize("refused", [True, False])
def test_parts_that_may_not_be_listed_are_not_made_up_for(*, refused: bool) -> None:
    """Where nobody answers, it is not known what has become of the file."""
    server = Server(encrypts=True)
    server.unlisted = Reply.REFUSED if refused else Reply.UNKNOWN
    upload = server.begin()
    server.bucket.put_part(upload, 1, b"ours")
    if refused:
        assert not server.complete(upload)
    else:
        with pytest.raises(StoreError, match="unlisted"):
            server.complete(upload)
    assert server.shown is None


def test_an_upload_that_is_gone_is_lost() -> None:
    server = Server()
    upload = server.begin()
    server.bucket.abort(upload)
    assert not server.complete(upload)
    again = "it is looked for again, with back-off"
    assert server.calls == ["complete", *["stat"] * 4, "stored_parts"], again
    assert server.shown is None


def test_an_upload_that_may_not_be_completed_is_no_loss() -> None:
    server = Server(script="denied denied")
    upload = server.begin()
    with pytest.raises(StoreError, match="denied"):
        server.complete(upload)
    assert server.calls == ["complete", "stat"]
    with pytest.raises(StoreError, match="denied"):
        server.complete(upload, server.put(b"old"))
    assert server.complete(upload, Expect.ANYTHING)
    assert server.shown == b"ours"


def test_another_file_in_the_way_is_no_loss() -> None:
    server = Server()
    upload = server.begin()
    server.put(b"another's")
    with pytest.raises(StoreError, match="it exists"):
        server.complete(upload)
    assert server.shown == b"another's"
    assert server.bucket.uploads, "the upload is still pending"


def test_the_expected_file_is_replaced_and_no_other() -> None:
    server = Server()
    listed = server.put(b"old")
    assert server.complete(server.begin(), listed)
    assert server.shown == b"ours"
    listed = server.put(b"old")
    server.put(b"newer")
    with pytest.raises(StoreError, match="not what was expected"):
        server.complete(server.begin(), listed)
    assert server.shown == b"newer"


def test_a_file_that_was_to_be_replaced_and_went_makes_way() -> None:
    server = Server()
    listed = server.put(b"old")
    server.bucket.delete(PATH, Expect.ANYTHING)
    assert server.complete(server.begin(), listed)
    assert server.shown == b"ours"


def test_an_upload_that_is_gone_is_lost_also_where_it_was_to_replace() -> None:
    for stands in (True, False):
        server = Server()
        listed = server.put(b"old")
        upload = server.begin()
        server.bucket.abort(upload)
        if not stands:
            server.bucket.delete(PATH, Expect.ANYTHING)
        assert not server.complete(upload, listed)
        assert server.shown == (b"old" if stands else None)


@pytest.mark.parametrize("stands", [True, False])
@pytest.mark.parametrize("gone", [True, False])
def test_a_marker_yields(stands: bool, gone: bool) -> None:
    server = Server()
    upload = server.begin()
    if gone:
        server.bucket.abort(upload)
    if stands:
        server.put(b"another's")
    done = server.use(
        lambda uploads: uploads.complete(
            upload, expecting=Expect.ABSENT, observations=1, accept_existing=True
        )
    )
    assert done == (stands or not gone)
    assert server.shown == (b"another's" if stands else None if gone else b"ours")


@pytest.mark.parametrize("times", [1, 2])
def test_a_marker_that_another_was_in_the_way_of_for_a_moment_is_tried_again(times: int) -> None:
    """Jobs that add beside each other leave one each: what is gone at the look is no refusal."""
    server = Server(script="taken " * times)
    upload = server.begin()
    assert server.use(
        lambda uploads: uploads.complete(upload, expecting=Expect.ABSENT, accept_existing=True)
    )
    assert server.shown == b"ours"
    assert server.calls.count("complete") == times + 1


def test_what_stands_in_the_way_of_a_marker_is_seen_at_once() -> None:
    server = Server()
    upload = server.begin()
    server.put(b"another's")
    assert server.use(
        lambda uploads: uploads.complete(upload, expecting=Expect.ABSENT, accept_existing=True)
    )
    assert server.calls == ["complete", "stat"]
    assert server.shown == b"another's"


def test_a_file_that_another_was_in_the_way_of_for_a_moment_is_refused() -> None:
    """Only a marker is as good as another."""
    server = Server(script="taken")
    upload = server.begin()
    with pytest.raises(StoreError, match="taken"):
        server.complete(upload)
    assert server.shown is None


@pytest.mark.parametrize("reply", [Reply.NOT_DONE, Reply.UNKNOWN, Reply.REFUSED])
def test_a_completion_that_cannot_be_looked_at_may_have_happened(reply: Reply) -> None:
    """Whatever the look is turned away for: that nothing was done, it does not say."""
    server = Server(again=200)
    upload = server.begin()
    server.unseen = reply
    with pytest.raises(CommitStateUnknownError):
        server.use(lambda uploads: uploads.complete(upload, expecting=Expect.ABSENT, resuming=True))
    assert server.shown == b"ours"


def test_what_cannot_be_known_is_said_to_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsspec_commit.effects.confirm.TRIES_MAX", 3)
    server = Server(script="lost lost lost lost")
    with pytest.raises(CommitStateUnknownError, match="completing"):
        server.complete(server.begin())


def test_only_what_is_permitted_is_aborted() -> None:
    server = Server()
    layout = DestinationLayout(StorePath("b/out")).job("20261120T140355-9c1e5f00a1b2c3d4")
    attempt = layout.attempt(0, "0123456789abcdef")
    ours, theirs = server.begin(), server.begin()
    permit = deletion.of_own_uploads(attempt, [ours])
    with pytest.raises(AssertionError, match="no permit"):
        server.use(lambda uploads: uploads.abort(theirs, permit))
    for _ in range(2):
        server.use(lambda uploads: uploads.abort(ours, permit))
    assert list(server.bucket.uploads) == [theirs.upload_id]
    with pytest.raises(AssertionError, match="below its destination"):
        deletion.of_leftover_uploads(
            layout,
            deletion.of_void_area(layout),
            [replace(ours, path=StorePath("b/outside/a"))],
        )


def test_an_upload_whose_beginning_was_not_answered_is_begun_again() -> None:
    server = Server()
    begun: list[str] = []
    start = server.bucket.start

    def unanswered(path: StorePath, nonce: object) -> PendingUpload:
        begun.append(path)
        upload = start(path, nonce)  # type: ignore[arg-type]
        if len(begun) == 1:
            raise StoreError("no answer", reply=Reply.UNKNOWN, path=path)
        return upload

    server.bucket.start = unanswered  # type: ignore[method-assign]
    upload = server.use(lambda uploads: uploads.start(PATH))
    assert len(begun) == 2
    assert upload.upload_id in server.bucket.uploads
    listed = server.use(
        lambda uploads: uploads.pending(StorePath("b/out"), lambda one: one.path == PATH)
    )
    assert {one.upload_id for one in listed} == set(server.bucket.uploads)


def test_what_takes_a_moment_to_show_is_not_called_lost() -> None:
    """As that of a completion that still runs."""

    async def observe() -> Seen:
        is_shown = asyncio.get_running_loop().time() >= 0.2
        return Seen.DONE if is_shown else Seen.NEITHER

    assert run(observe_again(observe, OBSERVATIONS_MAX))[0] is Seen.DONE


def test_what_is_put_below_its_name_is_no_loss() -> None:
    """The old file has gone for a directory: it may be that file that the store does not find."""
    server = Server(script="missing " * 9)
    listed = server.put(b"old")
    upload = server.begin()
    server.bucket.delete(PATH, Expect.ANYTHING)
    server.bucket.put(StorePath(f"{PATH}/below"), b"another's", None, Expect.ANYTHING)
    with pytest.raises(StoreError) as caught:
        server.complete(upload, listed)
    assert caught.value.reply is Reply.REFUSED
    assert server.bucket.uploads, "the upload is still pending"


def test_of_an_upload_it_is_told_whether_it_pends_and_holds_anything() -> None:
    server = Server()
    filled, gone = server.begin(), server.begin()
    empty = server.bucket.start(PATH, IDS.nonce())
    server.bucket.abort(gone)

    async def told(uploads: ConfirmedUploads) -> list[tuple[bool, bool]]:
        some = (filled, empty, gone)
        return [(await uploads.is_pending(one), await uploads.is_empty(one)) for one in some]

    assert server.use(told) == [(True, False), (True, True), (False, True)]


def test_where_uploads_are_not_shown_none_is_known_to_pend_or_to_be_empty() -> None:
    server = Server(keyed_by="path")
    empty = server.bucket.start(PATH, IDS.nonce())
    assert not server.use(lambda uploads: uploads.is_pending(empty))
    assert not server.use(lambda uploads: uploads.is_empty(empty))


def test_an_upload_that_may_not_be_looked_into_is_not_called_empty() -> None:
    """Nor is that said of one for which nobody answers: it may be looked into later."""
    server = Server()
    empty = server.bucket.start(PATH, IDS.nonce())
    server.unlisted = Reply.REFUSED
    assert not server.use(lambda uploads: uploads.is_empty(empty))
    server.unlisted = Reply.UNKNOWN
    with pytest.raises(StoreError, match="unlisted"):
        server.use(lambda uploads: uploads.is_empty(empty))
