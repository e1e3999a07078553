"""Assertions about a destination, by plain fsspec and without any code of this package's stores."""

import os
import re
from collections.abc import Mapping
from typing import Any

from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

_AREA = "_commit"
_SUCCESS = "_SUCCESS"
_JOB_ID = r"\d{8}T\d{6}-[0-9a-f]{16}"
_UNFINISHED = re.compile(rf"{_AREA}/(?P<job>{_JOB_ID})/job\.json")
_MAGIC = re.compile(rf"__magic_job-{_JOB_ID}(?:/|\Z)")
_DELETED = rf"{_AREA}/deleted-[^/]+"
_MAY_STAY = re.compile(rf"{_AREA}/(?:epoch-[^/]+|(?:done|lost)/[^/]+)|{_DELETED}/[^/]+")
_DIRECTORIES_THAT_MAY_STAY = (_AREA, f"{_AREA}/done", f"{_AREA}/lost")


def assert_committed(
    destination: str | os.PathLike[str],
    *,
    file_count: int | None = None,
    marker: bool = True,
    storage_options: Mapping[str, object] | None = None,
) -> None:
    """Assert that a destination has only finished jobs, its marker, and *file_count* data files.

    Args:
        destination: A URL or a path.
        file_count: The number of visible files of all jobs: those that readers take for data,
            because no component of their name begins with ``_`` or ``.``.
        marker: Whether ``_SUCCESS`` must exist; False for jobs with ``success="none"``.
        storage_options: fsspec's options for this protocol.

    Raises:
        AssertionError: Something else is there, which the message names.
    """
    found = _everything_below(destination, storage_options)
    files = {name for name, details in found.items() if details["type"] == "file"}
    if marker and _SUCCESS not in files:
        raise AssertionError(f"{destination!r} has no {_SUCCESS}; there is: {_shown(files)}")
    for name in sorted(files):
        if unfinished := _UNFINISHED.fullmatch(name):
            decided = f"{_AREA}/{unfinished['job']}/decision" in files
            state = "decided and not finished" if decided else "undecided"
            raise AssertionError(f"job {unfinished['job']} at {destination!r} is {state}")
    visible = [name for name in files if not re.search(r"(?:^|/)[_.]", name)]
    if file_count is not None and len(visible) != file_count:
        raise AssertionError(
            f"{destination!r} has {len(visible)} data files, not {file_count}: {_shown(visible)}"
        )


def assert_no_leftovers(
    destination: str | os.PathLike[str], *, storage_options: Mapping[str, object] | None = None
) -> None:
    """Assert that ``_commit/`` contains nothing but the empty files that are meant to stay.

    Nor is there a ``__magic_job-…`` beside it, which S3A makes where it writes for a job.

    Raises:
        AssertionError: Something is left of a job.
    """
    left = [
        name
        for name, details in _everything_below(destination, storage_options).items()
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
    filesystem, root = url_to_fs(url, **options)
    return filesystem, root


def _everything_below(
    destination: str | os.PathLike[str], storage_options: Mapping[str, object] | None
) -> dict[str, dict[str, Any]]:
    """Files and directories, by their names relative to the destination."""
    text = str(destination)
    if "://" in text:
        filesystem, root = plain_filesystem(text, storage_options)
    else:
        filesystem = LocalFileSystem()
        root = filesystem._strip_protocol(text)  # noqa: SLF001  # what makes a path absolute
    beginning = f"{root.rstrip('/')}/"
    below: dict[str, dict[str, Any]] = filesystem.find(root, withdirs=True, detail=True)
    return {
        name[len(beginning) :].rstrip("/"): details
        for name, details in below.items()
        if name.startswith(beginning)
    }


def _shown(names: set[str] | list[str]) -> str:
    many = 20
    shown = ", ".join(map(repr, sorted(names)[:many])) or "nothing"
    return f"{shown}, and {len(names) - many} more" if len(names) > many else shown
