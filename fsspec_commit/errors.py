"""The exceptions of the package, grouped by what a handler does next.

    CommitError                      .outcome .job_id .task_id .path .stage
    ├── RequestError (ValueError)    the call is wrong, nothing was touched      .kind
    │   ├── UnsafeStoreError         no committer is safe here; says what is missing
    │   └── UnknownProtocolError     no adapter for this URL
    ├── ConflictError                somebody else's output stands
    │   ├── DestinationExistsError (FileExistsError)
    │   ├── ConcurrentJobError       another job holds these partitions          .other_job_id
    │   └── JobNotActiveError        somebody else settled this job: read .outcome
    ├── CommitFailedError            failed before the decision: read .outcome; retry the job
    ├── PartialCommitError           decided, unfinished: resume, delete nothing .done .remaining
    ├── CommitStateUnknownError      it may have happened; resume, delete nothing
    ├── SnapshotUnstableError        (reading) too many jobs came and went
    ├── RecordError (ValueError)     a record on the store is torn, hostile or misplaced
    │   └── NewerVersionError        a newer version of this library wrote it
    └── StoreError (OSError)         one request to a store failed               .reply

Only ``outcome == "not_committed"`` permits cleaning up or running the job again. Every class
pickles with all its attributes, because executors send them to drivers. Misuse of an object (calls
in the wrong order, second use, pickling) raises ``RuntimeError`` or ``TypeError`` instead.
"""

from collections.abc import Callable, Coroutine
from enum import Enum
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Outcome: TypeAlias = Literal["not_committed", "committed", "partial", "unknown"]
Stage: TypeAlias = Literal[
    "select",
    "start",
    "open",
    "write",
    "commit_task",
    "check",
    "claim",
    "prepare",
    "decide",
    "publish",
    "replace",
    "finish",
    "retire",
    "abort",
    "resume",
    "clean",
    "read",
]
"""The steps of the protocol, in the order of a job's life; then those of other callers."""


class Reply(Enum):
    """What is known of the effect of a request that failed."""

    NOT_DONE = "not done"
    """Certainly without effect, and worth sending again: throttled, or never sent."""
    REFUSED = "refused"
    """Certainly without effect *if the request was sent once*, and repeating it cannot help."""
    UNKNOWN = "unknown"
    """Timeout, reset, 5xx: it may have happened, or may still happen."""


class CommitError(Exception):
    """The base class of everything that a job, a task or an operation raises about a commit.

    Attributes:
        outcome: What became of the job: ``"not_committed"``, ``"committed"``, ``"partial"`` or
            ``"unknown"``. Only ``"not_committed"`` permits cleaning up.
        job_id: The job concerned, if one is known.
        task_id: The task concerned, if one is known.
        path: The file or record concerned, if one is known.
        stage: The step of the protocol that failed, a word of ``Stage``, if one did.
    """

    default_outcome: Outcome = "not_committed"

    def __init__(
        self,
        message: str,
        *,
        outcome: Outcome | None = None,
        job_id: str | None = None,
        task_id: int | None = None,
        path: str | None = None,
        stage: Stage | None = None,
    ) -> None:
        super().__init__(_printable(message))
        self.outcome: Outcome = outcome or self.default_outcome
        self.job_id = job_id
        self.task_id = task_id
        self.path = path
        self.stage: Stage | None = stage

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[Any, ...]:
        state = dict(self.__dict__)
        if isinstance(self, OSError):
            state["errno"] = self.errno  # an OSError keeps it outside of __dict__
        return _rebuild, (type(self), self.args, state)


_MESSAGE_MAX = 4000
_END_MAX = 1000


def _printable(message: str) -> str:
    """A message on one line, without control characters, and not longer than one can read.

    It may quote a record that anybody could have written: control characters could steer a
    terminal or forge a line of a log. What it quotes may be long; what to do now stands at its end.
    """
    if len(message) > _MESSAGE_MAX:
        begin, end = message[: _MESSAGE_MAX - _END_MAX], message[-_END_MAX:]
        message = f"{begin} … {end}"
    if message.isprintable():
        return message
    line = " ".join(message.split())
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in line)


