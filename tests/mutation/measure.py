"""Tries mutants of the protocol against the tests: ``python -m tests.mutation.measure --help``."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from pathlib import Path
from zlib import crc32

import pytest

from tests.mutation.mutants import all_mutants
from tests.mutation.trials import Result, Trials

TESTS = (
    "tests/mutation/killers.py",
    "tests/unit/effects",
    "tests/unit/records",
    "tests/unit/test_directory_names.py",
    "tests/unit/test_file_names.py",
    "tests/unit/test_many_partitions.py",
    "tests/unit/test_old_partitions.py",
    "tests/unit/test_streamed_list.py",
    "tests/contract/test_committers.py",
    "tests/contract/test_flat.py",
    "tests/contract/test_local.py",
    "tests/contract/test_memory.py",
    "tests/protocol",
    "tests/integration/test_accept_loss.py",
    "tests/integration/test_adoption.py",
    "tests/integration/test_adoption_on_disks.py",
    "tests/integration/test_files.py",
    "tests/integration/test_forgotten_messages.py",
    "tests/integration/test_messages.py",
    "tests/integration/test_odd_areas.py",
    "tests/integration/test_odd_records.py",
    "tests/integration/test_store_calls.py",
    "tests/integration/test_verify.py",
)
"""What may kill a mutant, if it is quick: tests in memory and on the disk."""
KILLED = {"killed", "hung"}
LEFT_OUT = ("tests/protocol/planted",)
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
    parser.add_argument("--within", type=float, default=1e9, metavar="SECONDS")
    parser.add_argument("--each", type=float, default=20, metavar="SECONDS")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--learnt", type=Path, help="what tests reach, while no source changes")
    parser.add_argument("--tests", nargs="*", default=TESTS)
    parser.add_argument("--to", type=Path, help="a line a result; what is in it is not tried again")
    given = parser.parse_args()
    lines = given.to.read_text().splitlines() if given.to and given.to.exists() else ()
    known = dict(json.loads(line) for line in lines)
    mutants = [
        one
        for one in all_mutants()
        if one.name not in known
        and (not given.names or any(part in one.name for part in given.names))
    ]
    if given.seed is not None:
        mutants.sort(key=lambda one: crc32(f"{given.seed} {one.name}".encode()))
    verdicts = Counter[str]()

    def keep(name: str, result: Result) -> None:
        verdicts[result.verdict] += 1
        if result.verdict not in KILLED:
            print(f"{result.verdict}, {result.run} of {result.of} tests: {name}", flush=True)
        if given.to:
            with given.to.open("a") as file:
                file.write(json.dumps([name, result]) + "\n")

    begin = time.monotonic()
    trials = Trials(
        mutants,
        lambda mutant, result: keep(mutant.name, result),
        workers=given.workers,
        within_s=given.within,
        mutant_max_s=given.each,
        learnt=given.learnt,
    )
    os.environ.setdefault("HYPOTHESIS_PROFILE", "ci")
    ignored = [f"--ignore={path}" for path in LEFT_OUT]
    status = pytest.main([*OPTIONS, *ignored, *given.tests], plugins=[trials])
    if status != pytest.ExitCode.OK:
        raise SystemExit(status)
    print(f"{dict(verdicts)} of {len(mutants)}, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
