"""How many calls may be in flight, after rounds that ended in one way or another."""

from __future__ import annotations

import pytest

from fsspec_commit.effects.window import SLOTS_FIRST, Window

MOST = 512


class Rounds:
    """Calls that all end at once, a round trip after they left, and others that wait meanwhile.

    Attributes:
        window: What is tried.
    """

    def __init__(self, slots_max: int = MOST, *, waiting: bool = True) -> None:
        self.window = Window(slots_max)
        self._waiting = waiting
        self._now_s = 0.0
        self.window.begin(self._now_s)

    def pass_by(self, *, turned_away: int = 0, lost: int = 0, latency_s: float = 0.05) -> int:
        """One round; how many slots there are after it."""
        self._now_s += latency_s
        in_flight = self.window.slots
        self.window.is_used = self._waiting
        for nth in range(in_flight):
            if nth < turned_away:
                self.window.turn_away(in_flight)
            elif nth < turned_away + lost:
                self.window.lose()
            self.window.end(self._now_s, in_flight - 1)
        return self.window.slots

    def pause(self, lasting_s: float) -> None:
        """Nothing is in flight for so long."""
        self.window.end(self._now_s, 0)
        self._now_s += lasting_s
        self.window.begin(self._now_s)

    def served(self, per_s: float, rounds: int) -> list[int]:
        """Rounds of a store that answers as many a second as it can, and lets the others wait."""
        return [self.pass_by(latency_s=max(0.05, self.window.slots / per_s)) for _ in range(rounds)]


def test_it_grows_as_long_as_that_brings_more_answers() -> None:
    slots = Rounds().served(1e6, 40)
    assert slots == sorted(slots)
    assert slots[-1] == MOST


def test_it_does_not_grow_by_the_time_when_there_was_nothing_to_do() -> None:
    """Nor is a rate taken for a small one because of that."""
    rounds = Rounds()
    for _ in range(5):
        rounds.pass_by()
        rounds.pause(3600)
    rounds.served(SLOTS_FIRST / 0.05, 20)
    assert max(rounds.served(SLOTS_FIRST / 0.05, 40)) <= 2 * SLOTS_FIRST


@pytest.mark.parametrize("quick_rounds", [1, 2, 3])
def test_calls_of_another_kind_that_take_longer_are_no_reason_to_have_no_more(
    quick_rounds: int,
) -> None:
    """Looks take 5 ms, and the writes that come after them 50."""
    rounds = Rounds()
    for _ in range(quick_rounds):
        rounds.pass_by(latency_s=0.005)
    assert max(rounds.pass_by() for _ in range(10)) >= 175


def test_one_refusal_is_not_the_end_of_asking_what_more_calls_bring() -> None:
    rounds = Rounds()
    rounds.pass_by(turned_away=1)
    slots = rounds.served(SLOTS_FIRST / 0.05, 500)
    assert max(slots) <= 3 * SLOTS_FIRST
    assert sum(slots) / len(slots) < 1.5 * SLOTS_FIRST


def test_one_refusal_among_many_calls_is_made_up_for() -> None:
    rounds = Rounds()
    rounds.pass_by(turned_away=1)
    assert rounds.served(1e6, 200)[-1] == MOST


@pytest.mark.parametrize("slots_max", [1, 3, SLOTS_FIRST, 100])
def test_it_never_grows_beyond_what_it_may(slots_max: int) -> None:
    assert max(Rounds(slots_max).served(1e6, 40)) <= slots_max


def test_where_more_bring_nothing_it_goes_back_and_tries_again_much_later() -> None:
    """A store that lets calls wait: what is in flight beyond its rate only takes longer."""
    slots = Rounds().served(SLOTS_FIRST / 0.05, 20)
    assert max(slots) == 2 * SLOTS_FIRST
    assert slots[-1] == SLOTS_FIRST
    rounds = Rounds()
    rounds.served(SLOTS_FIRST / 0.05, 80)
    assert rounds.served(1e6, 90)[-1] == MOST, "and the store does more by then"


def test_it_does_not_grow_for_calls_that_do_not_wait() -> None:
    assert Rounds(waiting=False).served(1e6, 40)[-1] == SLOTS_FIRST


def test_the_refusals_of_one_round_count_once() -> None:
    assert Rounds(10).pass_by(turned_away=3) == 7


@pytest.mark.parametrize(
    ("turned_away", "share"),
    [(1, 0.97 * (MOST - 1) / MOST), (128, 0.97 * 3 / 4), (256, 1 / 2), (380, 1 / 2)],
)
def test_the_first_refusal_shows_how_many_are_answered(turned_away: int, share: float) -> None:
    rounds = Rounds()
    rounds.served(1e6, 40)
    assert rounds.pass_by(turned_away=turned_away) == int(MOST * share)


def test_what_is_lost_then_was_not_answered() -> None:
    rounds = Rounds()
    rounds.served(1e6, 40)
    assert rounds.pass_by(turned_away=1, lost=102) == int(MOST * 0.97 * (1 - 103 / MOST))
    rounds = Rounds()
    rounds.served(1e6, 40)
    assert rounds.pass_by(turned_away=1, lost=500) == MOST // 2


