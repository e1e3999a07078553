"""Which jobs must not commit at one time, and what a job claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.names import Partition
from fsspec_commit.protocol import claim as claims
from fsspec_commit.protocol.claim import claim_of, conflicts
from fsspec_commit.protocol.job_state import JobState
from fsspec_commit.records.job import Claim, JobRecord

if TYPE_CHECKING:
    from fsspec_commit.records.job import Mode

JOB = "20261120T140355-9c1e5f00a1b2c3d4"
KEY, OTHER_KEY = "a" * 64, "b" * 64


def claim(*partitions: str, whole: bool = False, mode: Mode = "append", **other: Any) -> Claim:
    """By default of a job that adds files under names of its own, to some partitions."""
    other = {"names": "unique", "reusable_names": False, **other}
    held = None if whole else partitions
    return Claim(nonce="0" * 32, job_id=JOB, mode=mode, partitions=held, **other)


def replacing(*partitions: str, **other: Any) -> Claim:
    return claim(*partitions, mode="overwrite_partitions", **other)


def both(*partitions: str, **other: Any) -> tuple[Claim, Claim]:
    return claim(*partitions, **other), claim(*partitions, **other)


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(both("day=1", reusable_names=True), id="one hidden name"),
        pytest.param(both("day=1", names="exact", reusable_names=True), id="one exact name"),
        pytest.param((claim("a"), claim("a", names="exact")), id="exact beside unique names"),
        pytest.param((claim("a"), replacing("a")), id="an append to what is replaced"),
        pytest.param((claim(whole=True), replacing("a")), id="an append anywhere"),
        pytest.param((claim("a"), claim(whole=True, mode="overwrite")), id="an overwrite"),
        pytest.param((replacing("a"), replacing("b", "a")), id="the same partition"),
        pytest.param((replacing("a"), replacing("a/b/c")), id="one below it"),
        pytest.param((replacing(""), replacing("a")), id="one below the destination"),
        pytest.param((replacing("day=A"), replacing("day=a")), id="folded"),
        pytest.param((replacing("day=%41"), replacing("day=A")), id="decoded"),
        pytest.param((replacing("é"), replacing("e\u0301")), id="another normal form"),
        pytest.param((claim("a", key_digest=KEY), claim("b", key_digest=KEY)), id="one key"),
    ],
)
@pytest.mark.guarantees("P11")
def test_of_these_one_waits_for_the_other(pair: tuple[Claim, Claim]) -> None:
    assert conflicts(*pair)
    assert conflicts(*reversed(pair))


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(both("a"), id="two appends"),
        pytest.param(both(whole=True), id="two appends anywhere"),
        pytest.param((claim("a"), claim("a", reusable_names=True)), id="one hidden name"),
        pytest.param(
            (claim("a", reusable_names=True), claim("b", reusable_names=True)),
            id="hidden names in two partitions",
        ),
        pytest.param((claim("a"), replacing("b")), id="an append elsewhere"),
        pytest.param((replacing("a"), replacing("b")), id="two partitions"),
        pytest.param((replacing("a"), replacing("ab")), id="one name that begins with the other"),
        pytest.param((replacing("a/b"), replacing("a/c")), id="below one directory"),
        pytest.param((replacing("month=1"), replacing("month=01")), id="two values"),
        pytest.param((replacing("a"), replacing()), id="one of no partition"),
        pytest.param((claim("a", key_digest=KEY), claim("a", key_digest=OTHER_KEY)), id="two keys"),
        pytest.param((claim("a", key_digest=KEY), claim("a")), id="a key and none"),
    ],
)
def test_these_need_not_wait_for_each_other(pair: tuple[Claim, Claim]) -> None:
    assert not conflicts(*pair)
    assert not conflicts(*reversed(pair))


def test_two_drivers_of_a_job_hold_a_claim_each() -> None:
    """One may have begun with other messages: whoever conflicts with either waits."""
    layout = DestinationLayout(StorePath("/d")).job(JOB)
    held = (claim("a"), claim("b"))
    for both_held in (held, held[::-1]):
        other = JobState(layout, "committing", claims=both_held)
        assert claims._in_the_way(replacing("a"), other)
        assert not claims._in_the_way(replacing("c"), other)


def of(
    mode: Mode, *written: str, declared: tuple[str, ...] = (), reusable_names: bool = False
) -> Claim:
    record = JobRecord(
        nonce="0" * 32,
        job_id=JOB,
        destination="/d",
        committer="v1",
        mode=mode,
        names="exact",
        partitions=declared,
        key_digest=KEY,
    )
    return claim_of(record, [*map(Partition, written)], "1" * 32, reusable_names=reusable_names)


def test_a_claim_says_what_a_job_may_touch() -> None:
    """What it has written, and what it has declared, without a file of its own."""
    claimed = of("overwrite_partitions", "b", "a", declared=("c", "a"))
    assert claimed == Claim(
        nonce="1" * 32,
        job_id=JOB,
        mode="overwrite_partitions",
        names="exact",
        partitions=("a", "b", "c"),
        reusable_names=False,
        key_digest=KEY,
    )
    assert of("append", "a").partitions == ("a",)
    assert of("append").partitions == ()
    assert of("append", reusable_names=True).reusable_names


@pytest.mark.parametrize("mode", ["error", "ignore", "overwrite"])
def test_a_mode_that_looks_at_all_files_claims_them_all(mode: Mode) -> None:
    assert of(mode, "a").partitions is None


def test_too_many_partitions_claim_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never a part of them: the rest would be nobody's."""
    monkeypatch.setattr(claims, "PARTITIONS_MAX", 3)
    assert of("append", "a", "b", "c").partitions == ("a", "b", "c")
    assert of("append", "a", "b", "c", "d").partitions is None
    assert of("overwrite_partitions", "a", "b", declared=("b", "c")).partitions == ("a", "b", "c")
    assert of("overwrite_partitions", "a", "b", declared=("c", "d")).partitions is None
    monkeypatch.undo()
    fits = len(of("append", "a").encode())
    monkeypatch.setattr(Claim, "limit_bytes", fits)
    assert of("append", "a").partitions == ("a",)
    assert of("append", "aa").partitions is None
