"""What a job commit takes and asks, as a law whose letters are counted or measured.

`T = k·L + max(n/R, n·L/C) + N·c`: k calls one after the other, each of which takes L; n calls that
may be in flight together, C at a time, of which the store takes R a second; and c of a core for
each of N files. n is what the commit asks besides its fixed calls: nearly N, and exactly
`per_file·N + per_task·tasks`. Nothing here measures: `bench_cost_law.py` does, `cost_figures.py`
holds what it found, `prices.py` says what requests cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.benchmarks.commit_jobs import Limits

# By tasks, and files of each. A third task, and two more files, tell what either adds.
FITTED_SHAPES = ((1, 1), (1, 3), (3, 1))
CHECKED_SHAPE = (5, 7)


@dataclass(frozen=True)
class Line:
    """A number of requests that grows with a job: so many besides, a task, and a file."""

    besides: int
    per_task: int
    per_file: int

    def at(self, tasks: int, files: int) -> int:
        """Of a job of so many tasks, and files of all tasks together."""
        return self.besides + self.per_task * tasks + self.per_file * files


@dataclass(frozen=True)
class Counted:
    """The requests of one job, by operation.

    Attributes:
        tasks: How many it has.
        files: Of all of them together.
        requests: How often the server was asked for each operation.
    """

    tasks: int
    files: int
    requests: Mapping[str, int]


@dataclass(frozen=True)
class Requests:
    """What jobs of one kind ask of a store, by operation."""

    lines: Mapping[str, Line]

    @classmethod
    def through(cls, counted: Sequence[Counted]) -> Self:
        """The lines through three jobs, whose shapes are `FITTED_SHAPES`.

        Raises:
            ValueError: these are no lines of whole numbers, or the shapes are others.
        """
        shapes = tuple((one.tasks, one.files // one.tasks) for one in counted)
        if shapes != FITTED_SHAPES:
            raise ValueError(f"jobs of the shapes {FITTED_SHAPES} are needed, not {shapes}")
        operations = sorted({name for one in counted for name in one.requests})
        return cls(
            {
                name: _line([one.requests.get(name, 0) for one in counted], name)
                for name in operations
            }
        )

    def of(self, tasks: int, files: int) -> Counter[str]:
        """The requests of a job, in which every listing has one page."""
        return Counter({name: line.at(tasks, files) for name, line in self.lines.items()})

    def total(self) -> Line:
        """Those of all operations together."""
        lines = self.lines.values()
        return Line(
            sum(line.besides for line in lines),
            sum(line.per_task for line in lines),
            sum(line.per_file for line in lines),
        )

    def __add__(self, other: Self) -> Self:
        """What jobs ask that do the one, then the other."""
        none = Line(0, 0, 0)
        names = sorted({*self.lines, *other.lines})
        pairs = ((name, self.lines.get(name, none), other.lines.get(name, none)) for name in names)
        return type(self)(
            {
                name: Line(
                    one.besides + two.besides,
                    one.per_task + two.per_task,
                    one.per_file + two.per_file,
                )
                for name, one, two in pairs
            }
        )


def _line(found: Sequence[int], name: str) -> Line:
    first, of_more_files, of_more_tasks = found
    # Two files more in the same task; then two tasks more for as many files.
    per_file, per_task = (of_more_files - first) / 2, (of_more_tasks - of_more_files) / 2
    line = Line(int(first - per_task - per_file), int(per_task), int(per_file))
    if (per_file, per_task) != (line.per_file, line.per_task):
        raise ValueError(f"{name}: {list(found)} is no line of whole numbers")
    return line


@dataclass(frozen=True)
class Law:
    """How long our job commits on one store take.

    Attributes:
        steps: k, the calls that are made one after the other.
        cpu_s_per_file: c, what a file takes of the driver's core.
        requests: Of the commit alone.
        files_per_task: Of the jobs that c was measured with, and that are spoken of.
    """

    steps: int
    cpu_s_per_file: float
    requests: Requests
    files_per_task: int

    def tasks(self, files: int) -> int:
        return max(1, files // self.files_per_task)

    def together(self, files: int) -> int:
        """n: the calls that may be in flight at once."""
        line = self.requests.total()
        return line.at(self.tasks(files), files) - line.besides

    def waiting_s(self, files: int, place: Limits) -> float:
        """What the store takes, whoever asks: the first two terms."""
        return place.bound_s(self.together(files), steps=self.steps)

    def seconds(self, files: int, place: Limits) -> float:
        """T: a driver that does nothing while it waits takes no longer."""
        return self.waiting_s(files, place) + files * self.cpu_s_per_file

    def overlapped_s(self, files: int, place: Limits) -> float:
        """What is left of T if the driver works all the time that it waits for files."""
        cpu_s = files * self.cpu_s_per_file
        return max(self.waiting_s(files, place), self.steps * place.latency_s + cpu_s)


@dataclass(frozen=True)
class Slope:
    """A time that grows evenly: so many seconds besides, and for each file."""

    besides_s: float
    s_per_file: float

    @classmethod
    def through(cls, times_s: Iterable[tuple[int, float]]) -> Self:
        """The line through the first and the last of some pairs of files and seconds.

        Raises:
            ValueError: they are of one size.
        """
        first, *_, last = times_s
        if first[0] == last[0]:
            raise ValueError("two sizes are needed")
        s_per_file = (last[1] - first[1]) / (last[0] - first[0])
        return cls(first[1] - first[0] * s_per_file, s_per_file)

    def seconds(self, files: int) -> float:
        """Of so many files; what comes besides is never less than nothing."""
        return max(0.0, self.besides_s) + files * self.s_per_file


def steps_by_slope(times_s: Iterable[tuple[float, float]]) -> float:
    """k once more, from what a commit of one file takes at several latencies.

    The steepness of the line between neighbours, each pair counted alike.
    """
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(sorted(times_s))]
    return sum(slopes) / len(slopes)
