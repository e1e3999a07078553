"""When a publisher is asked how many slices it runs at once, and by whom."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

FILES = 4


class Asked:
    """A publisher that notes the threads on which it is asked for its width, and cannot say it."""

    def __init__(self) -> None:
        self.threads: list[str] = []
        self.slices = 0

    @property
    def width(self) -> int:
        self.threads.append(threading.current_thread().name)
        raise ConnectionError

    def map(self, function: Callable[[str], str], texts: Sequence[str], /) -> Iterator[str]:
        self.slices += len(texts)
        return map(function, texts)


@pytest.mark.parametrize(
    ("tasks", "threads"), [(1, []), (2, ["fsspec-commit-publisher-width"])], ids=["small", "large"]
)
def test_p8_the_width_is_asked_for_when_there_is_something_to_spread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tasks: int, threads: list[str]
) -> None:
    """A cluster may be slow to say it, and is not waited for on the loop that all jobs share."""
    monkeypatch.setattr("fsspec_commit.sync.spreading.FILES_MIN", FILES)
    publisher = Asked()
    with fc.Job(tmp_path, mode="append", publisher=publisher) as job:
        for number in range(tasks):
            with job.task(number) as task:
                for name in range(FILES):
                    task.open(f"{name}.txt", "w").close()
    assert job.result.file_count == tasks * FILES
    assert publisher.threads == threads
    assert publisher.slices == (tasks if threads else 0)
