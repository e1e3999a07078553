"""What a file may be called: every name relative to a destination is checked here only (P10).

A :data:`Target` is a checked name: no manifest, message or caller can name a path outside the
destination or inside somebody else's work area. :mod:`fsspec_commit.layout` turns it into a path.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NewType
from urllib.parse import quote, unquote

from fsspec_commit.errors import RequestError
from fsspec_commit.ids import JOB_ID, AttemptId, JobId, is_job_id

Target = NewType("Target", str)
Partition = NewType("Partition", str)

AREA = "_commit"
SUCCESS = "_SUCCESS"
PENDING = ".pending"
HADOOP_TEMPORARY = "_temporary"
HADOOP_MAGIC = "__magic"
"""The directory of Hadoop's magic committer; since 3.4 a prefix of its name."""
MAGIC_JOB = f"{HADOOP_MAGIC}_job-"
"""With a job's id, the directory in which S3A records the uploads that it begins for the job."""
TASKS = "tasks"
"""The directory of the tasks' own directories, in a job's area."""
JOB_RECORD = "job.json"
"""The record of a job, in its area, which stands as long as the job lives."""
NAME_BYTES_MAX = 255
"""The longest name of one file or directory that every store and file system takes."""
TARGET_BYTES_MAX = 1024
"""The longest key that every object store takes."""
PATH_BYTES_MAX = 4096
"""The longest path that any file system has."""
ROOT_PARTITION = Partition("")

_PLAIN_MAX = NAME_BYTES_MAX - len(PENDING)

_SUMMARY_FILES = ("_metadata", "_common_metadata")
_RESERVED = {name.casefold(): name for name in (AREA, SUCCESS)}
"""Names that nobody writes but this library, as a file or as a directory, at any depth."""

_PLAIN = re.compile(
    r"[A-Za-z0-9=+,@~-][A-Za-z0-9._=+,@~-]*(?:/[A-Za-z0-9=+,@~-][A-Za-z0-9._=+,@~-]*)*"
)
_PLAIN_LINES = re.compile(rf"{_PLAIN.pattern}(?:\n{_PLAIN.pattern})*+")
_EXTENSION = re.compile(
    r"(?:\.(?:gz|bz2|zst|zstd|xz|lz4|lz4raw|snappy|br|zip))?"
    r"\.[A-Za-z][A-Za-z0-9]{0,9}"
    r"(?:\.(?:gz|bz2|zst|zstd|xz|lz4|lz4raw|snappy|br|zip))?$",
)


_JOB_IN_NAME = re.compile(rf"-({JOB_ID.pattern})-[0-9]+(?![^.-])")
_UUID = re.compile(
    r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Fa-f])"
)


def is_plain(text: str) -> bool:
    """Whether *text* is a target, its own URI, and short enough for its working name.

    That holds for almost every name; the others need every check.
    """
    return len(text) <= _PLAIN_MAX and _PLAIN.fullmatch(text) is not None


def are_plain(texts: Sequence[str]) -> bool:
    """Whether :func:`is_plain` holds for all of *texts*; one match is faster than many."""
    lines = "\n".join(texts)
    return not texts or (
        max(map(len, texts)) <= _PLAIN_MAX
        and lines.count("\n") == len(texts) - 1
        and _PLAIN_LINES.fullmatch(lines) is not None
    )


def target(text: str) -> Target:
    """Check a caller's or a manifest's relative name.

    Raises:
        RequestError: *text* leaves the destination, is reserved for this library, or is a name
            that some store cannot hold.
    """
    if is_plain(text):
        return Target(text)
    if not text or text.startswith("/") or "\0" in text or "://" in text:
        raise outside(text)
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        message = f"cannot write {text!a}: the name is not valid unicode, no store can hold it"
        raise RequestError(message, kind="invalid_name", path=ascii(text)) from None
    if len(encoded) > TARGET_BYTES_MAX:
        message = f"cannot write {text[:80]!r}…: {len(encoded)} bytes of path, at most 1024 fit"
        raise RequestError(message, kind="name_too_long", path=text)
    names = text.split("/")
    for name in names:
        if name in {"", ".", ".."}:
            raise outside(text)
        if len(name.encode()) > NAME_BYTES_MAX:
            message = (
                f"cannot write {text!r}: a file or directory name of {len(name.encode())} bytes "
                f"is longer than stores take ({NAME_BYTES_MAX})"
            )
            raise RequestError(message, kind="name_too_long", path=text)
        if name.casefold() in _RESERVED:  # the same name where a file system folds case
            raise _reserved(text, _RESERVED[name.casefold()])
    return Target(text)


