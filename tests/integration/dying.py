"""One of many writers whose jobs die at any call, by SIGKILL; each is resumed, or aborted, at once.

What a job has done is known from notes, since who is killed tells nobody: what it was about to
write, and when it had decided. Who settles it may be killed in that as well.
"""

from __future__ import annotations

import faulthandler
import json
import os
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec_commit as fc
from tests.integration.crashing_driver import Fate, FatefulStore, answer
from tests.integration.forked_child import Child
from tests.integration.storm import how_of, one_job, write_many

if TYPE_CHECKING:
    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store, Token

Request = dict[str, Any]
Line = dict[str, Any]

_CALLS_OF_A_JOB, _CALLS_OF_WHO_SETTLES = 60, 25
_DEATHS_MAX = 3


class NotedFate(Fate):
    """Notes that a job has decided, and how, before it may die of that."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.state = ""
        self._note: str | None = request.get("decided_in")

    def wrap(self, store: Store) -> Store:
        return _NotingStore(store, self)

    def after(self, number: int) -> None:
        if self.decided_ns and self._note is not None:
            _note(self._note, {"state": self.state, "decided_ns": self.decided_ns})
            self._note = None
        super().after(number)


class _NotingStore(FatefulStore):
    """Tells its fate how the job is about to decide."""

    def __init__(self, store: Store, fate: NotedFate) -> None:
        super().__init__(store, fate)
        self._noted = fate

    async def put(self, path: StorePath, data: bytes, **how: Any) -> Token:
        if path.endswith("/decision"):
            self._noted.state = json.loads(data)["state"]
        return await super().put(path, data, **how)


def dying_storm(request: Request) -> object:
    """Write jobs until the time is over, a process for each; one line of the log for each."""
    # A fork would wait for the thread that watches over this process, and has none.
    faulthandler.cancel_dump_traceback_later()
    return write_many(request, _one)


def doomed_job(request: Request) -> object:
    """A job that notes what it is about to write, and may die at any call."""
    chance = random.Random(request["label"])
    return one_job(request, chance, request["label"], lambda line: _note(request["begun_in"], line))


def settle(request: Request) -> object:
    """Resume a job, or abort it if it had not decided: what has become of it."""
    where, job_id, how = request["destination"], request["job_id"], how_of(request)
    try:
        result = fc.resume(where, job_id, **how)
        return {
            "state": result.state,
            "files": list(result.files),
            "replaced_count": result.replaced_count,
            "in_place": list(result.in_place),
        }
    except fc.JobNotActiveError as error:
        if error.outcome != "not_committed":
            return {"state": error.outcome}
    except fc.RequestError as error:
        if "has not decided" not in str(error):
            raise
    try:
        fc.abort(where, job_id, **how)
    except fc.JobNotActiveError as error:
        return {"state": error.outcome}
    return {"state": "not_committed"}


def _one(request: Request, chance: random.Random, label: str) -> Line:
    """What one job has come to, whoever has finished it."""
    begun_in, decided_in = (
        Path(f"{request['log']} {label} {what}") for what in ("begun", "decided")
    )
    asked = {**request, "op": "doomed_job", "label": label}
    asked |= {"begun_in": str(begun_in), "decided_in": str(decided_in)}
    if chance.random() < 0.8:
        asked["die"] = _death(chance, _CALLS_OF_A_JOB)
    line, deaths = _in_a_fork(asked), 0
    if line is not None:
        return {**line, "deaths": 0}
    died_ns = time.monotonic_ns()
    if not begun_in.exists():
        return {"label": label, "state": "died before it was told its id", "deaths": 1}
    line = json.loads(begun_in.read_text())
    end: Line | None = None
    while end is None:
        deaths += 1
        asked = {"op": "settle", "destination": request["destination"], "job_id": line["job_id"]}
        asked |= how_of(request)
        if deaths < _DEATHS_MAX and chance.random() < 0.5:
            asked["die"] = _death(chance, _CALLS_OF_WHO_SETTLES)
        end = _in_a_fork(asked)
    noted = json.loads(decided_in.read_text()) if decided_in.exists() else {}
    return {
        **line,
        "files": _names_of(line),
        **end,
        "state": _state_of(noted.get("state"), end["state"]),
        # Where it has died between the answer and the note, the answer has come shortly before.
        "decided_ns": noted.get("decided_ns", died_ns),
        "ended_ns": time.monotonic_ns(),
        "deaths": deaths,
    }


def _state_of(noted: str | None, told: str) -> str:
    """A job that is over is not always known to those who come later, but is to its note."""
    if noted == "committed":
        assert told in {"committed", "unknown"}, f"it was committed, and is called {told}"
        return "committed"
    assert noted is None or told != "committed", "it was aborted, and is called committed"
    return told if told == "committed" else "not_committed"


def _names_of(line: Line) -> list[str]:
    """The final names of its files, sorted: unique ones carry the ids of the job and the task."""
    names = sorted(line["written"])
    if line.get("names") == "exact":
        return names
    return sorted(name.replace(".txt", f"-{line['job_id']}-0.txt") for name in names)


def _death(chance: random.Random, calls: int) -> list[object]:
    return [chance.randint(1, calls), chance.choice(("before", "after"))]


def _in_a_fork(asked: Request) -> Line | None:
    """What a process of its own answers; ``None`` if it was killed."""
    gate, opened = os.pipe()
    child = Child(asked, gate, lambda request: answer(request, NotedFate))
    os.write(opened, b".")
    said = child.answer()
    os.close(gate)
    os.close(opened)
    if said["killed"]:
        return None
    assert "result" in said, said["error"]["traceback"]
    line: Line = said["result"]
    return line


def _note(path: str, what: Line) -> None:
    """Write it whole, or not at all."""
    new = Path(f"{path}.new")
    new.write_text(json.dumps(what))
    new.rename(path)
