"""A record that an enemy has changed, given to its decoder alone: one case for each integer."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, TypeAlias

from fsspec_commit.errors import RecordError
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.records.job import ChosenRecord, Claim, Decision, JobRecord, Published
from fsspec_commit.records.pending_set import PendingSet
from fsspec_commit.records.task_manifest import TaskManifest
from fsspec_commit.records.upload import UploadRecord
from tests.protocol.hostile.mutations import NAMES, changed_bytes, changed_values
from tests.protocol.hostile.worlds import World

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_Kind: TypeAlias = "type[JobRecord | Claim | Decision | Published | ChosenRecord | UploadRecord]"
_KINDS: dict[str, _Kind] = {
    r"job\.json": JobRecord,
    "claim-[0-9a-f]{32}": Claim,
    "decision": Decision,
    "published": Published,
    "chosen/[0-9]+": ChosenRecord,
    "uploads/.*": UploadRecord,
}
_MANIFEST = re.compile("manifests/([0-9]+)/([0-9a-f]{16})")


@dataclass(frozen=True)
class Written:
    """A record as the package has written it.

    Attributes:
        world: Where it stands; the first of all worlds with just this record.
        name: Its path in the area of the job.
        data: Its bytes.
    """

    world: World
    name: str
    data: bytes


def written_records(worlds: Iterable[World]) -> list[Written]:
    """Every record that stands in one of *worlds*, once."""
    found: dict[tuple[str, bytes], Written] = {}
    for world in worlds:
        for path in world.records():
            name, data = path.removeprefix(f"{world.area}/"), world.look.objects[path].data
            found.setdefault((path, data), Written(world, name, data))
    return list(found.values())


def decode_one(number: int, records: Sequence[Written]) -> bool:
    """Whether the changed record was decoded; then its canonical bytes are those that were read.

    Raises:
        AssertionError: They are not, or the refusal is none of ours; the message has the number.
    """
    random = Random(number)
    record = random.choice(records)
    change = random.randrange(3)
    data = (
        changed_values(random, record.data, NAMES) if change else changed_bytes(random, record.data)
    )
    try:
        written = _written_again(record, data)
    except RecordError:
        return False
    except Exception as error:
        raise AssertionError(f"case {number}: {type(error).__name__}: {error}") from error
    assert written in {None, data}, f"case {number}: decoded, and written otherwise"
    return written is not None


def is_believed(record: Written, data: bytes) -> bool:
    """Whether whoever finds *data* in the place of a record takes it for one of its job.

    What a job reads only with the digest of its bytes is decoded here as well, without that.
    """
    path = StorePath(f"{record.world.area}/{record.name}")
    try:
        kind = _kind_of(record.name)
        if kind is None:
            return _manifest_again(record, data) is not None
        kind.decode(data).check_path(_layout(record.world), path)
    except RecordError:
        return False
    return True


def _layout(world: World) -> JobLayout:
    return DestinationLayout(StorePath(world.root)).job(world.job_id)


def _kind_of(name: str) -> _Kind | None:
    return next((kind for pattern, kind in _KINDS.items() if re.fullmatch(pattern, name)), None)


def _written_again(record: Written, data: bytes) -> bytes | None:
    """What encoding writes for the record *data*; ``None`` for what is no record."""
    kind = _kind_of(record.name)
    return kind.decode(data).encode() if kind else _manifest_again(record, data)


def _manifest_again(record: Written, data: bytes) -> bytes | None:
    found = _MANIFEST.fullmatch(record.name)
    if found is None:
        return None
    attempt = _layout(record.world).attempt(int(found[1]), found[2])
    if record.world.name.startswith("magic"):
        return PendingSet.decode(data, attempt).encode()
    directory = json.loads(record.data)["taskAttemptDir"]
    return TaskManifest.decode(data, attempt, directory=directory).encode()
