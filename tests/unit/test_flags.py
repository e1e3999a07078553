"""What only looks like yes or no is refused: ``accept_loss="no"`` would accept the loss."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

import fsspec_commit as fc

if TYPE_CHECKING:
    from pathlib import Path

Operation: TypeAlias = Callable[..., object]

clean = partial(fc.clean, older_than=timedelta(0))


def of_job(operation: Operation) -> Operation:
    return lambda destination, **flags: operation(
        destination, "20260101T000000-" + "0" * 16, **flags
    )


FLAGS: dict[str, tuple[Operation, tuple[str, ...]]] = {
    "jobs": (fc.jobs, ("probe", "single_writer")),
    "hadoop_jobs": (fc.hadoop_jobs, ("probe", "single_writer")),
    "resume": (
        of_job(fc.resume),
        ("accept_loss", "share_secrets", "probe", "single_writer"),
    ),
    "abort": (of_job(fc.abort), ("probe", "single_writer")),
    "clean": (clean, ("dry_run", "accept_loss", "probe", "single_writer")),
    "explain": (fc.explain, ("probe", "single_writer")),
    "probe": (fc.probe, ("single_writer",)),
}


@pytest.mark.parametrize("value", ["no", None, 0])
@pytest.mark.parametrize(
    ("name", "flag"), [(name, flag) for name, (_, flags) in FLAGS.items() for flag in flags]
)
def test_a_flag_that_is_neither_true_nor_false_is_refused(
    tmp_path: Path, name: str, flag: str, value: Any
) -> None:
    job = fc.Job(tmp_path, mode="append").start()
    operation, _ = FLAGS[name]
    with pytest.raises(fc.RequestError, match=f"{flag} is True or False, not {value!r}") as caught:
        operation(tmp_path, **{flag: value})
    assert caught.value.kind == "invalid_option"
    assert [one.state for one in fc.jobs(tmp_path)] == ["open"], "a dry run aborts nothing"
    job.abort()
