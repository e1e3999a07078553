"""What callers may be told of a job, by what is known of it: an answer must be true, and of use."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from fsspec_commit.testing.simulation.known import KnownJob
from fsspec_commit.testing.simulation.rules import is_of_a_job, is_visible

_IN_THE_WAY = {"ConcurrentJobError", "DestinationExistsError", "UnsafeStoreError"}
_IN_DOUBT = {"CommitFailedError", "CommitStateUnknownError", "PartialCommitError", "RecordError"}


@dataclass(frozen=True)
class Report:
    """What a result says that a job has done.

    Attributes:
        names: The new files, by their final names.
        file_count: How many there are.
        size_bytes: How large they are together.
        replaced_count: How many old files went.
    """

    names: frozenset[str]
    file_count: int
    size_bytes: int
    replaced_count: int


@dataclass(frozen=True)
class Told:
    """What a caller was told.

    Attributes:
        actor: The caller.
        job_id: The job that it asked for.
        call: ``"commit"``, ``"resume"`` or ``"abort"``.
        began_s: When it called.
        at_s: When it was answered.
        answer: ``"returned"``, ``"skipped"``, or the outcome of the error.
        error: The class of the error, if one was raised.
        report: The result, if the call returned one.
        was_denied: Whether the store refused the caller something meanwhile, or was out: a caller
            that gets no answers may know less than what stands there.
        was_kept_out: Whether the store refused to show the caller something in the work area.
    """

    actor: str
    job_id: str
    call: str
    began_s: float
    at_s: float
    answer: str
    error: str = ""
    report: Report | None = None
    was_denied: bool = False
    was_kept_out: bool = False


@dataclass(frozen=True)
class Circumstances:
    """What a run is like, as far as it matters to what is told.

    Attributes:
        is_calm: Whether nothing goes wrong, and nobody else writes: then nothing is in doubt.
        is_alone: Whether there are these jobs only, and nothing of others, there or below.
        had_data: Whether there ever was a file that readers take for data.
        others: All other jobs at the destination.
        actual: What stands.
        fold: Maps all names that the store takes for the same one to a common form.
    """

    is_calm: bool
    is_alone: bool
    had_data: bool
    others: Collection[KnownJob]
    actual: Mapping[str, bytes]
    fold: Callable[[str], str] = str


def wrongly(told: Told, job: KnownJob, run: Circumstances) -> Iterator[tuple[str, str]]:
    """What is wrong with an answer, by what is known of the *job* by then; and what that breaks."""
    yield from _untruths(told, job)
    if told.answer == "skipped" and not _may_be_skipped(job, run):
        name = job.plan.name
        yield "P1", f"{told.actor} was told skipped, without a reason to skip job {name}"
    if told.report is not None and job.state == "committed":
        yield from _misreported(told.actor, told.report, job, run)
    yield from _of_no_use(told, job, run)


def _untruths(told: Told, job: KnownJob) -> Iterator[tuple[str, str]]:
    committed, who = job.state == "committed", f"{told.actor} was told {told.answer}"
    name = job.plan.name
    if told.answer == "returned" and told.call in {"commit", "resume"}:
        if not committed:
            yield "P1", f"{who}, and job {name} is {job.state}"
    elif told.answer == "skipped" and job.spec:
        yield "P5", f"{who}, and job {name} is not over"
    elif told.answer == "returned" and committed:
        yield "P5", f"{told.actor} has aborted job {name}, which is committed"
    elif told.answer in {"committed", "partial"} and not committed:
        yield "P7", f"{who}, and job {name} is {job.state}"
    elif told.answer == "not_committed" and committed:
        own = job.decided_by == told.actor and job.sent_at_s >= told.began_s
        late = told.began_s > job.decided_at_s
        excused = told.error == "CommitFailedError" and told.actor.endswith(".driver")
        if own or told.error == "JobNotActiveError" or (late and not excused):
            yield "P7", f"{who} ({told.error}), and job {name} is committed"


def _of_no_use(told: Told, job: KnownJob, run: Circumstances) -> Iterator[tuple[str, str]]:
    """What an answer leaves open, or refuses, without a reason; and what that breaks."""
    who, name = f"{told.actor} was told {told.answer} ({told.error})", job.plan.name
    is_vague = told.answer == "unknown" and told.error == "JobNotActiveError"
    if is_vague and not told.was_denied and job.stands_since(told.began_s):
        yield "P7", f"{who}, and job {name} is {job.state}, as its area says"
    if is_vague and run.is_calm and run.is_alone and _shows_itself(job, run):
        yield "P7", f"{who}, and job {name} is committed, as its files say"
    if told.error in _IN_DOUBT and run.is_calm:
        yield "P8", f"{who} of job {name}, and nothing has gone wrong"
    # What nobody may look at may be in the way.
    is_unseen = told.error == "ConcurrentJobError" and told.was_kept_out
    if told.error in _IN_THE_WAY and _is_in_nobodys_way(job, run) and not is_unseen:
        yield "P4", f"{who}, and nothing is in the way of job {name}"
    if told.answer == "partial" and job.is_over and job.ended_by == told.actor:
        yield "P8", f"{who}, and has done all of job {name}, and ended it"
    waited_s = told.at_s - told.began_s
    if told.error == "ConcurrentJobError" and run.is_alone and waited_s < job.plan.wait_s:
        yield "P11", f"{who} after {waited_s:.1f} s, and job {name} waits {job.plan.wait_s} s"


def _shows_itself(job: KnownJob, run: Circumstances) -> bool:
    """Whether all its files stand, one of them with its id, which only a committed job leaves."""
    stand = all(run.actual.get(name) == data for name, data in job.new.items())
    return job.state == "committed" and stand and any(map(is_of_a_job, job.new))


def _misreported(
    actor: str, report: Report, job: KnownJob, run: Circumstances
) -> Iterator[tuple[str, str]]:
    """What is not true in the result of a *job* that is committed; and what that breaks."""
    who, name = f"the result that {actor} was given", job.plan.name
    if {*map(run.fold, report.names)} != job.new.keys() or report.file_count != len(job.new):
        yield "P1", f"{who} names {sorted(report.names)} of job {name}, {report.file_count} files"
    if report.size_bytes != sum(map(len, job.new.values())):
        yield "P1", f"{who} counts {report.size_bytes} bytes of job {name}"
    if run.is_calm and report.replaced_count != len(job.replaced):
        yield "P9", f"{who} counts {report.replaced_count} old files, and not {len(job.replaced)}"


def told_otherwise(told: Iterable[Told], job: KnownJob) -> Iterator[tuple[str, str]]:
    """Who was told that *job*, which is now committed, would never be; and what that breaks."""
    for other in told:
        if other.job_id != job.job_id:
            continue
        own = other.actor == job.decided_by and other.at_s >= job.sent_at_s
        who, name = f"{other.actor} was told {other.answer}", job.plan.name
        if other.answer == "not_committed" and (own or other.error == "JobNotActiveError"):
            yield "P7", f"{who}, and then {name} decided"
        if (other.call, other.answer) == ("abort", "returned"):
            yield "P5", f"{who}, of its abort of {name}, which is committed"


def _may_be_skipped(job: KnownJob, run: Circumstances) -> bool:
    """Whether another job has committed under the same key, or there is data to be left alone."""
    key = job.plan.key
    by_key = key is not None and any(
        other.plan.key == key and other.state == "committed" for other in run.others
    )
    return by_key or (job.plan.mode == "ignore" and (run.had_data or not run.is_alone))


def _is_in_nobodys_way(job: KnownJob, run: Circumstances) -> bool:
    """Whether it only adds files that nobody else can write, and so do all the others."""
    plans = [job.plan, *(other.plan for other in run.others)]
    keys = [plan.key for plan in plans if plan.key is not None]
    return (
        run.is_alone
        and len(keys) == len({*keys})
        and all(
            plan.mode == "append"
            and plan.names == "unique"
            and all(is_visible(name) for names in plan.files for name in names)
            for plan in plans
        )
    )
