"""Done, not done, unknown: every way in which a store can answer, and what is made of it."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Literal, TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fsspec_commit.effects.confirm import OUTDATED_MAX, Effect, Undone, ask, confirm
from fsspec_commit.effects.pacing import TRIES_MAX, Pace
from fsspec_commit.errors import CommitStateUnknownError, Reply, StoreError
from fsspec_commit.ids import IdSource
from tests.unit.effects.virtual_time import run

NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN
Happens: TypeAlias = Literal["now", "never", "late", "after all"]
Step: TypeAlias = "tuple[Happens, Reply | None]"
IDS = IdSource(random.Random(1), lambda: datetime(2026, 11, 20, tzinfo=UTC))


def pace() -> Pace:
    return Pace(IDS, in_flight_max=2)


class Creation:
    """An exclusive create on a store that answers by a script, and then well.

    Attributes:
        stands: What the store holds.
        calls: What was asked of it.
        comes_after_all: A request is on its way that is carried out when nobody asks any more.
        is_repeated: One that was refused where nothing stands is tried again, as for records.
    """

    def __init__(
        self,
        applying: list[Step] | None = None,
        observing: list[Reply | None] | None = None,
        stands: str | None = None,
        *,
        is_repeated: bool = False,
    ) -> None:
        self.is_repeated = is_repeated
        self._refused = False
        self.applying, self.observing = list(applying or ()), list(observing or ())
        self.stands = stands
        self.calls: list[str] = []
        self._late = False
        self.comes_after_all = False

    def effect(self) -> Effect[str]:
        return Effect(self.apply, self.observe, "creating", "x")

    async def apply(self) -> str:
        self._catch_up()
        self.calls.append("apply")
        happens, reply = self.applying.pop(0) if self.applying else ("now", None)
        self._refused = reply is REFUSED
        if self.stands is not None:
            raise StoreError("there is one", reply=REFUSED if reply is None else reply)
        if happens == "now":
            self.stands = "ours"
        self._late = happens == "late"
        self.comes_after_all |= happens == "after all"
        if reply is not None:
            raise StoreError(f"apply: {reply.value}", reply=reply, path="x")
        return "ours"

    async def observe(self) -> str | Undone:
        self.calls.append("observe")
        reply = self.observing.pop(0) if self.observing else None
        if reply is not None:
            raise StoreError(f"observe: {reply.value}", reply=reply, path="x")
        absent = Undone.OUTDATED if self.is_repeated and self._refused else Undone.UNDONE
        seen = self.stands or absent
        self._catch_up()
        return seen

    def _catch_up(self) -> None:
        if self._late:
            self._late, self.stands = False, self.stands or "ours"


def outcome(creation: Creation) -> str:
    try:
        answer, _ = run(confirm(creation.effect(), pace()))
    except (StoreError, CommitStateUnknownError) as error:
        return type(error).__name__
    return answer


DOWN: list[Reply | None] = [UNKNOWN] * TRIES_MAX


@pytest.mark.parametrize(
    ("creation", "answer", "calls"),
    [
        # The table of the design's own check.
        pytest.param(Creation(), "ours", "apply", id="plain"),
        pytest.param(Creation([("never", NOT_DONE)]), "ours", "apply apply", id="throttled"),
        pytest.param(Creation([("now", UNKNOWN)]), "ours", "apply observe", id="lost ack"),
        pytest.param(
            Creation([("never", UNKNOWN)]), "ours", "apply observe apply", id="lost request"
        ),
        pytest.param(
            Creation([("now", REFUSED)]), "ours", "apply observe", id="own success refused"
        ),
        pytest.param(Creation(stands="theirs"), "theirs", "apply observe", id="somebody was first"),
        pytest.param(
            Creation([("now", UNKNOWN)], DOWN),
            "CommitStateUnknownError",
            " ".join(["apply"] + ["observe"] * (TRIES_MAX - 1)),
            id="cannot be known",
        ),
        pytest.param(
            Creation([("never", NOT_DONE)] * TRIES_MAX),
            "StoreError",
            " ".join(["apply"] * TRIES_MAX),
            id="never through",
        ),
        # And more.
        pytest.param(Creation([("never", REFUSED)]), "StoreError", "apply observe", id="refused"),
        pytest.param(
            Creation([("never", NOT_DONE), ("never", REFUSED)]),
            "StoreError",
            "apply apply observe",
            id="throttled, then refused",
        ),
        pytest.param(
            Creation([("late", UNKNOWN)]), "ours", "apply observe apply observe", id="applied late"
        ),
        pytest.param(
            Creation([("now", UNKNOWN)], [UNKNOWN, NOT_DONE]),
            "ours",
            "apply observe observe observe",
            id="looking is hard",
        ),
        pytest.param(
            Creation([("never", REFUSED)], [UNKNOWN]),
            "StoreError",
            "apply observe observe",
            id="refused, and looking is hard",
        ),
        pytest.param(
            Creation([("never", UNKNOWN)], [REFUSED]),
            "ours",
            "apply observe observe apply",
            id="a refusal to be looked at says nothing about the change",
        ),
        pytest.param(
            Creation([("late", UNKNOWN)], [REFUSED]),
            "ours",
            "apply observe observe apply observe",
            id="the same, applied late",
        ),
        pytest.param(
            Creation([("never", UNKNOWN), ("never", NOT_DONE)]),
            "ours",
            "apply observe apply observe apply",
            id="unknown once is looked at always",
        ),
        pytest.param(
            Creation([("after all", UNKNOWN), ("never", REFUSED)]),
            "CommitStateUnknownError",
            "apply observe apply observe",
            id="a refusal says nothing about the request before",
        ),
        pytest.param(
            Creation([("never", UNKNOWN)] * TRIES_MAX),
            "CommitStateUnknownError",
            "apply observe apply observe apply observe apply observe "
            "apply observe apply observe apply observe apply",
            id="unknown for ever",
        ),
    ],
)
def test_the_table(creation: Creation, answer: str, calls: str) -> None:
    assert outcome(creation) == answer
    assert " ".join(creation.calls) == calls


REPLIES = st.sampled_from([None, NOT_DONE, REFUSED, UNKNOWN])


# A reply that names an effect tells the truth; one that does not can mean anything.
STEPS: st.SearchStrategy[Step] = st.sampled_from(
    [
        ("now", None),
        ("never", NOT_DONE),
        ("never", REFUSED),
        ("now", REFUSED),
        ("now", UNKNOWN),
        ("never", UNKNOWN),
        ("late", UNKNOWN),
        ("after all", UNKNOWN),
    ]
)


@given(
    st.lists(STEPS, max_size=12),
    st.lists(REPLIES, max_size=12),
    st.sampled_from([None, "theirs"]),
    st.booleans(),
)
@example([("never", REFUSED), ("late", UNKNOWN)], [], None, True)
def test_no_answer_is_ever_wrong(
    applying: list[Step], observing: list[Reply | None], stands: str | None, is_repeated: bool
) -> None:
    creation = Creation(applying, observing, stands, is_repeated=is_repeated)
    answer = outcome(creation)
    assert len([call for call in creation.calls if call == "apply"]) <= TRIES_MAX
    match answer:
        case "StoreError":
            # Certain: nothing of ours stands, and nothing of ours is on its way.
            assert creation.stands is None or creation.stands == "theirs"
            assert not creation._late
            assert not creation.comes_after_all
        case "CommitStateUnknownError":
            pass
        case _:
            assert creation.stands == answer


def test_a_refusal_that_is_so_no_longer_is_tried_again() -> None:
    """A few times: what is refused each time is."""
    refusals = [StoreError(f"refused {number}", reply=REFUSED) for number in range(TRIES_MAX)]
    calls: list[str] = []

    async def apply() -> str:
        calls.append("apply")
        if calls.count("apply") <= times:
            raise refusals[calls.count("apply") - 1]
        return "done"

    async def observe() -> Undone:
        calls.append("observe")
        return Undone.OUTDATED

    effect = Effect(apply, observe, "creating", "a")
    times = OUTDATED_MAX
    assert run(confirm(effect, pace()))[0] == "done"
    assert calls == [*["apply", "observe"] * times, "apply"]
    calls, times = [], TRIES_MAX
    with pytest.raises(StoreError, match=f"refused {OUTDATED_MAX}"):
        run(confirm(effect, pace()))
    assert calls == ["apply", "observe"] * (1 + OUTDATED_MAX)


def test_a_refusal_that_is_so_no_longer_says_nothing_of_what_comes_after() -> None:
    """The second try is in doubt: it may happen late, and the first one's refusal is not its."""
    answers = [StoreError("refused", reply=REFUSED), StoreError("lost", reply=UNKNOWN)]
    observed = [Undone.OUTDATED, Undone.UNDONE]
    calls: list[str] = []

    async def apply() -> str:
        calls.append("apply")
        if answers:
            raise answers.pop(0)
        return "done"

    async def observe() -> Undone:
        calls.append("observe")
        return observed.pop(0)

    assert run(confirm(Effect(apply, observe, "creating", "a"), pace()))[0] == "done"
    assert calls == ["apply", "observe", "apply", "observe", "apply"]


