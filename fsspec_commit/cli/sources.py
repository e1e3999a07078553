"""Which files a run reads: what was typed becomes a list of files, each with its format.

A source is a file, a directory, a glob or a URL of one. Whatever cannot be told for certain is
refused, because a file that is left out, or read twice, is wrong output that nobody notices. A
directory that holds jobs in flight is read as the snapshot that its readers should see.
"""

import glob
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any
from urllib.parse import unquote

import fsspec_commit as fc
from fsspec_commit.filesystems import filesystem_of

FORMATS = ("parquet", "csv", "json", "orc", "arrow")
_BY_EXTENSION = {
    "parquet": "parquet",
    "parq": "parquet",
    "pq": "parquet",
    "csv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "orc": "orc",
    "arrow": "arrow",
    "feather": "arrow",
    "ipc": "arrow",
}
_COMPRESSIONS = frozenset({"gz", "bz2", "zst", "lz4"})
_TEXT_FORMATS = frozenset({"csv", "json"})
_CREDENTIALS = re.compile(r"^[a-z0-9+.-]+://[^/@]*:[^/@]*@", re.IGNORECASE)
_GLOB = re.compile(r"[*?\[]")
_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class SourceFile:
    """One file to read.

    Attributes:
        filesystem: The fsspec filesystem that it is on.
        path: Where it is, in that filesystem's terms.
        base: The leading part of the path that was not typed: no column is found in it.
        format: One of ``FORMATS``.
    """

    filesystem: Any
    path: str
    base: str
    format: str

    @property
    def partition_keys(self) -> dict[str, str | None]:
        """The values of the directories named ``key=value`` in what was typed, or below it."""
        directories = self.path.removeprefix(self.base).split("/")[:-1]
        pairs = (name.partition("=") for name in directories)
        return {
            unquote(key): None if value == _NULL_PARTITION else unquote(value)
            for key, equals, value in pairs
            if key and equals
        }


def known_format(text: str) -> str:
    """Check ``--source-format``; Feather is Arrow's own format under another name."""
    name = text.lower().lstrip(".")
    if name in FORMATS:
        return name
    if name in _BY_EXTENSION:
        return _BY_EXTENSION[name]
    raise fc.RequestError(
        f"--source-format {text!r} is none of {', '.join(FORMATS)}", kind="unknown_format"
    )


def find_sources(
    sources: Sequence[str], *, as_format: str | None, options: Mapping[str, object] | None
) -> list[SourceFile]:
    """Find every file that the sources name, in the order they were given.

    Raises:
        fc.RequestError: A source is missing, empty, named twice, or of a format that its name does
            not tell.
    """
    found = [file for source in sources for file in _found(source, as_format, options)]
    seen = set[tuple[str, str]]()
    for file in found:
        path = os.path.realpath(file.path) if _is_local(file.filesystem) else file.path
        key = (str(file.filesystem.protocol), path)
        if key in seen:
            raise fc.RequestError(
                f"source {file.path!r} is named twice; its rows would be written twice",
                kind="duplicate_source",
            )
        seen.add(key)
    return found


def _found(
    source: str, as_format: str | None, options: Mapping[str, object] | None
) -> list[SourceFile]:
    """The files that one source names; whatever its library raises is put down to that source."""
    try:
        return list(_find(source, as_format, options))
    except fc.CommitError:
        raise
    except Exception as error:
        raise fc.RequestError(
            f"cannot look for source {source!r}: {type(error).__name__}: {error}; check"
            " --source-storage-option, and what the environment holds",
            kind="unreadable_source",
        ) from error


def _find(
    source: str, as_format: str | None, options: Mapping[str, object] | None
) -> Iterator[SourceFile]:
    base, rest = _untyped(source)
    filesystem, path = _opened(base + rest, options)
    paths = [path] if filesystem.exists(path) else []
    if not paths and _GLOB.search(rest):
        pattern = glob.escape(base) + rest if base else path
        paths = sorted(path for path in filesystem.glob(pattern) if not _is_hidden(path, base))
    if not paths:
        what = "no file matches" if _GLOB.search(rest) else "there is no"
        # fsspec takes a server that does not answer for one that has no such file.
        or_else = ", or its server does not answer" if source.startswith("http") else ""
        or_else = "; standard input is not read: write it to a file" if source == "-" else or_else
        raise fc.RequestError(f"{what} source {source!r}{or_else}", kind="missing_source")
    for path in paths:
        if not filesystem.isdir(path):
            _refuse_stream(source, filesystem, path)
            yield SourceFile(filesystem, path, base, as_format or _format_of(path))
            continue
        directory = path.rstrip("/")
        files = list(_files_in(directory, filesystem, options))
        if not files:
            raise fc.RequestError(f"source {directory!r} holds no file", kind="missing_source")
        for file in files:
            known = as_format or _format_of(file, _of_known_format(directory, files))
            yield SourceFile(filesystem, file, base, known)


