"""A request by template costs its client a fifth of one by botocore, at the most; a page a quarter.

Function calls are counted and not time: they are the same however slow and busy the machine is.
`bench_s3_requests` shows the CPU time, whose ratio is about the same.
"""

from __future__ import annotations

from tests.benchmarks.request_costs import (
    BY_BOTOCORE,
    BY_TEMPLATE,
    REQUESTS,
    WAYS,
    costs_of,
    costs_of_pages,
    function_calls,
)
from tests.servers.slow_s3.server import SlowS3

FILES = 20
ROUNDS = 2
AT_MOST = 1 / 5
A_PAGE_AT_MOST = 1 / 4


def test_a_fifth_of_botocores(s3_environment: None) -> None:
    with SlowS3() as server:
        costs = costs_of(server, function_calls, files=FILES, rounds=ROUNDS)
        received = server.statistics().requests
    ratios = {
        name: costs.least(BY_TEMPLATE, name) / costs.least(BY_BOTOCORE, name) for name in REQUESTS
    }
    assert max(ratios.values()) <= AT_MOST, ratios
    # By either way each was sent once, also in the round in which templates were learnt.
    sent = len(WAYS) * (1 + ROUNDS) * FILES
    assert {name: received[called] for name, called in REQUESTS.items()} == dict.fromkeys(
        REQUESTS, sent
    )


def test_a_quarter_of_what_a_page_of_a_listing_costs_by_botocore(s3_environment: None) -> None:
    with SlowS3() as server:
        costs = costs_of_pages(server, function_calls, rounds=ROUNDS)
        listed = server.statistics().requests["ListObjectsV2"]
    assert min(costs[BY_TEMPLATE]) <= A_PAGE_AT_MOST * min(costs[BY_BOTOCORE]), costs
    assert listed == len(WAYS) * (1 + ROUNDS)
