"""Requests of many jobs at once: each is worked on in a thread, and answered when it is done."""

import logging
import threading
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

_log = logging.getLogger("fsspec_commit")

# To adopt a task is a request or two, which wait for the store.
_ADOPTING_MAX = 32


class Serving:
    """The jobs of one JVM."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._jobs: dict[str, ServedJob] = {}
        self._working: set[threading.Thread] = set()
        self._executor = ThreadPoolExecutor(_ADOPTING_MAX, thread_name_prefix="adopt")

    def serve(self, lines: Iterable[bytes]) -> None:
        """Serve every request; when they end, finish what is under way, and abort the rest."""
        try:
            for line in lines:
                try:
                    request = decoded(line)
                except ValueError as error:
                    self._refuse(line, error)
                else:
                    self._take(request)
        finally:
            self._end()

    def _refuse(self, line: bytes, error: ValueError) -> None:
        """Refuse a line that is no request: the jobs of other threads have no part in it.

        The last one of a JVM that is killed may be half a line.
        """
        number = number_of(line)
        if number is None:
            _log.warning("%s", error)
        else:
            self._channel.send(id=number, error=str(error))

    def _take(self, request: Request) -> None:
        if isinstance(request, Adopt):
            served = self._jobs.get(request.job)
            if served is not None:  # It may be aborted already.
                served.adopt(request.adopted, self._executor)
            return
        # Of the main thread alone: a thread that has ended is forgotten with the next request.
        self._working = {thread for thread in self._working if thread.is_alive()}
        thread = threading.Thread(target=self._answer, args=(request,))
        self._working.add(thread)
        thread.start()

    def _answer(self, request: Start | Attach | Commit | Abort) -> None:
        try:
            answer = self._done(request)
        except Exception as error:  # noqa: BLE001  # whatever it is, the JVM waits for an answer
            _log.debug("a request failed", exc_info=True)
            said = "\n".join((str(error), *getattr(error, "__notes__", ())))
            self._channel.send(id=request.id, error=said or type(error).__name__)
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
        del self._jobs[request.job]
        served.abort()
        return {}

    def _started(self, served: ServedJob) -> dict[str, object]:
        job = served.job
        self._jobs[job.job_id] = served
        return {
            "job_id": job.job_id,
            "spec": job.spec.to_json(),
            "is_uploaded": served.is_uploaded,
            "attempts": served.attempts,
        }

    def _tell_decided(self, job_id: str) -> None:
        self._channel.send(decided=job_id)

    def _end(self) -> None:
        """The JVM is gone, or ends."""
        for thread in self._working:
            thread.join()
        self._executor.shutdown(cancel_futures=True)
        for served in list(self._jobs.values()):
            try:
                served.abort()
            except Exception as error:  # noqa: BLE001  # the next job has to be aborted as well
                _log.warning("job %s was not aborted: %s", served.job.job_id, error)
