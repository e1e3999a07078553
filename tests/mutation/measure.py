"""Tries mutants of the protocol against the tests: ``python -m tests.mutation.measure --help``."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import pytest

from tests.mutation.mutants import Mutant, all_mutants
from tests.mutation.rate import KILLED, rate_of
from tests.mutation.record import MEASURED, measurement_of, write
from tests.mutation.survivors import NO_DIFFERENCE, SURVIVORS
from tests.mutation.trials import Result, Trials

if TYPE_CHECKING:
    from collections.abc import Sequence

TESTS = (
    "tests/mutation/killers.py",
    "tests/unit/effects",
    "tests/unit/hadoop",
    "tests/unit/protocol",
    "tests/unit/records",
    "tests/unit/store",
    "tests/unit/testing",
    "tests/unit/test_directory_names.py",
    "tests/unit/test_errors.py",
    "tests/unit/test_file_names.py",
    "tests/unit/test_many_partitions.py",
    "tests/unit/test_old_partitions.py",
    "tests/unit/test_statistics.py",
    "tests/unit/test_streamed_list.py",
    "tests/unit/test_testing_assertions.py",
    "tests/contract/test_committers.py",
    "tests/contract/test_flat.py",
    "tests/contract/test_local.py",
    "tests/contract/test_memory.py",
    "tests/contract/test_planted_lies.py",
    "tests/protocol",
    "tests/specs",
    "tests/integration/write_dataset",
    "tests/integration/test_accept_loss.py",
    "tests/integration/test_adoption.py",
    "tests/integration/test_adoption_on_disks.py",
    "tests/integration/test_disk.py",
    "tests/integration/test_files.py",
    "tests/integration/test_forgotten_messages.py",
    "tests/integration/test_links.py",
    "tests/integration/test_marker_uploads.py",
    "tests/integration/test_messages.py",
    "tests/integration/test_mistakes.py",
    "tests/integration/test_moved.py",
    "tests/integration/test_odd_areas.py",
    "tests/integration/test_odd_records.py",
    "tests/integration/test_rewrites.py",
    "tests/integration/test_store_calls.py",
    "tests/integration/test_store_calls_in_buckets.py",
    "tests/integration/test_transactions.py",
    "tests/integration/test_two_threads.py",
    "tests/integration/test_verify.py",
    "tests/integration/test_weapons.py",
)
"""What may kill a mutant, if it is quick: tests in memory and on the disk."""
LEFT_OUT = (
    "tests/integration/write_dataset/test_interruptions.py",
    "tests/integration/write_dataset/test_sources.py",  # polars hangs in a fork
    "tests/protocol/planted",
    "tests/unit/testing/test_garbage.py",
)
OPTIONS = (
    "--quiet",
    "--capture=no",
    "--assert=plain",  # Nobody reads what has failed.
    "--tb=no",
    "-m",
    "not slow and not server and not spark",
    "-p",
    "no:randomly",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-o",
    "faulthandler_timeout=0",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names of mutants; none for all")
    parser.add_argument("--seed", help="try them in an order that is drawn; else file by file")
    parser.add_argument("--known-first", action="store_true", help="begin with known survivors")
    parser.add_argument("--share", default="0/1", help="of so many disjoint shares try this one")
    parser.add_argument("--record", action="store_true", help="write down what came of all")
    parser.add_argument("--record-in", type=Path, default=MEASURED, metavar="FILE")
    parser.add_argument("--within", type=float, default=1e9, metavar="SECONDS")
    parser.add_argument("--learn-within", type=float, default=1e9, metavar="SECONDS")
    parser.add_argument("--each", type=float, default=20, metavar="SECONDS")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--learnt", type=Path, help="what tests reach, while no source changes")
    parser.add_argument("--tests", nargs="*", default=TESTS)
    parser.add_argument("--to", type=Path, help="a line a result; what is in it is not tried again")
    given = parser.parse_args()
    results = results_in(given.to) if given.to and given.to.exists() else {}
    asked = chosen(all_mutants(), given)
    mutants = [one for one in asked if one.name not in results]
    verdicts = Counter[str]()

    def keep(name: str, result: Result) -> None:
        results[name] = result
        verdicts[result.verdict] += 1
        if result.verdict not in KILLED:
            why = NO_DIFFERENCE.get(name) or SURVIVORS.get(name) or "not known"
            tests = f"{result.run} of {result.of} tests"
            print(f"{result.verdict}, {tests}: {name} ({why})", flush=True)
        if given.to:
            with given.to.open("a") as file:
                file.write(json.dumps([name, result]) + "\n")

    begin = time.monotonic()
    trials = Trials(
        mutants,
        lambda mutant, result: keep(mutant.name, result),
        workers=given.workers,
        within_s=given.within,
        learns_s=given.learn_within,
        mutant_max_s=given.each,
        learnt=given.learnt,
    )
    os.environ.setdefault("HYPOTHESIS_PROFILE", "ci")
    ignored = [f"--ignore={path}" for path in LEFT_OUT]
    status = pytest.main([*OPTIONS, *ignored, *given.tests], plugins=[trials])
    if status != pytest.ExitCode.OK:
        raise SystemExit(status)
    rate = rate_of(results)
    print(f"{dict(verdicts)} of {len(mutants)}, {time.monotonic() - begin:.0f} s")
    print(f"{rate.killed} of {rate.tried} killed; of all {rate.least:.0%} to {rate.most:.0%}")
    if given.record:
        write(measurement_of(results, len(asked)), given.record_in)


def chosen(mutants: Sequence[Mutant], given: argparse.Namespace) -> list[Mutant]:
    """Those that are asked for, in the order in which they are tried."""
    number, count = map(int, given.share.split("/"))
    found = [
        one
        for one in mutants
        if (not given.names or any(part in one.name for part in given.names))
        and crc32(one.name.encode()) % count == number
    ]
    if given.seed is not None:
        found.sort(key=lambda one: crc32(f"{given.seed} {one.name}".encode()))
    if given.known_first:
        found.sort(key=lambda one: one.name not in NO_DIFFERENCE | SURVIVORS)
    return found


def results_in(path: Path) -> dict[str, Result]:
    """The results that a run has written, by name."""
    found = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return {name: Result(*result) for name, result in found}


if __name__ == "__main__":
    main()