def _rebuild(
    kind: type[CommitError], args: tuple[object, ...], state: dict[str, object]
) -> CommitError:
    error = kind.__new__(kind, *args)
    error.args = args
    for name, value in state.items():
        setattr(error, name, value)
    return error


_OUTCOMES_OF_KINDS: dict[str, Outcome] = {
    "not_decided": "unknown",
    "not_damaged": "unknown",
    "committed": "partial",
    "perhaps_committed": "unknown",
    "newer_version": "unknown",
}
"""The outcomes of requests to settle a job that its driver may still commit, or has committed."""


class RequestError(CommitError, ValueError):
    """The call is wrong or cannot be carried out as it was made; nothing was changed.

    Its outcome is ``"not_committed"``, except for a job that cannot be settled as requested.

    Attributes:
        kind: A stable code such as ``"missing_tasks"`` or ``"duplicate_file"``; new codes may
            appear in any release, existing ones keep their meaning.
    """

    def __init__(self, message: str, *, kind: str = "invalid_request", **where: Any) -> None:
        super().__init__(message, **where)
        self.kind = kind
        self.outcome = _OUTCOMES_OF_KINDS.get(kind, self.outcome)


class UnsafeStoreError(RequestError):
    """No committer is safe on this store, or the requested one is not."""

    def __init__(self, message: str, *, kind: str = "unsafe_store", **where: Any) -> None:
        super().__init__(message, kind=kind, **where)


class UnknownProtocolError(RequestError):
    """No adapter serves this kind of URL or filesystem."""

    def __init__(self, message: str, *, kind: str = "unknown_protocol", **where: Any) -> None:
        super().__init__(message, kind=kind, **where)


class ConflictError(CommitError):
    """Somebody else's output stands; nothing of this job is visible."""


class DestinationExistsError(ConflictError, FileExistsError):
    """The mode forbids writing to a destination that holds data."""


class ConcurrentJobError(ConflictError):
    """Another job on the same partitions came first and did not end in time.

    This job's claim was withdrawn and it stays open: ``commit()`` may be called again.

    Attributes:
        other_job_id: The job that holds the partitions.
    """

    def __init__(self, message: str, *, other_job_id: str | None = None, **where: Any) -> None:
        super().__init__(message, **where)
        self.other_job_id = other_job_id


class JobNotActiveError(ConflictError):
    """This very job was settled by somebody else.

    ``outcome`` is ``"committed"`` if a resumer or another driver has committed it, or there is
    nothing left to resume; ``"not_committed"`` if it was aborted, which is also how an older job
    fences this one; and ``"unknown"`` if it is over and nothing on the store shows how it ended:
    look at the destination before you run it again.
    """


class CommitFailedError(CommitError):
    """The commit failed before its decision, and nothing is visible: abort, or commit again.

    If ``outcome`` is ``"unknown"``, an earlier ``commit()``, or somebody else, may have decided the
    job, and the store did not say: call ``commit()`` again or ``resume``, which read before they
    act.
    """


class PartialCommitError(CommitError):
    """The job is decided but not finished: readers may see a part of it.

    Attributes:
        done: How many files are in place, if they were counted.
        remaining: How many files are not yet in place, if they were counted.
    """

    default_outcome: Outcome = "partial"

    def __init__(
        self, message: str, *, done: int | None = None, remaining: int | None = None, **where: Any
    ) -> None:
        super().__init__(message, **where)
        self.done = done
        self.remaining = remaining


class CommitStateUnknownError(CommitError):
    """The store did not say whether a change happened, and could not be asked afterwards.

    Do not delete anything and do not run the job again: resume it, which reads before it acts.
    """

    default_outcome: Outcome = "unknown"


class SnapshotUnstableError(CommitError):
    """Too many jobs came and went while the destination was listed; ask again."""


class RecordError(CommitError, ValueError):
    """A record on the store is torn, hostile or misplaced, or :class:`NewerVersionError`.

    Such a record is never acted on. What became of its job is left open; the job that came across
    it has committed nothing, if it has not decided yet.
    """

    default_outcome: Outcome = "unknown"


