"""URL -> adapter: a built-in table of strings, then entry points, then ``register()``.

Later wins: an entry point of the group ``fsspec_commit.stores`` replaces a built-in adapter, and
:func:`register` replaces both. Adapters are imported on first use, never before, so that
importing this package loads no SDK.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TypeAlias

from fsspec_commit.errors import RequestError, UnknownProtocolError
from fsspec_commit.store.abilities import OpenOptions, Store

ENTRY_POINTS = "fsspec_commit.stores"

_BUILT_IN = {
    "abfs": "fsspec_commit_stores.azure:AzureStore",
    "abfss": "fsspec_commit_stores.azure:AzureStore",
    "az": "fsspec_commit_stores.azure:AzureStore",
    "file": "fsspec_commit_stores.local:LocalStore",
    "gcs": "fsspec_commit_stores.gcs:GcsStore",
    "gs": "fsspec_commit_stores.gcs:GcsStore",
    "hdfs": "fsspec_commit_stores.hdfs:HdfsStore",
    "local": "fsspec_commit_stores.local:LocalStore",
    "memory": "fsspec_commit_stores.memory:MemoryStore",
    "s3": "fsspec_commit_stores.s3:S3Store",
    "s3a": "fsspec_commit_stores.s3:S3Store",
    "webhdfs": "fsspec_commit_stores.hdfs:HdfsStore",
}
_CHAINED = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*::|(?!/).*::[A-Za-z][A-Za-z0-9+.-]*://", re.DOTALL)
_CLASS_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_PROTOCOL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")

Wrap: TypeAlias = Callable[[Store], Store]

_registered: dict[str, str | type[Store]] = {}
_wrappers: list[Wrap] = []


def register(protocol: str, store: str | type[Store]) -> None:
    """Serve URLs of *protocol* by *store*: a class, or ``"package.module:Class"``.

    The last one wins. For this process only; a package that brings an adapter names it in the
    entry-point group ``fsspec_commit.stores`` instead.

    Raises:
        RequestError: *store* is neither.
    """
    is_name = isinstance(store, str) and _CLASS_NAME.fullmatch(store) is not None
    if not (is_name or isinstance(store, type)) or not isinstance(protocol, str):
        message = (
            f"cannot register {store!r} for {protocol!r} URLs: give the adapter's class, or its "
            "name as 'package.module:Class'"
        )
        raise RequestError(message, kind="invalid_adapter")
    _registered[protocol] = store


def protocol_of(url: str) -> str:
    """The protocol of a URL, ``"file"`` for a plain path.

    Raises:
        RequestError: The URL chains several protocols.
    """
    if _CHAINED.match(url) is not None:
        message = f"cannot commit to {url!r}: chained URLs hide the store that must be asked"
        raise RequestError(message, kind="chained_url")
    match = _PROTOCOL.match(url)
    return "file" if match is None else match.group(1).lower()


def known_protocols() -> set[str]:
    """Those that are built in or registered; looks for no entry points, which is slow."""
    return {*_BUILT_IN, *_registered}


def are_served_alike(one: str, other: str) -> bool:
    """Whether URLs of two protocols name the same store, as ``gs`` and ``gcs`` do."""
    if one.lower() == other.lower():
        return True
    adapters = {(_registered.get(name) or _BUILT_IN.get(name)) for name in (one, other)}
    return len(adapters) == 1 and None not in adapters


def adapter(protocol: str) -> type[Store]:
    """The adapter class for *protocol*, imported.

    Raises:
        UnknownProtocolError: There is none.
        ImportError: It needs a package that is not installed.
    """
    found = _registered.get(protocol) or _entry_points().get(protocol) or _BUILT_IN.get(protocol)
    if found is None:
        _entry_points.cache_clear()  # Its package may have been installed since.
        found = _entry_points().get(protocol)
    if found is None:
        known = ", ".join(sorted(known_protocols()))
        message = (
            f"no adapter serves {protocol!r} URLs (known: {known}); a package can bring one "
            f"in the entry-point group {ENTRY_POINTS!r}, a program with fsspec_commit.register()"
        )
        raise UnknownProtocolError(message)
    if not isinstance(found, str):
        return found
    module, _, name = found.partition(":")
    loaded: type[Store] = getattr(import_module(module), name)
    return loaded


async def open_store(url: str, options: OpenOptions) -> Store:
    """Open the store that holds the destination *url*.

    Raises:
        UnknownProtocolError: No adapter serves this protocol.
        StoreError: The store cannot be reached.
    """
    store: Store = await adapter(protocol_of(url)).open(url, options)
    for wrap in _wrappers:
        store = wrap(store)
    return store


@contextmanager
def wrapping(wrap: Wrap) -> Iterator[None]:
    """Pass every store that this process opens meanwhile through *wrap*: for fault injection."""
    _wrappers.append(wrap)
    try:
        yield
    finally:
        _wrappers.remove(wrap)


@cache
def _entry_points() -> dict[str, str]:
    """The adapters that installed packages bring: to look for them takes longer than a request."""
    from importlib.metadata import entry_points  # noqa: PLC0415  # slow, and rarely needed

    found = tuple(entry_points(group=ENTRY_POINTS))
    return {point.name: point.value for point in reversed(found)}
