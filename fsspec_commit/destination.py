"""URL -> adapter -> capabilities -> choice -> settled store -> committer: the one place that wires.

What a caller may give as a destination (a path, a URL, a ``UPath``, a path with a filesystem) is
turned into a :class:`Place` without any I/O; opening a place makes a private store, so that the
caller's own filesystem instance is neither changed nor closed.
"""

import logging
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import structs

from fsspec_commit.effects.pacing import Pace
from fsspec_commit.effects.settle import ask
from fsspec_commit.effects.settled import SettledStore
from fsspec_commit.errors import RequestError, UnknownProtocolError
from fsspec_commit.ids import IdSource
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.records.job import JobRecord
from fsspec_commit.selection import Request, Selection, bind, choose
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import Ask, Capabilities, OpenOptions, Store
from fsspec_commit.store.capabilities import differences
from fsspec_commit.store.destination_text import refuse_secrets
from fsspec_commit.store.probe import ProbeReport, probe
from fsspec_commit.store.registry import known_protocols, open_store, protocol_of

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem
    from upath import UPath

T = TypeVar("T")
DestinationLike: TypeAlias = "str | os.PathLike[str] | UPath"
"""A URL, a path, or anything with ``protocol``, ``path`` and ``storage_options`` (``UPath``)."""

_log = logging.getLogger("fsspec_commit")


@dataclass(frozen=True, slots=True)
class Place:
    """A destination as a URL, and the options to open its store with.

    The options may hold secrets: they are in no ``repr``, and nothing writes them down.
    """

    url: str
    storage_options: Mapping[str, object] = field(default_factory=dict, repr=False)


def place(
    destination: DestinationLike,
    storage_options: Mapping[str, object] | None = None,
    filesystem: "AbstractFileSystem | None" = None,
) -> Place:
    """What the caller named; a relative path is made absolute at once.

    Raises:
        RequestError: Both kinds of options are given, the URL holds a secret, or the filesystem
            is one whose store cannot be known.
    """
    if filesystem is not None and storage_options is not None:
        message = "give storage_options= or filesystem=, not both: a filesystem has its own"
        raise RequestError(message, kind="invalid_option")
    if filesystem is not None:
        if isinstance(destination, str | os.PathLike):
            return _of_filesystem(os.fspath(destination), filesystem)
        return _of_filesystem(str(destination), filesystem)
    options = dict(storage_options or {})
    if hasattr(destination, "storage_options") and hasattr(destination, "protocol"):
        options = {**dict(destination.storage_options), **options}
        return Place(_checked(str(destination)), options)
    return Place(_checked(os.fspath(destination)), options)


def _checked(url: str) -> str:
    if not url:
        raise RequestError("the destination is empty: give a path or a URL", kind="invalid_option")
    refuse_secrets(url, schemes=known_protocols())
    protocol = protocol_of(url)
    if protocol not in {"file", "local"}:
        return url
    path = re.sub(r"^(file|local)://", "", url)
    absolute = os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111  # text in, text out
    return absolute if path == url else f"{protocol}://{absolute}"


def _of_filesystem(path: str, filesystem: Any) -> Place:
    from fsspec import AbstractFileSystem  # noqa: PLC0415  # only for callers who have it

    refuse_secrets(path)  # before it is taken apart
    kind = f"{type(filesystem).__module__}.{type(filesystem).__qualname__}"
    if not isinstance(filesystem, AbstractFileSystem):
        message = f"filesystem= takes an fsspec filesystem, not {kind}; pass the URL instead"
        raise UnknownProtocolError(message)
    if kind.startswith("fsspec.implementations.dirfs."):
        return _of_filesystem(f"{filesystem.path}/{path}".rstrip("/"), filesystem.fs)
    if kind.startswith(("fsspec.implementations.cache", "fsspec.implementations.cached")):
        message = f"cannot commit through {kind}: a cache hides what the store holds; unwrap it"
        raise UnknownProtocolError(message)
    protocols = filesystem.protocol
    protocol = protocols if isinstance(protocols, str) else protocols[0]
    if filesystem.storage_args:
        message = f"cannot reopen {kind}: it was made with positional arguments; use keywords"
        raise RequestError(message, kind="invalid_option")
    bare = filesystem._strip_protocol(path)  # noqa: SLF001  # fsspec's own convention
    url = bare if protocol in {"file", "local"} else f"{protocol}://{bare.lstrip('/')}"
    return Place(_checked(url), dict(filesystem.storage_options))