def test_what_cannot_be_known_says_what_it_is_about() -> None:
    with pytest.raises(CommitStateUnknownError) as caught:
        run(confirm(Creation([("now", UNKNOWN)], DOWN).effect(), pace()))
    assert caught.value.path == "x"
    assert "it is not known whether creating 'x' happened" in str(caught.value)
    assert isinstance(caught.value.__cause__, StoreError)


@pytest.mark.unforeseen("KeyError")
def test_an_error_that_an_adapter_lets_out_is_unknown_and_every_slot_is_given_back() -> None:
    one = Pace(IDS, in_flight_max=1)

    async def fail() -> str:
        raise KeyError("X-Amz-Signature=secret")

    async def look() -> str | Undone:
        return Undone.UNDONE

    async def twice() -> str:
        for _ in range(2):
            with pytest.raises(CommitStateUnknownError, match="failed with KeyError") as caught:
                await confirm(Effect(fail, look, "failing", "x"), one)
            assert "secret" not in str(caught.value)
        return await confirm(Creation([("now", UNKNOWN)]).effect(), one)

    assert run(twice())[0] == "ours"
    assert one.enter_now()


class Question:
    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.asked = 0

    async def __call__(self) -> str:
        self.asked += 1
        if self.replies:
            raise StoreError("no answer", reply=self.replies.pop(0))
        return "answer"


