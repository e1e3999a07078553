"""The exception tree: its shape, what handlers catch it by, and that all of it travels."""

from __future__ import annotations

import asyncio
import copy
import io
import pickle
from typing import Any

import pytest

from fsspec_commit import errors
from fsspec_commit.errors import (
    CommitError,
    CommitFailedError,
    CommitStateUnknownError,
    ConcurrentJobError,
    ConflictError,
    DestinationExistsError,
    JobNotActiveError,
    NewerVersionError,
    PartialCommitError,
    RecordError,
    Reply,
    RequestError,
    SnapshotUnstableError,
    StoreError,
    UnknownProtocolError,
    UnsafeStoreError,
    failing_as,
    unforeseen_as,
)

TREE = {
    CommitError: (Exception,),
    RequestError: (CommitError, ValueError),
    UnsafeStoreError: (RequestError,),
    UnknownProtocolError: (RequestError,),
    ConflictError: (CommitError,),
    DestinationExistsError: (ConflictError, FileExistsError),
    ConcurrentJobError: (ConflictError,),
    JobNotActiveError: (ConflictError,),
    CommitFailedError: (CommitError,),
    PartialCommitError: (CommitError,),
    CommitStateUnknownError: (CommitError,),
    SnapshotUnstableError: (CommitError,),
    RecordError: (CommitError, ValueError),
    NewerVersionError: (RecordError,),
    StoreError: (CommitError, OSError),
}
OUTCOMES = dict.fromkeys(TREE, "not_committed") | {
    PartialCommitError: "partial",
    CommitStateUnknownError: "unknown",
    RecordError: "unknown",
    NewerVersionError: "unknown",
}
WHERE: dict[str, Any] = {"job_id": "j", "task_id": 3, "path": "a/b", "stage": "publish"}
OWN: dict[type[CommitError], dict[str, Any]] = {
    RequestError: {"kind": "missing_tasks"},
    UnsafeStoreError: {"kind": "no_ability"},
    UnknownProtocolError: {"kind": "unknown_protocol"},
    ConcurrentJobError: {"other_job_id": "k"},
    PartialCommitError: {"done": 812, "remaining": 188},
    StoreError: {"reply": Reply.REFUSED, "retry_after_s": 1.5},
}
every_class = pytest.mark.parametrize("kind", TREE, ids=lambda kind: kind.__name__)


def test_the_tree_is_the_one_that_is_drawn() -> None:
    found = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, BaseException)
    }
    assert found == set(TREE)
    assert errors.__doc__ is not None
    for kind in TREE:
        assert kind.__name__ in errors.__doc__


@every_class
def test_its_bases(kind: type[CommitError]) -> None:
    assert kind.__bases__ == TREE[kind]


@every_class
def test_its_outcome_and_its_other_attributes(kind: type[CommitError]) -> None:
    bare = kind("what happened")
    assert bare.outcome == OUTCOMES[kind]
    assert (bare.job_id, bare.task_id, bare.path, bare.stage) == (None, None, None, None)
    assert str(bare) == "what happened"
    assert bare.args == ("what happened",)
    assert kind("what happened", outcome="committed").outcome == "committed"


@every_class
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_it_travels_with_everything(kind: type[CommitError], protocol: int) -> None:
    error = kind("was 'a/b': ∅", outcome="unknown", **WHERE, **OWN.get(kind, {}))
    error.add_note("finish with: …")
    for copied in (pickle.loads(pickle.dumps(error, protocol)), copy.copy(error)):
        assert type(copied) is kind
        assert str(copied) == str(error)
        assert copied.args == error.args
        assert vars(copied) == vars(error)
        assert copied.__notes__ == ["finish with: …"]
        assert copied.outcome == "unknown"
        for name, value in {**WHERE, **OWN.get(kind, {})}.items():
            assert getattr(copied, name) == value


@every_class
def test_it_is_raised_and_caught_by_its_builtin_bases(kind: type[CommitError]) -> None:
    for base in kind.__mro__[:-2]:
        with pytest.raises(base) as caught:
            raise kind("what happened", path="a/b")
        assert str(caught.value) == "what happened"


def test_an_os_error_of_ours_says_its_message_only() -> None:
    """`OSError` would take two arguments for a number and a text, and show them its own way."""
    error = StoreError("the store said no", path="a/b")
    assert str(error) == "the store said no"
    assert error.errno is None
    assert error.reply is Reply.UNKNOWN
    assert str(DestinationExistsError("it is there")) == "it is there"


def test_a_message_never_steers_a_terminal_or_forges_a_line_of_a_log() -> None:
    """A message may quote a record, and anybody who can write to the destination can write one."""
    quoted = "\x1b]0;title\x07, \u202eright to left, a line\nERROR and another; naïve ✔"
    assert str(CommitError(f"aborted by {quoted}")) == (
        r"aborted by \x1b]0;title\x07, \u202eright to left, a line ERROR and another; naïve ✔"
    )


