"""The adapter of a URL: from a built-in table, entry points, or ``register()``.

An entry point of the group ``fsspec_commit.stores`` replaces a built-in adapter, and
:func:`register` replaces both. Adapters are imported on first use only, so that importing this
package loads no SDK.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TypeAlias

from fsspec_commit.errors import RequestError, UnknownProtocolError
from fsspec_commit.store.abilities import Store
from fsspec_commit.store.opening import OpenOptions

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
    """Serve URLs of *protocol* with *store*: a class, or ``"package.module:Class"``.

    The last call for a protocol wins. It holds for this process only; a package that ships an
    adapter names it in the entry-point group ``fsspec_commit.stores`` instead.

    Raises:
        RequestError: *store* is neither a class nor such a text, or *protocol* is not a text.
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
        message = (
            f"cannot open {url!r}: a chain of URLs hides the store that must be asked; give the "
            "URL of that store alone"
        )
        raise RequestError(message, kind="chained_url")
    match = _PROTOCOL.match(url)
    return "file" if match is None else match.group(1).lower()


def known_protocols() -> set[str]:
    """The protocols that are built in or registered; entry points would be slow to read."""
    return {*_BUILT_IN, *_registered}


def are_served_alike(one: str, other: str) -> bool:
    """Whether URLs of two protocols name the same store, as ``gs`` and ``gcs`` do."""
    if one.lower() == other.lower():
        return True
    adapters = {(_registered.get(name) or _BUILT_IN.get(name)) for name in (one, other)}
    return len(adapters) == 1 and None not in adapters


def adapter(protocol: str) -> type[Store]:
    """Import the adapter class for *protocol*.

    Raises:
        UnknownProtocolError: There is no adapter for it.
        ImportError: The adapter needs a package that is not installed.
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
    """Wrap every store that this process opens in the block, for fault injection."""
    _wrappers.append(wrap)
    try:
        yield
    finally:
        _wrappers.remove(wrap)


def is_wrapping() -> bool:
    """Whether stores that are opened now are wrapped."""
    return bool(_wrappers)


@cache
def _entry_points() -> dict[str, str]:
    """The adapters of installed packages; finding them takes longer than a request."""
    from importlib.metadata import entry_points  # noqa: PLC0415  # slow, and rarely needed

    found = tuple(entry_points(group=ENTRY_POINTS))
    return {point.name: point.value for point in reversed(found)}