def existing_name(text: str) -> Target:
    """Check the name of an existing file, which may be longer than the names this library writes.

    Raises:
        RequestError: *text* is no path below the destination, lies in a work area, is too long, or
            is not Unicode.
    """
    if is_plain(text):
        return Target(text)
    names = text.split("/")
    if not {"", ".", ".."}.isdisjoint(names) or AREA in map(str.casefold, names) or "\0" in text:
        message = f"cannot take {text!a} for a file of the destination: no path leads to it alone"
        raise RequestError(message, kind="outside_destination", path=ascii(text))
    if len(text.encode(errors="surrogatepass")) > PATH_BYTES_MAX or not is_unicode(text):
        message = f"cannot write down the name {text[:80]!a}: it is too long, or no valid unicode"
        raise RequestError(message, kind="invalid_name", path=ascii(text))
    return Target(text)


def is_unicode(text: str) -> bool:
    """Whether *text* can be encoded: it holds no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def outside(text: str) -> RequestError:
    """The error for a name that is not below the destination."""
    message = (
        f"cannot write {text!r}: a name must be relative to the destination and stay inside it"
    )
    if text.startswith("/") or "://" in text:
        message += "; leave the destination's own path out"
    return RequestError(message, kind="outside_destination", path=text)


def _reserved(text: str, name: str) -> RequestError:
    return RequestError(
        f"cannot write {text!r}: {name!r} is kept for the commit protocol; choose another name",
        kind="reserved_name",
        path=text,
    )


def unique_suffix(job_id: JobId, task_id: int, attempt_id: AttemptId | None = None) -> str:
    """The suffix that ``names="unique"`` puts before a name's extension.

    It includes the attempt where pending uploads are keyed by path, so that two attempts never
    share one.
    """
    return f"-{job_id}-{task_id}" if attempt_id is None else f"-{job_id}-{task_id}-{attempt_id}"


def uniquely_named(name: Target, suffix: str) -> Target:
    """*name* with *suffix* before its extension; hidden names (``_…``, ``.…``) are not changed.

    Raises:
        RequestError: The result is longer than stores take.
    """
    directory, slash, file_name = name.rpartition("/")
    if is_hidden_name(file_name):
        return name
    extension = _EXTENSION.search(file_name)
    stem = file_name if extension is None else file_name[: extension.start()]
    if not stem:
        stem, extension = file_name, None
    ending = "" if extension is None else extension.group()
    return target(f"{directory}{slash}{stem}{suffix}{ending}")


def is_named_with(name: str, suffix: str) -> bool:
    """Whether *suffix* is the :func:`unique_suffix` in *name*: the last one, if it has several."""
    file_name = name.rpartition("/")[2]
    begins = [found.start() for found in _JOB_IN_NAME.finditer(file_name)]
    last = file_name[begins[-1] :] if begins else ""
    return re.match(rf"{re.escape(suffix)}(?![^.-])", last) is not None


def job_named_in(name: str) -> JobId | None:
    """The job whose id ``names="unique"`` has put into *name*: the last one, if there is any.

    Such files may be copied under their exact names, so this attributes a file only if nothing
    else does.
    """
    found: list[str] = _JOB_IN_NAME.findall(name.rpartition("/")[2])
    return JobId(found[-1]) if found and is_job_id(found[-1]) else None


def is_never_reused(name: str) -> bool:
    """Whether no later file will have this name, since it contains a job id or a UUID.

    Only the last component counts: an id in a directory's name says nothing about its files.
    """
    return job_named_in(name) is not None or _UUID.search(name.rpartition("/")[2]) is not None


def is_hidden_name(name: str) -> bool:
    """Whether readers skip *name*, by the rule of Spark, pyarrow and pandas."""
    return name.startswith(("_", "."))


def is_visible(name: str) -> bool:
    """Whether readers take the file *name*, relative to the destination, for data."""
    return not any(is_hidden_name(part) for part in name.split("/"))


def is_in_work_area(name: str) -> bool:
    """Whether *name* lies in the work area of this or of another destination."""
    return name == AREA or name.startswith(AREA + "/") or f"/{AREA}/" in name


def is_summary_file(name: str) -> bool:
    """Whether *name* is a ``_metadata`` file: it describes others, so an overwrite makes it wrong.

    A file in a hidden directory does not count: an overwrite leaves alone what it describes.
    """
    directory, _, file_name = name.rpartition("/")
    return file_name in _SUMMARY_FILES and is_visible(directory)


def partition_of(name: Target) -> Partition:
    """The directory that *name* is in, relative to the destination; ``""`` for the root."""
    return Partition(name.rpartition("/")[0])


def partitions_of(names: Iterable[Target]) -> set[Partition]:
    """The directories that *names* are in; for all files of a job, so without a call per name."""
    return set(map(Partition, {name.rpartition("/")[0] for name in names}))


def with_those_above(partitions: Iterable[Partition]) -> set[str]:
    """Every directory of *partitions* and every one above them, below the destination."""
    return {
        "/".join(names[:depth])
        for names in (partition.split("/") for partition in partitions if partition)
        for depth in range(1, len(names) + 1)
    }


def declared_partition(text: str) -> Partition:
    """Check a partition as a caller names it: ``"day=2026-11-20"``, without a trailing slash."""
    return Partition(target(text.removesuffix("/")))


def partition_key(partition: str) -> tuple[str, ...]:
    """A key that is equal for all spellings of one partition.

    Stores, engines and file systems spell one value in several ways (percent-escapes, unicode
    normal forms, case-folding file systems), so overlap is decided on one percent-decoding, NFC
    and casefold of each component. ``month=1`` and ``month=01`` stay different.
    """
    if not partition:
        return ()
    return tuple(folded(unquote(name)) for name in partition.split("/"))


def folded(name: str) -> str:
    """A key that is equal for names that differ only in case and in Unicode normal form."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def hive_path(**values: object) -> str:
    """The Hive directory of partition values: ``hive_path(day="a b", h=3) == "day=a b/h=3"``.

    Escapes what Spark escapes (``ExternalCatalogUtils.escapePathName``), in the order given;
    ``None`` and the empty string become ``__HIVE_DEFAULT_PARTITION__``.

    Raises:
        RequestError: A value is a collection, or bytes: no directory is named after one.
    """
    return "/".join(f"{_escaped(name)}={_hive_value(value)}" for name, value in values.items())