_found_of_servers: dict[tuple[str, frozenset[str]], Capabilities] = {}
"""What a probe has found, by who serves it and what was assumed, and so not judged, meanwhile.

For the life of the process.
"""


@dataclass(frozen=True, slots=True)
class Destination:
    """An opened destination: its store, and what the store is."""

    place: Place
    store: SettledStore
    ids: IdSource
    _raw: Store

    async def capabilities(self, *, probing: bool) -> Capabilities:
        """What the store can do, as far as it is known.

        What the adapter of an endpoint that nobody vouches for leaves open is found out by a
        probe: once for each server and bucket, with small files below the work area.

        Raises:
            StoreError: It cannot be reached, or nothing can be written there.
        """
        declared, server = self.store.capabilities, self._raw.unvouched
        if server is None or not probing:
            return declared
        assumed = (name for name, how in declared.evidence.items() if how == "assumed")
        key = (server, frozenset(assumed))
        found = _found_of_servers.get(key)
        if found is None:
            _log.info("nobody vouches for %s: trying out what it does", server)
            scratch = DestinationLayout(self.store.root).probe(self.ids.nonce())
            found = await _probed(self._raw, scratch, self.ids)
            _found_of_servers[key] = found
        return declared.completed_by(found)

    async def select(self, request: Request, *, probing: bool) -> Selection:
        """Choose a committer, or none where none is safe.

        Raises:
            StoreError: It cannot be reached.
        """
        selection = choose(await self.capabilities(probing=probing), request)
        if selection.committer is None and self._raw.unvouched is not None and not probing:
            reason = (
                f"nobody vouches for what {self._raw.unvouched!r} does, and probe=False forbids "
                "to try it out; allow the probe"
            )
            return Selection(None, (*selection.reasons, reason), selection.capabilities)
        return selection

    def bind(self, record: JobRecord) -> BoundJob:
        """Bind the committer that *record* names; it is never selected again.

        The job is where it was found: a directory may have been moved since the record was
        written, and a record may say anything. Messages and commands name the place that was
        opened.
        """
        record = structs.replace(record, destination=self.place.url)
        bound = bind(
            record.committer,
            self.store,
            record.capabilities,
            delete_by_name=record.delete_by_name,
        )
        layout = DestinationLayout(self.store.root).job(record.job_id)
        return BoundJob(
            record,
            layout,
            self.store,
            bound.committer,
            bound.removal,
            attempts_in_names=bound.attempts_in_names,
        )


async def probe_destination(where: Place, options: OpenOptions, *, ids: IdSource) -> ProbeReport:
    """Open the store of a place and try out what it can do.

    Raises:
        UnknownProtocolError: No adapter serves it.
        StoreError: It cannot be reached, or nothing can be written there.
    """
    store = await _opened(where, replace(options, choosing=True), ids)
    try:
        scratch = DestinationLayout(store.root).probe(ids.nonce())
        observed = await _probed(store, scratch, ids)
        return ProbeReport(
            destination=where.url,
            capabilities=observed,
            differences=differences(store.capabilities, observed),
        )
    finally:
        await store.close()


async def open_destination(where: Place, options: OpenOptions, *, ids: IdSource) -> Destination:
    """Open the store of a place.

    Raises:
        UnknownProtocolError: No adapter serves it.
        StoreError: It cannot be reached.
    """
    store = await _opened(where, options, ids)
    settled = SettledStore(
        store, ids=ids, statistics=Statistics(), in_flight_max=options.concurrency
    )
    return Destination(where, settled, ids, store)


async def _opened(where: Place, options: OpenOptions, ids: IdSource) -> Store:
    options = replace(options, storage_options=where.storage_options, ask=_patient(ids))
    return await open_store(where.url, options)


async def _probed(store: Store, scratch: StorePath, ids: IdSource) -> Capabilities:
    return await probe(store, scratch, ids, ask=_patient(ids), resend=_patient(ids))


def _patient(ids: IdSource) -> Ask:
    """Asks as the settled store does, for what is asked before there is one."""
    pace = Pace(ids)

    async def asking(question: Callable[[], Awaitable[T]], /) -> T:
        return await ask(question, pace)

    return asking
