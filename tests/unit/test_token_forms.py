"""Every process of a job tells its store the facts of that job, before it works on it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

import fsspec_commit as fc
from fsspec_commit_stores.memory import MemoryStore

if TYPE_CHECKING:
    from fsspec_commit.store import Capabilities


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Capabilities]:
    told: list[Capabilities] = []
    monkeypatch.setattr(MemoryStore, "go_by", lambda _, facts: told.append(facts))
    return told


def test_driver_and_task_go_by_the_same_facts(told: list[Capabilities]) -> None:
    """Also where the task may ask less of the store than the driver did."""
    url = f"memory://{uuid4().hex}/out"
    job = fc.Job(url, mode="append").start()
    (facts,) = told
    assert facts.unique_tokens is True
    task = fc.Task.from_spec(job.spec, 0)
    with task.open("a", "w") as file:
        file.write("a")
    job.commit([task.commit()])
    assert len(told) == 2
    assert set(map(str, told)) == {str(facts)}
