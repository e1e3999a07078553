"""What the actors of one run share: the loop, the store, the model, the trace."""

import re
from collections import ChainMap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import chain, count, islice
from random import Random
from typing import TYPE_CHECKING

from fsspec_commit.destination import OpenDestination
from fsspec_commit.effects.confirm import ask
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.pacing import Pace
from fsspec_commit.errors import StoreError
from fsspec_commit.ids import IdSource, Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.location import Location
from fsspec_commit.protocol.clean import CleanReport
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import Expect
from fsspec_commit.testing.simulation.bucket import Bucket, Change, Upload
from fsspec_commit.testing.simulation.earlier import EarlierJob, as_plan
from fsspec_commit.testing.simulation.families import FAMILIES
from fsspec_commit.testing.simulation.folding import FoldingBucket, folded
from fsspec_commit.testing.simulation.leftovers import LEFTOVERS
from fsspec_commit.testing.simulation.loop import SimulationLoop
from fsspec_commit.testing.simulation.model import MAGIC, Model
from fsspec_commit.testing.simulation.ordering import Order, in_no_order
from fsspec_commit.testing.simulation.plan import HERE, EarlierPlan, ForeignPlan, JobPlan, Plan
from fsspec_commit.testing.simulation.process import Process
from fsspec_commit.testing.simulation.rules import content, is_of_a_job
from fsspec_commit.testing.simulation.store import SimulatedStore
from fsspec_commit.testing.simulation.trace import Trace
from fsspec_commit.testing.simulation.verified import Watch

if TYPE_CHECKING:
    import asyncio

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_TOP = "bucket/top"
_SLOW = (0.2, 1.0, 1.0, 1.0, 5.0)


