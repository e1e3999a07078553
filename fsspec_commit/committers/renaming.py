"""Publishing by one rename a file, from manifests: what the rename committers share."""

from collections.abc import AsyncIterable, AsyncIterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from fsspec_commit.committers import Expectations, Lost, ManifestBytes
from fsspec_commit.effects.parallel import Progress, for_each
from fsspec_commit.effects.settled import SettledFiles, SettledStore
from fsspec_commit.errors import PartialCommitError
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.names import Target
from fsspec_commit.records.job import FileIdentity
from fsspec_commit.records.task_manifest import TaskManifest, WorkingFile
from fsspec_commit.store import Expect, Token


class Sealed(NamedTuple):
    """A file of a committed attempt: where it is, where it is to be, and what it is."""

    source: StorePath
    target: StorePath
    file: WorkingFile


async def publish_by_renaming(
    store: SettledStore,
    renames: SettledFiles,
    manifests: AsyncIterable[ManifestBytes],
    expected: Expectations,
    *,
    lost: Lost | None,
    progress: Progress | None,
) -> int:
    """Rename every file of the manifests from its attempt's committed directory to its target.

    A rename consumes its source, so repeating all of it publishes what is missing and nothing
    else: source gone and target as expected is done (HADOOP-18163). Directories are made by the
    renames that find them missing, so a job pays for those that are new and no others.
    """
    layout = DestinationLayout(store.root)

    done = 0

    def count(files: int) -> None:
        nonlocal done
        done += files
        if progress is not None:
            progress(files)

    async def publish(files: Sequence[Sealed]) -> None:
        new = takewhile(lambda sealed: expected[sealed.file.target] is Expect.ABSENT, files)
        pairs = [(sealed.source, sealed.target) for sealed in new]
        smooth = await renames.rename_in_bulk(pairs, within=layout.root)
        count(smooth)
        for sealed in files[smooth:]:
            arrived = await renames.rename(
                sealed.source,
                sealed.target,
                token=Token(sealed.file.token),
                expecting=expected[sealed.file.target],
                within=layout.root,
            )
            if not arrived:
                _report(sealed.file.target, lost)
            count(1)

    sealed = _sealed_files(manifests, layout, renames.bulk_max)
    await for_each(sealed, publish, in_flight_max=store.in_flight_max)
    return done


async def _sealed_files(
    manifests: AsyncIterable[ManifestBytes], layout: DestinationLayout, together: int
) -> AsyncIterator[list[list[Sealed]]]:
    """Every manifest's files, cut into runs of at most *together*."""
    async for manifest in manifests:
        decoded = TaskManifest.decode(manifest.data, manifest.layout).files
        sources = manifest.layout.committed_files(file.name for file in decoded)
        targets = layout.finals(file.target for file in decoded)
        files = list(map(Sealed, sources, targets, decoded))
        yield [files[start : start + together] for start in range(0, len(files), together)]


def _report(name: Target, lost: Lost | None) -> None:
    if lost is None:
        message = (
            f"{name!r} is neither in place nor where its task left it: somebody else removed it; "
            "nothing was deleted"
        )
        raise PartialCommitError(message, path=name, stage="publish")
    lost(name)


async def prepare_success(
    store: SettledStore, layout: JobLayout, claim_nonce: str, data: bytes
) -> FileIdentity:
    """Write the marker into the area, whole and flushed."""
    prepared = layout.prepared_success(claim_nonce)
    entry = await store.create_once(prepared, data, within=layout.area)
    return FileIdentity(size=entry.size_bytes, token=entry.token)


async def publish_success(
    renames: SettledFiles,
    layout: JobLayout,
    claim_nonce: str,
    marker: FileIdentity,
    stale: FileIdentity | None,
) -> None:
    """Rename the prepared marker into place, over *stale* alone, unless another's stands there.

    The source is consumed, so a stale driver cannot write its marker over a later job's.
    """
    await renames.rename(
        layout.prepared_success(claim_nonce),
        layout.destination.success,
        token=Token(marker.token),
        expecting=Expect.ABSENT if stale is None else Token(stale.token),
        within=layout.destination.root,
        looks=1,
        yielding=True,
    )
