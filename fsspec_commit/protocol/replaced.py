"""The old files: checked by the mode, listed before the decision, and removed at the end (P9).

The list of what is to be removed is written before the decision, which contains its digest, so that
every driver that finishes the job removes exactly that. It is streamed, since it can be longer than
memory.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from fsspec_commit.effects.ending import ending
from fsspec_commit.errors import (
    DestinationExistsError,
    RecordError,
    RequestError,
    UnsafeStoreError,
)
from fsspec_commit.layout import StorePath
from fsspec_commit.names import (
    Target,
    existing_name,
    folded,
    is_summary_file,
    is_visible,
)
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.branches import old_files
from fsspec_commit.protocol.directory_names import DirectoryNames, to_look_up
from fsspec_commit.protocol.file_names import FileNames, NameIndex, NameTokens, SomeOf
from fsspec_commit.protocol.folded_names import refuse_two_spellings, spelling_on
from fsspec_commit.protocol.in_the_way import (
    refuse_in_the_way,
    refuse_taken_names,
    refuse_what_listings_hide,
)
from fsspec_commit.protocol.listing import SeenApart, refuse_nested
from fsspec_commit.protocol.manifests import NewFiles
from fsspec_commit.protocol.old_partitions import FilesOutside, old_files_of_partitions
from fsspec_commit.protocol.streamed_list import (
    Listed,
    ListWriter,
    ShortList,
    read_lines,
    read_list,
)
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Decision, ReplacedFile, ReplacedList
from fsspec_commit.records.slices import ListRange
from fsspec_commit.store import Entry, Expect, Expectation, Token

_ANY_NAME = "any"


def replaces(job: BoundJob) -> bool:
    """Whether the job removes old files."""
    return job.record.mode in {"overwrite", "overwrite_partitions"}


def minds_data(job: BoundJob) -> bool:
    """Whether existing data keeps the job from writing anything."""
    return job.record.mode in {"error", "ignore"}


async def may_write(
    job: BoundJob, new: NewFiles, existing_data: Callable[[], Awaitable[str | None]]
) -> bool:
    """Whether the mode lets the job go on, given existing data; final, since our claim stands.

    Args:
        job: The job, bound.
        new: Its files.
        existing_data: Returns the name of some file with data, if there is one.

    Returns:
        False with ``ignore`` and existing data: there is nothing to do.

    Raises:
        DestinationExistsError: There is data, with ``error``; or the name of a new file is taken
            and not to be replaced.
        RequestError: A file stands where a directory is needed; or the store takes two of the new
            names for one.
    """
    mode = job.record.mode
    await refuse_two_spellings(job, new)
    if minds_data(job):
        existing = await existing_data()
        if existing is not None and mode == "ignore":
            return False
        if existing is not None:
            raise destination_exists(job, existing)
    if not replaces(job) and new.may_meet_others:
        await refuse_taken_names(job, new)
    return True


def destination_exists(job: BoundJob, name: str) -> DestinationExistsError:
    """The refusal of ``mode="error"``."""
    message = (
        f'{job.record.destination!r} already holds data ({name!r}) and mode="error" never '
        'touches it; use mode="append", "overwrite", "overwrite_partitions" or "ignore"'
    )
    return DestinationExistsError(message, job_id=job.record.job_id, path=name, stage="check")


async def list_replaced(
    job: BoundJob, new: NewFiles, outside: FilesOutside, writer: ListWriter
) -> None:
    """Have *writer* list exactly the old files that will be removed, with their tokens.

    Files that stay because they are in no partition are added to *outside*. If this fails, whoever
    has made *writer* has it discard what was written.

    Raises:
        TooMuchError: The job looks ahead, and there are more files than that is worth.
    """
    directories = to_look_up(new.partitions.with_those_above())
    apart = SeenApart()
    if job.record.mode == "overwrite":
        found = old_files(job, apart)
    else:
        found = old_files_of_partitions(job, new.partitions, directories, outside, apart)
    replaced, emptied = SomeOf(new.reusable), DirectoryNames()
    summaries = _Summaries(job)
    last = ""
    async with ending(found) as files:
        async for name, entry in files:
            refuse_in_the_way(job, name, new, directories)
            in_place = replaced.add(name)
            if in_place or is_visible(name) or await summaries.include(name):
                await writer.add(_line(job, name, entry, in_place=in_place))
                directory = name.rpartition("/")[0]
                if directory != last:
                    emptied.update([directory])
                    last = directory
    await refuse_nested(job, emptied, apart)
    await refuse_what_listings_hide(job, new, replaced)


async def finish_list(writer: ListWriter | None, short: ShortList) -> ReplacedList | None:
    """Write the list of replaced files to its end; the content of a short one is put into *short*.

    Returns:
        The count and digest of the list; ``None`` if nothing is replaced.
    """
    listed = None if writer is None else await writer.finish()
    if writer is None or listed is None:
        return None
    short.data = writer.short.data
    return ReplacedList(count=listed.count, digest=listed.digest)


def _line(job: BoundJob, name: str, entry: Entry, *, in_place: bool) -> bytes:
    _refuse_unsafe(job, name, in_place=in_place)
    return msgspec.json.encode(
        ReplacedFile(existing_name(name), entry.size_bytes, entry.token, in_place)
    )


class _Summaries:
    """The hidden files that describe others, however they are spelled.

    A file named ``_METADATA`` is read as ``_metadata`` where the store takes both names for one.
    """

    def __init__(self, job: BoundJob) -> None:
        self._job = job
        self._spelled: Callable[[str], str] | None = None

    async def include(self, name: str) -> bool:
        """Whether *name* is that of such a file here."""
        if is_summary_file(name) or not is_summary_file(folded(name)):
            return is_summary_file(name)
        if self._spelled is None:
            self._spelled = await spelling_on(self._job.store, self._job.layout.destination)
        return is_summary_file(self._spelled(name))


async def refuse_what_must_stay(job: BoundJob) -> None:
    """Refuse, before any work is done, an overwrite that could not be finished safely.

    Raises:
        UnsafeStoreError: An old file's name may be used again, and this store cannot tell a later
            file from it.
    """
    if job.removal.may_take(_ANY_NAME, in_place=False):
        return
    summaries = _Summaries(job)
    async with ending(old_files(job, SeenApart())) as files:
        async for name, _ in files:
            if is_visible(name) or await summaries.include(name):
                _refuse_unsafe(job, name, in_place=False)


def _refuse_unsafe(job: BoundJob, name: str, *, in_place: bool) -> None:
    if job.removal.may_take(name, in_place=in_place):
        return
    doing, remedy = (
        ("replace", 'write your files under other names, as names="unique" does')
        if in_place
        else ("delete", job.removal.remedy)
    )
    message = (
        f"cannot overwrite {job.record.destination!r}: it holds {name!r}, and this store cannot "
        f"{doing} a file only if it still is the one that was seen, so a newer one of that name "
        f"could be lost; {remedy}"
    )
    raise UnsafeStoreError(
        message, kind="unsafe_overwrite", job_id=job.record.job_id, path=name, stage="check"
    )


@dataclass(slots=True)
class ReplacedFiles:
    """The list that a decision names, read from the store.

    Indexed by the name of a new file, it returns what must stand there when the file is published:
    nothing, or the old file that is replaced in place.

    Attributes:
        job: The job.
        decision: The decision.
        in_place: The files that are replaced in place.
        tokens: Their tokens, by name, if there are any.
        late_count: For how many of the others a late request could delete a newer file.
        short: The content of the list, if it is short and somebody has it.
    """

    job: BoundJob
    decision: Decision
    in_place: FileNames = field(default_factory=FileNames)
    tokens: NameTokens | None = None
    late_count: int = 0
    short: ShortList = field(default_factory=ShortList)

    def __getitem__(self, name: Target) -> Expectation:
        token = None if self.tokens is None else self.tokens.get(name)
        return Expect.ABSENT if token is None else Token(token)

    @property
    def count(self) -> int:
        """How many old files the list names."""
        return 0 if self.decision.replaced is None else self.decision.replaced.count

    @property
    def listed(self) -> tuple[StorePath, Listed] | None:
        """Where the list stands, and which one it must be; ``None`` if nothing is replaced."""
        listed, claim = self.decision.replaced, self.decision.claim
        if listed is None or claim is None:
            return None
        return self.job.layout.replaced(claim.nonce), Listed(listed.count, listed.digest)

    async def batches(self) -> AsyncIterator[list[ReplacedFile]]:
        """The list, in batches.

        Raises:
            RecordError: At the end, if it is not the list that the decision names.
        """
        if self.listed is None:
            return
        path, fixed = self.listed
        listing = read_list(self.job.store, path, ReplacedFile, fixed, self.short)
        async with ending(listing) as batches:
            async for batch in batches:
                yield batch


async def lines_of(
    replaced: ReplacedFiles, ranges: Iterable[ListRange]
) -> AsyncIterator[list[ReplacedFile]]:
    """Some lines of the list, all of which was verified when it was cut.

    Raises:
        RecordError: They are not those that were there then; or they name a file that no driver of
            the job could have listed.
    """
    if replaced.listed is None:
        return
    path, _ = replaced.listed
    for lines in ranges:
        files = await read_lines(replaced.job.store, path, ReplacedFile, lines)
        for file in files:
            _check_line(replaced.job, file)
        yield files


async def recall_replaced(
    job: BoundJob, decision: Standing[Decision], reusable: NameIndex, short: ShortList
) -> ReplacedFiles:
    """Read the list once, verify all of it, and keep the files that are replaced in place.

    These can only have *reusable* names. Whoever has written a *short* list need not read it.

    Raises:
        RecordError: It is not the list that the decision names; or it names a file that no driver
            of the job could have listed. Nothing has been changed because of it.
    """
    replaced = ReplacedFiles(job, decision.record, short=short)
    tokens = NameTokens(reusable)
    late_takes = job.removal.late_takes
    async for batch in replaced.batches():
        replaced.in_place.extend(file.name for file in batch if file.in_place)
        for file in batch:
            _check_line(job, file)
            if file.in_place:
                tokens.add(file.name, file.token)
            else:
                replaced.late_count += late_takes(file.name) is not None
    if len(tokens):
        replaced.tokens = tokens
    return replaced


def _check_line(job: BoundJob, file: ReplacedFile) -> None:
    """Refuse a line that :func:`list_replaced` would not write, whatever the list's digest."""
    why = f"{file.name!r} cannot be told from a newer file of that name"
    try:
        if job.removal.may_take(existing_name(file.name), in_place=file.in_place):
            return
    except RequestError as error:
        why = str(error)
    message = f"the list of replaced files names one that no job removes: {why}"
    raise RecordError(message, job_id=job.record.job_id, path=file.name)
