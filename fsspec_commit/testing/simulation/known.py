"""What the model knows of a job."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf

from fsspec_commit.testing.simulation.bucket import Change
from fsspec_commit.testing.simulation.plan import JobPlan

Chosen = frozenset[tuple[int, str]]
"""Tasks, each with the id of its attempt."""


@dataclass
class KnownJob:
    """One job, as far as it has come.

    Attributes:
        spec: Where its ``job.json`` stands.
        spelled_twice: The attempts that write two names that the store takes for one.
        claims: When each of its claims was written; ``claimed_at_s`` is that of its decision.
        begun_at_s: When its ``job.json`` first stood.
        was_away: Whether its area has been elsewhere, or gone: a process that looked may have
            missed it.
        is_over: Whether its ``job.json`` is gone for good: nothing of it happens any more.
        ended_by: Who was the last to remove ``job.json`` from where it stood.
        was_done: Whether it had done all at a moment when ``job.json`` left its place.
        undone: What it had not done then, and which promises that breaks if ``job.json`` is not put
            back.
        too_late: Its decision and manifests that stand, by path; and whether each was written when
            the job was over, by a request that had been given up.
    """

    job_id: str
    plan: JobPlan
    attempts: dict[str, tuple[int, dict[str, bytes]]] = field(default_factory=dict)
    spelled_twice: set[str] = field(default_factory=set)
    passed: dict[str, list[Chosen]] = field(default_factory=dict)
    state: str = "undecided"
    decided_by: str = ""
    sent_at_s: float = 0.0
    decided_at_s: float = 0.0
    claimed_at_s: float = 0.0
    claims: dict[str, float] = field(default_factory=dict)
    new: dict[str, bytes] = field(default_factory=dict)
    replaced: dict[str, bytes] = field(default_factory=dict)
    pointers: dict[int, str] = field(default_factory=dict)
    spec: set[str] = field(default_factory=set)
    begun_at_s: float = inf
    was_away: bool = False
    is_published: bool = False
    is_over: bool = False
    ended_by: str = ""
    was_done: bool = False
    undone: tuple[tuple[str, str], ...] = ()
    is_given_up: bool = False
    too_late: dict[str, bool] = field(default_factory=dict)

    def attempted(
        self, task: int, attempt_id: str, names: list[str], contents: Iterable[bytes]
    ) -> None:
        """An attempt will write files of these *names*, of which two may be one."""
        self.attempts[attempt_id] = task, dict(zip(names, contents, strict=True))
        if len(set(names)) < len(names):
            self.spelled_twice.add(attempt_id)

    def stands_since(self, moment_s: float) -> bool:
        """Whether whoever looks for it finds it, and has found it at any time since *moment_s*."""
        return self.begun_at_s <= moment_s and bool(self.spec) and not self.was_away

    def is_whole(self, actual: Mapping[str, bytes]) -> bool:
        """Whether all of its files are among the *actual* ones."""
        return all(actual.get(name) == data for name, data in self.new.items())

    def left(self, actual: Mapping[str, bytes]) -> list[str]:
        """The old files that it replaces and that are still among the *actual* ones."""
        return sorted(
            name
            for name, data in self.replaced.items()
            if name not in self.new and actual.get(name) == data
        )

    def end_if_gone(self) -> tuple[tuple[str, str], ...]:
        """Note that it is over, if ``job.json`` stands nowhere; return what it has not done."""
        if self.begun_at_s == inf or self.spec:
            return ()
        self.is_over, undone, self.undone = True, self.undone, ()
        return undone

    @property
    def is_in_place(self) -> bool:
        """Whether others find its ``job.json``: while its area is looked into they do not."""
        return any("/void-" not in path for path in self.spec)

    @property
    def looks_damaged(self) -> bool:
        """Whether requests that came too late have left a decision and manifests, and nothing else.

        Nobody can tell that from a job whose ``job.json`` was lost before its files were in place:
        a person has to say that they are given up. If the job was not over, a decision or a
        manifest that stands without ``job.json`` is a bug.
        """
        decided = any(path.endswith("/decision") for path in self.too_late)
        return self.is_over and decided and all(self.too_late.values())

    def note_standing(self, change: Change) -> None:
        """Note whether a decision or a manifest was written when the job was over."""
        if change.after is None:
            self.too_late.pop(change.path, None)
        elif change.before is None:
            self.too_late[change.path] = self.is_over
