"""Requests of many jobs at once: each is worked on in a thread, and answered when it is done."""

import logging
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from fsspec_commit.engines.spark.driver_process.channel import Channel
from fsspec_commit.engines.spark.driver_process.requests import (
    Abort,
    Adopt,
    Attach,
    Commit,
    Request,
    Start,
    decoded,
    number_of,
)
from fsspec_commit.engines.spark.driver_process.served_job import ServedJob
from fsspec_commit.engines.spark.job_options import as_settings
from fsspec_commit.errors import JobNotActiveError
from fsspec_commit.names import record_to_adopt
from fsspec_commit.protocol.bound_job import settle_command

_log = logging.getLogger("fsspec_commit")

# After the end: a store that is throttled, or away for a moment, is asked again.
_TRIES_AFTER_S = (1, 4, 16)
_ENDING_MAX = 16


class Serving:
    """The jobs of one JVM."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._jobs: dict[str, ServedJob] = {}
        self._working: set[threading.Thread] = set()

    def serve(self, lines: Iterable[bytes]) -> None:
        """Serve every request; when they end, finish what is under way, and settle the rest."""
        try:
            for line in lines:
                try:
                    self._take(decoded(line))
                except Exception as error:  # noqa: BLE001  # jobs of other threads are not at fault
                    self._refuse(line, error)
                del line  # One may be 10 MB, and the next may be long in coming.
        finally:
            self._end()

    def _refuse(self, line: bytes, error: Exception) -> None:
        """Refuse a line that is no request, or cannot be worked on.

        The last line of a JVM that is killed may be half a line.
        """
        number = number_of(line)
        if number is None:
            _log.warning("%s", error)
        else:
            self._channel.send(id=number, error=_said(error))

    def _take(self, request: Request) -> None:
        if isinstance(request, Adopt):
            served = self._jobs.get(request.job)
            if served is not None:  # It may be aborted already.
                served.adopt(request.adopted)
            return
        # Used by the main thread alone: a thread that has ended is forgotten with the next request.
        self._working = {thread for thread in self._working if thread.is_alive()}
        thread = threading.Thread(target=self._answer, args=(request,))
        thread.start()
        self._working.add(thread)

    def _answer(self, request: Start | Attach | Commit | Abort) -> None:
        try:
            answer = self._done(request)
        except Exception as error:  # noqa: BLE001  # whatever it is, the JVM waits for an answer
            _log.debug("a request failed", exc_info=True)
            self._channel.send(id=request.id, error=as_settings(_said(error)))
        else:
            self._channel.send(id=request.id, **answer)

    def _done(self, request: Start | Attach | Commit | Abort) -> dict[str, object]:
        if isinstance(request, Start):
            return self._started(ServedJob.start(request, decided=self._tell_decided))
        if isinstance(request, Attach):
            return self._started(ServedJob.attach(request, decided=self._tell_decided))
        served = self._jobs.get(request.job)
        if served is None:
            raise LookupError(f"job {request.job} is not driven by this process")
        if isinstance(request, Commit):
            said = served.commit(request.chosen)
            del self._jobs[request.job]
            return {"said": said}
        served.abort()  # If it fails, it is tried again when the JVM ends.
        del self._jobs[request.job]
        return {}

    def _started(self, served: ServedJob) -> dict[str, object]:
        job = served.job
        self._jobs[job.job_id] = served
        return {
            "job_id": job.job_id,
            "spec": job.spec.to_json(),
            "is_uploaded": served.is_uploaded,
            "attempts": served.attempts,
            "record": record_to_adopt(job.job_id),
            "resume": settle_command("resume", job.destination, job.job_id),
            "abort": settle_command("abort", job.destination, job.job_id),
        }

    def _tell_decided(self, job_id: str) -> None:
        self._channel.send(decided=job_id)

    def _end(self) -> None:
        """Finish what is under way, and settle the rest: the JVM is gone, or ends."""
        for thread in self._working:
            thread.join()
        with ThreadPoolExecutor(_ENDING_MAX, thread_name_prefix="settle") as threads:
            list(threads.map(_settle, self._jobs.values()))


def _settle(served: ServedJob) -> None:
    """Settle a job that the JVM has left; a store that does not answer is asked some more times."""
    for after_s in (*_TRIES_AFTER_S, None):
        try:
            served.settle()
        except JobNotActiveError as over:
            _tell_left_behind(served, over)
            return
        except Exception as error:  # noqa: BLE001  # the next try, or the next job, is not at fault
            if after_s is None:
                _tell_left_behind(served, error)
                return
            time.sleep(after_s)
        else:
            return


def _tell_left_behind(served: ServedJob, error: Exception) -> None:
    job = served.job
    command = settle_command("jobs", job.destination)
    _log.warning("job %s is left behind; see %s: %s", job.job_id, command, _said(error))


def _said(error: Exception) -> str:
    """The text of an error, and of its notes."""
    said = "\n".join((str(error), *getattr(error, "__notes__", ())))
    return said or type(error).__name__
