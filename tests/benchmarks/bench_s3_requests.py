"""CPU time of the requests that a file on S3 takes, made by template and made by botocore.

On the project's own server (`tests/servers/slow_s3`), a process of its own, which answers at once.
What is measured is the thread in which the client runs, in the store's own verbs: with what they
make of the answer, and without the protocol above them. Beside the time stand function calls, which
a busy machine does not change: `tests/integration/test_s3_request_cost.py` asserts the same goal of
them.

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
    cpu_us,
    function_calls,
)
from tests.servers.slow_s3.server import SlowS3

FILES = 200
COUNTED_FILES = 20
GOAL = 1 / 5


def describe(report: Report, costs: Costs, unit: str) -> None:
    """Add what each request costs by either way, and the ratio."""
    for name in REQUESTS:
        samples = {way: Sample(tuple(costs.by_way[way][name])) for way in WAYS}
        for way, sample in samples.items():
            report.add(f"{name}, {way}", sample, unit=unit)
        ratio = f"{name}, {unit}, {BY_TEMPLATE} / {BY_BOTOCORE}"
        report.compare(ratio, samples[BY_TEMPLATE], samples[BY_BOTOCORE], at_most=GOAL)


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("s3_requests", options.quick)
    files = 10 if options.quick else FILES
    rounds = options.rounds or (1 if options.quick else 5)
    with SlowS3() as server:
        describe(report, costs_of(server, cpu_us, files=files, rounds=rounds), "us of CPU")
        counted = costs_of(server, function_calls, files=min(files, COUNTED_FILES), rounds=1)
        describe(report, counted, "calls")
    report.finish()


if __name__ == "__main__":
    main()
