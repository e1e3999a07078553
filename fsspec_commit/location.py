"""What a caller may give as a destination: a path, a URL, a ``UPath``, a path with a filesystem.

It is turned into a :class:`Location`: text and options, nothing opened. Nothing is read from a
store; on the local disk it is only checked whether a path exists that reads like a secret, like a
pattern or like a variable that was not expanded.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from fsspec_commit.errors import RequestError, UnknownProtocolError
from fsspec_commit.names import AREA
from fsspec_commit.store.destination_text import refuse_secrets
from fsspec_commit.store.disk_urls import DISKS, without_disk_scheme
from fsspec_commit.store.registry import are_served_alike, known_protocols, protocol_of
from fsspec_commit.store.unexpanded import refuse_pattern, refuse_unexpanded

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


class UniversalPath(Protocol):
    """The attributes of a ``UPath`` that are used here, so that its package need not be there."""

    @property
    def protocol(self) -> str:
        """The protocol of its URL."""

    @property
    def path(self) -> str:
        """The path, as its filesystem names it."""

    @property
    def storage_options(self) -> Mapping[str, Any]:
        """The options its filesystem is opened with."""


DestinationLike: TypeAlias = "str | os.PathLike[str] | UniversalPath"
"""A URL, a path, or anything with ``protocol``, ``path`` and ``storage_options`` (``UPath``)."""


@dataclass(frozen=True, slots=True)
class Location:
    """A destination as a URL, and the options to open its store with.

    The options may hold secrets: they are in no ``repr``, and nothing writes them down.
    """

    url: str
    storage_options: Mapping[str, object] = field(default_factory=dict, repr=False)

    @property
    def local_path(self) -> str | None:
        """The path on this machine's disks; ``None`` for a URL of another store."""
        if protocol_of(self.url) not in DISKS:
            return None
        return without_disk_scheme(self.url)


def locate(
    destination: DestinationLike,
    storage_options: Mapping[str, object] | None = None,
    filesystem: "AbstractFileSystem | None" = None,
) -> Location:
    """The location that the caller names; a relative path is made absolute.

    Raises:
        RequestError: Both kinds of options are given, or one has a wrong type; or the URL holds a
            secret, or names another store than *filesystem*, or one that cannot be determined.
    """
    if filesystem is not None and storage_options is not None:
        message = "give storage_options= or filesystem=, not both: a filesystem has its own"
        raise RequestError(message, kind="invalid_option")
    text = _text(destination)
    if filesystem is not None:
        return _of_filesystem(text, filesystem)
    own = getattr(destination, "storage_options", {}) if _is_universal(destination) else {}
    return Location(_checked(text), {**own, **_options(storage_options)})


def _is_universal(destination: object) -> bool:
    return all(hasattr(destination, name) for name in ("protocol", "path", "storage_options"))


def _is_filesystem(destination: object) -> bool:
    """Whether it looks like one of fsspec's; without its class, as fsspec may not be imported."""
    return hasattr(destination, "_strip_protocol")


def _options(given: object) -> Mapping[str, object]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return given
    message = (
        "storage_options= is a mapping of fsspec's options, such as {'anon': True}, not "
        f"{_kind(given)}"
    )
    raise RequestError(message, kind="invalid_option")


def _text(destination: object) -> str:
    """A destination as text: a ``UPath`` by its URL."""
    if _is_filesystem(destination):
        message = (
            f"the destination is a path or a URL, and this is a filesystem, {_kind(destination)}: "
            "give the path on it, and filesystem="
        )
        raise RequestError(message, kind="invalid_option")
    if _is_universal(destination):
        return str(destination)
    text = os.fspath(destination) if isinstance(destination, os.PathLike) else destination
    if isinstance(text, str):
        return text
    what = _kind(text)
    hint = "os.fsdecode() makes text of it" if isinstance(text, bytes) else "there is no default"
    message = f"the destination is a path, a URL or a UPath, and this is {what}: {hint}"
    raise RequestError(message, kind="invalid_option")