def test_a_message_is_short_and_ends_with_what_to_do() -> None:
    """A name, or an answer of a server, may be of any length."""
    message = str(CommitError(f"cannot write {'x' * 100_000}; choose another name"))
    assert len(message) < 4_100
    assert message.startswith("cannot write xxx")
    assert message.endswith("xxx; choose another name")


def test_a_request_error_has_a_stable_code() -> None:
    assert RequestError("no").kind == "invalid_request"
    assert UnsafeStoreError("no").kind == "unsafe_store"
    assert UnknownProtocolError("no").kind == "unknown_protocol"


def test_unsupported_operations_are_none_of_ours() -> None:
    assert not issubclass(io.UnsupportedOperation, CommitError)


def phase(kind: type[CommitError], error: BaseException) -> CommitError:
    @failing_as(kind, "decide")
    async def decide_something() -> None:
        raise error

    with pytest.raises(CommitError) as caught:
        asyncio.run(decide_something())
    return caught.value


@pytest.mark.parametrize(
    ("kind", "error", "becomes"),
    [
        (CommitFailedError, StoreError("x"), CommitFailedError),
        (CommitFailedError, CommitStateUnknownError("x"), CommitFailedError),
        (CommitFailedError, RecordError("x"), RecordError),
        (CommitFailedError, RequestError("x"), RequestError),
        (CommitFailedError, DestinationExistsError("x"), DestinationExistsError),
        (CommitFailedError, JobNotActiveError("x"), JobNotActiveError),
        (PartialCommitError, StoreError("x"), PartialCommitError),
        (PartialCommitError, CommitStateUnknownError("x"), PartialCommitError),
        (PartialCommitError, RecordError("x"), PartialCommitError),
        (PartialCommitError, PartialCommitError("x"), PartialCommitError),
        (PartialCommitError, JobNotActiveError("x"), PartialCommitError),
        (PartialCommitError, JobNotActiveError("x", outcome="unknown"), PartialCommitError),
        (PartialCommitError, JobNotActiveError("x", outcome="committed"), JobNotActiveError),
        (PartialCommitError, RequestError("x"), PartialCommitError),
    ],
)
def test_the_phase_says_what_an_open_end_means(
    kind: type[CommitError], error: CommitError, becomes: type[CommitError]
) -> None:
    raised = phase(kind, error)
    assert type(raised) is becomes
    if becomes is type(error):
        assert raised is error
        return
    assert raised.__cause__ is error
    assert raised.outcome == OUTCOMES[kind]
    assert str(raised) == "x"


def test_a_phase_keeps_where_it_happened() -> None:
    raised = phase(CommitFailedError, StoreError("x", job_id="j", task_id=3, path="a/b"))
    assert (raised.job_id, raised.task_id, raised.path) == ("j", 3, "a/b")
    assert raised.stage == "decide"
    assert phase(CommitFailedError, StoreError("x", stage="claim")).stage == "claim"


@pytest.mark.unforeseen("KeyError")
@pytest.mark.parametrize("kind", OUTCOMES)
@pytest.mark.parametrize("decorator", [failing_as, unforeseen_as])
def test_a_phase_says_what_an_error_that_nobody_foresaw_leaves_open(
    decorator: Any, kind: type[CommitError]
) -> None:
    async def fail() -> None:
        raise KeyError("boolean")

    with pytest.raises(kind, match="an unexpected KeyError was raised") as caught:
        asyncio.run(decorator(kind, "decide")(fail)())
    assert (caught.value.outcome, caught.value.stage) == (OUTCOMES[kind], "decide")
    assert isinstance(caught.value.__cause__, KeyError)
    assert "boolean" not in str(caught.value), "it may hold a secret"


def test_a_phase_lets_pass_what_stops_the_program() -> None:
    @failing_as(CommitFailedError, "decide")
    async def fail(error: BaseException) -> None:
        raise error

    for error in (asyncio.CancelledError(), GeneratorExit()):
        with pytest.raises(type(error)) as caught:
            asyncio.run(fail(error))
        assert caught.value is error


def test_a_step_that_only_looks_out_lets_pass_what_says_its_outcome() -> None:
    @unforeseen_as(CommitStateUnknownError, "decide")
    async def fail() -> None:
        raise StoreError("x")

    with pytest.raises(StoreError):
        asyncio.run(fail())


def test_a_phase_returns_what_it_returns() -> None:
    @failing_as(CommitFailedError, "decide")
    async def double(number: int, *, by: int = 2) -> int:
        """Multiply."""
        return number * by

    assert asyncio.run(double(4, by=3)) == 12
    assert double.__name__ == "double"
    assert double.__doc__ == "Multiply."
