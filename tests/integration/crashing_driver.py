"""Processes that die, stop or race on purpose: a server that forks one for each request.

The server is a process of its own without threads, so that forking is cheap and clean: it imports
the package once and never uses it. Each line on its input is a list of requests, with the
environment that they are to see; each request is run by a fresh fork, all at the same moment; a
line with all their answers comes back. Run by ``tests/integration/processes.py``.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import time
import traceback
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, TypeVar

import fsspec_commit as fc
from fsspec_commit.destination import open_destination
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.location import locate
from fsspec_commit.store import OpenOptions
from fsspec_commit.store.registry import adapter, wrapping
from fsspec_commit.testing.wrapped import WrappedStore
from tests.integration.forked_child import Child, kill_in_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import DirectWriter, Entry, Store, WritesDirectly

_ENDS_S = 60
T = TypeVar("T")
Request = dict[str, Any]
Answer = dict[str, Any]


class Fate:
    """What becomes of this process at its store calls; one for all its stores.

    ``die`` is ``[n, "before" | "after" | "stop"]``: SIGKILL, or SIGSTOP, at the *n*-th call.
    ``die_in_s`` is ``[n, seconds]``: SIGKILL so long after the *n*-th call has begun.
    ``slow`` is ``[verb, part of path, seconds, mark]``: such a call takes so long, and the file
    *mark* says that it has begun.
    """

    def __init__(self, request: Request) -> None:
        self.verbs: list[str] = []
        self.decided_ns = 0
        nth, how = request.get("die") or (0, "")
        self.nth: int = nth
        self.how: str = how
        self._die_in_s: tuple[int, float] = request.get("die_in_s") or (0, 0.0)
        self._slow: tuple[str, str, float, str] | None = request.get("slow")

    def wrap(self, store: Store) -> Store:
        """*store*, with this fate."""
        return FatefulStore(store, self)

    def before(self, verb: str) -> int:
        """Count a call; its number, which others in flight at the same time do not change."""
        self.verbs.append(verb)
        number = len(self.verbs)
        if self.how == "before" and number == self.nth:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "stop" and number == self.nth:
            os.kill(os.getpid(), signal.SIGSTOP)
        nth, seconds = self._die_in_s
        if number == nth:
            Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return number

    def after(self, number: int) -> None:
        if self.how == "after" and number == self.nth:
            os.kill(os.getpid(), signal.SIGKILL)

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        number = self.before(verb)
        if self._slow is not None:
            slow_verb, part, seconds, mark = self._slow
            if verb == slow_verb and part in path:
                _write(mark, str(os.getpid()))
                await asyncio.sleep(seconds)
        answer = await call()
        if verb == "create" and path.endswith("/decision"):
            self.decided_ns = time.monotonic_ns()
        self.after(number)
        return answer


class FatefulStore(WrappedStore):
    """A store whose calls, bytes written directly included, meet their fate."""

    def __init__(self, store: Store, fate: Fate) -> None:
        super().__init__(store, fate.carry)
        self._fate = fate

    @property
    def direct(self) -> WritesDirectly | None:
        direct = self.store.direct
        return None if direct is None else _FatefulDirect(direct, self._fate)


class _FatefulDirect:
    def __init__(self, direct: WritesDirectly, fate: Fate) -> None:
        self._direct = direct
        self._fate = fate

    def writer(self, path: StorePath, *, within: StorePath) -> DirectWriter[Entry]:
        self._fate.before("direct_open")
        return _FatefulWriter(self._direct.writer(path, within=within), self._fate)


class _FatefulWriter:
    def __init__(self, writer: DirectWriter[Entry], fate: Fate) -> None:
        self._writer = writer
        self._fate = fate
        self.discard = writer.discard

    def write(self, data: bytes | bytearray | memoryview) -> int:
        return self._writer.write(data)

    def finish(self) -> Entry:
        self._fate.before("direct_finish")
        return self._writer.finish()


def run(request: Request) -> object:
    """A whole job: one task for each dictionary of names and texts."""
    with _job(request) as job:
        for files in request["tasks"]:
            with job.task() as task:
                _write_files(task, files)
        job.commit()
    return _result(job)


def start(request: Request) -> object:
    return _job(request).start().spec.to_json()


def task(request: Request) -> object:
    spec = fc.JobSpec.from_json(request["spec"])
    with fc.Task.from_spec(spec, request["task_id"], **_how(request)) as attempt:
        _write_files(attempt, request["files"])
    return attempt.message.to_json()


def commit(request: Request) -> object:
    job = fc.Job.from_spec(fc.JobSpec.from_json(request["spec"]), **_how(request))
    job.commit([fc.TaskCommit.from_json(text) for text in request["messages"]])
    return _result(job)


def resume(request: Request) -> object:
    result = fc.resume(request["destination"], request["job_id"], **_how(request))
    return {"files": list(result.files), "warnings": list(result.warnings)}


def abort(request: Request) -> object:
    return fc.abort(request["destination"], request["job_id"], **_how(request))


def clean(request: Request) -> object:
    report = fc.clean(
        request["destination"], older_than=timedelta(0), dry_run=False, **_how(request)
    )
    return {"aborted": report.aborted, "deleted": report.deleted, "shown": report.shown}


def _job(request: Request) -> fc.Job:
    job = fc.Job(request["destination"], **request["options"], **_how(request))
    job._begun_here = False  # Who dies is not warned of what it leaves.
    return job


def _how(request: Request) -> dict[str, Any]:
    """How to get to the destination, where that takes more than its name."""
    options = request.get("storage_options")
    return {} if options is None else {"storage_options": options}


def _result(job: fc.Job) -> Answer:
    result = job.result
    return {
        "job_id": result.job_id,
        "state": result.state,
        "files": list(result.files),
        "replaced_count": result.replaced_count,
        "in_place": list(result.in_place),
        "warnings": list(result.warnings),
    }


def _write_files(attempt: fc.Task, files: dict[str, str]) -> None:
    for name, text in files.items():
        with attempt.open(name, "w", newline="") as file:
            file.write(text)


def _write(path: str, text: str) -> None:
    new = Path(f"{path}.new")
    new.write_text(text)
    new.rename(path)


OPERATIONS: dict[str, Callable[[Request], object]] = {
    one.__name__: one for one in (run, start, task, commit, resume, abort, clean)
}


_MODULES = {
    "storm": "storm",
    "ask": "asking",
    "dying_storm": "dying",
    "doomed_job": "dying",
    "settle": "dying",
}
"""Where the others are, which import this module."""


def _operation(name: str) -> Callable[[Request], object]:
    if name in OPERATIONS:
        return OPERATIONS[name]
    found: Callable[[Request], object]
    found = getattr(import_module(f"tests.integration.{_MODULES[name]}"), name)
    return found


def answer(request: Request, meet: Callable[[Request], Fate] = Fate) -> Answer:
    """Run *request* in this process, which is its own, or seems to be where it *meets* its fate."""
    if request["op"] == "series":
        return {"result": [answer(one, meet) for one in request["requests"]]}
    fate = meet(request)
    request["fate"] = fate
    said: Answer = {}
    try:
        with wrapping(fate.wrap):
            said["result"] = _operation(request["op"])(request)
    except BaseException as error:  # noqa: BLE001  # whatever it is, the test wants to know
        said["error"] = {
            "type": type(error).__name__,
            "text": str(error),
            "outcome": getattr(error, "outcome", None),
            "notes": getattr(error, "__notes__", []),
            "traceback": traceback.format_exc(),
        }
    said["verbs"] = fate.verbs
    said["decided_ns"] = fate.decided_ns
    return said


async def learn(request: Request) -> None:
    """Find out what the server does, as any process does once: the forks then know it.

    On a loop of its own, so that no thread is there when they are forked.
    """
    where = locate(request["destination"], request["storage_options"])
    destination = await open_destination(where, OpenOptions(choosing=True), ids=SYSTEM_IDS)
    await destination.capabilities(probing=True)
    await destination.store.close()


def await_threads() -> None:
    """Let every other thread be over: each fork would have its locks, and nobody to release them.

    ``Thread.join`` returns when the thread is over for Python. Until it is over for the system,
    too, it may hold a lock: OpenSSL's, as aiobotocore makes its TLS contexts on a thread. Of a
    thousand forks right after such a thread ten hang in the first context that they make.
    """
    threads = Path("/proc/self/task")
    deadline = time.monotonic() + _ENDS_S
    while threads.is_dir() and (count := len(list(threads.iterdir()))) > 1:
        if time.monotonic() > deadline:
            raise AssertionError(f"{count - 1} other threads would be forked")
        time.sleep(0.001)


def prepare(request: Request, known: set[str]) -> None:
    """Do what any process would do once; the forks need not."""
    scheme, has_scheme, _ = request.get("destination", "").partition("://")
    if has_scheme:
        adapter(scheme)
    if scheme in {"s3", "s3a"}:
        from tests.servers.parsed_rules import parse_rules_once

        parse_rules_once()
    bucket = "/".join(request.get("destination", "").split("/")[:3])
    if request.get("storage_options") and bucket not in known:
        asyncio.run(learn(request))
        gc.freeze()
        known.add(bucket)


def serve() -> None:
    """Answer until the input ends."""
    adapter("file")
    for name in ("_strptime", "concurrent.futures.thread", "fsspec", "fsspec.compression"):
        import_module(name)
    gc.freeze()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    stopped: dict[int, Child] = {}
    known: set[str] = set()
    for line in sys.stdin:
        children: list[Child] = []
        gate, opened = os.pipe()
        os.set_inheritable(opened, False)
        told = json.loads(line)
        os.environ.clear()
        os.environ.update(told["environ"])
        requests = told["requests"]
        for request in (one for every in requests for one in every.get("requests", [every])):
            prepare(request, known)
        await_threads()
        for request in requests:
            if request["op"] == "continue":
                child = stopped.pop(request["pid"])
                os.kill(child.pid, signal.SIGCONT)
            else:
                child = Child(request, gate, answer)
            children.append(child)
        os.write(opened, b"." * len(children))
        kill_in_time(children)
        answers = []
        for child in children:
            said = child.answer()
            if said.get("stopped"):
                stopped[child.pid] = child
            answers.append(said)
        os.close(gate)
        os.close(opened)
        sys.stdout.write(json.dumps(answers) + "\n")
        sys.stdout.flush()
    for child in stopped.values():
        os.kill(child.pid, signal.SIGKILL)
        os.waitpid(child.pid, 0)


if __name__ == "__main__":
    serve()
