"""Ids: unique, sortable, repeatable with a seed, and nothing else passes for one."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fsspec_commit.ids import (
    ATTEMPT_ID,
    JOB_ID,
    NEVER,
    NONCE,
    SYSTEM_IDS,
    IdSource,
    is_job_id,
    started,
)

NOON = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


def seeded(seed: int, now: datetime = NOON) -> IdSource:
    return IdSource(random.Random(seed), lambda: now)


def drawn(ids: IdSource) -> list[object]:
    return [ids.job_id(), ids.attempt_id(), ids.nonce(), ids.jitter()]


@given(st.integers())
def test_ids_have_their_form_and_a_seed_repeats_them(seed: int) -> None:
    ids = seeded(seed)
    assert JOB_ID.fullmatch(ids.job_id())
    assert ATTEMPT_ID.fullmatch(ids.attempt_id())
    assert NONCE.fullmatch(ids.nonce())
    assert 0 <= ids.jitter() < 1
    assert drawn(seeded(seed)) == drawn(seeded(seed))


def test_the_systems_ids_are_unique_and_timed() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    ids = [SYSTEM_IDS.job_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert before <= started(ids[0]) <= datetime.now(UTC)
    assert len({SYSTEM_IDS.nonce() for _ in range(1000)}) == 1000


@given(st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_a_job_id_tells_when_it_was_started(now: datetime) -> None:
    job_id = seeded(1, now).job_id()
    assert started(job_id) == now.replace(microsecond=0)
    assert is_job_id(job_id)


@given(
    st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    st.timedeltas(min_value=timedelta(seconds=1), max_value=timedelta(days=9999)),
)
def test_older_jobs_sort_first(now: datetime, later: timedelta) -> None:
    try:
        then = now + later
    except OverflowError:
        return
    assert seeded(1, now).job_id() < seeded(0, then).job_id()


@given(st.text(max_size=40))
@example("20261120T140355-9c1e5f00a1b2c3d4\n")
@example("20261320T140355-9c1e5f00a1b2c3d4")
@example("00000000T000000-9c1e5f00a1b2c3d4")
@example("\u0662\u0660261120T140355-9c1e5f00a1b2c3d4")
@example("20261120T140355-9C1E5F00A1B2C3D4")
@example("")
def test_other_text_is_no_job_id(text: str) -> None:
    assert not is_job_id(text)


def test_never_is_before_every_job() -> None:
    assert started(seeded(1).job_id()) > NEVER
    with pytest.raises(ValueError, match="month"):
        started("99999999T999999-0")  # type: ignore[arg-type]
