"""What the tasks of one job of Hadoop's have left, for each of Hadoop's committers."""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.parallel import all_of
from fsspec_commit.errors import RecordError, RequestError
from fsspec_commit.hadoop.records import (
    MANIFEST_SUFFIX,
    PENDING_SET_SUFFIX,
    PENDING_SUFFIX,
    HadoopManifest,
    HadoopUpload,
    hadoop_manifest,
    hadoop_pending,
    hadoop_pending_set,
)
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.names import HADOOP_TEMPORARY, Target, existing_name
from fsspec_commit.records import RECORD_BYTES_MAX
from fsspec_commit.store import Directory, Entry

_Upload: TypeAlias = tuple[tuple[str, str], str]
"""Bucket and key, and the upload's id."""
_Expected: TypeAlias = tuple[Target, int]
"""A file's name at the destination, and its size."""

_TASK = "task_"
_MAGIC_ATTEMPT = re.compile(r"(?:.*/)?tasks/([^/]+)/")


@dataclass(frozen=True, kw_only=True)
class HadoopTask:
    """What is left of one task of a job of Hadoop's, or of one attempt that has not committed.

    Attributes:
        name: Hadoop's name of the task; or of the attempt, if the task has not committed.
        committed: Whether the task has committed; Hadoop publishes no other.
        file_count: How many files it has; for the v1 committer, which keeps no list, how many are
            still in its directory. ``None`` if that cannot be read.
        bytes: How large they are together.
        pending: How many of them are still where they were before the job's commit: in the
            attempt's directory, or in an upload that the store shows as pending.
        published: How many of the others stand under their name at the destination, with their
            size. The rest is lost. ``None`` if there is no list of the files.
        damage: What cannot be read, if anything.
    """

    name: str
    committed: bool
    file_count: int | None
    bytes: int | None
    pending: int | None
    published: int | None
    damage: str | None = None


async def v1_tasks(store: ConfirmedStore, area: StorePath) -> list[HadoopTask]:
    """The tasks of a ``FileOutputCommitter`` job, each of which is only a directory."""
    children = await _directories(store, area)
    committed = [path for path in children if last_name(path).startswith(_TASK)]
    running = set[StorePath]()
    for path in children:
        if last_name(path) == HADOOP_TEMPORARY:
            running.update(await _directories(store, path))

    async def read(path: StorePath) -> HadoopTask:
        return await _in_directory(store, path, committed=path not in running)

    return await all_of([*committed, *running], read, in_flight_max=store.records_at_once_max)


async def manifest_tasks(store: ConfirmedStore, area: StorePath) -> list[HadoopTask]:
    """The tasks of a ``ManifestCommitter`` job; a committed one has a manifest."""
    manifests: list[Entry] = []
    attempts: dict[str, StorePath] = {}
    for job_attempt in await _directories(store, area):
        for part in await _directories(store, job_attempt):
            if last_name(part) == "manifests":
                manifests += [
                    child
                    for child in await store.list_children(part)
                    if isinstance(child, Entry) and child.path.endswith(MANIFEST_SUFFIX)
                ]
            elif last_name(part) == "tasks":
                attempts |= {last_name(path): path for path in await _directories(store, part)}
    committed = set[str]()

    async def read(entry: Entry) -> HadoopTask:
        name = last_name(entry.path).removesuffix(MANIFEST_SUFFIX)
        try:
            manifest = hadoop_manifest(await _content(store, entry))
            committed.add(manifest.attempt_id)
            # No path is made of an id in a record: it is compared with what was listed.
            directory = attempts.get(manifest.attempt_id)
            return await _in_manifest(store, area, name, manifest, directory)
        except (RecordError, RequestError) as error:
            return _damaged(name, f"{last_name(entry.path)}: {error}", committed=True)

    async def count(path: StorePath) -> HadoopTask:
        return await _in_directory(store, path, committed=False)

    tasks = await all_of(manifests, read, in_flight_max=store.records_at_once_max)
    others = [path for name, path in attempts.items() if name not in committed]
    return tasks + await all_of(others, count, in_flight_max=store.records_at_once_max)


async def _in_manifest(
    store: ConfirmedStore,
    area: StorePath,
    name: str,
    manifest: HadoopManifest,
    directory: StorePath | None,
) -> HadoopTask:
    layout = DestinationLayout(store.root)
    there = set[str]()
    if directory is not None:
        there = {layout.below(directory, one.path) async for one in store.list_tree(directory)}
    where = layout.relative(area)
    # Of every file, so that a manifest means the same whatever has become of its files.
    named = [
        (manifest.working_name(file), existing_name(manifest.target_name(file, where)), file)
        for file in manifest.files
    ]
    expected = [(final, file.size_bytes) for working, final, file in named if working not in there]
    return HadoopTask(
        name=name,
        committed=True,
        file_count=len(manifest.files),
        bytes=sum(file.size_bytes for file in manifest.files),
        pending=len(named) - len(expected),
        published=await _published(store, layout, expected),
    )


