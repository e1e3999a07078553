"""CPU time of the requests that a file on S3 takes, made by template and made by botocore.

And that of a page of a listing, which is asked for by botocore either way, and read by it or not.

On the project's own server (`tests/servers/slow_s3`), a process of its own, which answers at once.
What is measured is the thread in which the client runs, in the store's own verbs: with what they
make of the answer, and without the protocol above them. Beside the time stand function calls, which
a busy machine does not change: `tests/integration/test_s3_request_cost.py` holds them to goals.

    python -m tests.benchmarks.bench_s3_requests [--quick] [--rounds N]
"""

from __future__ import annotations

from tests.benchmarks.interleaved import Report, Sample, arguments
from tests.benchmarks.request_costs import (
    BY_BOTOCORE,
    BY_TEMPLATE,
    REQUESTS,
    WAYS,
    Costs,
    costs_of,
    costs_of_pages,
    cpu_us,
    function_calls,
)
from tests.servers.slow_s3.server import SlowS3

FILES = 200
COUNTED_FILES = 20
GOAL = 1 / 5
CALLS_OF_A_PAGE = 1 / 4


def describe(report: Report, costs: Costs, unit: str) -> None:
    """Add what each request costs by either way, and the ratio."""
    for name in REQUESTS:
        samples = {way: Sample(tuple(costs.by_way[way][name])) for way in WAYS}
        for way, sample in samples.items():
            report.add(f"{name}, {way}", sample, unit=unit)
        ratio = f"{name}, {unit}, {BY_TEMPLATE} / {BY_BOTOCORE}"
        report.compare(ratio, samples[BY_TEMPLATE], samples[BY_BOTOCORE], at_most=GOAL)


def describe_pages(
    report: Report, costs: dict[str, list[float]], unit: str, at_most: float | None = None
) -> None:
    """Add what a page of a listing costs by either way, and the ratio."""
    samples = {way: Sample(tuple(costs[way])) for way in WAYS}
    for way, sample in samples.items():
        report.add(f"list a page, {way}", sample, unit=unit)
    ratio = f"list a page, {unit}, {BY_TEMPLATE} / {BY_BOTOCORE}"
    report.compare(ratio, samples[BY_TEMPLATE], samples[BY_BOTOCORE], at_most=at_most)


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("s3_requests", options.quick)
    files = 10 if options.quick else FILES
    rounds = options.rounds or (1 if options.quick else 5)
    with SlowS3() as server:
        describe(report, costs_of(server, cpu_us, files=files, rounds=rounds), "us of CPU")
        counted = costs_of(server, function_calls, files=min(files, COUNTED_FILES), rounds=1)
        describe(report, counted, "calls")
        of_pages = costs_of_pages(server, cpu_us, rounds=2 * rounds)
        describe_pages(report, of_pages, "us of CPU")
        counted_pages = costs_of_pages(server, function_calls, rounds=1)
        describe_pages(report, counted_pages, "calls", CALLS_OF_A_PAGE)
    report.finish()


if __name__ == "__main__":
    main()
