"""Tasks in other processes, however they are started: spec out, message back."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pickle
import subprocess
import sys
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
import joblib
import pandas as pd
import pytest
from dask.base import compute
from dask.delayed import delayed

import fsspec_commit as fc
from fsspec_commit.testing import assert_committed, assert_no_leftovers
from tests.integration.libraries.rows import FRAME, check_rows, frames_of
from tests.integration.libraries.workers import write, write_or_die
from tests.integration.libraries.written import files_in

if TYPE_CHECKING:
    from collections.abc import Callable

FRAMES = [FRAME[i::3].reset_index(drop=True) for i in range(3)]


def by_pool(method: str) -> Callable[[fc.JobSpec], list[fc.TaskCommit]]:
    def run(spec: fc.JobSpec) -> list[fc.TaskCommit]:
        context = multiprocessing.get_context(method)
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
            return list(pool.map(write, repeat(spec), range(len(FRAMES)), FRAMES))

    return run


def by_multiprocessing(spec: fc.JobSpec) -> list[fc.TaskCommit]:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        messages = pool.starmap(write, zip(repeat(spec), range(len(FRAMES)), FRAMES, strict=False))
        pool.close()
        pool.join()
    return messages


def by_joblib(spec: fc.JobSpec) -> list[fc.TaskCommit]:
    found = joblib.Parallel(n_jobs=2)(
        joblib.delayed(write)(spec, i, frame) for i, frame in enumerate(FRAMES)
    )
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
    return list(found)


def by_dask(scheduler: str) -> Callable[[fc.JobSpec], list[fc.TaskCommit]]:
    def run(spec: fc.JobSpec) -> list[fc.TaskCommit]:
        frames = frames_of(FRAME, npartitions=3).to_delayed()
        tasks = [delayed(write, pure=False)(spec, i, part) for i, part in enumerate(frames)]
        run_all: Any = compute
        with dask.config.set({"scheduler": scheduler, "multiprocessing.context": "spawn"}):
            return list(run_all(*tasks))

    return run


def by_threads(spec: fc.JobSpec) -> list[fc.TaskCommit]:
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return list(pool.map(write, repeat(spec), range(len(FRAMES)), FRAMES))


ELSEWHERE = {
    "concurrent.futures, spawn": by_pool("spawn"),
    "concurrent.futures, fork": by_pool("fork"),
    "multiprocessing": by_multiprocessing,
    "joblib": by_joblib,
    "dask, processes": by_dask("processes"),
    "dask, threads": by_dask("threads"),
    "threads": by_threads,
}


# Python 3.12 warns of fork in a process with threads; that it works here is what is tested.
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("engine", ELSEWHERE)
def test_workers_elsewhere(engine: str, out: Path) -> None:
    with fc.Job(out, mode="append", tasks=len(FRAMES)) as job:
        messages = ELSEWHERE[engine](job.spec)
        result = job.commit(messages)
    assert result.file_count == 3
    check_rows(out)
    assert_committed(str(out), file_count=3)
    assert_no_leftovers(str(out))


def test_a_worker_that_dies_is_run_again(out: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with fc.Job(out, tasks=3) as job:
        messages: dict[int, fc.TaskCommit] = {}
        while len(messages) < 3:
            with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
                try:
                    for i in sorted({0, 1, 2} - messages.keys()):
                        messages[i] = pool.submit(write_or_die, job.spec, i, FRAMES[i]).result()
                except concurrent.futures.process.BrokenProcessPool:
                    assert Path(out).with_name("died").exists()
        result = job.commit(messages.values())
    assert result.file_count == 3
    check_rows(out)
    assert_no_leftovers(str(out))


def test_a_missing_message_is_named(out: Path) -> None:
    with (
        pytest.raises(fc.RequestError, match=r"1 of 3 tasks ha\w+ no message: 1"),
        fc.Job(out, tasks=3) as job,
    ):
        job.commit([write(job.spec, i, FRAMES[i]) for i in (0, 2)])
    assert [name for name in files_in(out) if not name.startswith("_")] == []


def test_slurm(out: Path, tmp_path: Path) -> None:
    spec = fc.Job(out, mode="append", tasks=3, collect="store").start().spec
    spec_file = tmp_path / "spec.json"
    spec_file.write_text(spec.to_json())
    root = Path(__file__).parents[3]
    said = []
    # Task 1 runs twice: the scheduler thought that it was lost.
    for number in ("0", "1", "2", "1"):
        done = subprocess.run(
            [sys.executable, "-m", "tests.integration.libraries.workers", str(spec_file)],
            env={
                **os.environ,
                "SLURM_ARRAY_TASK_ID": number,
                "PYTHONPATH": os.pathsep.join([str(root), *filter(None, sys.path)]),
            },
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(done.stdout.strip())
    assert said == ["True", "True", "True", "False"]
    result = fc.Job.from_spec(fc.JobSpec.from_json(spec_file.read_text())).commit()
    assert result.file_count == 3
    assert sorted(pd.read_parquet(out)["id"]) == [0, 1, 2]
    assert_no_leftovers(str(out))


def test_a_task_sent_to_a_process_is_refused(out: Path) -> None:
    with fc.Job(out, allow_empty=True) as job, job.task() as task:
        for thing in (job, task, task.filesystem):
            with pytest.raises(TypeError, match=r"send job\.spec"):
                pickle.dumps(thing)
        assert pickle.loads(pickle.dumps(job.spec)) == job.spec
        with concurrent.futures.ProcessPoolExecutor(
            1, mp_context=multiprocessing.get_context("spawn")
        ) as pool:
            sent = pool.submit(FRAME.to_parquet, "part.parquet", filesystem=task.filesystem)
            with pytest.raises(TypeError, match=r"send job\.spec"):
                sent.result()
