"""What the request that publishes a file costs its client on GCS and Gen2, in function calls.

They are the same however slow and busy the machine is. `bench_short_requests` shows the CPU time.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.bench_short_requests import SERVERS, WAYS, costs_of
from tests.benchmarks.request_costs import function_calls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.benchmarks.request_costs import Measure

FILES, ROUNDS = 20, 2
MEASURES: Mapping[str, Measure] = {"calls": function_calls}
AT_MOST = {"GCS": 0.7, "Gen2": 0.4}
"""Of those that it takes by way of aiohttp, and of azure-core."""


@pytest.mark.parametrize("name", SERVERS)
def test_a_part_of_what_aiohttp_and_the_sdk_take(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    with ExitStack() as stack:
        make, adapter = SERVERS[name]
        costs = costs_of(make(stack), adapter, FILES, ROUNDS, measures=MEASURES)
        [by_way] = asyncio.run(costs).values()
    exchanges, whole = (min(by_way[way]) for way in WAYS)
    assert exchanges / whole <= AT_MOST[name], by_way