def _refuse_stream(source: str, filesystem: Any, path: str) -> None:
    """Refuse what can be read once, from its beginning: a pipe, a terminal, standard input."""
    if filesystem.info(path)["type"] == "other":
        raise fc.RequestError(
            f"source {source!r} is no file but a stream, of which the schema could not be read"
            " before the rows: write it to a file first",
            kind="unreadable_source",
        )


def _opened(source: str, options: Mapping[str, object] | None) -> tuple[Any, str]:
    if _CREDENTIALS.match(source):
        raise fc.RequestError(
            "a source's URL carries credentials, which would be shown to everybody who lists"
            " processes; use --source-storage-option",
            kind="secret_in_url",
        )
    try:
        filesystem, path = filesystem_of(source, **(options or {}))
    except ValueError as error:
        raise fc.RequestError(
            f"cannot open source {source!r}: {error}", kind="unknown_protocol"
        ) from error
    return filesystem, path


def _untyped(source: str) -> tuple[str, str]:
    """The directory that a relative path begins at, and the path from there.

    Dots at its beginning belong to that directory: they are typed, but not the names that they
    stand for.
    """
    if "://" in source or "::" in source or source.startswith(("/", "~")):
        return "", source
    parts = source.split("/")
    dots = list(takewhile(lambda part: part in {"", ".", ".."}, parts))
    base = os.path.abspath("/".join(dots) or ".")  # noqa: PTH100  # links stay as they are
    return base.rstrip("/") + "/", "/".join(parts[len(dots) :])


def _is_local(filesystem: Any) -> bool:
    return "file" in _protocols(filesystem)


def _protocols(filesystem: Any) -> tuple[str, ...]:
    known = filesystem.protocol
    return (known,) if isinstance(known, str) else tuple(known)


def _files_in(
    directory: str, filesystem: Any, options: Mapping[str, object] | None
) -> Iterable[str]:
    """Every file below a directory that is not hidden.

    Raises:
        RequestError: A job there is half way, so that the files are not those of any one moment.
    """
    if filesystem.exists(f"{directory}/_commit"):
        url = directory if _is_local(filesystem) else f"{_protocols(filesystem)[0]}://{directory}"
        jobs = fc.jobs(url, storage_options=options)
        for job in jobs:
            if job.state in {"decided", "published"}:
                command = shlex.join(["fsspec-commit", "resume", url, job.job_id])
                message = (
                    f"cannot read {url!r}: job {job.job_id} is committed but not finished there, "
                    f"so a part of it may be missing; wait for it, or finish it with: {command}"
                )
                raise fc.RequestError(message, kind="source_unfinished", job_id=job.job_id)
        if any(job.state in {"damaged", "newer", "unknown"} for job in jobs):
            _refuse_unknown(url, options)
    return (path for path in sorted(filesystem.find(directory)) if not _is_hidden(path, directory))


def _refuse_unknown(url: str, options: Mapping[str, object] | None) -> None:
    """Refuse a destination of which nobody can tell whether one of its jobs has committed."""
    try:
        fc.committed_files(url, storage_options=options)
    except fc.RecordError as error:
        message = f"cannot read {url!r}: {error}"
        raise fc.RequestError(message, kind="source_unfinished", job_id=error.job_id) from error


def _is_hidden(path: str, base: str) -> bool:
    return any(part.startswith(("_", ".")) for part in path.removeprefix(base).split("/"))


def _format_of(path: str, others: str = "") -> str:
    """The format that a file's name tells; *others* is a glob of files whose names do tell one."""
    known = _told_format(path)
    if known is None:
        instead = f", or name the other files with a glob: {shlex.quote(others)}" if others else ""
        raise fc.RequestError(
            f"the name of {path!r} tells no format that is read here ({', '.join(FORMATS)});"
            f" use --source-format{instead}",
            kind="unknown_format",
        )
    return known


def _of_known_format(directory: str, files: Iterable[str]) -> str:
    """A glob of files in a directory whose names tell a format, or nothing."""
    for file in files:
        if _told_format(file) is not None:
            _, dot, extension = file.rsplit("/", 1)[-1].partition(".")
            return f"{glob.escape(directory)}/**/*{dot}{extension}"
    return ""


def _told_format(path: str) -> str | None:
    *_, name = path.rsplit("/", 1)
    extensions = name.lower().split(".")[1:]
    compressed = bool(extensions) and extensions[-1] in _COMPRESSIONS
    if compressed:
        extensions.pop()
    known = _BY_EXTENSION.get(extensions[-1]) if extensions else None
    return known if known in _TEXT_FORMATS or not compressed else None


def partition_types(files: Iterable[SourceFile]) -> dict[str, bool]:
    """The columns that directories hold, and whether each is of whole numbers.

    ``month=01`` is text: as a number it would be written as ``month=1``.
    """
    values: dict[str, set[str]] = {}
    for file in files:
        for key, value in file.partition_keys.items():
            values.setdefault(key, set()).update(() if value is None else (value,))
    return {key: bool(some) and all(map(_is_whole, some)) for key, some in values.items()}


def _is_whole(text: str) -> bool:
    return bool(re.fullmatch(r"0|-?[1-9]\d{0,17}", text))
