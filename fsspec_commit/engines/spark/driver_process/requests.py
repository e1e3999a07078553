"""What the jar asks for, one line of JSON each, strictly decoded."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from fsspec_commit.committers.adopted import AdoptedFile

PROTOCOL = 1
"""The version of this language, which both sides name; no other one is understood."""


class _Request(Struct, tag_field="do", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request; one with an id is answered."""

    id: int | None = None


class _Place(_Request, frozen=True, kw_only=True):
    """Where a job writes, as Hadoop says it; ``settings`` hold secrets."""

    path: str
    settings: Mapping[str, str]
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self.path}>"


class Start(_Place, tag="start", frozen=True, kw_only=True):
    """Begin a job."""

    mode: str
    partitions: tuple[str, ...]

    __repr__ = _Place.__repr__


class Attach(_Place, tag="attach", frozen=True, kw_only=True):
    """Drive a job that a process before this one began.

    Attributes:
        spec: The job's spec, as the answer to its start gave it.
        is_decided: Whether that process has said that the job is decided.
    """

    spec: str
    is_decided: bool

    __repr__ = _Place.__repr__


class Attempt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task attempt and its files, as its own message says."""

    task: int
    attempt: str
    files: tuple[tuple[Any, ...], ...]

    def adopted(self) -> list[AdoptedFile]:
        """Its files: name and size, and an upload's id and etags.

        Raises:
            ValueError: What is listed is not files.
        """
        try:
            return [
                AdoptedFile(name, size_bytes, *upload[:1], *(tuple(etags) for etags in upload[1:]))
                for name, size_bytes, *upload in self.files
            ]
        except (TypeError, ValueError) as error:
            message = f"attempt {self.attempt} of task {self.task} lists what is no file: {error}"
            raise ValueError(message) from error


class Adopt(_Request, tag="adopt", frozen=True, kw_only=True):
    """Adopt the files of a task attempt; the commit tells what came of it."""

    job: str
    adopted: Attempt


class Commit(_Request, tag="commit", frozen=True, kw_only=True):
    """Commit exactly these attempts, each by its task and its attempt id."""

    job: str
    chosen: tuple[tuple[int, str], ...]


class Abort(_Request, tag="abort", frozen=True, kw_only=True):
    """Abort a job, unless it is decided."""

    job: str


Request: TypeAlias = Start | Attach | Adopt | Commit | Abort

_DECODER = msgspec.json.Decoder(Request)
_NOT_READABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What a decoder raises for a line that is not JSON, or not UTF-8, or is nested too deeply."""


class _Numbered(Struct, frozen=True):
    """What is read of a line that is not a request."""

    id: int | None = None


_NUMBERED = msgspec.json.Decoder(_Numbered)


def decoded(line: bytes) -> Request:
    """The request of a line.

    Raises:
        ValueError: The line is not one; the message does not repeat it, as it may hold secrets.
    """
    try:
        request: Request = _DECODER.decode(line)
    except _NOT_READABLE as error:
        raise ValueError(f"a line of {len(line)} bytes is no request: {error}") from None
    return request


def number_of(line: bytes) -> int | None:
    """The id of a line that is not a request, if it has one: somebody waits for the answer."""
    try:
        return _NUMBERED.decode(line).id
    except _NOT_READABLE:
        return None
