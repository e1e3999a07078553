"""A machine that does whatever users can: jobs, tasks, other drivers, resumers, cleaners, faults.

Each call returns before the next one begins, so what is right is plain. What several do at one
moment is for the simulator; here is what it does not run, the synchronous side: jobs and tasks as
people hold them, their blocks, their files, and what they say when they are used wrongly.
"""

from __future__ import annotations

import gc
import random
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar

from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)
from hypothesis.strategies import booleans, integers, lists, sampled_from

import fsspec_commit as fc
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.store.registry import wrapping
from tests.protocol.invariants import check_settled, job_ids, state_of, visible
from tests.protocol.public_api.trouble import KINDS, Kind, Trouble
from tests.protocol.public_api.truth import KnownJob, Truth
from tests.protocol.public_api.users import Attempt, Ears, LeftError, User

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.scenes.flat_place import FlatPlace
    from tests.scenes.memory_place import MemoryPlace

FILES = ("a.txt", "day=1/a.txt", "day=1/b.txt", "day=2/a.txt")
MODES = ("append", "append", "overwrite", "overwrite", "overwrite_partitions", "error", "ignore")
OLD = {
    "old-6a0d9b8e-5c0f-4a55-9f0e-0123456789ab.txt": b"old",
    "day=1/old-6a0d9b8e-5c0f-4a55-9f0e-0123456789ab.txt": b"old of day 1",
}
NOBODYS = ": a pending upload that no job is known to have begun"
YEAR = timedelta(days=365)


