"""Where an overwrite could lose a newer file: the refusal says what helps on this store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import UnsafeStoreError
from tests.protocol.trips import Trips

if TYPE_CHECKING:
    from fsspec_commit.records.job import CommitterName

VERSIONS, WITHOUT = "turn on versioning for the bucket", 'leave out committer="manifest"'
BY_NAME, ALONE = "delete_by_name=True", "single_writer=True"


@pytest.mark.parametrize(
    ("family", "committer", "helps", "helps_not"),
    [
        ("minio", "magic", (VERSIONS, BY_NAME, ALONE), WITHOUT),
        ("hdfs", "manifest", (WITHOUT, BY_NAME), "versioning"),
        ("hdfs", "manifest", (WITHOUT, BY_NAME), ALONE),
    ],
)
def test_what_is_said_to_help(
    monkeypatch: pytest.MonkeyPatch,
    family: str,
    committer: CommitterName,
    helps: tuple[str, ...],
    helps_not: str,
) -> None:
    """What does not help there is not said: that nobody else writes makes no token comparable."""
    trips = Trips(monkeypatch, family, old=("day=1/old.txt",))
    with pytest.raises(UnsafeStoreError) as refused:
        trips.run(trips.begun(mode="overwrite", committer=committer))
    assert refused.value.kind == "unsafe_overwrite"
    assert all(way in str(refused.value) for way in helps)
    assert helps_not not in str(refused.value)


def test_what_is_said_to_help_does(monkeypatch: pytest.MonkeyPatch) -> None:
    trips = Trips(monkeypatch, "hdfs", old=("day=1/old.txt",))

    async def all_ways() -> None:
        await trips.begun(mode="overwrite")
        await trips.begun(mode="overwrite", committer="manifest", delete_by_name=True)
        with pytest.raises(UnsafeStoreError):
            await trips.begun(mode="overwrite", committer="manifest", single_writer=True)

    trips.run(all_ways())
