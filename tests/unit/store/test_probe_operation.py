"""``probe(url)``: a report of what is different, and nothing touched."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Self

import pytest

import fsspec_commit as fc
from fsspec_commit.layout import StorePath
from fsspec_commit.store import OpenOptions, registry
from fsspec_commit.store.probe import ProbeReport
from tests.unit.store.liars import Overwriting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class OverwritingByUrl(Overwriting):
    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        return cls(StorePath(f"/{url.partition('://')[2]}"))


@pytest.fixture
def lying() -> Iterator[str]:
    registry.register("lying", OverwritingByUrl)
    yield "lying"
    del registry._registered["lying"]


class TestOperation:
    def test_it_reports(self, tmp_path: Path) -> None:
        report = fc.probe(tmp_path / "out")
        assert report.ok
        assert report
        assert report.destination == str(tmp_path / "out")
        assert report.differences == ()
        assert repr(report) == f"<ProbeReport of {tmp_path}/out: ok, 5 facts probed>"
        assert pickle.loads(pickle.dumps(report)) == report
        assert [path.name for path in tmp_path.rglob("*")] == ["out", "_commit"]

    def test_it_touches_no_data(self, tmp_path: Path) -> None:
        with fc.Job(tmp_path, mode="append") as job, job.task() as task:
            task.open("a.txt").close()
        before = {path: path.stat() for path in tmp_path.rglob("*") if path.is_file()}
        assert fc.probe(str(tmp_path)).ok
        assert {path: path.stat() for path in tmp_path.rglob("*") if path.is_file()} == before

    def test_it_says_what_is_different(self, lying: str) -> None:
        report = fc.probe(f"{lying}://x")
        assert not report.ok
        assert not report, "an assertion of all of it would assert nothing"
        assert report.differences == ("exclusive_create: declared True, observed False",)
        assert repr(report) == (
            "<ProbeReport of lying://x: not ok, exclusive_create: declared True, observed False>"
        )

    def test_it_is_exported(self) -> None:
        assert fc.ProbeReport is ProbeReport
