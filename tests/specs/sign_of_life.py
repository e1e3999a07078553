"""When is a job dead that another watches? Every schedule of one that beats and one that looks.

A tick is a second of the world. A living job renews its sign after two to five of them, late as
machines and stores are. The other looks every second or two, and an answer may be long under way:
it shows what stood when it was asked for. Both may stand still for half a minute, as on a laptop
that was closed. The job may die, and it may go on for as long as it likes.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from tests.specs.explore import Found, explore

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

BEAT_S, BEAT_S_MAX = 2, 5
LOOK_S_MAX = 2
ANSWER_S_MAX = 3
PAUSE_S = 30
DEAD_S_MAX = 45


class Watching(Protocol):
    """The rule: told of each look, it says when the job is dead."""

    def saw(self, signs: frozenset[str], *, since: float, until: float) -> bool:
        """Whether it is, after a look that showed *signs*."""


@dataclass(frozen=True)
class Moment:
    """How both stand: the times are those since something happened."""

    watch: Watching
    sign: int = 0
    beat_ago: int = 0
    dead_for: int | None = None
    answer: tuple[int, int] | None = None
    look_ago: int = 0
    now: int = 0
    pauses: int = 0
    fenced: bool = False

    def key(self) -> Hashable:
        """Equal for moments with equal futures."""
        told = {
            name: value - self.now if name.endswith("_at") else self._relative(value)
            for name, value in vars(self.watch).items()
        }
        answer = self.answer and (self.answer[0] - self.sign, self.answer[1])
        return (
            *map(str, told.values()),
            self.beat_ago,
            self.dead_for,
            answer,
            self.look_ago,
            self.pauses,
            self.fenced,
        )

    def _relative(self, value: object) -> object:
        return [int(sign) - self.sign for sign in value] if isinstance(value, frozenset) else value


def search(rule: Callable[[], Watching], *, pauses: int = 1) -> Found:
    """Search every schedule under a rule."""
    return explore(Moment(rule(), pauses=pauses), _steps, _wrong, key=Moment.key)


def _wrong(moment: Moment) -> str | None:
    if moment.fenced:
        return "a living job is fenced" if moment.dead_for is None else None
    is_dead_for_long = moment.dead_for is not None and moment.dead_for > DEAD_S_MAX
    return "a dead job is never fenced" if is_dead_for_long else None


def _steps(moment: Moment) -> Iterator[tuple[str, Moment]]:
    if moment.fenced:
        return
    if moment.dead_for is None:
        yield "dies", replace(moment, dead_for=0, beat_ago=0)
        if moment.beat_ago >= BEAT_S:
            yield "beats", replace(moment, sign=moment.sign + 1, beat_ago=0)
    if moment.answer is None:
        yield "looks", replace(moment, answer=(moment.sign, 0))
    else:
        sign, took = moment.answer
        watch = copy(moment.watch)
        dead = watch.saw(frozenset({str(sign)}), since=moment.now - took, until=moment.now)
        yield "is answered", replace(moment, watch=watch, answer=None, look_ago=0, fenced=dead)
    late = moment.dead_for is None and moment.beat_ago >= BEAT_S_MAX
    idle = moment.answer is None and moment.look_ago >= LOOK_S_MAX
    waits = moment.answer is not None and moment.answer[1] >= ANSWER_S_MAX
    if not (late or idle or waits):
        yield "a second passes", _passed(moment, 1)
    if moment.pauses and moment.dead_for is None:
        still = _passed(moment, PAUSE_S)
        yield (
            "both stand still",
            replace(
                still, pauses=moment.pauses - 1, beat_ago=moment.beat_ago, look_ago=moment.look_ago
            ),
        )


def _passed(moment: Moment, seconds: int) -> Moment:
    answer = moment.answer and (moment.answer[0], moment.answer[1] + seconds)
    return replace(
        moment,
        now=moment.now + seconds,
        answer=answer,
        beat_ago=moment.beat_ago + (seconds if moment.dead_for is None else 0),
        look_ago=moment.look_ago + (seconds if moment.answer is None else 0),
        dead_for=None if moment.dead_for is None else moment.dead_for + seconds,
    )
