"""Whatever an enemy makes of a job's records: typed errors, and nothing outside is touched (P10).

A case is an integer, which replays it: ``try_case(4711, worlds(patch), Said(), Counter())``.
"""

from __future__ import annotations

import logging
from collections import Counter
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from tests.protocol.hostile.cases import CALLS, Said, try_case
from tests.protocol.hostile.decoding import decode_one, written_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.protocol.hostile.worlds import World

BY_DAY = 1_500
DECODED = 10_000
BY_NIGHT_DECODED = 10_000_000
DECODED_PARTS = 25
"""Each is done long before a test is ended as hung, on a busy machine as well."""
PARTS = 5
OF_A_PART_S = 240
"""A night has some of its parts; each of them tries as many as fit in its time, which is less
than any test has."""
OF_A_PART = 10_000_000
"""How far the cases of two parts are apart; those of two nights are further."""


@pytest.fixture
def said() -> Iterator[Said]:
    ours, said = logging.getLogger("fsspec_commit"), Said()
    ours.addHandler(said)
    ours.setLevel(logging.DEBUG)
    ours.propagate = False  # Else it is kept, by pytest, until the test is over.
    yield said
    ours.propagate = True
    ours.setLevel(logging.NOTSET)
    ours.removeHandler(said)


@pytest.fixture
def first(part: int, request: pytest.FixtureRequest) -> int:
    """The first case of a part of a night: others each night."""
    night = int(request.config.getoption("sweep_seed", 0) or 0)
    return (1 + night * max(PARTS, DECODED_PARTS) + part) * OF_A_PART


@pytest.mark.guarantees("P10")
@pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")
class TestHostileRecords:
    def test_p10_typed_errors_and_nothing_outside(self, spoiled: list[World], said: Said) -> None:
        ended = Counter[str]()
        for number in range(BY_DAY):
            try_case(number, spoiled, said, ended)
        calls = {how.partition(":")[0] for how in ended}
        assert calls == set(CALLS)
        done = {call for call in CALLS if ended[f"{call}: done"]}
        refused = {how.partition(":")[0] for how in ended if not how.endswith(": done")}
        assert done >= {"jobs", "resume", "abort", "clean", "drive", "work"}, ended
        assert refused >= {"resume", "abort", "clean damaged", "drive", "work"}, ended

    @pytest.mark.slow
    @pytest.mark.parametrize("part", range(PARTS))
    def test_p10_typed_errors_in_as_many_as_a_night_has_time_for(
        self, spoiled: list[World], said: Said, first: int, say_what_ran: Callable[[str], None]
    ) -> None:
        ended = Counter[str]()
        until = monotonic() + OF_A_PART_S
        for number in count(first):
            try_case(number, spoiled, said, ended)
            if monotonic() > until:
                break
        say_what_ran(f"{ended.total():,} cases, from {first}: {dict(ended.most_common())}")

    def test_p10_a_decoder_refuses_what_it_would_not_write(self, spoiled: list[World]) -> None:
        records = written_records(spoiled)
        whole = sum(decode_one(number, records) for number in range(DECODED))
        assert 0 < whole < DECODED

    @pytest.mark.slow
    @pytest.mark.parametrize("part", range(DECODED_PARTS))
    def test_p10_no_decoder_takes_another_form_of_ten_million(
        self, spoiled: list[World], first: int
    ) -> None:
        records = written_records(spoiled)
        for number in range(first, first + BY_NIGHT_DECODED // DECODED_PARTS):
            decode_one(number, records)
