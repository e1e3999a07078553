"""A job asks a server for what the lines through three smaller ones foretell, exactly."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks import counted_jobs
from tests.benchmarks.cost_law import Counted, Requests
from tests.benchmarks.slow_servers import slow_gcs, slow_gen2, slow_s3, slow_s3_express

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.benchmarks.cost_figures import CountedJob
    from tests.benchmarks.slow_servers import SlowServer


def check(jobs: tuple[CountedJob, ...], publishes: str) -> None:
    *fitted, checked = jobs
    for part in ("writing", "commit"):
        lines = Requests.through([Counted(j.tasks, j.files, getattr(j, part)) for j in fitted])
        assert dict(+lines.of(checked.tasks, checked.files)) == getattr(checked, part), part
    assert lines.lines[publishes].per_file == lines.total().per_file == 1


@pytest.mark.parametrize("server", [slow_s3, slow_s3_express, slow_gcs, slow_gen2])
def test_on_a_server(server: Callable[[ExitStack], SlowServer]) -> None:
    with ExitStack() as stack:
        slow = server(stack)
        check(counted_jobs.on_server(slow), slow.publishes)


@pytest.mark.parametrize("committer", ["v1", "manifest"])
def test_on_a_disk(tmp_path: Path, committer: str) -> None:
    check(counted_jobs.on_disk(tmp_path, committer), "rename")
