"""Slices of one decided job: parts of its publication and of its deletions, as text.

A driver sends slices to other processes, and each answers with what it has done. Like messages of
tasks they are plain data, and hold no secret.
"""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct, json
from msgspec.structs import replace

from fsspec_commit.records import decode_strictly
from fsspec_commit.records.job import Count, Digest, NonceText, TaskCommit

_SLICE_BYTES_MAX = 16 << 20
_ANSWER_BYTES_MAX = 64 << 20


class ListRange(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whole lines of a list, by their place in it, their number and their SHA-256."""

    start: Count
    length: Annotated[int, Meta(ge=1)]
    count: Annotated[int, Meta(ge=1)]
    digest: Digest


class PublishSlice(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag="publish"):
    """Files to be published: those in the manifests of some of the chosen attempts.

    Attributes:
        number: Which slice, counted from 0.
        count: How many slices there are.
        decision: The nonce of the decision.
        chosen: The attempts.
        resuming: Whether some of its files may have been published, or may be at the same time.
        in_place: Whether the job replaces files in place.
        accept_loss: Whether files whose sources are gone for good are left out.
    """

    number: Count
    count: Count
    decision: NonceText
    chosen: tuple[TaskCommit, ...]
    resuming: bool = True
    in_place: bool = True
    accept_loss: bool = False

    @property
    def file_count(self) -> int:
        """How many files it publishes."""
        return sum(message.file_count for message in self.chosen)


class DeleteSlice(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag="delete"):
    """Replaced files to be deleted: some lines of the list that the decision names.

    Attributes:
        number: Which slice, counted from 0.
        count: How many slices there are.
        decision: The nonce of the decision.
        lines: The lines.
    """

    number: Count
    count: Count
    decision: NonceText
    lines: ListRange


Slice: TypeAlias = PublishSlice | DeleteSlice


class Deleted(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What has become of replaced files, except for those that are gone.

    Attributes:
        changed: How many have changed since they were listed, and stay.
        changed_names: The names of the first few of these.
        kept: How many others were moved to the trash instead, and cannot be put back.
        kept_name: The name of the first of these.
    """

    changed: Count = 0
    changed_names: tuple[str, ...] = ()
    kept: Count = 0
    kept_name: str | None = None

    def __add__(self, other: "Deleted") -> "Deleted":
        return Deleted(
            changed=self.changed + other.changed,
            changed_names=(*self.changed_names, *other.changed_names),
            kept=self.kept + other.kept,
            kept_name=self.kept_name or other.kept_name,
        )


class SliceAnswer(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What has become of a slice.

    Attributes:
        number: Which slice.
        files: How many files are published, including those that were lost.
        lost: The names of the lost ones.
        deleted: What has become of replaced files.
        failure: Why it was not done, or not all of it; empty if it was.
    """

    number: Count
    files: Count = 0
    lost: tuple[str, ...] = ()
    deleted: Deleted = Deleted()
    failure: str = ""


def text_of(message: Slice | SliceAnswer) -> str:
    """A slice, or its answer, as text."""
    return json.encode(message).decode()


def slice_of(text: str) -> Slice:
    """Read a slice.

    Raises:
        RecordError: *text* is not a slice.
    """
    data = text.encode(errors="surrogatepass")
    if data.startswith(b'{"type":"delete"'):
        return decode_strictly(data, DeleteSlice, _SLICE_BYTES_MAX)
    return decode_strictly(data, PublishSlice, _SLICE_BYTES_MAX)


def answer_of(text: str) -> SliceAnswer:
    """Read what has become of a slice.

    Raises:
        RecordError: *text* does not say so.
    """
    data = text.encode(errors="surrogatepass")
    return decode_strictly(data, SliceAnswer, _ANSWER_BYTES_MAX)


def repeated(text: str) -> str:
    """The slice *text* as one that may have been run before, or may be run at the same time."""
    message = slice_of(text)
    if isinstance(message, DeleteSlice):
        return text
    return text_of(replace(message, resuming=True))