async def magic_tasks(store: ConfirmedStore, area: StorePath) -> list[HadoopTask]:
    """The tasks of a ``MagicS3GuardCommitter`` job: pending sets, and records of single uploads."""
    layout = DestinationLayout(store.root)
    sets: list[Entry] = []
    files: dict[str, list[Entry]] = defaultdict(list)
    async for entry in store.list_tree(area):
        attempt = _MAGIC_ATTEMPT.match(layout.below(area, entry.path))
        if attempt is not None and entry.path.endswith(PENDING_SUFFIX):
            files[attempt.group(1)].append(entry)
        elif attempt is None and entry.path.endswith(PENDING_SET_SUFFIX):
            sets.append(entry)
    pending = await _pending(store, layout)

    async def read_set(entry: Entry) -> HadoopTask:
        name = last_name(entry.path).removesuffix(PENDING_SET_SUFFIX)
        try:
            uploads = hadoop_pending_set(await _content(store, entry))
            return await _in_uploads(store, name, uploads, pending, committed=True)
        except (RecordError, RequestError) as error:
            return _damaged(name, f"{last_name(entry.path)}: {error}", committed=True)

    async def read_attempt(name: str) -> HadoopTask:
        uploads: list[HadoopUpload] = []
        for entry in files[name]:
            try:
                uploads += hadoop_pending(await _content(store, entry))
            except RecordError as error:
                return _damaged(name, f"{last_name(entry.path)}: {error}", committed=False)
        try:
            return await _in_uploads(store, name, uploads, pending, committed=False)
        except (RecordError, RequestError) as error:
            return _damaged(name, str(error), committed=False)

    tasks = await all_of(sets, read_set, in_flight_max=store.records_at_once_max)
    return tasks + await all_of(list(files), read_attempt, in_flight_max=store.records_at_once_max)


async def _pending(store: ConfirmedStore, layout: DestinationLayout) -> set[_Upload]:
    """Every pending upload below the destination, as Hadoop's records name them."""
    if store.uploads is None:
        return set()
    found = await store.uploads.pending(layout.root, lambda _: True)
    return {(layout.object_name(upload.path), upload.upload_id) for upload in found}


async def _in_uploads(
    store: ConfirmedStore,
    name: str,
    uploads: Sequence[HadoopUpload],
    pending: Collection[_Upload],
    *,
    committed: bool,
) -> HadoopTask:
    layout = DestinationLayout(store.root)
    bucket, prefix = layout.object_name(layout.final(Target("")))
    expected: list[_Expected] = []
    for upload in uploads:
        if upload.bucket != bucket or not upload.key.startswith(prefix):
            raise RecordError(f"{upload.bucket}/{upload.key} is not below the destination")
        final = existing_name(upload.key[len(prefix) :])
        if ((bucket, upload.key), upload.upload_id) not in pending:
            expected.append((final, upload.size_bytes))
    return HadoopTask(
        name=name,
        committed=committed,
        file_count=len(uploads),
        bytes=sum(upload.size_bytes for upload in uploads),
        pending=len(uploads) - len(expected),
        published=await _published(store, layout, expected),
    )


async def _published(
    store: ConfirmedStore, layout: DestinationLayout, expected: Sequence[_Expected]
) -> int:
    """How many files stand at the destination with their size."""

    async def stands(file: _Expected) -> bool:
        name, size_bytes = file
        there = await store.stat(layout.final(name))
        return isinstance(there, Entry) and there.size_bytes == size_bytes

    return sum(await all_of(expected, stands, in_flight_max=store.records_at_once_max))


async def _in_directory(store: ConfirmedStore, path: StorePath, *, committed: bool) -> HadoopTask:
    """A task, or attempt, of which only its directory *path* is known."""
    sizes = [entry.size_bytes async for entry in store.list_tree(path)]
    return HadoopTask(
        name=last_name(path),
        committed=committed,
        file_count=len(sizes),
        bytes=sum(sizes),
        pending=len(sizes),
        published=None,
    )


async def _content(store: ConfirmedStore, entry: Entry) -> bytes:
    if entry.size_bytes > RECORD_BYTES_MAX:
        raise RecordError(f"{entry.size_bytes} bytes are too many to be read")
    data = await store.read(entry.path)
    if data is None:
        raise RecordError("it has gone meanwhile")
    return data


def _damaged(name: str, damage: str, *, committed: bool) -> HadoopTask:
    return HadoopTask(
        name=name,
        committed=committed,
        file_count=None,
        bytes=None,
        pending=None,
        published=None,
        damage=damage,
    )


async def _directories(store: ConfirmedStore, path: StorePath) -> list[StorePath]:
    return [c.path for c in await store.list_children(path) if isinstance(c, Directory)]


def last_name(path: str) -> str:
    """The last component of a listed path."""
    return path.rpartition("/")[2]
