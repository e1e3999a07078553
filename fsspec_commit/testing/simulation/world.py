"""What the actors of one run share: the loop, the store, the model, the trace."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random

from fsspec_commit.destination import OpenDestination
from fsspec_commit.effects.confirm import ask
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.pacing import Pace
from fsspec_commit.ids import IdSource
from fsspec_commit.layout import StorePath
from fsspec_commit.location import Location
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import Expect
from fsspec_commit.testing.simulation.bucket import Bucket, Change
from fsspec_commit.testing.simulation.families import FAMILIES
from fsspec_commit.testing.simulation.loop import SimulationLoop
from fsspec_commit.testing.simulation.model import Model, content
from fsspec_commit.testing.simulation.plan import JobPlan, Plan
from fsspec_commit.testing.simulation.process import Process
from fsspec_commit.testing.simulation.store import SimulatedStore
from fsspec_commit.testing.simulation.trace import Trace

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_ROOT = StorePath("bucket/top/out")
_SLOW = (0.2, 1.0, 1.0, 1.0, 5.0)


class World:
    """One run.

    Attributes:
        plan: What it depends on.
        family: The kind of store.
        bucket: The state of the store.
        model: What must be true.
        trace: What happens.
        processes: Every process so far.
    """

    def __init__(self, plan: Plan, loop: SimulationLoop) -> None:
        self.plan = plan
        self.family = FAMILIES[plan.family]
        self.bucket = Bucket("bucket", self.family.habits)
        self.trace = Trace(loop.time)
        self.processes: list[Process] = []
        self._loop = loop
        old = {name: self.content(name, "old") for name in plan.old}
        for name, data in old.items():
            self.bucket.put(StorePath(f"{_ROOT}/{name}"), data, None, Expect.ANYTHING)
        self.bucket.make_directory(_ROOT)
        self.model = Model(_ROOT, old, loop.time)

    def content(self, name: str, *whose: str) -> bytes:
        """What a file holds that somebody writes."""
        return content(name) if self.plan.same else content(name, *whose)

    def process(self, name: str) -> Process:
        """A new process."""
        random = Random(f"{self.plan.schedule} {name}")
        process = Process(
            name,
            random=random,
            slowness=random.choice(_SLOW),
            faults=self.plan.faults,
            bucket=self.bucket,
            observer=self,
            trace=self.trace,
        )
        self.processes.append(process)
        return process

    def open(self, process: Process, *, skew_s: float = 0.0) -> OpenDestination:
        """The destination as *process* opens it, by a clock that is so much ahead."""

        def now() -> datetime:
            return _BEGIN + timedelta(seconds=self._loop.time() + skew_s)

        ids = IdSource(Random(f"ids {self.plan.schedule} {process.name}"), now)
        pace = Pace(ids)
        store = SimulatedStore(
            _ROOT, self.bucket, self.family, process, lambda question: ask(question, pace)
        )
        confirmed = ConfirmedStore(store, ids=ids, statistics=Statistics())
        return OpenDestination(Location("simulated://top/out"), confirmed, ids, store)

    async def put(self, process: Process, name: str) -> None:
        """Write a file beside all jobs."""
        path, data = StorePath(f"{_ROOT}/{name}"), self.content(name, "foreign")
        self.model.foreign[name] = data
        await process.request(
            "put", path, lambda: self.bucket.put(path, data, None, Expect.ANYTHING)
        )

    def begun(self, job_id: str, plan: JobPlan) -> None:
        """A driver takes an id for its job."""
        self.trace.names[job_id] = f"job {plan.name}"
        self.model.begun(job_id, plan)

    def changed(self, process: Process, sent_at: float, changes: Sequence[Change]) -> None:
        """Show the model every change, and mark in the trace what it finds wrong."""
        before = len(self.model.violations)
        self.model.changed(process, sent_at, changes)
        for violation in self.model.violations[before:]:
            self.trace.say(process.name, "!!! VIOLATION", violation)

    def check_left(self, when: str) -> None:
        """Check that nothing is left of any job."""
        below = f"{_ROOT}/_commit/"
        names = [
            key.removeprefix(f"{_ROOT}/")
            for key in (*self.bucket.keys(below), *sorted(self.bucket.directories))
            if key.startswith(below) and not key.endswith(("/done", "/lost"))
        ]
        marks = {name for name in names if "/deleted-" in name and name.count("/") == 1}
        self.model.check_left([name for name in names if name not in marks], when)
        if self.family.keeps_names_apart:
            filled = [one.path for one in self.bucket.uploads.values() if one.parts]
            self.model.check_left([f"upload of {path}" for path in filled], when)

    def check_marker(self) -> None:
        """Check that ``_SUCCESS`` stands if it must."""
        there = self.bucket.get(StorePath(f"{_ROOT}/_SUCCESS"))
        self.model.check_marker(None if there is None else there.data)
