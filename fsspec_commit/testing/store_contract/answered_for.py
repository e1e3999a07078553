"""Somebody else answers: a proxy, an ingress, a login page, in place of the store's service.

None of them speaks for what is stored. An adapter believes an answer only with the marks of its
service: its headers, its documents, the status that it documents for the request. On any other
answer it reports that it is not known what happened; or, if that answers a look that comes before
the one request that counts, that nothing was done.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Expect, PendingUpload, Store
from fsspec_commit.testing.store_contract.given import (
    LIMIT_BYTES,
    At,
    Given,
    ReadRaw,
    driven,
    place_at,
    tree,
)

T = TypeVar("T")

_REQUESTS_MAX = 50


@dataclass(frozen=True)
class ForeignAnswer:
    """An answer of somebody who is not the service.

    Attributes:
        status: The HTTP status.
        content: The body; none for HEAD.
        headers: All headers except the length of the body.
    """

    status: int
    content: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_TEXT = (("Content-Type", "text/plain; charset=utf-8"),)
_JSON = (("Content-Type", "application/json"),)
LOGIN_PATH = "/sign-in-to-the-network"
LOGIN_PAGE = ForeignAnswer(
    200,
    b"<!DOCTYPE html><html><title>Sign in</title><form>Please sign in.</form></html>",
    _HTML,
)
FOREIGN_ANSWERS: Mapping[str, ForeignAnswer] = {
    "200 HTML": LOGIN_PAGE,
    "200 {}": ForeignAnswer(200, b"{}", _JSON),
    "200 empty": ForeignAnswer(200),
    "204": ForeignAnswer(204),
    "302": ForeignAnswer(302, b"", (("Location", LOGIN_PATH),)),
    "403": ForeignAnswer(403, b"<html><body>Forbidden</body></html>", _HTML),
    "404": ForeignAnswer(404, b"404 page not found\n", _TEXT),
    "502": ForeignAnswer(502, b"<html><body>Bad Gateway</body></html>", _HTML),
    "503": ForeignAnswer(503, b"no available server\n", _TEXT),
}
"""Answers such as proxies, ingresses, login pages and servers that restart give."""


class AnsweredFor(Protocol):
    """What lies between a store and its service, and can answer in its place."""

    def begin(self, nth: int, answer: ForeignAnswer, *, is_carried_out: bool) -> None:
        """Give *answer* to the *nth* request from now on, counted from 1.

        The request goes nowhere, or, if *is_carried_out*, to the service, whose own answer is
        dropped.
        """

    def end(self) -> bool:
        """Let every request through again, and return whether there was such a request."""


class _OpenError(Exception):
    """The store has said that it does not know what happened, which is always a true answer."""


class _NotDoneError(Exception):
    """The store has said that nothing was done."""


@dataclass
class _Try:
    """One request of one verb that is answered for, and what goes past the adapter.

    Attributes:
        store: The store.
        at: Where a name is.
        read_raw: What stands there.
        between: Answers in place of the service.
        nth: Which request is answered.
        answer: What it is answered.
        is_carried_out: Whether the service carries it out all the same.
        met: Whether there was such a request.
    """

    store: Store
    at: At
    read_raw: ReadRaw
    between: AnsweredFor
    nth: int
    answer: ForeignAnswer
    is_carried_out: bool = False
    met: bool = False

    async def asked(self, call: Awaitable[T]) -> T:
        """What the verb answers.

        Raises:
            _OpenError: It says that it is not known what happened.
            _NotDoneError: It says that nothing was done.
        """
        self.between.begin(self.nth, self.answer, is_carried_out=self.is_carried_out)
        try:
            return await call
        except StoreError as error:
            if error.reply is Reply.UNKNOWN:
                raise _OpenError from error
            if error.reply is Reply.NOT_DONE:
                raise _NotDoneError from error
            message = f"the reply is {error.reply}, and the service has said nothing: {error}"
            raise AssertionError(message) from error
        finally:
            self.met = self.between.end()

    async def placed(self, name: str, data: bytes = b"old") -> StorePath:
        """A small file, put while nobody answers in place of the service."""
        await place_at(self.store, self.at(name), data)
        return self.at(name)


async def _stat(one: _Try) -> None:
    path = await one.placed("a")
    found = await one.asked(one.store.stat(path))
    assert isinstance(found, Entry), f"{path!r} stands, and is said to be {found}"


async def _read(one: _Try) -> None:
    path = await one.placed("a")
    found = await one.asked(one.store.read(path, limit_bytes=LIMIT_BYTES))
    assert found is not None, f"{path!r} stands, and is said to be absent"
    assert found.data == b"old"


async def _list(one: _Try) -> None:
    paths = [await one.placed("d/a"), await one.placed("d/e/b")]
    assert await one.asked(tree(one.store, one.at("d"))) == paths


async def _list_children(one: _Try) -> None:
    path = await one.placed("d/a")

    async def listed() -> list[StorePath]:
        return [child.path async for child in one.store.list_children(one.at("d"))]

    assert await one.asked(listed()) == [path]


async def _create(one: _Try) -> None:
    path = one.at("a")
    await one.asked(one.store.put(path, b"new", expecting=Expect.ABSENT, within=None))
    assert one.read_raw(path) == b"new", f"{path!r} was put, and does not stand"


async def _replace(one: _Try) -> None:
    path = await one.placed("a")
    await one.asked(one.store.put(path, b"new", expecting=Expect.ANYTHING, within=None))
    assert one.read_raw(path) == b"new", f"{path!r} was put, and is not what stands"


async def _delete(one: _Try) -> None:
    path = await one.placed("a")
    await one.asked(one.store.delete(path, expecting=Expect.ANYTHING))
    assert one.read_raw(path) is None, f"{path!r} was deleted, and stands"


async def _delete_tree(one: _Try) -> None:
    paths = [await one.placed("d/a"), await one.placed("d/e/b")]
    await one.asked(one.store.delete_tree(one.at("d")))
    assert [one.read_raw(path) for path in paths] == [None, None], "deleted, and stands"


async def _write(one: _Try) -> None:
    await one.placed("work/there")
    path = one.at("work/a")
    writer = one.store.writer(path, within=one.store.root)

    async def written() -> Entry:
        await writer.write(b"new")
        return await writer.finish()

    try:
        await one.asked(written())
    except BaseException:
        with suppress(StoreError):
            await writer.discard()
        raise
    assert one.read_raw(path) == b"new", f"{path!r} was written, and does not stand"


async def _rename(one: _Try) -> None:
    assert one.store.files is not None
    source, target = await one.placed("work/a"), one.at("a")
    there = await one.store.stat(source)
    assert isinstance(there, Entry)
    rename = one.store.files.rename(
        source, target, token=there.token, expecting=Expect.ABSENT, within=one.store.root
    )
    try:
        await one.asked(rename)
    except _OpenError:
        assert b"old" in {one.read_raw(source), one.read_raw(target)}, f"{source!r} is lost"
        raise
    assert one.read_raw(target) == b"old", f"{source!r} was renamed, and {target!r} does not stand"
    assert one.read_raw(source) is None


async def _rename_directory(one: _Try) -> None:
    assert one.store.directories is not None
    await one.placed("work/a")
    renamed = one.store.directories.rename_directory(
        one.at("work"), one.at("kept"), within=one.store.root
    )
    try:
        await one.asked(renamed)
    except _OpenError:
        assert b"old" in {one.read_raw(one.at("work/a")), one.read_raw(one.at("kept/a"))}
        raise
    assert one.read_raw(one.at("kept/a")) == b"old", "renamed, and nothing stands there"


async def _complete(one: _Try) -> None:
    assert one.store.uploads is not None
    path = one.at("a")
    begun = await one.store.uploads.start(path, SYSTEM_IDS.nonce())
    part = await one.store.uploads.put_part(begun, 1, b"new")
    upload = PendingUpload(
        path=begun.path, upload_id=begun.upload_id, nonce=begun.nonce, parts=(part,)
    )
    await one.asked(one.store.uploads.complete(upload, expecting=Expect.ANYTHING))
    assert one.read_raw(path) == b"new", f"{path!r} was completed, and does not stand"


_BEFORE: Mapping[str, Mapping[str, bytes | None]] = {
    "create": {"a": None},
    "put": {"a": b"old"},
    "delete": {"a": b"old"},
    "delete_tree": {"d/a": b"old", "d/e/b": b"old"},
    "write": {"work/a": None},
    "rename": {"work/a": b"old", "a": None},
    "rename_directory": {"work/a": b"old", "kept/a": None},
    "complete": {"a": None},
}
"""What stands before each verb that changes something, and still stands if nothing was done."""


def _verbs(store: Store) -> Mapping[str, Callable[[_Try], Awaitable[None]]]:
    always: dict[str, Callable[[_Try], Awaitable[None]]] = {
        "stat": _stat,
        "read": _read,
        "list_tree": _list,
        "list_children": _list_children,
        "create": _create,
        "put": _replace,
        "delete": _delete,
        "delete_tree": _delete_tree,
        "write": _write,
    }
    if store.files is not None:
        always["rename"] = _rename
    if store.directories is not None:
        always["rename_directory"] = _rename_directory
    if store.uploads is not None:
        always["complete"] = _complete
    return always


class AnsweredForContract(Given):
    """Every verb, each of its requests answered by somebody else."""

    @pytest.fixture
    def answered_for(self) -> AnsweredFor | None:
        """Lies between `store` and its service: give this one where there is a network."""
        return None

    @driven
    async def test_only_the_service_is_believed(
        self, store: Store, at: At, read_raw: ReadRaw, answered_for: AnsweredFor | None
    ) -> None:
        """What a verb answers is true, or it says that it does not know."""
        if answered_for is None:
            pytest.skip("nothing answers in place of the store: a fixture 'answered_for' would")
        failed: list[str] = []
        count = 0
        for name, answer in FOREIGN_ANSWERS.items():
            for verb, body in _verbs(store).items():
                for nth in range(1, _REQUESTS_MAX):
                    below = _Below(at, f"{verb} {name} {nth}")
                    one = _Try(store, below, read_raw, answered_for, nth, answer)
                    failure = await _failure(verb, body, one)
                    if failure is not None:
                        failed.append(f"{verb}, request {nth}, answered {name}: {failure}")
                    if not one.met:
                        break
                    count += 1
        assert count, "no request was answered for"
        assert not failed, f"{len(failed)} of {count} requests:\n" + "\n".join(failed)


async def _failure(verb: str, body: Callable[[_Try], Awaitable[None]], one: _Try) -> str | None:
    """Why the store is not to be trusted here, if it is not; it may always say `UNKNOWN`."""
    try:
        await body(one)
    except _OpenError:
        return None
    except _NotDoneError:
        if one.is_carried_out:
            return _done(verb, one)
        # True if the answer was to a look before the request that counts, never if to that one.
        below = _Below(one.at, "carried out")
        return await _failure(verb, body, replace(one, at=below, is_carried_out=True))
    except Exception as error:  # noqa: BLE001  # whatever it is, the caller fails with it
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    return None


def _done(verb: str, one: _Try) -> str | None:
    """What has been done, though the store says that nothing was."""
    before = _BEFORE.get(verb, {})
    changed = [name for name, data in before.items() if one.read_raw(one.at(name)) != data]
    return f"said to be not done, and done: {changed}" if changed else None


@dataclass(frozen=True)
class _Below:
    """A directory for each request, so that none finds what an earlier one has left."""

    at: At
    directory: str

    def __call__(self, name: str) -> StorePath:
        return self.at(f"{self.directory}/{name}")
