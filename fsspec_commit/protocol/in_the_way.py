"""What stands in the way of new files: checked before the decision, while a job can be refused.

After the decision, a job that finds one of its names taken can be neither finished nor aborted
before a person has made room. Names with the job's id belong to nobody else and are not checked;
*reusable* names are checked: exact names, and those of hidden files and directories.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import islice

from fsspec_commit.effects.ending import ending
from fsspec_commit.effects.parallel import all_of, for_each
from fsspec_commit.errors import DestinationExistsError, RequestError
from fsspec_commit.names import (
    ROOT_PARTITION,
    Partition,
    Target,
    folded,
    is_visible,
)
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.directory_names import DirectoryNames, to_look_up
from fsspec_commit.protocol.file_names import SomeOf
from fsspec_commit.protocol.folded_names import spelled_twice
from fsspec_commit.protocol.manifests import NewFiles, another_name
from fsspec_commit.store import Directory

_LOOKS_MAX = 4
"""Up to this many names are checked one by one; for more, the directories are listed."""
_LISTINGS_MAX = 8
"""Up to this many directories are listed where one listing of everything may be as cheap."""
_FILES_A_PAGE = 1000
"""A listing of everything is given up when it takes more such pages than there are directories."""


async def refuse_taken_names(job: BoundJob, new: NewFiles) -> None:
    """Refuse a new file whose name is taken, if no file is to be replaced.

    Raises:
        DestinationExistsError: A file or a directory has the name.
        RequestError: A file stands where a directory is needed.
    """
    taken = await _look(job, new, replaced=SomeOf(new.reusable))
    if taken is not None:
        name, is_directory = taken
        what, remedy = (", as a directory,", "") if is_directory else ("", ' or mode="overwrite"')
        message = (
            f"{name!r} exists in {job.record.destination!r}{what} and "
            f'mode="{job.record.mode}" never replaces a file; use {another_name(name)}{remedy}'
        )
        raise DestinationExistsError(message, job_id=job.record.job_id, path=name, stage="check")


async def refuse_what_listings_hide(job: BoundJob, new: NewFiles, replaced: SomeOf) -> None:
    """Refuse a new file whose name is taken by something that no listing of old files shows.

    That is a directory without files; or a file with another name that the store takes for the same
    one. A store without directories has neither.

    Args:
        job: The job, bound.
        new: Its files.
        replaced: The names that new files have in common with listed files.

    Raises:
        RequestError: The name of a new file is taken.
    """
    if job.store.directories is None or not new.may_meet_others:
        return
    taken = await _look(job, new, replaced=replaced)
    if taken is None:
        return
    name, is_directory = taken
    if is_directory:
        message = f"{name!r} is a directory, and a new file has its name; remove it first"
        raise _refusal(job, name, message, kind="directory_in_the_way")
    message = (
        f"a file stands at {name!r}, though none of that name is listed: the store takes it for "
        "another spelling of one that is, or it has come just now; use the name that is listed, "
        "or try again"
    )
    raise _refusal(job, name, message)


def refuse_in_the_way(job: BoundJob, name: str, new: NewFiles, directories: Container[str]) -> None:
    """Refuse new files that no rename could publish while the old file *name* stands.

    An old file is deleted only after publication, so it must not stand where a directory is needed,
    nor in a directory that has the name of a new file.
    """
    if name in directories:
        raise _no_directory(job, name)
    above = _directories_above(name) if len(new.reusable) else ()
    taken = min(filter(new.reusable.holds, above), default=None)
    if taken is not None:
        message = f"{taken!r} is a directory with {name!r} in it, and a new file has its name"
        raise _refusal(job, name, message)


@dataclass(slots=True)
class _Found:
    """The first name that is taken, and the first file that stands where a directory is needed.

    A file that is to be replaced does not count. A name that the store takes for that of a
    directory in *needed* counts as that directory.
    """

    new: NewFiles
    needed: Container[str]
    needed_folded: Container[str]
    replaced: SomeOf
    taken: tuple[str, bool] | None = None
    blocking: str | None = None
    spelled_otherwise: str | None = None

    def note(self, name: str, *, is_directory: bool) -> None:
        if not is_directory and self.needs(name):
            self.blocking = name if self.blocking is None else min(name, self.blocking)
        if self.new.reusable.holds(name) and (is_directory or not self.replaced.holds(name)):
            one = (name, is_directory)
            self.taken = one if self.taken is None else min(one, self.taken)
        elif self.new.folded.holds(folded(name)) and not self.new.reusable.holds(name):
            self.spelled_otherwise = name

    def needs(self, name: str) -> bool:
        """Whether a directory must be at *name*."""
        return name in self.needed or folded(name) in self.needed_folded


async def _look(job: BoundJob, new: NewFiles, *, replaced: SomeOf) -> tuple[str, bool] | None:
    """The first reusable name at which something stands, and whether it is a directory."""
    needed = DirectoryNames()
    needed.update(new.reusable_in)
    needed.update(name for name in new.partitions if not is_visible(name))
    alike = map(folded, needed.with_those_above()) if len(new.folded) else ()
    found = _Found(new, to_look_up(needed.with_those_above()), to_look_up(alike), replaced)
    few = list(islice(needed.with_those_above(), _LOOKS_MAX + 1))
    if len(new.reusable) + len(few) <= _LOOKS_MAX:
        await _look_at_each(job, new, found, few)
    elif not await _look_at_all_files(job, new, found):
        await _look_into_directories(job, found)
    if found.blocking is not None:
        raise _no_directory(job, found.blocking)
    other = found.spelled_otherwise
    if other is not None:
        name = next(name for name in new.names if folded(name) == folded(other))
        raise spelled_twice(job, name, other)
    return found.taken


async def _look_at_each(job: BoundJob, new: NewFiles, found: _Found, needed: list[str]) -> None:
    names = [name for name in new.names if new.reusable.holds(name)] if new.reusable else []

    async def look(name: str) -> None:
        there = await job.store.stat(job.layout.destination.final(Target(name)))
        if there is not None:
            found.note(name, is_directory=isinstance(there, Directory))

    await all_of([*needed, *names], look, in_flight_max=job.store.in_flight_max)


async def _look_at_all_files(job: BoundJob, new: NewFiles, found: _Found) -> bool:
    """List all files at once, if that takes fewer requests; False if it does not."""
    if job.store.directories is not None or len(new.reusable_in) <= _LISTINGS_MAX:
        return False
    layout, listed = job.layout.destination, 0
    async with ending(job.store.list_tree(layout.root, without=layout.areas)) as entries:
        async for entry in entries:
            listed += 1
            if listed > len(new.reusable_in) * _FILES_A_PAGE:
                return False
            name = layout.relative(entry.path)
            found.note(name, is_directory=False)
            for above in _directories_above(name):
                found.note(above, is_directory=True)
    return True


async def _look_into_directories(job: BoundJob, found: _Found) -> None:
    """List those of the directories in question that exist, from the top, level by level."""
    layout = job.layout.destination
    level = DirectoryNames()
    level.update([ROOT_PARTITION])
    while len(level):
        below = DirectoryNames()

        async def look(directory: Partition, below: DirectoryNames = below) -> None:
            for child in await job.store.list_children(layout.directory(directory)):
                name = layout.relative(child.path)
                is_directory = isinstance(child, Directory)
                found.note(name, is_directory=is_directory)
                # Of `a//b` a bucket may show `a` in `a`: no way leads down there.
                if is_directory and len(name) > len(directory) and found.needs(name):
                    below.update([name])

        await for_each(level, look, in_flight_max=job.store.in_flight_max)
        level = below


def _directories_above(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def _no_directory(job: BoundJob, name: str) -> RequestError:
    message = f"{name!r} is a file, and new files need a directory there; remove it first"
    return _refusal(job, name, message)


def _refusal(
    job: BoundJob, name: str, message: str, *, kind: str = "file_in_the_way"
) -> RequestError:
    return RequestError(
        f"cannot write to {job.record.destination!r}: {message}",
        kind=kind,
        job_id=job.record.job_id,
        path=name,
        stage="check",
    )
