"""A claim's outline never says that two claims cannot conflict where their records say they do."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fsspec_commit.ids import NEVER, NONCE, IdSource
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.protocol.claim import conflicts
from fsspec_commit.protocol.other_jobs import is_passed
from fsspec_commit.records.job import MODES, Claim
from fsspec_commit.records.outline import Outline

JOB = "20261120T140355-9c1e5f00a1b2c3d4"
ANOTHER = "20261120T140355-9c1e5f00a1b2c3d5"
DESTINATION = DestinationLayout(StorePath("bucket/out"))
LAYOUT = DESTINATION.job(JOB)
FIRST_RELEASE = re.compile(r"claim-[0-9a-f]{32}")
"""What the first release takes for a claim; anything else in an area it ignores."""
names = st.sampled_from(["a", "A", "%41", "b", "day=1", "DAY=1", "é", "e\u0301", "\u212a", "k"])
partitions = st.lists(names, max_size=3).map("/".join)
nonces = st.integers(0, 2**128 - 1).map(lambda number: f"{number:032x}")


@st.composite
def claims(draw: st.DrawFn) -> Claim:
    touched = draw(st.none() | st.lists(partitions, max_size=4, unique=True).map(tuple))
    return Claim(
        nonce=draw(nonces),
        job_id=JOB,
        mode=draw(st.sampled_from(MODES)),
        names=draw(st.sampled_from(["unique", "exact"])),
        partitions=touched,
        reusable_names=draw(st.booleans()),
        key_digest=draw(st.none() | st.sampled_from(["1" * 64, "2" * 64])),
    )


def claim(*touched: str, mode: str = "overwrite_partitions", **other: object) -> Claim:
    return Claim(nonce="0" * 32, job_id=JOB, mode=mode, names="unique", partitions=touched, **other)  # type: ignore[arg-type]  # as a test says


def said(one: Claim) -> Outline:
    """As others read it in the name."""
    nonce = LAYOUT.claim_nonce(LAYOUT.claim(one.outlined().nonce))
    assert nonce is not None
    outline = Outline.told_by(nonce, JOB)
    assert outline is not None
    return outline


@given(claims(), claims())
@example(claim("a"), claim("a/b"))
@example(claim("a/b", "a/c/d"), claim("a/c"))
def test_p11_what_conflicts_may_conflict_by_the_names(one: Claim, other: Claim) -> None:
    assert conflicts(one, other) <= one.outline.may_conflict(said(other))
    assert said(one).may_conflict(said(other)) == said(other).may_conflict(said(one))


@given(claims())
def test_a_name_says_what_the_outline_does(one: Claim) -> None:
    assert said(one) == one.outline


@given(claims())
def test_p11_the_first_release_finds_and_reads_the_claim(one: Claim) -> None:
    """It would pass what it does not take for a claim: both jobs would commit."""
    outlined = one.outlined()
    path = LAYOUT.claim(outlined.nonce)
    assert FIRST_RELEASE.fullmatch(path.rpartition("/")[2])
    outlined.check_path(LAYOUT, path)
    assert Claim.decode(outlined.encode()) == outlined


@given(nonces)
def test_p11_a_claim_of_another_version_is_read(nonce: str) -> None:
    """Whatever its nonce: that is all random, and what it seems to say has no seal."""
    children = [LAYOUT.spec, LAYOUT.claim(nonce)]
    ours = claim("day=1", mode="append", reusable_names=False).outline
    assert Outline.told_by(nonce, JOB) is None
    assert not is_passed(ours, LAYOUT, children)


@given(claims(), st.integers(0, 31), st.sampled_from("0123456789abcdef"))
def test_what_was_changed_says_nothing(one: Claim, at: int, digit: str) -> None:
    nonce = one.outlined().nonce
    other = nonce[:at] + digit + nonce[at + 1 :]
    assert other == nonce or Outline.told_by(other, JOB) is None
    assert Outline.told_by(nonce, ANOTHER) is None, "and neither does another job's"


def test_claims_of_one_job_on_the_same_have_nonces_of_their_own() -> None:
    ids = IdSource(Random(1), lambda: NEVER)
    many = {fresh(ids.nonce()).outlined().nonce for _ in range(1_000)}
    assert len(many) == 1_000
    assert all(map(NONCE.fullmatch, many))


def fresh(nonce: str) -> Claim:
    return Claim(nonce=nonce, job_id=JOB, mode="append", names="unique", partitions=None)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (claim("day=1"), claim("day=2")),
        (claim("year=1/month=1"), claim("year=1/month=2")),
        (claim("day=1/hour=1", "day=1/hour=2"), claim("day=2/hour=1", "day=2/hour=2")),
        (claim("day=1", mode="append", reusable_names=False), claim("day=1", mode="append")),
    ],
)
def test_names_tell_jobs_apart_that_never_meet(one: Claim, other: Claim) -> None:
    assert not one.outline.may_conflict(said(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (claim("year=1"), claim("year=1/month=2")),
        (claim("day=a%20b"), claim("day=A b")),
        (claim(""), claim("day=1")),
        (claim("day=1", mode="append"), claim("day=1", mode="append")),
        (claim("a", key_digest="1" * 64), claim("b", key_digest="1" * 64)),
        (claim("/".join("abcdefghijklmnopq")), claim("/".join("abcdefghijklmnopqr"))),
    ],
)
def test_names_of_jobs_that_meet(one: Claim, other: Claim) -> None:
    assert conflicts(one, other)
    assert one.outline.may_conflict(said(other))


def test_what_a_name_cannot_say_is_left_open() -> None:
    """Then the records are read, and say it."""
    for one, other in (
        (claim("day=1", "day=3"), claim("day=2", "day=4")),
        (claim("é"), claim("a")),
        (claim(), claim("a")),
    ):
        assert not conflicts(one, other)
        assert one.outline.may_conflict(said(other))


@pytest.mark.parametrize(
    ("children", "passed"),
    [
        ((), False),
        (("job.json",), True),
        (("job.json", "decision"), False),
        (("job.json", "alive-" + "0" * 32), True),
        (("job.json", "other"), True),
        (("job.json", "other", "decision", "published"), True),
        (("job.json", "other", "same"), False),
        (("job.json", "other", "old"), False),
        (("other",), False),
        (("other", "decision", "published"), False),
    ],
)
def test_who_is_passed_by_what_a_listing_shows(children: tuple[str, ...], *, passed: bool) -> None:
    """Where no claim is shown, nothing is known of a decision, nor of a job that is over."""
    named = {
        "other": LAYOUT.claim(claim("day=2").outlined().nonce),
        "same": LAYOUT.claim(claim("day=1").outlined().nonce),
        "old": LAYOUT.claim("0" * 32),
    }
    shown = [named.get(name, StorePath(f"{LAYOUT.area}/{name}")) for name in children]
    assert is_passed(claim("day=1").outline, LAYOUT, shown) is passed