class PublicApi(RuleBasedStateMachine):
    """One destination, and all who use it.

    Attributes:
        make: Makes a place to write to, whose store has this clock.
        keeps_names_apart: Whether attempts that write one name do not hurt each other.
    """

    make: ClassVar[Callable[[Callable[[], datetime]], FlatPlace | MemoryPlace]]
    keeps_names_apart: ClassVar[bool] = True

    users = Bundle("users")
    attempts = Bundle("attempts")

    def __init__(self) -> None:
        super().__init__()
        # Ids and times are the same in each run: else what was found would not be found again.
        self.time = datetime.now(UTC).replace(microsecond=0)
        self.place = type(self).make(lambda: self.time)
        self.truth = Truth({})
        self.trouble = Trouble()
        self.ears = Ears(self.place, self.truth, self.trouble)
        self.count = 0
        self._until_the_end = ExitStack()
        self._until_the_end.callback(self.place.remove)
        self._until_the_end.enter_context(wrapping(self.trouble.wrap))
        for what, source in {"random": random.Random(0), "now": lambda: self.time}.items():
            real = getattr(SYSTEM_IDS, what)
            object.__setattr__(SYSTEM_IDS, what, source)
            self._until_the_end.callback(object.__setattr__, SYSTEM_IDS, what, real)

    @initialize(with_old=booleans())
    def old_files(self, *, with_old: bool) -> None:
        """Of somebody who has written without this library."""
        if with_old:
            self.place.put(OLD)
            self.truth.written_by_others(OLD)

    @rule(
        target=users,
        mode=sampled_from(MODES),
        exact=booleans(),
        success=sampled_from(["marker", "json", "none"]),
        key=sampled_from([None, None, "k"]),
        declared=sampled_from([(), ("day=1",)]),
        collect=sampled_from([False, False, True]),
    )
    def start(self, mode: Any, declared: tuple[str, ...], key: str | None, **how: Any) -> Any:
        """Begin a job."""
        options: dict[str, Any] = {"idempotency_key": key} if key else {}
        if mode == "overwrite_partitions":
            options["partitions"] = declared
        if how["collect"]:
            options |= {"collect": "store", "tasks": 2}
        if how["exact"] and self.keeps_names_apart:
            options["names"] = "exact"
        job = fc.Job(self.place.url, mode=mode, wait_s=0, success=how["success"], **options)
        told = self.ears.call(job.start)
        if told != "returned":
            assert not isinstance(told, fc.DestinationExistsError) or self.truth.has_data
            return multiple()
        if job.skipped:
            assert (mode == "ignore" and self.truth.has_data) or self.truth.has_committed(key)
        known = KnownJob(job.job_id, mode, declared if "partitions" in options else ())
        known.is_collected, known.key = how["collect"], key
        self.truth.jobs.append(known)
        job._begun_here = False  # Who is gone is not warned of what is left: that is looked at.
        return User(job, known, has_begun=True)

    @rule(target=users, user=users)
    def another_driver(self, user: User) -> Any:
        """Somebody else drives the same job, with the messages so far."""
        spec = self.ears.value(lambda: user.job.spec)
        other = self.ears.value(lambda: fc.Job.from_spec(spec))
        return multiple() if other is None else User(other, user.known, received=[*user.received])

    @rule(target=attempts, user=users, task_id=integers(0, 1), elsewhere=booleans())
    def begin(self, user: User, task_id: int, *, elsewhere: bool) -> Any:
        """Begin an attempt, by the job or by its spec."""
        if user.is_gone and not elsewhere:
            return multiple()
        if elsewhere:
            spec = self.ears.value(lambda: user.job.spec)
            task = self.ears.value(lambda: fc.Task.from_spec(spec, task_id))
        else:
            task = self.ears.value(lambda: user.job.task(task_id))
        if task is None:
            return multiple()
        user.known.attempts[task.attempt_id] = task_id, {}
        return Attempt(user, task, elsewhere)

    @rule(
        user=users,
        task_id=integers(0, 1),
        names=lists(sampled_from(FILES), min_size=1, max_size=2, unique=True),
        elsewhere=booleans(),
    )
    def do_a_task(self, user: User, task_id: int, names: list[str], *, elsewhere: bool) -> None:
        """Begin an attempt, write its files, and commit it."""
        attempt = self.begin(user, task_id, elsewhere=elsewhere)
        if isinstance(attempt, Attempt):
            for name in names:
                self.write(attempt, name, "")
            self.end(attempt, "commit")

    @rule(
        user=users,
        names=lists(sampled_from(FILES), min_size=1, max_size=3, unique=True),
        kind=sampled_from([None, None, *KINDS]),
        call=integers(1, 40),
    )
    def finish(self, user: User, names: list[str], kind: Kind | None, call: int) -> None:
        """Do what is left to do, and commit, while something goes wrong or not."""
        record = user.job.spec.record
        for task_id in range(record.tasks or 1):
            self.do_a_task(user, task_id, names[task_id:] or names, elsewhere=user.is_gone)
        if kind is not None:
            self.trouble.arm(kind, call)
        self.commit(user, 9, leaves=False)
        if kind is not None:
            self.trouble.end()

    @rule(
        target=users,
        mode=sampled_from(MODES),
        key=sampled_from([None, "k"]),
        names=lists(sampled_from(FILES), min_size=1, max_size=3, unique=True),
        kind=sampled_from([None, *KINDS]),
        call=integers(1, 25),
    )
    def do_a_job(self, mode: Any, key: str | None, **how: Any) -> Any:
        """Begin a job, do its tasks, and commit, while something goes wrong or not."""
        usual = {"exact": False, "success": "marker", "collect": False}
        user = self.start(mode, (), key, **usual)
        if isinstance(user, User):
            self.finish(user, **how)
        return user

    @rule(attempt=attempts, name=sampled_from(FILES), ending=sampled_from(["", "", "raise", "x"]))
    def write(self, attempt: Attempt, name: str, ending: str) -> None:
        """Write a file; or leave its block by an exception; or remove it again."""
        self.count += 1
        data = f"{attempt.task.attempt_id} {self.count}".encode()
        files = attempt.user.known.attempts[attempt.task.attempt_id][1]
        final = self._final(attempt, name)

        def write() -> None:
            with attempt.task.open(name) as file:
                file.write(data)
                if ending == "raise":
                    raise LeftError
            if ending == "x":
                attempt.task.filesystem.rm_file(name)

        # Until it is known how that went, the attempt may not have it.
        files.pop(final, None)
        if self.ears.call(write) == "returned" and not ending:
            files[final] = data

    @rule(attempt=consumes(attempts), how=sampled_from(["commit"] * 4 + ["leave", "raise", "drop"]))
    def end(self, attempt: Attempt, how: str) -> None:
        """Commit an attempt, drop it, or forget it."""
        task, user = attempt.task, attempt.user
        if how == "drop":
            self.ears.call(task.abort)
            return
        error = LeftError() if how == "raise" else None
        leave = task.commit if how == "commit" else lambda: task.__exit__(None, error, None)
        told = self.ears.call(leave)
        if told != "returned" or how == "raise":
            return
        _, files = user.known.attempts[task.attempt_id]
        assert task.message.file_count == len(files), f"it has not what was written: {files}"
        if attempt.is_elsewhere:
            user.received.append(task.message)
        else:
            user.own.setdefault(task.task_id, set()).add(task.attempt_id)

    @rule(user=users, keep=sampled_from([9, 9, 9, 0, 1]), leaves=booleans())
    def commit(self, user: User, keep: int, *, leaves: bool) -> None:
        """Commit with some of the messages, or leave the block, which commits."""
        if user.is_gone:
            return
        known, given = user.known, user.received[-keep:] if keep else []
        passed: list[frozenset[str]] = []
        if not known.is_collected:
            ids = {message.attempt_id for message in given}
            tasks = {message.task_id for message in given}
            own = (one for task, one in user.own.items() if task not in tasks)
            passed = [frozenset(ids.union(*own))]
        messages = None if known.is_collected else given
        if leaves and messages:
            return
        if known.declared and not any(known.has_files(one) for choice in passed for one in choice):
            return  # It may commit, and nothing that stands would show it.
        known.passed += passed

        def commit() -> None:
            if leaves:
                user.job.__exit__(None, None, None)
            else:
                user.job.commit(messages)

        told = self.ears.call(commit)
        user.is_gone = leaves
        if not (user.has_begun and isinstance(told, fc.CommitFailedError)):
            # Who has begun a job is told that the store has failed, whatever others did.
            self.ears.heard(known, told, committed=not (leaves or user.job.skipped))

    @rule(
        user=users,
        how=sampled_from(["abort", "abort by id", "raise", "end", "clean", "clean", "clean all"]),
    )
    def give_up(self, user: User, how: str) -> None:
        """A job is aborted, left by an exception, forgotten, or cleaned."""
        job_id, url = user.known.job_id, self.place.url
        if how.startswith("clean"):
            older = timedelta(0) if how == "clean all" else YEAR
            self.ears.call(lambda: fc.clean(url, older_than=older, dry_run=False))
        elif how.startswith("abort"):
            by_id = how == "abort by id"
            told = self.ears.call(lambda: fc.abort(url, job_id) if by_id else user.job.abort())
            self.ears.heard(user.known, told, committed=None)
        elif not user.is_gone:
            user.is_gone = True
            if how == "raise":
                self.ears.call(lambda: user.job.__exit__(LeftError, LeftError(), None))
            gc.collect()

    @rule(user=users)
    def resume(self, user: User) -> None:
        """Resume a job by its id."""
        told = self.ears.call(lambda: fc.resume(self.place.url, user.known.job_id))
        self.ears.heard(user.known, told, committed=True)

    @rule(name=sampled_from(["foreign.txt", "day=1/foreign.txt"]))
    def write_as_a_foreigner(self, name: str) -> None:
        """Somebody writes who knows nothing of jobs."""
        self.count += 1
        name = name.replace(".txt", f"-{self.count:032x}.txt")
        self.place.put({name: b"foreign"})
        self.truth.written_by_others({name: b"foreign"})

    @rule(what=sampled_from(["files", "jobs", "verify"]))
    def ask(self, what: str) -> None:
        """Ask what is committed, which jobs there are, or whether all is there."""
        url = self.place.url
        ask: Any = {"files": fc.committed_files, "jobs": fc.jobs, "verify": fc.verify}[what]
        told = self.ears.value(lambda: ask(url))
        snapshot = self.ears.look()
        if told is None:
            return
        if what == "files":
            assert self.truth.is_shown(told.names), f"P1 P2: half a job: {sorted(told.names)}"
        elif what == "jobs":
            self._compare(snapshot, {one.job_id: one.state for one in told})
        elif not self.truth.unfinished:
            assert told.missing == told.changed == (), f"P1: {told}"

    @precondition(lambda self: self.truth.jobs)
    @rule(hours=sampled_from([1, 3, 24 * 8]))
    def wait(self, hours: int) -> None:
        """Let time pass, in which nobody does anything."""
        self.time += timedelta(hours=hours)

    @precondition(lambda self: self.truth.jobs and self.trouble.kind is None)
    @rule(kind=sampled_from(KINDS), call=lists(integers(1, 12), min_size=2, max_size=2))
    def let_something_go_wrong(self, kind: Kind, call: list[int]) -> None:
        """At one of the next calls of the store; sooner or later."""
        self.trouble.arm(kind, call[0] * call[1])

    @precondition(lambda self: self.trouble.kind is not None)
    @rule()
    def let_all_be_well(self) -> None:
        """What was to go wrong does not, or does no more."""
        self.trouble.end()

    @invariant()
    def p1_to_p11_hold(self) -> None:
        """What stands is what the decided jobs have made of it, in the order of their decisions."""
        self.time += timedelta(seconds=1)
        self.truth.check(self.ears.look())

    def teardown(self) -> None:
        """Whatever has happened, each job can be settled, and nothing is left (P5, P8)."""
        try:
            self.trouble.end()
            for job_id in job_ids(self.ears.look()):
                is_decided = state_of(self.place.snapshot(), job_id) in {"decided", "published"}
                settle = fc.resume if is_decided else fc.abort
                settle(self.place.url, job_id)
            self.time += YEAR  # Nobody knows whose a young upload of a marker is.
            report = fc.clean(self.place.url, older_than=timedelta(0), dry_run=False)
            assert not report.not_removed
            # Begun under a name of its user's, by one who died before it held anything: anybody's.
            assert all(one.endswith(NOBODYS) for one in report.shown), report
            # A store that keeps uploads by path does not show what a marker's upload holds.
            markers = [one for one in report.shown if one.startswith("_SUCCESS")]
            assert not (markers and self.keeps_names_apart), report
            snapshot = self.ears.look()
            assert not self.truth.unfinished
            self.truth.check(snapshot)  # What is visible; then what is not.
            check_settled(snapshot, self.place.directories(), expected=visible(snapshot))
            assert self.place.pending() == []
            found = fc.verify(self.place.url)
            assert (found.missing, found.changed, found.leftovers) == ((), (), report.shown)
        finally:
            self._until_the_end.close()
            super().teardown()

    @staticmethod
    def _compare(snapshot: dict[str, bytes], shown: dict[str, str]) -> None:
        """Each job that has a record is shown, as far as it has got."""
        for job_id in job_ids(snapshot):
            state = state_of(snapshot, job_id)
            as_shown = {"undecided": {"open", "committing"}}.get(state, {state})
            assert shown.get(job_id) in as_shown, f"P8: {job_id} is {state}: {shown}"

    def _final(self, attempt: Attempt, name: str) -> str:
        """The name that a file gets: with the job's id and the task, unless it keeps its own."""
        known, task = attempt.user.known, attempt.task
        if task._job.record.names == "exact":
            return name
        path = PurePosixPath(name)
        mark = f"{known.job_id}-{task.task_id}"
        mark += "" if self.keeps_names_apart else f"-{task.attempt_id}"
        return str(path.with_name(f"{path.stem}-{mark}{path.suffix}"))
