"""Assertions about a destination, by plain fsspec and without any code of this package's stores."""

import re
from collections.abc import Mapping
from typing import Any

from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem

from fsspec_commit.filesystems import filesystem_of
from fsspec_commit.location import DestinationLike, locate

_AREA = "_commit"
_SUCCESS = "_SUCCESS"
_JOB_ID = r"\d{8}T\d{6}-[0-9a-f]{16}"
_UNFINISHED = re.compile(rf"{_AREA}/(?P<job>{_JOB_ID})/job\.json")
_MAGIC = re.compile(rf"__magic_job-{_JOB_ID}(?:/|\Z)")
_DELETED = rf"{_AREA}/deleted-[^/]+"
_MAY_STAY = re.compile(rf"{_AREA}/(?:epoch-[^/]+|(?:done|lost)/[^/]+)|{_DELETED}/[^/]+")
_DIRECTORIES_THAT_MAY_STAY = (_AREA, f"{_AREA}/done", f"{_AREA}/lost")


def assert_committed(
    destination: DestinationLike,
    *,
    file_count: int | None = None,
    marker: bool = True,
    storage_options: Mapping[str, object] | None = None,
    filesystem: AbstractFileSystem | None = None,
) -> None:
    """Assert that a destination has only finished jobs, its marker, and *file_count* data files.

    Args:
        destination: A URL, a path or a ``UPath``.
        file_count: The number of visible files of all jobs: those that readers take for data,
            because no component of their name begins with ``_`` or ``.``.
        marker: Whether ``_SUCCESS`` must exist; False for jobs with ``success="none"``.
        storage_options: fsspec's options for this protocol.
        filesystem: An fsspec filesystem, instead of *storage_options*.

    Raises:
        AssertionError: Something else is there, which the message names.
        RequestError: This is no destination.
    """
    found = _everything_below(destination, storage_options, filesystem)
    files = {name for name, details in found.items() if details["type"] == "file"}
    for name in sorted(files):
        if unfinished := _UNFINISHED.fullmatch(name):
            decided = f"{_AREA}/{unfinished['job']}/decision" in files
            state = "decided and not finished" if decided else "undecided"
            raise AssertionError(f"job {unfinished['job']} at {destination!r} is {state}")
    if marker and _SUCCESS not in files:
        raise AssertionError(f"{destination!r} has no {_SUCCESS}; there is: {_shown(files)}")
    visible = [name for name in files if not re.search(r"(?:^|/)[_.]", name)]
    if file_count is not None and len(visible) != file_count:
        files_found = "1 data file" if len(visible) == 1 else f"{len(visible)} data files"
        raise AssertionError(
            f"{destination!r} has {files_found}, not {file_count}: {_shown(visible)}"
        )


def assert_no_leftovers(
    destination: DestinationLike,
    *,
    storage_options: Mapping[str, object] | None = None,
    filesystem: AbstractFileSystem | None = None,
) -> None:
    """Assert that ``_commit/`` contains nothing but the empty files that are meant to stay.

    Nor is there a ``__magic_job-…`` beside it, which S3A makes where it writes for a job. Where
    nothing stands at all, as after a job that was aborted, nothing is left.

    Raises:
        AssertionError: Something is left of a job.
        RequestError: This is no destination.
    """
    left = [
        name
        for name, details in _everything_below(destination, storage_options, filesystem).items()
        if (name.startswith(f"{_AREA}/") and not _may_stay(name, details))
        or _MAGIC.match(name) is not None
    ]
    if left:
        raise AssertionError(f"left at {destination!r}: {_shown(left)}")


def _may_stay(name: str, details: dict[str, Any]) -> bool:
    if details["type"] == "directory":
        return name in _DIRECTORIES_THAT_MAY_STAY or re.fullmatch(_DELETED, name) is not None
    return details["size"] == 0 and _MAY_STAY.fullmatch(name) is not None


def plain_filesystem(
    url: str, storage_options: Mapping[str, object] | None
) -> tuple[AbstractFileSystem, str]:
    """The filesystem that fsspec itself opens for *url*, without caches, and the path on it."""
    if url.startswith("hdfs:"):
        # hdfs-native remembers no listing, and takes no option that is not a text. fsspec drops
        # what it keeps when a process forks, and dropping one of these never ends there.
        options = {"skip_instance_cache": True, **(storage_options or {})}
    else:
        options = {"use_listings_cache": False, **(storage_options or {})}
    return filesystem_of(url, **options)


def _everything_below(
    destination: DestinationLike,
    storage_options: Mapping[str, object] | None,
    filesystem: AbstractFileSystem | None,
) -> dict[str, dict[str, Any]]:
    """Files and directories, by their names relative to the destination."""
    location = locate(destination, storage_options, filesystem)
    if "://" in location.url:
        plain, root = plain_filesystem(location.url, location.storage_options)
    else:
        plain = LocalFileSystem()
        root = plain._strip_protocol(location.url)  # noqa: SLF001  # a name with a colon is one
    beginning = f"{root.rstrip('/')}/"
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