def _checked(url: str) -> str:
    if not url:
        raise RequestError("the destination is empty: give a path or a URL", kind="invalid_option")
    refuse_secrets(url, schemes=known_protocols())
    if AREA in url.casefold().split("/"):
        message = (
            f"cannot open {url!r}: {AREA!r} is kept for the commit protocol; name another directory"
        )
        raise RequestError(message, kind="reserved_name", path=url)
    protocol = protocol_of(url)
    path = without_disk_scheme(url)
    refuse_pattern(url, path)
    if protocol not in DISKS:
        return url
    refuse_unexpanded(url, path)
    try:
        absolute = os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111  # text in, text out
    except FileNotFoundError:
        message = (
            f"{url!r} is relative, and the directory that this process works in is gone; "
            "give an absolute path, or change into a directory that is there"
        )
        raise RequestError(message, kind="invalid_option", path=url) from None
    return absolute if path == url else f"{protocol}://{absolute}"


def _of_filesystem(path: str, filesystem: Any) -> Location:
    from fsspec import AbstractFileSystem  # noqa: PLC0415  # only for callers who have it

    refuse_secrets(path)  # before it is taken apart
    kind = f"{type(filesystem).__module__}.{type(filesystem).__qualname__}"
    if not isinstance(filesystem, AbstractFileSystem):
        given = f"the class {filesystem.__name__}" if isinstance(filesystem, type) else kind
        message = f"filesystem= takes an fsspec filesystem, not {given}; pass the URL instead"
        raise UnknownProtocolError(message)
    if kind.startswith(("fsspec.implementations.cache", "fsspec.implementations.cached")):
        message = f"cannot commit through {kind}: a cache hides what the store holds; unwrap it"
        raise UnknownProtocolError(message)
    _refuse_disagreement(path, filesystem, kind)
    if kind.startswith("fsspec.implementations.dirfs."):
        return _of_filesystem(f"{filesystem.path}/{path}".rstrip("/"), filesystem.fs)
    protocol = _protocols(filesystem)[0]
    if filesystem.storage_args:
        message = f"cannot reopen {kind}: it was made with positional arguments; use keywords"
        raise RequestError(message, kind="invalid_option")
    url = _url(path, protocol, filesystem)
    return Location(_checked(url), dict(filesystem.storage_options))


def _url(path: str, protocol: str, filesystem: Any) -> str:
    """The URL of a path on a filesystem."""
    bare: str = filesystem._strip_protocol(path)  # noqa: SLF001  # fsspec's own convention
    if protocol in DISKS:
        return bare
    bare = bare.lstrip("/")
    # In a URL of HDFS the first component is a host, and not the first directory.
    if "host" in filesystem._get_kwargs_from_urls(f"{protocol}://host/path"):  # noqa: SLF001
        return path if "://" in path else f"{protocol}:///{bare}"
    return f"{protocol}://{bare}"


def _refuse_disagreement(path: str, filesystem: Any, kind: str) -> None:
    """Refuse a URL that names another store than the filesystem: one of them is a mistake.

    Raises:
        RequestError: The protocols differ, or the URL names another account or host.
    """
    if "://" not in path:
        return
    protocol = protocol_of(path)
    known = _protocols(filesystem)
    if not any(are_served_alike(protocol, one) for one in known):
        message = (
            f"the destination is a {protocol!r} URL, and filesystem= is {kind}, which serves "
            f"{' and '.join(map(repr, known))}: give the URL alone, with storage_options=, or a "
            "path on that filesystem"
        )
        raise RequestError(message, kind="store_mismatch")
    named: Mapping[str, object] = filesystem._get_kwargs_from_urls(path)  # noqa: SLF001
    for name in sorted(named):
        own = filesystem.storage_options.get(name, getattr(filesystem, name, None))
        if own is not None and str(own) != str(named[name]):
            message = (
                f"the destination's URL and filesystem= disagree about {name}: the URL names "
                f"{named[name]!r}, the filesystem another; give the URL alone, with "
                "storage_options=, or a path on that filesystem"
            )
            raise RequestError(message, kind="store_mismatch")


def _protocols(filesystem: Any) -> tuple[str, ...]:
    known = filesystem.protocol
    return (known,) if isinstance(known, str) else tuple(known)


def _kind(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}".removeprefix("builtins.")
