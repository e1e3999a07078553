"""Jobs and tasks of one process, one after the other: each begins with the last one's client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec_commit as fc
from fsspec_commit import client_pool
from fsspec_commit.testing import assert_committed, assert_no_leftovers
from tests.scenes.costs import ONE_FILE, requests_of
from tests.scenes.remotes import on

if TYPE_CHECKING:
    from tests.scenes.places import RemotePlace
    from tests.scenes.remotes import Remote
    from tests.servers.proxy import FaultProxy

ROOT = Path(__file__).parents[2]
FACTS = {
    "ministack": "GetBucketVersioning",
    "strict-gcs": "buckets.get",
    "gen2": "container.properties",
}
"""What asks for the facts by which a committer is chosen."""
on_each = on("ministack", "strict-gcs", "gen2")


def job_of_one_file(place: RemotePlace, proxy: FaultProxy, **options: Any) -> Counter[str]:
    """How many requests of each kind it sends."""
    writing, commit = requests_of(place, proxy, ONE_FILE, concurrency=1, **options)
    return Counter(one.operation for one in (*writing, *commit))


def task_elsewhere(spec: fc.JobSpec, task_id: int, options: dict[str, Any]) -> fc.TaskCommit:
    task = fc.Task.from_spec(spec, task_id, storage_options=options)
    with task, task.open("part.txt", "w") as file:
        file.write("x")
    return task.message


@on_each
def test_a_second_job_connects_no_more_and_asks_as_much(remote: Remote, proxy: FaultProxy) -> None:
    """Also what is known of the bucket is asked again: a job goes by what held when it began."""
    place = remote.place(proxy=proxy)
    job_of_one_file(place, proxy)  # The first asks the account for its kind, or probes.
    assert client_pool.kept() == 1
    connections, second = proxy.connections, job_of_one_file(place, proxy)
    assert job_of_one_file(place, proxy) == second
    other = remote.place("other", proxy=proxy)
    job_of_one_file(other, proxy)
    assert (proxy.connections, client_pool.kept()) == (connections, 1)
    # What a job is asked about is asked of the store each time.
    assert second[FACTS[remote.name]] == 1, second


@on_each
def test_tasks_of_a_worker_one_after_the_other_have_one_client(
    remote: Remote, proxy: FaultProxy
) -> None:
    """As those that Spark runs in one Python process."""
    place = remote.place(proxy=proxy)
    options: dict[str, Any] = dict(place.how["storage_options"])
    with fc.Job(place.url, mode="append", concurrency=1, **place.how) as job:
        messages = [task_elsewhere(job.spec, 0, options)]
        connections = proxy.connections
        messages += [task_elsewhere(job.spec, number, options) for number in range(1, 5)]
        assert proxy.connections == connections
        job.commit(messages)
    assert client_pool.kept() == 2
    assert_committed(place.url, file_count=5, **place.how)


@on_each
def test_threads_have_one_client_each(remote: Remote) -> None:
    place = remote.place()
    options: dict[str, Any] = dict(place.how["storage_options"])
    with fc.Job(place.url, mode="append", **place.how) as job, ThreadPoolExecutor(4) as threads:
        ran = threads.map(lambda number: task_elsewhere(job.spec, number, options), range(12))
        job.commit(list(ran))
    assert 1 <= client_pool.kept() <= 5
    assert_committed(place.url, file_count=12, **place.how)


@on_each
def test_what_a_server_has_closed_meanwhile_sends_nothing_twice(
    remote: Remote, proxy: FaultProxy
) -> None:
    place = remote.place(proxy=proxy)
    job_of_one_file(place, proxy)
    second = job_of_one_file(place, proxy)
    proxy.drop()
    connections = proxy.connections
    assert job_of_one_file(place, proxy) == second
    assert proxy.connections > connections
    assert_committed(place.url, file_count=3, **place.how)
    assert_no_leftovers(place.url, **place.how)


@on_each
def test_a_forked_child_makes_its_own_and_leaves_the_parent_s_alone(remote: Remote) -> None:
    """However it ends, and though both would find the same client."""
    place = remote.place()
    program = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-m"]
    done = subprocess.run(
        [
            *(*program, "tests.integration.forking_between_jobs", place.url),
            json.dumps(dict(place.how["storage_options"])),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'stores'}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout.split(), done.returncode, done.stderr) == (
        ["child", "parent", "child", "parent", "same"],
        0,
        "",
    )
    assert_committed(place.url, file_count=5, **place.how)
    assert_no_leftovers(place.url, **place.how)
