"""One job of the JVM: what the JVM asks for it is done here, by the public ``Job``."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Self

from fsspec.callbacks import Callback

from fsspec_commit.engines.spark.driver_process.requests import Attach, Attempt, Start
from fsspec_commit.engines.spark.hadoop_settings import location_of
from fsspec_commit.engines.spark.job_options import job_options
from fsspec_commit.errors import CommitError, JobNotActiveError, RequestError
from fsspec_commit.names import attempts_to_adopt
from fsspec_commit.protocol.result import CommitResult
from fsspec_commit.records.job import TaskCommit
from fsspec_commit.spec import JobSpec
from fsspec_commit.sync.job import Job
from fsspec_commit.sync.operations import resume

if TYPE_CHECKING:
    from fsspec_commit.committers.adopted import AdoptedFile

# Adopting a task takes a request or two, which wait for the store.
_ADOPTING_MAX = 32


class ServedJob:
    """A job whose tasks run in the JVM.

    Args:
        job: The job.
        storage_options: With which the job can be opened again.
        attached: The request by which this process drives the job, if another one began it.
    """

    def __init__(
        self, job: Job, storage_options: Mapping[str, object], attached: Attach | None = None
    ) -> None:
        self.job = job
        self._storage_options = storage_options
        self._attached = attached
        self._adopting: dict[tuple[int, str], Future[TaskCommit]] = {}
        # The files of attempts that are not adopted so far: one may have 100,000.
        self._files: dict[tuple[int, str], list[AdoptedFile]] = {}
        # Its own: a job whose store does not answer holds up no other.
        self._executor = ThreadPoolExecutor(_ADOPTING_MAX, thread_name_prefix="adopt")

    @classmethod
    def start(cls, request: Start, *, decided: Callable[[str], None]) -> Self:
        """Begin the job of a write of Spark's.

        Args:
            request: What the JVM asks for.
            decided: Called with the job's id when its decision stands.

        Raises:
            RequestError: The job cannot be begun as it is asked for.
            CommitError: The errors of :meth:`Job.start <fsspec_commit.Job.start>`.
        """
        url, storage_options = location_of(request.path, _settings(request))
        options = job_options(request.options)
        options["mode"] = request.mode  # type: ignore[typeddict-item]  # checked by the job
        if request.partitions:
            options["partitions"] = request.partitions
        options["storage_options"] = storage_options or None
        options["allow_empty"] = True
        # Once the JVM has its answer, it may end this process at any moment.
        options["write_behind"] = False
        callback = _TellsDecision(decided)
        options["callback"] = callback
        job = Job(url, **options).start()
        callback.job_id = job.job_id
        try:
            _refuse_uploads_of_others(job, request.path)
        except RequestError:
            job.abort()
            raise
        return cls(job, storage_options)

    @classmethod
    def attach(cls, request: Attach, *, decided: Callable[[str], None]) -> Self:
        """Go on driving a job that another process began."""
        _, storage_options = location_of(request.path, _settings(request))
        callback = _TellsDecision(decided)
        spec = JobSpec.from_json(request.spec)
        callback.job_id = spec.job_id
        job = Job.from_spec(spec, storage_options=storage_options or None, callback=callback)
        return cls(job, storage_options, request)

    @property
    def is_uploaded(self) -> bool:
        """Whether tasks leave uploads to be completed, instead of files to be renamed."""
        return self.job.selection.committer == "magic"

    @property
    def attempts(self) -> str:
        """Where tasks write, relative to the destination: ``<task>/<attempt>`` is below it."""
        return attempts_to_adopt(self.job.job_id, uploading=self.is_uploaded)

    def adopt(self, attempt: Attempt) -> None:
        """Begin to adopt what a task attempt has written; the commit and the abort wait for it."""
        named = (attempt.task, attempt.attempt)
        try:
            self._files[named] = attempt.adopted()
        except ValueError as error:
            # Nobody waits for an answer here; a commit that chooses the attempt gets the error.
            refused: Future[TaskCommit] = Future()
            self._adopting[named] = refused
            refused.set_exception(error)
            return
        self._adopting[named] = self._executor.submit(self._adopt, *named)

    def _adopt(self, task_id: int, attempt_id: str) -> TaskCommit:
        files = self._files[task_id, attempt_id]
        message = self.job.adopt(task_id, attempt_id, files)
        self._files.pop((task_id, attempt_id), None)
        return message

    def commit(self, chosen: Sequence[tuple[int, str]]) -> str:
        """Make exactly the chosen attempts visible; return in words what was done.

        Raises:
            CommitError: The errors of :meth:`Job.commit <fsspec_commit.Job.commit>`.
        """
        said = self._committed(chosen)
        self._executor.shutdown(wait=False)
        return said

    def _committed(self, chosen: Sequence[tuple[int, str]]) -> str:
        if self._attached is not None:
            # What was decided may be published already: then nothing is left to adopt.
            finished = self._finished()
            if finished is not None:
                return finished
        try:
            return _said(self.job.commit([self._message(*one) for one in chosen]))
        except JobNotActiveError as settled:
            finished = None if settled.outcome == "not_committed" else self._finished()
            if finished is None:
                raise
            return finished

    def abort(self) -> None:
        """Abort the job.

        Raises:
            JobNotActiveError: It is decided, or somebody else has settled it.
        """
        # An adoption that came later would write into an area that is removed.
        adopting = [future for future in list(self._adopting.values()) if not future.cancel()]
        wait(adopting)
        self.job.abort()
        self._executor.shutdown(wait=False)

    def settle(self) -> None:
        """Abort the job, or finish it if it is decided: nobody is left to ask for either.

        Raises:
            CommitError: The job is not settled.
        """
        try:
            self.abort()
        except JobNotActiveError as settled:
            if settled.outcome != "not_committed":
                self._finished()

    def _message(self, task_id: int, attempt_id: str) -> TaskCommit:
        adopting = self._adopting.get((task_id, attempt_id))
        if adopting is None:
            raise LookupError(f"task {task_id} is chosen, and has told of no attempt {attempt_id}")
        try:
            return adopting.result()
        except CommitError:
            # It was tried while other tasks still ran: what was in the way then may be over.
            return self._adopt(task_id, attempt_id)

    def _finished(self) -> str | None:
        """Finish what a process before this one has decided; ``None`` if it has decided nothing.

        Raises:
            JobNotActiveError: The job was aborted, or nothing shows how it ended.
        """
        try:
            result = resume(
                self.job.destination,
                self.job.job_id,
                storage_options=self._storage_options or None,
                single_writer=self.job.spec.record.single_writer,
            )
        except JobNotActiveError as over:
            was_told = self._attached is not None and self._attached.is_decided
            if over.outcome == "committed" or (over.outcome == "unknown" and was_told):
                return "committed, by a process that ended before it said so"
            raise
        except RequestError:
            return None
        return _said(result)


class _TellsDecision(Callback):
    """Tells the JVM that a job is decided: its data will stand, even if this process dies."""

    def __init__(self, decided: Callable[[str], None]) -> None:
        super().__init__()
        self.job_id = ""
        self._decided = decided

    def set_size(self, _size: int) -> None:
        """Tell the JVM: the number of files is reported when the decision stands."""
        self._decided(self.job_id)


def _settings(request: Start | Attach) -> dict[str, str]:
    credentials = request.options.get("credentials")
    named = {} if credentials is None else {"spark.fsspec_commit.credentials": credentials}
    return {**request.settings, **named}


def _refuse_uploads_of_others(job: Job, path: str) -> None:
    """Refuse a store to which tasks upload, but not as S3A does."""
    if job.selection.committer != "magic" or path.startswith("s3a:"):
        return
    message = (
        f"Spark's own writer cannot write to {job.destination}: nothing can be renamed there, and "
        "only S3A leaves uploads that others complete; use fsspec_commit.spark.write, or a storage "
        "account with a hierarchical namespace"
    )
    raise RequestError(message, kind="cannot_adopt")


def _said(result: CommitResult) -> str:
    done: dict[str, Any] = {"files": result.file_count, "bytes": result.bytes}
    return f"{result.state}, {', '.join(f'{count} {what}' for what, count in done.items())}"
