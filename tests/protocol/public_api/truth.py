"""What must stand at a destination after each call of its users: plain sets and bytes.

No code is shared with the library. Of its records three are read, as the invariants do: whether
``job.json`` and ``published`` stand, and which attempts ``decision`` names.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tests.protocol.invariants import AREA, is_visible, model, raw_visible, state_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

OVERWRITES = {"overwrite", "overwrite_partitions"}


@dataclass(eq=False)
class KnownJob:
    """One job, as its users know it.

    Attributes:
        attempts: What each attempt writes, by its id: a task, and files under the names that they
            get.
        passed: Each choice of attempts that a driver has passed in, or may have.
        told_not: Somebody was told after the last call that it is not committed.
    """

    job_id: str
    mode: str
    declared: tuple[str, ...] = ()
    is_collected: bool = False
    key: str | None = None
    attempts: dict[str, tuple[int, dict[str, bytes]]] = field(default_factory=dict)
    passed: list[frozenset[str]] = field(default_factory=list)
    state: Literal["undecided", "committed", "aborted"] = "undecided"
    new: dict[str, bytes] = field(default_factory=dict)
    replaced: dict[str, bytes] = field(default_factory=dict)
    is_published: bool = False
    is_over: bool = False
    told_not: bool = False

    def has_files(self, attempt_id: str) -> bool:
        """Whether an attempt writes any: one without may be chosen, and nothing shows it."""
        return bool(self.attempts[attempt_id][1])


class Truth:
    """The jobs of one destination, and what they make of it.

    Args:
        old: The files that stand there before.

    Attributes:
        serial: The visible files, had each decided job happened at once.
    """

    def __init__(self, old: Mapping[str, bytes]) -> None:
        self.jobs: list[KnownJob] = []
        self.serial = dict(old)
        self._shown = set(old)

    @property
    def has_data(self) -> bool:
        """Whether there may be files that a reader would take for data."""
        return bool(self.serial or self._shown or self.unfinished)

    @property
    def unfinished(self) -> list[KnownJob]:
        """Jobs that are decided and not over."""
        return [job for job in self.jobs if job.state == "committed" and not job.is_over]

    def has_committed(self, key: str | None) -> bool:
        """Whether a job of this key has."""
        return key is not None and any(
            job.key == key and job.state == "committed" for job in self.jobs
        )

    def written_by_others(self, files: Mapping[str, bytes]) -> None:
        """Somebody who knows nothing of jobs has added *files*."""
        self.serial.update(files)
        self._shown.update(files)

    def look(self, snapshot: Mapping[str, bytes]) -> None:
        """Learn from the records what has become of the jobs."""
        for job in self.jobs:
            found = state_of(snapshot, job.job_id)
            if job.is_over:
                assert found == "over", f"P6: {job.job_id} is over, and begins again: {found}"
                continue
            if job.state == "undecided" and self._is_committed(job, found, snapshot):
                assert not job.told_not, f"P7: {job.job_id} was said not to be committed, and is"
                self._decide(job, snapshot)
            elif job.state == "undecided" and found in {"aborted", "over"}:
                job.state = "aborted"
            assert job.state != "aborted" or found in {"aborted", "over"}, f"P5: {job.job_id}"
            assert job.state != "committed" or found != "aborted", f"P7: {job.job_id}"
            if found in {"published", "over"} and job.state == "committed" and not job.is_published:
                job.is_published = True
                self._shown = (self._shown - job.replaced.keys()) | job.new.keys()
            job.is_over = found == "over"

    def check(self, snapshot: Mapping[str, bytes]) -> None:
        """Check what a reader who lists finds."""
        there, unfinished = raw_visible(snapshot), self.unfinished
        if not unfinished:
            assert there == self.serial, f"P1 P2: {_differences(there, self.serial)}"
        for name, data in self.serial.items():
            coming = any(job.new.get(name) == data for job in unfinished if not job.is_published)
            assert there.get(name) == data or coming, f"P1 P9: {name!r} is gone, or another"
        for name, data in there.items():
            going = any(job.replaced.get(name) == data for job in unfinished)
            assert self.serial.get(name) == data or going, f"P2: {name!r} with {data!r} is nobody's"
        for job in unfinished:
            for name, data in job.replaced.items() if not job.is_published else ():
                in_place = name in job.new and there.get(name) == job.new[name]
                assert there.get(name) == data or in_place, f"P9: {name!r} goes too early"

    def is_shown(self, names: Iterable[str]) -> bool:
        """Whether a reader who asks is told of whole jobs: of those that are published."""
        return set(names) == {name for name in self._shown if is_visible(name)}

    def _is_committed(self, job: KnownJob, found: str, snapshot: Mapping[str, bytes]) -> bool:
        if found != "over":
            return found in {"decided", "published"}
        written = (files for _, files in job.attempts.values())
        return any(snapshot.get(name) == data for files in written for name, data in files.items())

    def _decide(self, job: KnownJob, snapshot: Mapping[str, bytes]) -> None:
        chosen = self._chosen(job, snapshot)
        tasks = [job.attempts[attempt_id][0] for attempt_id in chosen]
        assert len(set(tasks)) == len(tasks), f"P2: two attempts of one task: {chosen}"
        passed = {frozenset(filter(job.has_files, choice)) for choice in job.passed}
        assert job.is_collected or chosen in passed, f"P3: {chosen}, of {passed}"
        for other in self.jobs:
            same = other is not job and job.key is not None and other.key == job.key
            assert not (same and other.state == "committed"), "P7: two jobs of one key"
        for attempt_id in chosen:
            job.new.update(job.attempts[attempt_id][1])
        before = self.serial
        assert job.mode in {"append", *OVERWRITES} or not before, "P11: beside data"
        assert job.mode in OVERWRITES or not job.new.keys() & before.keys(), "P9: over files"
        job.state, self.serial = "committed", model(before, job.new, job.mode, job.declared)
        job.replaced = {n: data for n, data in before.items() if self.serial.get(n) != data}

    def _chosen(self, job: KnownJob, snapshot: Mapping[str, bytes]) -> frozenset[str]:
        """Those with files: by the decision, or, if that is gone again, by what stands there."""
        decision = snapshot.get(f"{AREA}{job.job_id}/decision")
        if decision is not None:
            ids = (one["attempt_id"] for one in json.loads(decision)["chosen"])
            return frozenset(filter(job.has_files, ids))
        return frozenset(
            attempt_id
            for attempt_id, (_, files) in job.attempts.items()
            if any(snapshot.get(name) == data for name, data in files.items())
        )


def _differences(there: Mapping[str, bytes], expected: Mapping[str, bytes]) -> str:
    missing = sorted(name for name in expected if there.get(name) != expected[name])
    surplus = sorted(name for name in there if expected.get(name) != there[name])
    return f"{missing=}, {surplus=}"
