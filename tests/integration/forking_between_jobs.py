"""A program that forks while a client is kept: arguments are a destination and storage options.

Run by `test_kept_clients.py`. Children run a job of their own, and end as any program does or at
once; after each the parent runs one, with the connection that it had before.
"""

import json
import os
import sys

import fsspec_commit as fc
from fsspec_commit import client_pool
from fsspec_commit.sync import bridge


def job(who: str) -> None:
    """Commit one file; when that has returned, nothing goes on that has the client in use."""
    url, options = sys.argv[1], json.loads(sys.argv[2])
    how = {"storage_options": options, "concurrency": 1, "write_behind": False}
    with (
        fc.Job(url, mode="append", **how) as job,
        job.task() as task,
        task.open("part.txt", "w") as file,
    ):
        file.write(who)


def client() -> object:
    """The one that is kept."""
    (pool,) = client_pool._pools.values()
    ((kept,),) = pool._kept.values()
    return kept.client


def main() -> None:
    """Fork twice."""
    job("first")
    first = client()
    for ends_at_once in (True, False):
        child = os.fork()
        if child == 0:
            assert client_pool.kept() == 0
            job("child")
            print("child", flush=True)
            if ends_at_once:
                os._exit(0)
            raise SystemExit(0)
        _, status = os.waitpid(child, 0)
        assert status == 0, status
        job("parent")
        print("parent", flush=True)
        assert bridge.loop().is_running()
    print("same" if client() is first else "another")


if __name__ == "__main__":
    main()