def _hive_value(value: object) -> str:
    if value is None or value == "":
        return "__HIVE_DEFAULT_PARTITION__"
    if isinstance(value, bytes | list | tuple | dict | set | frozenset):
        message = f"a directory is named by one text, number or date, not by {value!r}"
        raise RequestError(message, kind="invalid_option")
    return _escaped(str(value).lower() if isinstance(value, bool) else str(value))


_ESCAPED = frozenset("\"#%'*/:=?\\{[]^\x7f") | {chr(code) for code in range(1, 0x20)}


def _escaped(text: str) -> str:
    return "".join(f"%{ord(char):02X}" if char in _ESCAPED else char for char in text)


def uri_path(name: str) -> str:
    """A name as a relative URI, the form in which Hadoop's manifests hold paths."""
    return name if is_plain(name) else quote(name, safe="/=+,@~!$&'()*;")


def from_uri_path(text: str) -> str:
    """The name whose :func:`uri_path` is *text*."""
    return unquote(text, errors="strict") if "%" in text else text


def attempts_to_adopt(job_id: str, *, uploading: bool) -> str:
    """Where engines write files to adopt, in ``<task>/<attempt>``; relative to the destination.

    Args:
        job_id: The job.
        uploading: Whether S3A begins uploads for them; if not, the files themselves are there.
    """
    area = f"{MAGIC_JOB}{job_id}" if uploading else f"{AREA}/{job_id}"
    return f"{area}/{TASKS}"


def record_to_adopt(job_id: str) -> str:
    """The path of ``job.json``, which stands while the job lives, relative to the destination."""
    return f"{AREA}/{job_id}/{JOB_RECORD}"


def working_name(name: Target) -> str:
    """The name of an unpublished file, relative to its attempt's working directory.

    ``<name>.pending``, which no ``*.parquet`` glob matches; the digest of *name* where the
    suffix would make it longer than stores take.
    """
    return (sha256(name.encode()).hexdigest() if is_digested(name) else name) + PENDING


def trash_names(name: str) -> tuple[str, str]:
    """The name in the trash of a replaced file; and the one that earlier versions have given it.

    It ends in ``.pending``, too: by its own ending a reader's glob would find the old file again.
    """
    encoded = quote(name, safe="")
    digest = sha256(name.encode()).hexdigest()
    is_odd = encoded in {".", ".."}
    now = digest if is_odd or len(encoded) > _PLAIN_MAX else encoded
    before = digest if is_odd or len(encoded) > NAME_BYTES_MAX else encoded
    return now + PENDING, before


def is_digested(name: Target) -> bool:
    """Whether *name* is too long for its :func:`working_name` to hold it."""
    if is_plain(name):
        return False
    file_name = name.rpartition("/")[2]
    return len(file_name.encode()) + len(PENDING) > NAME_BYTES_MAX


def repeats_end(of: str, name: str, *, components: range) -> bool:
    """Whether *name* begins with as many of the last components of the path or URL *of*."""
    own = (of.partition("://")[2] or of).strip("/").split("/")
    begin = name.split("/")
    return any(begin[:count] == own[-count:] for count in components)
