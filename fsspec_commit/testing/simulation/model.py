"""What must be true of a run: an independent model, of plain sets and dictionaries.

It sees each change of the store as it happens, and hears what every caller was told. It sees which
of the product's records stand, and reads three kinds: ``decision`` and ``chosen/…`` say which
attempts are chosen, ``_SUCCESS`` names files. All that must follow it computes from the plan alone.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf

from fsspec_commit.testing.simulation import rules
from fsspec_commit.testing.simulation.bucket import Change, Object
from fsspec_commit.testing.simulation.known import Chosen, KnownJob
from fsspec_commit.testing.simulation.markers import Markers
from fsspec_commit.testing.simulation.obstacles import Obstacles
from fsspec_commit.testing.simulation.plan import JobPlan
from fsspec_commit.testing.simulation.process import Process
from fsspec_commit.testing.simulation.remains import remains
from fsspec_commit.testing.simulation.shown import Shown
from fsspec_commit.testing.simulation.spellings import Spellings
from fsspec_commit.testing.simulation.told import Circumstances, Told, told_otherwise, wrongly

MAGIC = "__magic_job-"
"""How the name of the directory begins in which S3A records what it uploads for a job."""
_RECORD = re.compile(
    rf"_commit/(?:void-)?({rules.JOB_ID})(?:-[0-9a-f]{{32}})?"
    r"/(job\.json|decision|published|chosen/\d+|manifests/\d+/[0-9a-f]{16}|claim-[0-9a-f]{32})"
)


class Model:
    """The truth about one run.

    Args:
        root: The destination.
        old: The files that stand there before, by name.
        clock: The virtual time.
        markers_go: Whether jobs can remove the marker of an earlier one.
        fold: Maps all names that the store takes for the same one to a common form, used below.
        is_calm: Whether nothing goes wrong in this run, and nobody else writes there.
        is_alone: Whether nothing of others is there, and no other destination.

    Attributes:
        violations: What was not as it must be; each begins with the promise that it breaks.
        actual: What stands outside of the work area, by name, but for the marker.
        serial: What would stand, had each decided job happened at one moment, in the order of
            decisions; without foreign files, which an overwrite may have listed or not.
        foreign: What others have written, by name.
        touched: The names of which others have written or deleted a file.
        adopted: The ids of uploads that another program has begun, and a job has adopted.
    """

    def __init__(
        self,
        root: str,
        old: Mapping[str, bytes],
        clock: Callable[[], float],
        *,
        markers_go: bool,
        fold: Callable[[str], str] = str,
        is_calm: bool,
        is_alone: bool,
    ) -> None:
        self.violations: list[str] = []
        self._fold = fold
        self.actual: dict[str, bytes] = {fold(name): data for name, data in old.items()}
        self.serial: dict[str, bytes] = dict(self.actual)
        self.jobs: dict[str, KnownJob] = {}
        self.told: list[Told] = []
        self.foreign: dict[str, bytes] = {}
        self._shown = Shown(self.actual, clock)
        self.adopted: set[str] = set()
        self._in_trash: set[str] = set()
        self._seen_s: dict[str, float] = {}
        self._root = f"{root}/"
        self._clock = clock
        self._markers = Markers(are_removed=markers_go, clock=clock, fold=fold)
        self._spellings = Spellings(fold)
        self._obstacles = Obstacles(clock)
        self.touched: set[str] = set()
        self._is_calm = is_calm
        self._is_alone = is_alone
        self._had_data = any(map(rules.is_visible, old))
        for name in old:
            self._spellings.stands(name)

    # What actors report.

    def begun(self, job_id: str, plan: JobPlan) -> None:
        """A driver takes an id for its job."""
        partitions = tuple(map(self._fold, plan.partitions))
        self.jobs.setdefault(job_id, KnownJob(job_id, replace(plan, partitions=partitions)))

    def attempted(
        self, job_id: str, task: int, attempt_id: str, files: Mapping[str, bytes]
    ) -> None:
        """An attempt will write *files*, by their final names."""
        self.jobs[job_id].attempted(task, attempt_id, list(map(self._fold, files)), files.values())
        self._spellings.writes(job_id, files)

    def passed(self, job_id: str, actor: str, chosen: Iterable[tuple[int, str]]) -> None:
        """A driver passes in the messages of *chosen*."""
        self.jobs[job_id].passed.setdefault(actor, []).append(frozenset(chosen))

    def give_up(self, job_id: str) -> bool:
        """Whether a person rightly gives up a job that looks damaged; then it may leave a mark."""
        job = self.jobs[job_id]
        job.is_given_up = job.is_given_up or job.looks_damaged
        return job.is_given_up

    def hear(self, told: Told) -> None:
        """A caller was told what became of its job."""
        self.told.append(told)
        job = self.jobs.get(told.job_id)
        if job is None:
            return
        others = [other for other in self.jobs.values() if other is not job]
        calm, alone, had_data = self._is_calm, self._is_alone, self._had_data
        run = Circumstances(calm, alone, had_data, others, self.actual, self._fold)
        self.judge(wrongly(told, job, run))
        is_done = told.answer == "returned" and told.call != "abort" and job.state == "committed"
        # Once job.json has left its place, others go on, and may have replaced what there was.
        for promise, what in self._undone(job) if is_done and not job.was_done else ():
            self._wrong(promise, f"{told.call} returned, and {what}")

    def told_chosen(self, job_id: str, task: int, attempt_id: str, *, chosen: bool | None) -> None:
        """An attempt was told whether it is chosen; that means nothing when its job is over."""
        job = self.jobs[job_id]
        first = job.pointers.get(task)
        if job.plan.collect and job.stands_since(inf) and chosen != (first == attempt_id):
            self._wrong("P3", f"{attempt_id} was told chosen={chosen}, and task {task} has {first}")

    def answered(self, actor: str, began_s: float, names: Sequence[str]) -> None:
        """A reader was told that these files are committed: true at some moment since it asked."""
        told = [*map(self._fold, names)]
        self.judge(self._shown.untruths(actor, began_s, told, self.touched))

    def judge(self, wrong: Iterable[tuple[str, str]]) -> None:
        """Note what is *wrong*, each with the promise that it breaks."""
        for promise, what in wrong:
            self._wrong(promise, what)

    # What the store shows.

    def changed(self, process: Process, sent_at: float, changes: Sequence[Change]) -> None:
        """A request has made *changes*, all at one moment."""
        if "/trash/" in changes[-1].path and changes[-1].after is not None:
            self._in_trash.update(one.path[len(self._root) :] for one in changes[:-1])
        of_jobs = [found for one in changes if (found := self._record(one, process)) is not None]
        specs = [(job, change) for job, kind, change in of_jobs if kind == "job.json"]
        for job, change in specs:
            self._spec(job, change, process)
        for job, kind, change in of_jobs:
            if kind == "decision" or kind.startswith("manifests/"):
                job.note_standing(change)
            if kind == "decision":
                self._decision(job, change, process, sent_at)
            elif kind == "published":
                self._published(job, change)
            elif kind.startswith("chosen/") and change.after is not None:
                message = json.loads(change.after.data)["message"]
                job.pointers.setdefault(message["task_id"], message["attempt_id"])
        for job, _ in specs:
            for promise, what in job.end_if_gone():
                self._wrong(promise, f"job.json is gone, and {what}")

    def _record(self, change: Change, process: Process) -> tuple[KnownJob, str, Change] | None:
        """The job and the name of a changed record; a change of anything else is judged."""
        if not change.path.startswith(self._root):
            self._wrong("P10", f"{process.name} has changed {change.path}")
            return None
        name = change.path[len(self._root) :]
        if name.startswith(MAGIC):
            return None  # beside a job's area, and checked with that
        if not name.startswith("_commit/"):
            if name == "_SUCCESS":
                self._mark(change, process)
            else:
                self._show(self._fold(name), change, process)
                if change.after is not None:
                    self._spellings.stands(name)
                    self._check_unmarked(self._fold(name), change.after)
            return None
        record = _RECORD.fullmatch(name)
        if record is None or record[1] not in self.jobs:
            return None
        job = self.jobs[record[1]]
        if record[2].startswith("claim-"):
            job.claims.setdefault(record[2], self._clock())
        return job, record[2], change

    def _spec(self, job: KnownJob, change: Change, process: Process) -> None:
        if change.after is None:
            job.ended_by = process.name
            job.spec.discard(change.path)
            job.was_away = True
            if job.state == "committed" and not job.was_done and "/void-" not in change.path:
                job.undone = tuple(self._undone(job))
                job.was_done = not job.undone
        else:
            job.spec.add(change.path)
            if "/void-" not in change.path:
                job.undone = ()
            job.begun_at_s = min(job.begun_at_s, self._clock())
            if job.is_over and job.state == "committed":
                self._wrong("P6", f"job {job.plan.name} is committed and over, and begins again")

    def _decision(self, job: KnownJob, change: Change, process: Process, sent_at: float) -> None:
        if change.after is None or not job.spec or "/void-" in change.path:
            if change.after is None and job.spec and job.state != "undecided":
                area = change.path.rpartition("/")[0]
                if any(path.startswith(f"{area}/") for path in job.spec):
                    self._wrong("P7", f"{process.name} has deleted job {job.plan.name}'s decision")
            return
        record = json.loads(change.after.data)
        if job.state == record["state"] and change.before is None and job.decided_by:
            return  # put back with its area
        if job.state != "undecided":
            self._wrong("P7", f"job {job.plan.name} is {job.state}, and now {record['state']}")
            return
        job.state, job.decided_by, job.sent_at_s = record["state"], process.name, sent_at
        job.decided_at_s, own = self._clock(), f"{job.plan.name}.driver"
        if record["state"] == "committed":
            job.claimed_at_s = job.claims.get(f"claim-{record['claim']['nonce']}", 0.0)
            self._decided(job, record)
        elif self._is_calm and process.name.endswith(".driver") and process.name != own:
            self._wrong("P11", f"{process.name} has aborted job {job.plan.name}, and {own} lives")

    def _decided(self, job: KnownJob, record: Mapping[str, object]) -> None:
        plan, name = job.plan, job.plan.name
        listed = record["chosen"]
        assert isinstance(listed, list)
        chosen: Chosen = frozenset((one["task_id"], one["attempt_id"]) for one in listed)
        passed = job.passed.get(job.decided_by, [])
        if chosen not in ([frozenset(job.pointers.items())] if plan.collect else passed):
            self._wrong("P3", f"job {name} has chosen other attempts than {job.decided_by} passed")
        for other in self._committed():
            if plan.key is not None and other.plan.key == plan.key and other is not job:
                self._wrong("P7", f"jobs {other.plan.name} and {name} have one key")
        tasks = sorted(task for task, _ in chosen)
        if tasks != list(range(len(plan.files))):
            self._wrong("P1", f"job {name} has chosen attempts of the tasks {tasks}")
        for task, attempt_id in chosen:
            of, files = job.attempts.get(attempt_id, (-1, {}))
            if of != task:
                self._wrong("P2", f"job {name} has chosen {attempt_id}, no attempt of {task}")
            if attempt_id in job.spelled_twice or job.new.keys() & files.keys():
                self._wrong("P1", f"job {name} has decided to write two files of one name")
            job.new.update(files)
        alike = partial(self._spellings.are_alike, job.job_id)
        for wrong in rules.out_of_turn(plan, job.new, self.serial, self.foreign, alike):
            self._wrong("P11", f"job {name} has decided to {wrong}")
        job.replaced = {
            path: data for path, data in self.serial.items() if rules.replaces(plan, job.new, path)
        }
        staying = {path: data for path, data in self.serial.items() if path not in job.replaced}
        self.serial = staying | job.new
        self.judge(told_otherwise(self.told, job))

    def _published(self, job: KnownJob, change: Change) -> None:
        if change.after is not None and job.spec and not job.is_published:
            job.is_published = True
            self._shown.published(job.new, job.replaced)

    def _show(self, name: str, change: Change, process: Process) -> None:
        before = None if change.before is None else change.before.data
        after = None if change.after is None else change.after.data
        if after is None:
            self.actual.pop(name, None)
        else:
            self.actual[name] = after
            self._had_data = self._had_data or rules.is_visible(name)
        if process.name.startswith(("foreign", "obstacle")):
            self.touched.add(name)
        if process.name.startswith("foreign"):
            self._meddle(name, after)
        elif name in self.foreign:
            self._show_foreign(name, after, process)
        elif self._obstacles.are_meant(process.name, name, before):
            wrong = self._obstacles.changed(process.name, name, after, self._committed())
            if wrong is not None:
                self._wrong("P9", wrong)
        else:
            self._show_own(name, before, after, process)

    def _show_own(
        self, name: str, before: bytes | None, after: bytes | None, process: Process
    ) -> None:
        deciding = self._committed()
        live = [job for job in deciding if not job.is_over]
        who = f"{process.name}: {name!r}"
        if after is not None and not any(job.new.get(name) == after for job in live):
            if any(job.replaced.get(name) == after for job in live):
                return  # taken for identification, and put back
            ended = any(job.new.get(name) == after for job in deciding)
            promise = "P6" if ended else "P2"
            self._wrong(promise, f"{who} appears with {after!r}, which no job publishes now")
        if before is None or before == after:
            return
        for job in deciding:
            if job.is_in_place and job.replaced.get(name) == before:
                in_place = after is not None and job.new.get(name) == after
                if in_place or job.is_whole(self.actual):
                    return
                self._wrong("P9", f"{who} goes before all of job {job.plan.name} is in place")
                return
        self._wrong("P9", f"{who} goes with {before!r}, which no job replaces now")

    def _meddle(self, name: str, after: bytes | None) -> None:
        """A foreigner writes or deletes a file: what had its name is no job's any more."""
        self.serial.pop(name, None)
        for job in self.jobs.values():
            job.replaced.pop(name, None)
        if after is not None:
            self.foreign[name] = after
            self._seen_s[name] = self._clock()

    def _show_foreign(self, name: str, after: bytes | None, process: Process) -> None:
        """A foreign file goes only if an overwrite that was decided later has listed it."""
        if after == self.foreign[name]:
            self._in_trash.discard(name)
            return
        for job in self.jobs.values():
            listed = job.state == "committed" and job.decided_at_s > self._seen_s[name]
            if listed and job.is_in_place and rules.replaces(job.plan, job.new, name):
                self._in_trash.discard(name)
                if not job.is_whole(self.actual):
                    self._wrong("P9", f"{process.name}: {name!r} goes too early")
                return
        if name not in self._in_trash:
            self._wrong("P9", f"{process.name}: {name!r} of somebody else goes, or is changed")

    def _undone(self, job: KnownJob) -> Iterator[tuple[str, str]]:
        """What of a job is not in place, or not gone, though all must be; and what that breaks."""
        if not job.is_whole(self.actual):
            missing = sorted(name for name in job.new if self.actual.get(name) != job.new[name])
            yield "P1", f"of job {job.plan.name} {missing} are not in place"
        left = job.left(self.actual)
        if left:
            yield "P9", f"job {job.plan.name} has left {left}"

    def _committed(self) -> list[KnownJob]:
        return [job for job in self.jobs.values() if job.state == "committed"]

    def _mark(self, change: Change, process: Process) -> None:
        """``_SUCCESS`` appears when all of a job is in place, and all that it replaces is gone."""
        whole = [job for job in self._committed() if not job.is_over and job.is_whole(self.actual)]
        wrong = self._markers.changed(
            change.after, [job for job in whole if not job.left(self.actual)]
        )
        if wrong is not None:
            self._wrong("P1", f"{process.name}: {wrong}")

    def _check_unmarked(self, name: str, after: Object) -> None:
        """While a part of a job is in place no marker stands that it could have removed."""
        for job in self._committed():
            is_part = not job.is_whole(self.actual) or job.left(self.actual)
            is_new = not job.is_over and job.new.get(name) == after.data
            if is_new and is_part and self._markers.speaks_for(job):
                self._wrong("P1", f"{name!r} appears, and _SUCCESS speaks for a part of its job")

    def check_visible(self, when: str) -> None:
        """Exactly what the serial order of the decisions leaves is visible."""
        taken = sorted(self._in_trash & self.foreign.keys() - self.actual.keys())
        if taken:
            self._wrong("P9", f"{when}: {taken} of somebody else were not put back")
        ours = {name: data for name, data in self.actual.items() if name not in self.foreign}
        if ours == self.serial:
            return
        missing = sorted(
            name for name, data in self.serial.items() if self.actual.get(name) != data
        )
        surplus = sorted(name for name, data in ours.items() if self.serial.get(name) != data)
        self._wrong("P1 P2 P11", f"{when}: missing {missing}, surplus {surplus}")

    def check_marker(self, there: bytes | None) -> None:
        """``_SUCCESS`` stands in the end if it must, and names no file that is missing."""
        stand = self.actual.keys() | self.touched
        wrong = self._markers.untruths(there, self._committed(), stand)
        self.judge(("P1", what) for what in wrong)

    def check_left(self, names: Collection[str], uploads: Iterable[str]) -> None:
        """Of what stands in the work area, *names*, nothing is left of any job but its marks."""
        self.judge(remains(self.jobs.values(), names, uploads))

    def names(self) -> tuple[str, ...]:
        """The names of the visible files, without the ids of jobs and attempts."""
        return tuple(sorted(map(rules.without_ids, self.actual)))

    def stuck(self, what: str) -> None:
        """A job can be neither finished nor aborted, or a caller waits for ever."""
        self._wrong("P8", what)

    def _wrong(self, promise: str, what: str) -> None:
        self.violations.append(f"{promise}: {what} (at {self._clock():.3f} s)")