@pytest.mark.parametrize("in_flight", [1, 3, SLOTS_FIRST - 1])
def test_a_few_calls_that_are_turned_away_show_no_limit(in_flight: int) -> None:
    """Such as those between the many that publish and the many that delete."""
    rounds = Rounds()
    rounds.served(1e6, 40)
    for left in reversed(range(in_flight)):
        rounds.window.turn_away(left + 1)
        rounds.window.end(10.0, left)
    assert rounds.window.slots == int(MOST * 0.75)


def test_while_that_is_found_out_half_as_many_leave() -> None:
    window = Window(MOST)
    window.slots = 2 * SLOTS_FIRST
    window.turn_away(100)
    for _ in range(99):
        window.end(0.05, 100)
        assert window.slots == SLOTS_FIRST
    window.end(0.05, 100)
    assert window.slots == int(2 * SLOTS_FIRST * 0.97 * 0.99)


def test_a_large_window_loses_less_and_comes_back_as_fast() -> None:
    rounds = Rounds()
    rounds.served(1e6, 40)
    reached = rounds.pass_by(turned_away=1)
    assert rounds.pass_by(turned_away=1) == int(reached * 0.75)
    before = rounds.window.slots
    # The first round is of calls that left before.
    assert [rounds.pass_by() for _ in range(3)] == [before, before + 2, before + 4]


def test_a_store_that_is_overtaxed_gets_fewer_calls_at_once_but_never_none() -> None:
    rounds = Rounds(10)
    for _ in range(20):
        rounds.pass_by(turned_away=1)
    assert 1 <= rounds.window.slots <= 2


def test_a_store_that_keeps_up_gets_more_again_but_not_more_than_asked_for() -> None:
    rounds = Rounds(10)
    assert rounds.pass_by(turned_away=1) == 7
    assert [rounds.pass_by() for _ in range(5)] == [7, 8, 9, 10, 10]


def test_a_lost_answer_in_a_hundred_says_nothing_of_the_load() -> None:
    rounds = Rounds(100)
    rounds.served(1e6, 40)
    assert rounds.pass_by(lost=1) == 100


@pytest.mark.parametrize("lost", [16, 64])
def test_many_lost_answers_do(lost: int) -> None:
    rounds = Rounds(SLOTS_FIRST)
    assert rounds.pass_by(lost=lost) == int(SLOTS_FIRST * 0.7)
    for _ in range(40):
        rounds.pass_by(lost=rounds.window.slots)
    assert rounds.window.slots == 1


def test_answers_lost_before_a_refusal_do_not_count_in_the_round_that_begins_with_it() -> None:
    """Of 124 calls 8 are lost, which is not one in eight."""
    window = Window(SLOTS_FIRST)
    window.begin(0)
    for nth in range(60):
        if nth < 7:
            window.lose()
        window.end(1, SLOTS_FIRST)
    window.turn_away(SLOTS_FIRST)
    window.lose()
    for _ in range(SLOTS_FIRST):
        window.end(2, SLOTS_FIRST)
    assert window.slots == int(SLOTS_FIRST * 0.7)


def test_calls_one_after_the_other_do_not_shrink_it_each_time() -> None:
    """They say nothing of how many may be in flight."""
    window = Window(MOST)
    for nth in range(8):
        window.begin(float(nth))
        window.turn_away(1)
        window.end(nth + 0.05, 0)
    assert window.slots == int(SLOTS_FIRST * 0.7)


def test_refusals_are_forgotten_that_were_given_to_calls_one_after_the_other() -> None:
    """An hour before, to a driver that is alive for long."""
    window = Window(MOST)
    window.begin(0)
    window.turn_away(1)
    window.end(0.05, 0)
    for at_s in (3600.0, 3700.0):
        window.begin(at_s)
        for left in reversed(range(40)):
            window.turn_away(left + 1)
            window.end(at_s + 0.05, left)
    assert window.slots < int(SLOTS_FIRST * 0.7)


def test_lost_answers_are_forgotten_as_well() -> None:
    window = Window(MOST)
    for nth in range(2000):
        window.begin(float(nth))
        if nth % 200 == 0:
            window.lose()
        window.end(nth + 0.05, 0)
    window.begin(3000)
    for left in reversed(range(SLOTS_FIRST)):
        window.end(3000.05, left)
    assert window.slots == SLOTS_FIRST


@pytest.mark.parametrize(("answered", "slots"), [(3, 3), (100, 100), (128, 128)])
def test_where_most_of_a_round_is_turned_away_what_is_answered_is_what_there_is(
    answered: int, slots: int
) -> None:
    """By a share less after each round a collapse would take as many rounds as a call has tries."""
    rounds = Rounds()
    rounds.served(1e6, 40)
    assert rounds.pass_by(turned_away=MOST - answered) == slots


def test_a_round_is_as_many_calls_as_there_are_slots() -> None:
    """After one with a failure there is one without, and then one slot more."""
    window = Window(10)
    window.begin(0)
    window.turn_away(1)
    slots = []
    for nth in range(2 * 7 + 8):
        window.end(nth, 0)
        slots.append(window.slots)
    assert slots == [*[7] * 13, *[8] * 8, 9]
