"""Everything that is written down: typed, versioned, strictly decoded, size-capped; data only.

A record is canonical UTF-8 JSON with ``format``, ``version`` and a ``nonce`` that makes its bytes
unlike any other's, so that equal bytes mean "ours". Decoding refuses whatever encoding would not
have produced: unknown fields, duplicate keys, other spacing, other numbers. Names in a record are
not trusted: they are checked by :mod:`fsspec_commit.names`.

So no field is added, and none changes its meaning, without another version. Whoever raises the
version of any record raises that of ``job.json`` as well: code that cannot read it leaves the job
alone.
"""

import re
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, Protocol, Self, TypeVar

import msgspec

from fsspec_commit.errors import NewerVersionError, RecordError, RequestError
from fsspec_commit.layout import JobLayout, StorePath
from fsspec_commit.store.json_forms import decode_json

RECORD_BYTES_MAX = 64 << 20
"""The longest record; lists that can grow beyond it are streamed."""

# By its extension: no record begins so.
_PATH = re.compile(r'[^{"\n]+\.[A-Za-z]\w{0,7}')


class Record(Protocol):
    """A record in a job's area."""

    limit_bytes: ClassVar[int]

    def encode(self) -> bytes:
        """The canonical bytes."""

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Read what :meth:`encode` wrote.

        Raises:
            RecordError: *data* is not what encoding writes.
        """

    def check_path(self, layout: JobLayout, path: StorePath) -> None:
        """Check that the record belongs to the job of *layout*, and to *path*.

        Raises:
            RecordError: It comes from elsewhere, or names something that is not the job's.
        """


R_co = TypeVar("R_co", bound=Record, covariant=True)


@dataclass(frozen=True, slots=True)
class Standing(Generic[R_co]):
    """A record that stands on the store for everyone: read back, or created exclusively.

    Functions that need such a proof take this type, which is made only in
    :mod:`fsspec_commit.effects.stored_records`.
    """

    record: R_co


class JsonRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A record whose fields are its JSON form."""

    limit_bytes: ClassVar[int] = RECORD_BYTES_MAX

    def encode(self) -> bytes:
        """The canonical bytes."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Read what :meth:`encode` wrote; memory stays within a few times ``len(data)``."""
        record = decode_strictly(data, cls, cls.limit_bytes)
        if record.encode() != data:
            raise RecordError(f"not a canonical {cls.__name__} record")
        return record


def must_be(found: str, expected: str, what: str) -> None:
    """Refuse a record that names another *what* than the one it was found with.

    Raises:
        RecordError: The two differ.
    """
    if found != expected:
        raise RecordError(f"it is of {what} {found!r}, not of {expected!r}")


T = TypeVar("T")


class _Head(msgspec.Struct):
    """What any version of a record begins with; Hadoop's ``type`` has its version at the end."""

    version: int
    format: str = ""
    type: str = ""


def decode_strictly(data: bytes, kind: type[T], limit_bytes: int) -> T:
    """Decode JSON *data* into *kind*.

    Raises:
        NewerVersionError: It is a later version of *kind* than is known here.
        RecordError: Anything else is wrong with it.
    """
    if len(data) > limit_bytes:
        message = f"a {kind.__name__} record of {len(data)} bytes is over its cap of {limit_bytes}"
        raise RecordError(message)
    try:
        return decode_json(data, kind)
    except (msgspec.MsgspecError, RequestError, UnicodeError, RecursionError) as error:
        _refuse_newer(data, kind)
        # Not as its cause, whose text repeats the data as it is: a traceback would print that.
        raise RecordError(f"not a readable {kind.__name__} record: {error}") from None


def _refuse_newer(data: bytes, kind: type) -> None:
    """Raise :class:`NewerVersionError` if *data* says that it is a later version of *kind*."""
    known = {field.name: field.default for field in msgspec.structs.fields(kind)}
    reads = known.get("version")
    try:
        head = decode_json(data, _Head)
    except (msgspec.MsgspecError, RequestError, UnicodeError, RecursionError):
        return
    name, hadoops = known.get("format", ""), str(known.get("type", ""))
    is_kind = head.format == name and _without_version(head.type) == _without_version(hadoops)
    if is_kind and isinstance(reads, int) and head.version > reads:
        called = name or _without_version(hadoops).rpartition(".")[2] or kind.__name__.strip("_")
        raise NewerVersionError(
            f"{called} of version {head.version}, and this version of fsspec-commit reads {reads}"
        )


def newer(where: str, job_id: str, error: NewerVersionError) -> NewerVersionError:
    """The error for a record of a newer version, which is left alone like all of its job."""
    message = (
        f"{where!r} was written by a newer version of fsspec-commit: {error}; nothing is wrong "
        f"with it: settle job {job_id} with that version"
    )
    return NewerVersionError(message, path=where, job_id=job_id)


def _without_version(hadoops: str) -> str:
    return hadoops.rpartition("/")[0]


def text_bytes(
    text: object, kind: type, limit_bytes: int, *, noun: Literal["message", "spec"]
) -> bytes:
    """Encode *text* that came from elsewhere for a decoder, unless it is huge.

    Raises:
        RequestError: *text* is not a ``str``.
        RecordError: *text* is too long for a record of *kind*, and was not copied; or the name of
            a file that holds one.
    """
    if not isinstance(text, str):
        what = type(text).__name__
        message = f"a {noun} is read from the text that to_json() gave, not from {what}"
        raise RequestError(message, kind=f"not_a_{noun}")
    if len(text) > limit_bytes:
        what = f"a {kind.__name__} of {len(text)} characters"
        raise RecordError(f"{what} is over its cap of {limit_bytes} bytes")
    if _PATH.fullmatch(text):
        # It is not quoted: it may be a URL with a secret in it.
        raise RecordError(
            f"this looks like a path: give the text of the file that holds the {noun}"
        )
    return text.encode(errors="surrogatepass")
