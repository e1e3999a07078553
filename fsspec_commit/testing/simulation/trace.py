"""What happened in a simulated run, for people."""

import re
from collections.abc import Callable
from typing import NamedTuple

READS = frozenset({"stat", "read", "read_range", "list_tree", "list_children", "pending"})
_JOB_ID = re.compile(r"\d{8}T\d{6}-[0-9a-f]{16}")
_HEXADECIMAL = re.compile(r"\b[0-9a-f]{12,}\b")


class Event(NamedTuple):
    """One line of a trace.

    Attributes:
        time_s: When it happened, in virtual time.
        actor: Whose doing it was.
        what: The call, or what the actor did or was told.
        path: The path of a call.
        answer: How it ended, if that is not plain.
    """

    time_s: float
    actor: str
    what: str
    path: str = ""
    answer: str = ""


class Trace:
    """The events of one run, in their order.

    Args:
        clock: The virtual time.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.names: dict[str, str] = {}
        """Names of jobs, by their ids."""
        self._clock = clock
        self._happened: list[tuple[float, str, str, str, str]] = []

    @property
    def events(self) -> list[Event]:
        """What has happened so far; made when it is asked for, since few runs are looked at."""
        return [Event(*happened) for happened in self._happened]

    def __len__(self) -> int:
        """How many events there are so far."""
        return len(self._happened)

    def actors(self, *, since: int) -> list[str]:
        """The actor of each event that has happened since there were *since* of them."""
        return [actor for _, actor, *_ in self._happened[since:]]

    def arrived(self, actor: str, verb: str, path: str, answer: object, *, late: bool) -> None:
        """A request was carried out."""
        shown = ""
        if answer is None:
            shown = "nothing" if verb in READS else ""
        elif isinstance(answer, Exception):
            shown = str(answer)
        what = f"{verb}, late" if late else verb
        self._happened.append((self._clock(), actor, what, path, shown))

    def fault(self, actor: str, kind: str, verb: str, path: str) -> None:
        """A fault happens."""
        self._add(actor, f"*** {kind} at {verb}", path)

    def say(self, actor: str, what: str, answer: str = "") -> None:
        """Note what an actor does, or was told."""
        self._add(actor, what, "", answer)

    def lines(self, *, reads: bool = False) -> list[str]:
        """The trace as text, by default without calls that only read."""
        return [self._line(event) for event in self.events if reads or event.what not in READS]

    def _line(self, event: Event) -> str:
        text = f"{event.time_s:10.3f}  {event.actor:<12} {event.what:<18} {event.path}"
        if event.answer:
            text += f"  -> {event.answer}"
        text = _JOB_ID.sub(lambda match: f"<{self.names.get(match[0], 'job')}>", text)
        return _HEXADECIMAL.sub(lambda match: match[0][:6], text).rstrip()

    def _add(self, actor: str, what: str, path: str, answer: str = "") -> None:
        self._happened.append((self._clock(), actor, what, path, answer))