@pytest.mark.parametrize(
    ("question", "answer", "asked"),
    [
        (Question(), "answer", 1),
        (Question(UNKNOWN, NOT_DONE), "answer", 3),
        (Question(REFUSED), None, 1),
        (Question(UNKNOWN, REFUSED), None, 2),
        (Question(*[UNKNOWN] * (TRIES_MAX - 1)), "answer", TRIES_MAX),
        (Question(*[UNKNOWN] * TRIES_MAX), None, TRIES_MAX),
    ],
    ids=["plain", "busy", "refused", "busy, then refused", "just in time", "too late"],
)
def test_a_question_is_asked_until_it_is_answered(
    question: Question, answer: str | None, asked: int
) -> None:
    if answer is None:
        with pytest.raises(StoreError):
            run(ask(question, pace()))
    else:
        assert run(ask(question, pace()))[0] == answer
    assert question.asked == asked


@pytest.mark.parametrize("happens", ["now", "never", "late"])
@pytest.mark.parametrize("throttled", [0, 2])
def test_what_is_not_repeatable_is_sent_once(happens: Happens, throttled: int) -> None:
    """But for what has certainly not happened; seen to have happened, it is done."""
    creation = Creation([*[("never", NOT_DONE)] * throttled, (happens, UNKNOWN)], [UNKNOWN])  # type: ignore[list-item]  # "never" is one
    effect = creation.effect()
    effect.is_repeatable = False
    if happens == "now":
        assert run(confirm(effect, pace()))[0] == "ours"
    else:
        with pytest.raises(CommitStateUnknownError):
            run(confirm(effect, pace()))
    assert creation.calls.count("apply") == throttled + 1
