"""Assertions about a destination, by plain fsspec and without any code of this package's stores."""

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, SupportsIndex

from fsspec import AbstractFileSystem, get_filesystem_class
from fsspec.implementations.local import LocalFileSystem

from fsspec_commit.errors import UnknownProtocolError
from fsspec_commit.filesystems import filesystem_of
from fsspec_commit.location import DestinationLike, locate
from fsspec_commit.store.registry import protocol_of
from fsspec_commit.sync.afterwards import quiet
from fsspec_commit.sync.bridge import run

_AREA = "_commit"
_SUCCESS = "_SUCCESS"
_JOB_ID = r"\d{8}T\d{6}-[0-9a-f]{16}"
_OF_A_JOB = re.compile(rf"{_AREA}/(?:void-)?(?P<job>{_JOB_ID})(?:-[0-9a-f]{{32}})?")
_GIVEN_UP = f"{_AREA}/lost/"
_MAGIC = re.compile(rf"__magic_job-{_JOB_ID}(?:/|\Z)")
_DELETED = rf"{_AREA}/deleted-[^/]+"
_MAY_STAY = re.compile(rf"{_AREA}/(?:epoch-[^/]+|(?:done|lost)/[^/]+)|{_DELETED}/[^/]+")
_DIRECTORIES_THAT_MAY_STAY = (_AREA, f"{_AREA}/done", f"{_AREA}/lost")


def assert_committed(
    destination: DestinationLike,
    *,
    file_count: SupportsIndex | None = None,
    marker: bool = True,
    storage_options: Mapping[str, object] | None = None,
    filesystem: AbstractFileSystem | None = None,
) -> None:
    """Assert that a destination has only finished jobs, its marker, and *file_count* data files.

    A job that was finished with ``accept_loss=True``, or removed as damaged, is not one of them.

    Args:
        destination: A URL, a path or a ``UPath``.
        file_count: The number of visible files of all jobs: those that readers take for data,
            because no component of their name begins with ``_`` or ``.``. NumPy integers work too.
        marker: Whether ``_SUCCESS`` must exist; False for jobs with ``success="none"``.
        storage_options: fsspec's options for this protocol.
        filesystem: An fsspec filesystem, instead of *storage_options*.

    Raises:
        AssertionError: The destination is not as asserted; the message says what is there.
        RequestError: *destination* cannot be a destination.
    """
    wanted = None if file_count is None else _count_of(file_count)
    plain, root = _opened(destination, storage_options, filesystem)
    found = _everything_below(plain, root)
    files = {name for name, details in found.items() if details["type"] == "file"}
    for job_id, state in _not_finished(files, lambda name: plain.cat_file(f"{root}/{name}")):
        raise AssertionError(f"job {job_id} at {destination!r} {state}")
    if marker and _SUCCESS not in files:
        raise AssertionError(f"{destination!r} has no {_SUCCESS}; there is: {_shown(files)}")
    visible = [name for name in files if not re.search(r"(?:^|/)[_.]", name)]
    if wanted is not None and len(visible) != wanted:
        files_found = "1 data file" if len(visible) == 1 else f"{len(visible)} data files"
        raise AssertionError(f"{destination!r} has {files_found}, not {wanted}: {_shown(visible)}")


def _count_of(files: SupportsIndex) -> int:
    """*files* as an integer; ``True`` is refused, though Python counts with it."""
    if isinstance(files, bool) or not isinstance(files, SupportsIndex):
        raise TypeError(f"file_count is a number of files, not {files!r}")
    return operator.index(files)


def assert_no_leftovers(
    destination: DestinationLike,
    *,
    storage_options: Mapping[str, object] | None = None,
    filesystem: AbstractFileSystem | None = None,
) -> None:
    """Assert that ``_commit/`` contains nothing but the empty files that are meant to stay.

    Nor may there be a ``__magic_job-…`` beside it, which S3A makes where it writes for a job. A
    destination that does not exist, as after an aborted job, has no leftovers. Pending uploads are
    in no listing of fsspec's: :func:`fsspec_commit.verify` reports them.

    Raises:
        AssertionError: Something is left of a job.
        RequestError: *destination* cannot be a destination.
    """
    found = _everything_below(*_opened(destination, storage_options, filesystem))
    left = [
        name
        for name, details in found.items()
        if (name.startswith(f"{_AREA}/") and not _may_stay(name, details))
        or _MAGIC.match(name) is not None
    ]
    if left:
        raise AssertionError(f"left at {destination!r}: {_shown(left)}")


