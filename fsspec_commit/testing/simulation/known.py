"""What the model knows of a job, and what callers were told."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fsspec_commit.testing.simulation.bucket import Change
from fsspec_commit.testing.simulation.plan import JobPlan

Chosen = frozenset[tuple[int, str]]
"""Tasks, each with the id of its attempt."""


@dataclass(frozen=True)
class Told:
    """What a caller was told.

    Attributes:
        actor: The caller.
        job_id: The job that it asked for.
        call: ``"commit"``, ``"resume"`` or ``"abort"``.
        began_s: When it called.
        at_s: When it was answered.
        answer: ``"returned"``, ``"skipped"``, or the outcome of the error.
        error: The class of the error, if one was raised.
    """

    actor: str
    job_id: str
    call: str
    began_s: float
    at_s: float
    answer: str
    error: str = ""


@dataclass
class KnownJob:
    """One job, as far as it has come.

    Attributes:
        spec: Where its ``job.json`` stands.
        spelled_twice: The attempts that write two names that are one.
        claims: When each of its claims was written; ``claimed_at_s`` is that of its decision.
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
    was_begun: bool = False
    is_published: bool = False
    is_over: bool = False
    is_given_up: bool = False
    too_late: dict[str, bool] = field(default_factory=dict)

    def attempted(
        self, task: int, attempt_id: str, names: list[str], contents: Iterable[bytes]
    ) -> None:
        """An attempt will write files of these *names*, of which two may be one."""
        self.attempts[attempt_id] = task, dict(zip(names, contents, strict=True))
        if len(set(names)) < len(names):
            self.spelled_twice.add(attempt_id)

    @property
    def looks_damaged(self) -> bool:
        """Whether requests that came too late have left a decision and manifests, and nothing else.

        Nobody can tell that from a job whose ``job.json`` was lost before its files were in place:
        a person has to say that they are given up. Of a job that was not over a decision or a
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


def told_otherwise(told: Iterable[Told], job: KnownJob) -> Iterator[tuple[str, str]]:
    """Who was told that *job* would never be committed, which now it is; what that breaks."""
    for other in told:
        if other.job_id != job.job_id:
            continue
        own = other.actor == job.decided_by and other.at_s >= job.sent_at_s
        who, name = f"{other.actor} was told {other.answer}", job.plan.name
        if other.answer == "not_committed" and (own or other.error == "JobNotActiveError"):
            yield "P7", f"{who}, and then {name} decided"
        if (other.call, other.answer) == ("abort", "returned"):
            yield "P5", f"{who}, of its abort of {name}, which is committed"
