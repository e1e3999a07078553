"""Everybody who tells of the jobs at a destination: functions, and commands."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from itertools import cycle
from typing import TYPE_CHECKING, Any

import fsspec_commit as fc
from fsspec_commit.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pytest

    from tests.integration.canaries import Ears

COMMANDS = (
    ["jobs"],
    ["show"],
    ["verify"],
    ["ls"],
    ["explain"],
    ["clean", "--older-than", "0s"],
    ["resume"],
    ["abort"],
)


def tell(
    url: str, options: Mapping[str, Any], ears: Ears, capsys: pytest.CaptureFixture[str]
) -> None:
    """Have everybody tell of the jobs there, and settle them."""
    how: dict[str, Any] = {"storage_options": options}
    given = [
        f"--storage-option={name}={text}" for name, text in options.items() if text == f"{text}"
    ]
    found = fc.jobs(url, **how)
    ids = [job.job_id for job in found]
    for (command, *more), form in zip(COMMANDS, cycle(("--json", "--debug")), strict=False):
        of_job = ids[:1] if command in {"resume", "abort"} else []
        with suppress(SystemExit):
            main([command, url, *of_job, *given, *more, form])
        ears.heard(f"{command} {form}", *capsys.readouterr())
    asked: list[Callable[[], object]] = [
        lambda: fc.committed_files(url, **how),
        lambda: fc.verify(url, **how),
        lambda: fc.hadoop_jobs(url, **how),
        lambda: fc.clean(url, older_than=timedelta(0), dry_run=False, **how),
        *(lambda job_id=job_id: fc.resume(url, job_id, **how) for job_id in ids),
        *(lambda job_id=job_id: fc.abort(url, job_id, **how) for job_id in ids),
    ]
    for ask in asked:
        try:
            ears.heard("answer", ask())
        except fc.CommitError as error:
            ears.failed("refused", error)