def _not_finished(files: set[str], read: Callable[[str], bytes]) -> Iterator[tuple[str, str]]:
    """The jobs that are not finished, or not whole, each with what is wrong with it."""
    for name in sorted(files):
        area, _, record = name.rpartition("/")
        job = _OF_A_JOB.fullmatch(area)
        if name.startswith(_GIVEN_UP):
            yield name.removeprefix(_GIVEN_UP), "was given up, and files of it may be missing"
        elif job is not None and record == "job.json":
            decided = f"{area}/decision" in files
            yield job["job"], f"is {'decided and not finished' if decided else 'undecided'}"
        elif job is not None and record == "decision" and _is_damaged(area, files, read):
            yield job["job"], "is damaged: it has decided, and its job.json is gone"


def _is_damaged(area: str, files: set[str], read: Callable[[str], bytes]) -> bool:
    """Whether a decision without ``job.json`` may be the last trace of files that are missing."""
    has_manifests = any(name.startswith(f"{area}/manifests/") for name in files)
    if {f"{area}/job.json", f"{area}/published"} & files or not has_manifests:
        return False
    try:
        decision = json.loads(read(f"{area}/decision"))
    except ValueError:
        return True
    return not isinstance(decision, dict) or decision.get("state") != "aborted"


def _may_stay(name: str, details: dict[str, Any]) -> bool:
    if details["type"] == "directory":
        return name in _DIRECTORIES_THAT_MAY_STAY or re.fullmatch(_DELETED, name) is not None
    return details["size"] == 0 and _MAY_STAY.fullmatch(name) is not None


def plain_filesystem(
    url: str, storage_options: Mapping[str, object] | None
) -> tuple[AbstractFileSystem, str]:
    """The filesystem that fsspec itself opens for *url*, without caches, and the path on it."""
    if url.startswith("hdfs:"):
        # hdfs-native caches no listings, and takes only strings as options. fsspec drops its cached
        # instances when a process forks, and dropping one of these never returns there.
        options = {"skip_instance_cache": True, **(storage_options or {})}
    else:
        options = {"use_listings_cache": False, **(storage_options or {})}
    return filesystem_of(url, **options)


def _opened(
    destination: DestinationLike,
    storage_options: Mapping[str, object] | None,
    filesystem: AbstractFileSystem | None,
) -> tuple[AbstractFileSystem, str]:
    """A plain filesystem, and the path of the destination on it."""
    location = locate(destination, storage_options, filesystem)
    run(quiet())
    try:
        get_filesystem_class(protocol_of(location.url))
    except ValueError:
        raise UnknownProtocolError(f"fsspec knows no filesystem of {location.url!r}") from None
    if "://" in location.url:
        plain, root = plain_filesystem(location.url, location.storage_options)
    else:
        plain = LocalFileSystem()
        root = plain._strip_protocol(location.url)  # noqa: SLF001  # a colon makes no URL of it
    return plain, root.rstrip("/")


def _everything_below(plain: AbstractFileSystem, root: str) -> dict[str, dict[str, Any]]:
    """Files and directories, by their names relative to the destination."""
    beginning = f"{root}/"
    below: dict[str, dict[str, Any]] = plain.find(root, withdirs=True, detail=True)
    return {
        name[len(beginning) :].rstrip("/"): details
        for name, details in below.items()
        if name.startswith(beginning)
    }


def _shown(names: set[str] | list[str]) -> str:
    many = 20
    shown = ", ".join(map(repr, sorted(names)[:many])) or "nothing"
    return f"{shown}, and {len(names) - many} more" if len(names) > many else shown
