"""Reading a destination: the files of whole jobs, and whether they are as jobs wrote them."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from fsspec_commit.destination import OpenDestination, open_destination
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.filesystems import filesystem_of
from fsspec_commit.location import DestinationLike, Location
from fsspec_commit.protocol import snapshot
from fsspec_commit.protocol.clean import clean
from fsspec_commit.protocol.verify import VerifyReport, compare
from fsspec_commit.selection import leftover_uploads, retiring
from fsspec_commit.store import OpenOptions
from fsspec_commit.sync.bridge import blocking
from fsspec_commit.sync.opening import closing, opened, or_damaged

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


class CommittedFiles(list[str]):
    """The files of whole jobs at a destination, as of one moment: a list of URLs, sorted.

    On local disks they are plain paths. URLs hold names as they are, without escapes; where a
    library decodes what looks like one (pyarrow does), or wants fsspec, the same files are
    :attr:`paths` on :attr:`filesystem`. A copy, a slice or a pickle of it is a plain list,
    which holds no storage options.

    Attributes:
        destination: The destination: what each URL in the list begins with.
        bytes: The total size of the files.
    """

    def __init__(self, location: Location, names: Iterable[str], size_bytes: int) -> None:
        self.destination = _directory(location.local_path or location.url)
        super().__init__(_below(self.destination, names))
        self.bytes = size_bytes
        self._location = location

    @property
    def names(self) -> list[str]:
        """The same files, relative to the destination."""
        beginning = len(_beginning(self.destination))
        return [url[beginning:] for url in self]

    @property
    def paths(self) -> list[str]:
        """The same files as :attr:`filesystem` names them."""
        return list(_below(self.directory, self.names))

    @property
    def directory(self) -> str:
        """The destination as :attr:`filesystem` names it."""
        return self._opened[1]

    @property
    def filesystem(self) -> "AbstractFileSystem":
        """A synchronous filesystem for :attr:`paths`, without a cache of listings."""
        return self._opened[0]

    @property
    def is_local(self) -> bool:
        """Whether the files are on this machine's disks."""
        return self._location.local_path is not None

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        url = self._location.url
        # One that suits libraries, though the caller's own may cache listings, or be asynchronous.
        options = {**self._location.storage_options, "use_listings_cache": False}
        options.pop("asynchronous", None)
        options.pop("loop", None)
        # fsspec would take "::" in a name for a chain of two URLs, and read another directory.
        filesystem, _ = filesystem_of(url.partition("::")[0], **options)
        return filesystem, str(filesystem._strip_protocol(url))  # noqa: SLF001  # fsspec's own convention


def _directory(url: str) -> str:
    """*url* without the slashes that a directory may end in; that of a whole store keeps them."""
    bare = url.rstrip("/")
    return url if not bare or bare.endswith(":") else bare


def _beginning(directory: str) -> str:
    return directory if directory.endswith("/") else f"{directory}/"


def _below(directory: str, names: Iterable[str]) -> Iterable[str]:
    beginning = _beginning(directory)
    return (beginning + name for name in names)


@blocking
async def committed_files(
    destination: DestinationLike,
    *,
    storage_options: Mapping[str, object] | None = None,
    filesystem: "AbstractFileSystem | None" = None,
) -> CommittedFiles:
    """List the files of whole jobs, even while jobs publish, overwrite, die and are resumed.

    The list is complete as of one moment during the call. It is not a lock: an overwrite that
    finishes later deletes files in it, and a reader that misses one calls this again. Files that
    are replaced in place, as only ``names="exact"`` does, are listed with whatever stands there.
    Hidden files (``_…``, ``.…``) are left out. On a network mount all of this is as fresh as the
    mount's cache.

    While no job is under way, this costs two listings of the work area, before and after that of
    the files. Nothing is written.

    Args:
        destination: Where jobs write; not a directory below that.
        storage_options: fsspec's options for the destination.
        filesystem: An fsspec filesystem, instead of *storage_options*.

    Raises:
        SnapshotUnstableError: Jobs came and went each time that the files were listed.
        RecordError: A job that may have committed is damaged, so that nobody knows what counts.
        RequestError: *destination* lies inside another destination, or has one inside it.
        StoreError: The store cannot be reached, or refuses.
    """
    async with opened(destination, storage_options, filesystem, OpenOptions()) as to:
        to.list_without_versions()
        found = await snapshot.committed_files(reader_of(to))
        if not found.names:
            await to.say_if_nothing_is_there()
        return CommittedFiles(to.location, found.names, found.bytes)


@blocking
async def verify(
    destination: DestinationLike,
    *,
    storage_options: Mapping[str, object] | None = None,
    filesystem: "AbstractFileSystem | None" = None,
) -> VerifyReport:
    """Compare a destination with what its jobs have written down, and say what they have left.

    Nothing is written. Sizes are compared, contents are not read. What a finished job wrote is
    known only if it left the names of its files in ``_SUCCESS`` (``success="json"``; the first
    10,000), and if no other job is decided and not finished.

    Args:
        destination: Where jobs write.
        storage_options: fsspec's options for the destination.
        filesystem: An fsspec filesystem, instead of *storage_options*.

    Raises:
        SnapshotUnstableError: Jobs came and went each time that the files were listed.
        RecordError: What a decided job has written down cannot be read.
        StoreError: The store cannot be reached, or refuses.
    """
    options = OpenOptions(choosing=True)
    async with opened(destination, storage_options, filesystem, options) as to:
        found = await compare(reader_of(to))
        if not found.file_count:
            await to.say_if_nothing_is_there()
        facts = await to.capabilities(probing=False)
        report = await clean(
            to.store,
            older_than=timedelta(0),
            dry_run=True,
            bind=partial(or_damaged, to, to.bind),
            check=partial(or_damaged, to, to.check),
            retirement=retiring(to.store, facts),
            leftovers=leftover_uploads(to.store, facts),
        )
        return VerifyReport(
            missing=tuple(found.missing),
            changed=tuple(found.changed),
            leftovers=(*report.shown, *report.deleted),
            checked_count=found.checked_count,
            file_count=found.file_count,
        )


def reader_of(to: OpenDestination) -> snapshot.Reader:
    """A reader of the opened destination."""

    @asynccontextmanager
    async def opened_above(levels: int) -> AsyncIterator[ConfirmedStore]:
        url = to.location.url.rstrip("/").rsplit("/", levels)[0]
        location = replace(to.location, url=url or "/")
        async with closing(await open_destination(location, OpenOptions(), ids=to.ids)) as above:
            yield above.store

    bind = partial(or_damaged, to, to.bind)
    return snapshot.Reader(to.store, to.location.url, bind, opened_above)