class World:
    """One run.

    Attributes:
        plan: What it depends on.
        family: The kind of store.
        bucket: The state of the store.
        models: What must be true of each destination, by the name that it keeps.
        trace: What happens.
        processes: Every process so far.
        stragglers: What runs on when nobody waits for it any more.
    """

    def __init__(self, plan: Plan, loop: SimulationLoop) -> None:
        self.plan = plan
        self.family = FAMILIES[plan.family]
        self._loop = loop
        of_names = FoldingBucket if self.family.folds_names else Bucket
        self.bucket: Bucket = of_names("bucket", self.family.habits, now=self._now)
        self._changes: list[Change] = []
        self._watches: list[Watch] = []
        self.trace = Trace(loop.time)
        self.processes: list[Process] = []
        self.stragglers: list[asyncio.Task[None]] = []
        self._staying: dict[str, bytes] = {}
        self._uploads_of_others: dict[str, Upload] = {}
        for left in (LEFTOVERS[name] for name in plan.leftovers):
            self._staying |= left.files if left.stays else {}
        self._fold = folded if self.family.folds_names else str
        self._order: Order = str if self.family.lists_by_name else in_no_order(plan.schedule)
        self._kept: dict[str, str] = {}
        for at in (HERE, *(job.at for job in plan.jobs)):
            self._kept.setdefault(self._fold(at), self._below_kept(at))
        self.models = {at: self._begin(at) for at in self._kept.values()}
        self._changed_s: dict[str, float] = {}
        self.bucket.watch(self._changes.append)
        for number, one in enumerate(plan.earlier):
            self._leave_earlier(one, number)

    def _below_kept(self, at: str) -> str:
        """*at*, its beginning spelled like the destination that stands above it, if one does."""
        for above, kept in self._kept.items():
            if self._fold(at).startswith(f"{above}/"):
                return kept + at[len(kept) :]
        return at

    def _begin(self, at: str) -> Model:
        """Fill a destination with what stands there before."""
        root, old = _root(at), {}
        if at == HERE:
            old = {name: self.content(name, "old") for name in self.plan.old}
            left = (LEFTOVERS[name].files for name in self.plan.leftovers)
            for name, data in ChainMap(old, *left).items():
                self.bucket.put(StorePath(f"{root}/{name}"), data, None, Expect.ANYTHING)
            self._begin_uploads(root)
        self.bucket.make_directory(root)
        plan, kept = self.plan, {self._fold(job.at) for job in self.plan.jobs}
        return Model(
            root,
            old,
            self._loop.time,
            markers_go=self.family.markers_go,
            fold=self._fold,
            is_calm=not (plan.faults or plan.foreign or plan.leftovers or plan.earlier),
            is_alone=not (plan.foreign or plan.leftovers or kept - {self._fold(at)}),
        )

    def _leave_earlier(self, plan: EarlierPlan, number: int) -> None:
        """Have a job of an earlier version run until it dies; the model sees all that it does."""
        known, url = as_plan(plan, number), _location(HERE).url
        job = EarlierJob(plan, number, self.bucket, self.family, _root(HERE), url)
        process = self.process(f"{known.name}.driver")
        self.begun(job.job_id, known)
        for task, (attempt_id, files) in enumerate(job.attempts):
            self.model.attempted(job.job_id, task, attempt_id, files)
        chosen = enumerate(attempt_id for attempt_id, _ in job.attempts)
        self.model.passed(job.job_id, process.name, chosen)
        for made in islice(job.calls(), plan.calls):
            made.carry_out()
            self.trace.arrived(process.name, made.verb, made.path, None, late=False)
            changes = self._changes.copy()
            self._changes.clear()
            if changes:
                self.changed(process, self._loop.time(), changes)

    def _begin_uploads(self, root: StorePath) -> None:
        """Begin what another program uploads, where there are uploads."""
        left = [LEFTOVERS[name].uploads for name in self.plan.leftovers]
        for name, data in ChainMap(*left).items() if self.bucket.habits.uploads else ():
            begun = self.bucket.start(StorePath(f"{root}/{name}"), Nonce(""))
            self.bucket.put_part(begun, 1, data)
            self._uploads_of_others[begun.upload_id] = self.bucket.uploads[begun.upload_id]

    @property
    def model(self) -> Model:
        """What must be true where most jobs write."""
        return self.models[HERE]

    def model_at(self, at: str) -> Model:
        """What must be true of the destination that is also called *at*."""
        return self.models[self._kept[self._fold(at)]]

    @property
    def violations(self) -> tuple[str, ...]:
        """What was not as it must be, anywhere."""
        return tuple(chain.from_iterable(model.violations for model in self.models.values()))

    def content(self, name: str, *whose: str) -> bytes:
        """What a file holds that somebody writes."""
        return content(name) if self.plan.same else content(name, *whose)

    def process(self, name: str, at: str = HERE) -> Process:
        """A new process, at work at one destination."""
        random = Random(f"{self.plan.schedule} {name}")
        process = Process(
            name,
            at=at,
            loop=self._loop,
            random=random,
            slowness=random.choice(_SLOW),
            faults=self.plan.faults,
            changes=self._changes,
            observer=self,
            trace=self.trace,
        )
        self.processes.append(process)
        return process

    def unused_name(self, name: str) -> str:
        """*name*, or with a number if there was a process of that name."""
        known = {process.name for process in self.processes}
        again = (f"{name}~{number}" for number in count(2))
        return next(one for one in chain([name], again) if one not in known)

    def open(self, process: Process, *, skew_s: float = 0.0) -> OpenDestination:
        """The destination as *process* opens it, with a clock that is *skew_s* ahead."""

        def now() -> datetime:
            return self._now() + timedelta(seconds=skew_s)

        ids = IdSource(process.random, now)
        pace = Pace(ids)
        store = SimulatedStore(
            _root(process.at),
            self.bucket,
            self.family,
            process,
            ask=lambda question: ask(question, pace),
            order=self._order,
        )
        confirmed = ConfirmedStore(store, ids=ids, statistics=Statistics())
        return OpenDestination(_location(process.at), confirmed, ids, store)

    def _now(self) -> datetime:
        return _BEGIN + timedelta(seconds=self._loop.time())

    async def put(self, process: Process, plan: ForeignPlan) -> None:
        """Write or delete a file without any job."""
        path, data = StorePath(f"{_root(HERE)}/{plan.name}"), self.content(plan.name, "foreign")
        if plan.deletes:
            await process.request("delete", path, lambda: self.bucket.delete(path, Expect.ANYTHING))
        else:
            await process.request(
                "put", path, lambda: self.bucket.put(path, data, None, Expect.ANYTHING)
            )

    async def obstruct(self, process: Process, name: str) -> None:
        """Write a file where none stands, unlike any that a job writes."""
        path, data = StorePath(f"{_root(HERE)}/{name}"), f"{name} in the way".encode()
        with suppress(StoreError):
            await process.request(
                "put", path, lambda: self.bucket.put(path, data, None, Expect.ABSENT)
            )

    async def make_way(self, process: Process, name: str) -> None:
        """Take away what :meth:`obstruct` has written, if it still stands there."""
        path = StorePath(f"{_root(HERE)}/{name}")

        def delete() -> None:
            there = self.bucket.get(path)
            if there is not None and there.data.endswith(b" in the way"):
                self.bucket.delete(path, Expect.ANYTHING)

        await process.request("delete", path, delete)

    def is_left_over(self, job_id: str) -> bool:
        """Whether a job is one that was there before, and that nobody can settle."""
        return any(name.startswith(f"_commit/{job_id}/") for name in self._staying)

    def may_be_shown(self, told: str) -> bool:
        """Whether ``clean`` may leave alone what it reports as *told*."""
        shown = [LEFTOVERS[name].shown_as for name in self.plan.leftovers]
        return "pending upload" in told or any(one and told.startswith(one) for one in shown)

    def begun(self, job_id: str, plan: JobPlan) -> None:
        """A driver takes an id for its job."""
        self.trace.names[job_id] = f"job {plan.name}"
        self.model_at(plan.at).begun(job_id, plan)

    def reported(
        self, actor: str, report: CleanReport, *, now: datetime, older_than_s: float
    ) -> None:
        """A cleaner reports which jobs it has aborted: none that is younger, or committed."""
        for job_id in report.aborted:
            job = self.model.jobs.get(job_id)
            if job is not None and job.state == "committed":
                self.model.stuck(f"{actor} says that it has aborted {job_id}, which is committed")
            begun = datetime.strptime(job_id[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
            if (now - begun).total_seconds() < older_than_s:
                self.model.stuck(f"{actor} has aborted {job_id}, which is too young")

    def changed(self, process: Process, sent_at: float, changes: Sequence[Change]) -> None:
        """Show the model every change, and mark in the trace what it finds wrong."""
        model = self.model_at(process.at)
        at = self._kept[self._fold(process.at)]
        self._changed_s[at] = self._loop.time()
        before = len(model.violations)
        model.changed(process, sent_at, changes)
        if process.name.startswith("reader"):
            model.judge([("P10", f"{process.name} has changed {changes[0].path}")])
        for watch in self._watches:
            watch.look()
        for violation in model.violations[before:]:
            self.trace.say(process.name, "!!! VIOLATION", violation)

    def answered(self, process: Process, began_s: float, names: Sequence[str]) -> None:
        """A reader was told that these files are committed.

        By the guarantees, what is done meanwhile at a destination inside may go unnoticed, once.
        """
        root = f"{_root(HERE)}/"
        inside = tuple(
            f"{_root(at)}/".removeprefix(root)
            for at, changed_s in self._changed_s.items()
            if at != HERE and changed_s >= began_s
        )
        told = [name for name in names if not name.startswith(inside)]
        self.model.answered(process.name, began_s, told)

    @contextmanager
    def watched(self) -> Iterator[Watch]:
        """Watch, for whoever verifies, what is true where most jobs write while the block lasts."""
        inside = (at for at in self._kept.values() if at.startswith(f"{HERE}/"))
        is_alone = not self.plan.leftovers and not any(inside)
        watch = Watch(self.model, self._fold, is_alone=is_alone)
        self._watches.append(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)

    def check_visible(self, when: str) -> None:
        """Check that each destination holds what it must."""
        for model in self.models.values():
            model.check_visible(when)

    def check_end(self) -> None:
        """Check that each destination holds what it must, and that nothing is left of any job."""
        self.check_visible("in the end")
        for at, model in self.models.items():
            self._check_left(model, _root(at))
            there = self.bucket.get(StorePath(f"{_root(at)}/_SUCCESS"))
            model.check_marker(None if there is None else there.data)

    def _check_left(self, model: Model, root: StorePath) -> None:
        """Check that nothing is left, by what stands and by what is being uploaded.

        On a flat Azure account uploads are not checked: blocks belong to a name, nobody can list
        them or take them back, and unless something is written under that name only the service
        drops them, after a week. So two of three drawn runs leave some, whoever cleans. None of
        them may ever be seen, and that is checked there as everywhere, when all that is late has
        come.
        """
        below = f"{root}/_commit/", f"{root}/{MAGIC}"
        names = {
            key.removeprefix(f"{root}/")
            for key in (*self.bucket.keys(f"{root}/_"), *self.bucket.directories)
            if key.startswith(below) and not key.endswith(("/done", "/lost"))
        }
        names -= {name for name in names if "/deleted-" in name and name.count("/") == 1}
        for name, data in self._staying.items() if model is self.model else ():
            there = self.bucket.get(StorePath(f"{root}/{name}"))
            names -= {name, *(name[: found.start()] for found in re.finditer("/", name))}
            if there is None or there.data != data:
                model.stuck(f"{name}, which is not of this library, was changed")
        if not self._uploads_of_others.items() <= self.bucket.uploads.items():
            model.stuck("an upload of another program was aborted, or completed")
        uploads = () if self.family.drops_uploads else self._left_uploads(model, root)
        model.check_left(names, uploads)

    def _left_uploads(self, model: Model, root: StorePath) -> Iterator[StorePath]:
        """The uploads that belong to some job.

        One without bytes costs nothing: it may stay where it is not listed, or where nothing says
        whose it is, when its process dies before it writes that down. One of another program is a
        job's when it was adopted, or if it is listed and named after the job.
        """
        for upload_id, upload in self.bucket.uploads.items():
            is_marker = upload.path == f"{root}/_SUCCESS" and not self._staying
            is_ours = bool(upload.nonce) or upload_id in model.adopted
            is_found = self.family.habits.listable and (is_marker or is_of_a_job(upload.path))
            if upload.path.startswith(f"{root}/") and (
                is_found or (is_ours and any(upload.parts.values()))
            ):
                yield upload.path


def _location(at: str) -> Location:
    return Location(f"simulated://top/{at}")


def _root(at: str) -> StorePath:
    return StorePath(f"{_TOP}/{at}")