class NewerVersionError(RecordError):
    """A newer version of this library has written a record, in a form that this one cannot read.

    Nothing is wrong with it: settle its job with that version. This one neither finishes, aborts
    nor removes the job, not even as a damaged one.
    """


class StoreError(CommitError, OSError):
    """One request to a store failed; raised by adapters, from the store's own status and code.

    Attributes:
        reply: What is known of the request's effect.
        retry_after_s: How long the store asked callers to wait, if it did.
        is_overload: Whether the answer was that too much is asked of the store, or of something on
            the way to it: fewer calls are in flight then. Such an answer may leave the effect open
            or not; a limit on a single name is not an overload. If nothing is passed, exactly the
            answers that are ``Reply.NOT_DONE`` count as overload.
        can_go_on: Whether a writer has lost nothing: ``write(b"")`` or ``finish()`` continues where
            it stopped, and asks the store what has arrived before it sends anything again.
    """

    def __init__(
        self,
        message: str,
        *,
        reply: Reply = Reply.UNKNOWN,
        retry_after_s: float | None = None,
        is_overload: bool | None = None,
        can_go_on: bool = False,
        **where: Any,
    ) -> None:
        super().__init__(message, **where)
        self.reply = reply
        self.retry_after_s = retry_after_s
        self.is_overload = reply is Reply.NOT_DONE if is_overload is None else is_overload
        self.can_go_on = can_go_on


def failing_as(
    kind: type[CommitError], stage: Stage
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]:
    """Make a phase of the protocol raise *kind* for every failure of the store in it.

    The phase decides the outcome, not the call: before the decision an unanswered request is
    harmless (``CommitFailedError``), after it the job must be finished (``PartialCommitError``).
    Errors that say what became of the job pass unchanged; but after the decision, not those that
    call the job uncommitted, or over. A ``RecordError`` passes before the decision, with the
    outcome of *kind*. An exception that is not a :class:`CommitError`, a bug in an adapter or here,
    is treated as a failure of the store.
    """

    def decorate(
        phase: Callable[P, Coroutine[Any, Any, T]],
    ) -> Callable[P, Coroutine[Any, Any, T]]:
        @wraps(phase)
        async def run(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return await phase(*args, **kwargs)
            except CommitError as error:
                if isinstance(error, RecordError) and kind is not PartialCommitError:
                    error.outcome = kind.default_outcome
                    raise
                if isinstance(error, kind) or _names_its_outcome(error, kind):
                    raise
                raise _left_open(kind, stage, error, str(error)) from error
            except Exception as error:
                raise _left_open(kind, stage, error, _unforeseen(error)) from error

        return run

    return decorate


def unforeseen_as(
    kind: type[CommitError], stage: Stage
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]:
    """Make a step raise *kind* for every exception except :class:`CommitError`, which passes."""

    def decorate(
        step: Callable[P, Coroutine[Any, Any, T]],
    ) -> Callable[P, Coroutine[Any, Any, T]]:
        @wraps(step)
        async def run(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return await step(*args, **kwargs)
            except CommitError:
                raise
            except Exception as error:
                raise _left_open(kind, stage, error, _unforeseen(error)) from error

        return run

    return decorate


def _names_its_outcome(error: CommitError, kind: type[CommitError]) -> bool:
    if kind is PartialCommitError:
        return error.outcome in {"committed", "partial"}
    return not isinstance(error, StoreError | CommitStateUnknownError | RecordError)


def _left_open(
    kind: type[CommitError], stage: Stage, error: Exception, message: str
) -> CommitError:
    return kind(
        message,
        job_id=getattr(error, "job_id", None),
        task_id=getattr(error, "task_id", None),
        path=getattr(error, "path", None),
        stage=getattr(error, "stage", None) or stage,
    )


def _unforeseen(error: Exception) -> str:
    # Its text is not repeated: it may hold a secret.
    return f"an unexpected {type(error).__name__} was raised, which is the cause of this"
