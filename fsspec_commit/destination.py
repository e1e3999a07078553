"""Opening a destination: its adapter, capabilities, committer and store are wired here alone.

Each opening makes a store of its own, so that the caller's filesystem instance is neither changed
nor closed. It may begin with the client of a store that was closed before.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from msgspec import structs

from fsspec_commit.client_pool import of_running_loop
from fsspec_commit.effects.confirm import ask
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.pacing import Pace
from fsspec_commit.ids import IdSource
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.location import Location
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.records.job import JobRecord
from fsspec_commit.selection import Bound, Request, Selection, bind, choose
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import Ask, Capabilities, OpenOptions, Store
from fsspec_commit.store.capabilities import differences
from fsspec_commit.store.probe import Observed, ProbeReport, probe
from fsspec_commit.store.registry import open_store

T = TypeVar("T")

_log = logging.getLogger("fsspec_commit")


_observed: dict[tuple[str, frozenset[str]], Observed] = {}
"""What probes have found, for the life of the process.

The key is the endpoint and bucket, and the facts that were assumed, which the probe did not judge.
"""


@dataclass(frozen=True, slots=True)
class OpenDestination:
    """An opened destination: its store, and what the store is."""

    location: Location
    store: ConfirmedStore
    ids: IdSource
    _raw: Store

    async def capabilities(self, *, probing: bool) -> Capabilities:
        """What the store can do, as far as it is known.

        At an unverified endpoint, what the adapter leaves open is probed: once for each endpoint
        and bucket, with small files below the work area.

        Raises:
            StoreError: It cannot be reached, or nothing can be written there.
        """
        return (await self._known(probing=probing)).capabilities

    async def select(self, request: Request, *, probing: bool) -> Selection:
        """Choose a committer, or none where none is safe.

        Raises:
            StoreError: It cannot be reached.
        """
        known = await self._known(probing=probing)
        selection = choose(known.capabilities, request, remarks=known.remarks)
        if (
            selection.committer is None
            and self._raw.unverified_endpoint is not None
            and not probing
        ):
            reason = (
                f"nothing declares what {self._raw.unverified_endpoint!r} does, and probe=False "
                "forbids trying it out; allow the probe"
            )
            return Selection(None, (*selection.reasons, reason), selection.capabilities)
        return selection

    def is_probed_first(self, *, probing: bool) -> bool:
        """Whether choosing a committer would first probe what the store can do."""
        key = self._key
        return probing and key is not None and key not in _observed

    @property
    def _key(self) -> tuple[str, frozenset[str]] | None:
        """The key under which a probe's findings are kept; ``None`` where nothing is probed."""
        evidence, server = self.store.capabilities.evidence, self._raw.unverified_endpoint
        assumed = (name for name, how in evidence.items() if how == "assumed")
        return None if server is None else (server, frozenset(assumed))

    async def _known(self, *, probing: bool) -> Observed:
        declared, key = self.store.capabilities, self._key
        if key is None or not probing:
            return Observed(capabilities=declared, remarks={})
        found = _observed.get(key)
        if found is None:
            _log.info("probing what %s does: nothing declares it", key[0])
            scratch = DestinationLayout(self.store.root).probe(self.ids.nonce())
            found = _observed[key] = await _probed(self._raw, scratch, self.ids)
        return replace(found, capabilities=declared.completed_by(found.capabilities))

    async def say_if_nothing_is_there(self) -> None:
        """Log it if the destination is missing, for users who may have misspelt it.

        It is no error: a destination may be missing before its first job.
        """
        if await self.store.is_known_missing(self.store.root):
            url = self.location.url
            _log.info("nothing is at %r so far", url, extra={"nothing_at": url})

    def bind(self, record: JobRecord) -> BoundJob:
        """Bind the committer that *record* names; it is never selected again.

        The job is where it was found, whatever its record says: the directory may have been moved
        since. Messages and commands name the location that was opened.
        """
        record = structs.replace(record, destination=self.location.url)
        bound = self._bound(record)
        self._raw.go_by(record.capabilities)
        layout = DestinationLayout(self.store.root).job(record.job_id)
        return BoundJob(
            record,
            layout,
            self.store,
            bound.committer,
            bound.removal,
            attempts_in_names=bound.attempts_in_names,
            walks=bound.walks,
        )

    def list_without_versions(self) -> None:
        """List files without the versions that tell equal bytes apart, until a job is bound.

        Where versions are kept, a listing that names them takes longer: it shows each old one, too.
        """
        self._raw.go_by(self._raw.capabilities.known("declared", unique_tokens=False))

    def check(self, record: JobRecord) -> None:
        """Check that *record* could be bound, without a change to this store.

        Raises:
            UnsafeStoreError: The store lacks an ability that its committer needs.
        """
        self._bound(record)

    def _bound(self, record: JobRecord) -> Bound:
        return bind(
            record.committer,
            self.store,
            record.capabilities,
            delete_by_name=record.delete_by_name,
        )


async def probe_destination(
    location: Location, options: OpenOptions, *, ids: IdSource
) -> ProbeReport:
    """Open the store of *location* and try out what it can do.

    Raises:
        UnknownProtocolError: No adapter serves it.
        StoreError: It cannot be reached, or nothing can be written there.
    """
    store = await _opened(location, replace(options, choosing=True), ids)
    try:
        scratch = DestinationLayout(store.root).probe(ids.nonce())
        observed = await _probed(store, scratch, ids, long=True)
        return ProbeReport(
            destination=location.url,
            capabilities=observed.capabilities,
            differences=differences(store.capabilities, observed.capabilities),
            remarks=tuple(observed.remarks.values()),
        )
    finally:
        await store.close()


async def open_destination(
    location: Location, options: OpenOptions, *, ids: IdSource
) -> OpenDestination:
    """Open the store of *location*.

    Raises:
        UnknownProtocolError: No adapter serves it.
        StoreError: It cannot be reached.
    """
    store = await _opened(location, options, ids)
    most = options.concurrency or store.in_flight_max
    confirmed = ConfirmedStore(store, ids=ids, statistics=Statistics(), in_flight_max=most)
    return OpenDestination(location, confirmed, ids, store)


async def _opened(location: Location, options: OpenOptions, ids: IdSource) -> Store:
    options = replace(
        options,
        storage_options=location.storage_options,
        ask=_patient(ids),
        clients=of_running_loop(),
    )
    return await open_store(location.url, options)


async def _probed(
    store: Store, scratch: StorePath, ids: IdSource, *, long: bool = False
) -> Observed:
    return await probe(store, scratch, ids, ask=_patient(ids), resend=_patient(ids), long=long)


def _patient(ids: IdSource) -> Ask:
    """An `Ask` that repeats like the confirmed store, for use before there is one."""
    pace = Pace(ids)

    async def asking(question: Callable[[], Awaitable[T]], /) -> T:
        return await ask(question, pace)

    return asking
