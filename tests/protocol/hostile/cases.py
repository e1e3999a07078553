"""One case for each integer: a world, what an enemy does to it, and who then comes along."""

from __future__ import annotations

import io
import logging
import pickle
import traceback
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import timedelta
from operator import itemgetter
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec

import fsspec_commit as fc
from fsspec_commit.cli import main
from fsspec_commit.records.upload import UploadRecord
from tests.integration.canaries import SECRET
from tests.protocol.hostile.mutations import NAMES, changed_bytes, changed_values, sealed
from tests.protocol.hostile.worlds import HOW, OLD, OTHERS, TASKS, World

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

NEW = {"p=5/new.txt": b"new"}
KNOWN = {*OLD.values(), *OTHERS.values(), *NEW.values()}.union(*(task.values() for task in TASKS))
PLACES = (
    "job.json",
    "decision",
    "published",
    "claim-" + "a" * 32,
    "claim-x",
    "replaced-" + "b" * 32,
    "chosen-" + "c" * 32,
    "chosen/0",
    "chosen/x",
    "chosen/99999999999",
    "alive-" + "d" * 32,
    "alive-",
    "_SUCCESS-" + "e" * 32 + ".pending",
    "uploads/x/y",
    "manifests/0",
    "manifests/x/y",
    "manifests/0/" + "f" * 16,
    "manifests/" + "9" * 400 + "/x",
    "trash/%2e%2e",
    "trash/..%2fx",
    "trash/p=0%2Fold",
    "tasks/0/x",
    "committed/0/x",
    "../epoch-" + "a" * 32,
    "../gone-" + "b" * 32,
    "../gone-" + "b" * 32 + "/job.json",
    "../probe-" + "c" * 32 + "/x",
    "../x/job.json",
    "../lost",
    "../deleted-20200101T000000-" + "d" * 32 + "/x",
    "../\x1b[31m/job.json",
    "../\u202e",
    "../done",
    "../void-20200101T000000-" + "a" * 16 + "-" + "b" * 32 + "/decision",
    "../%2e%2e/job.json",
    "../20200101T000000-" + "a" * 16 + "/job.json",
    "../00010101T000000-" + "a" * 16 + "/decision",
    "../20200101T000000-" + "a" * 16 + "/decision",
    "../99991231T235959-" + "a" * 16 + "/claim-x",
    "../../_temporary/0/x",
    "../../_temporary/manifest_x/manifests/y-manifest.json",
    "../../__magic_job-x/job-x/00/y.pendingset",
    "../../__magic_job-x/job-x/00/tasks/a/__base/z",
    "../../_SUCCESS",
    "../../_SUCCESS/x",
)
"""Where an enemy puts what was not there, as the victim's area sees it."""


class Said(logging.Handler):
    """All that is logged, by the package or by whom it calls."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.extend(self.format(record).split("\n"))


@dataclass
class Case:
    """One case.

    Attributes:
        number: Replays it.
        done: What was done, in order.
        digests: The new digests of what the enemy has changed, by the old ones.
    """

    number: int
    worlds: Sequence[World]
    done: list[str] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = Random(self.number)
        self.world = self.random.choice(self.worlds)
        self.result: object = None

    def __str__(self) -> str:
        return f"case {self.number}: {'; '.join([self.world.name, *self.done])}"

    def spoil(self) -> None:
        """Do what the enemy does."""
        random, world = self.random, self.world
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            paths = world.records()
            path = random.choice(paths)
            short = path.removeprefix(f"{world.area}/")
            kind = random.randrange(11)
            if kind < 2:
                self.done.append(f"bytes of {short}")
                world.write(path, changed_bytes(random, world.read(path)))
            elif kind < 5:
                self.done.append(f"values of {short}")
                world.write(path, changed_values(random, world.read(path), self._strange()))
            elif kind < 7:
                self.done.append(f"values of {short}, with right digests")
                data = changed_values(random, world.read(path), self._strange())
                self.digests |= sealed(world.read, world.write, paths, path, data)
            elif kind == 7:
                self.done.append(f"{short} is another's")
                world.write(path, self._anothers())
            elif kind == 8:
                self.done.append(f"no {short}")
                world.bucket.objects.pop(path, None)
            elif kind == 9:
                self._forge_an_upload_record()
            else:
                place = random.choice(PLACES)
                self.done.append(f"something in {place!r}")
                self._put(place, random.choice((b"", world.read(path), self._anothers())))

    def _forge_an_upload_record(self) -> None:
        """As if the victim had begun somebody's upload."""
        random, world = self.random, self.world
        if not world.look.uploads:
            return
        upload_id, upload = random.choice(sorted(world.look.uploads.items(), key=itemgetter(0)))
        nonce = f"{random.getrandbits(128):032x}"
        name = upload.path.removeprefix(f"{world.root}/")
        self.done.append(f"a record of the upload of {name}")
        record = UploadRecord(nonce=nonce, job_id=world.job_id, name=name, upload_id=upload_id)
        place = random.choice((f"uploads/0/{nonce[:16]}/{nonce}", f"_SUCCESS-{nonce}.pending"))
        world.write(f"{world.area}/{place}", record.encode())

    def _put(self, place: str, data: bytes) -> None:
        above = self.world.area.split("/")
        while place.startswith("../"):
            above, place = above[:-1], place[3:]
        self.world.write("/".join([*above, place]), data)

    def _anothers(self) -> bytes:
        """A record of another type, job, destination, or of the same name elsewhere."""
        other = self.random.choice([self.world, self.random.choice(self.worlds)])
        objects = [one for path, one in other.look.objects.items() if "/_commit/" in path]
        data = self.random.choice(objects).data
        if self.random.randrange(3) == 0:
            for job_id in (*other.other_ids, other.job_id):
                data = data.replace(job_id.encode(), self.world.job_id.encode())
        return data

    def _strange(self) -> Sequence[Any]:
        others = [*self.world.other_ids, self.world.job_id, "0" * 16, "0" * 32, "f" * 64]
        theirs = f"_commit/{self.world.other_ids[0]}/job.json"
        begin, uploads = len(self.world.root) + 1, self.world.look.uploads
        pending = [upload.path[begin:] for upload in uploads.values()]
        elsewhere = theirs, f"../{theirs}", f"{self.world.root}/x"
        return (*NAMES, *others, *elsewhere, *uploads, *pending, "x" * 5000)

    def call(self, name: str) -> BaseException | None:
        """Have somebody come along; return what was raised."""
        self.done.append(name)
        try:
            self.result = CALLS[name](self)
        except Exception as error:  # noqa: BLE001  # judged by who asks
            return error
        return None

    def messages(self) -> list[fc.TaskCommit]:
        """What the tasks have sent, with the digests that the enemy has made."""
        return [
            msgspec.structs.replace(one, digest=self.digests.get(one.digest, one.digest))
            for one in self.world.messages
        ]


def _commit(case: Case) -> None:
    with fc.Job(case.world.url, mode="append", wait_s=0, **HOW) as job, job.task() as task:
        for name, data in NEW.items():
            with task.open(name, "wb") as file:
                file.write(data)


def _drive(case: Case) -> None:
    driver = fc.Job.from_spec(case.world.spec, **HOW)
    driver.commit(None if "collected" in case.world.name else case.messages())


def _work(case: Case) -> None:
    with (
        fc.Task.from_spec(case.world.spec, 0, **HOW) as task,
        task.open("p=0/late.txt", "wb") as file,
    ):
        file.write(b"a of 0")


def _clean(case: Case, *, dry_run: bool = False, **how: Any) -> None:
    how = how or {"older_than": timedelta(days=1)}
    fc.clean(case.world.url, dry_run=dry_run, **how, **HOW)


def _command(case: Case) -> None:
    """Any command: what it prints steers no terminal, and is what a program expects."""
    url, job_id = case.world.url, case.world.job_id
    command, *options = case.random.choice(
        (
            ("show",),
            ("show", job_id),
            ("jobs",),
            ("resume", job_id),
            ("abort", job_id),
            ("clean", "--older-than", "1d", "--delete"),
            ("clean", "--damaged", job_id, "--delete"),
        )
    )
    options += case.random.choice(([], ["--json"], ["--debug"]))
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([command, url, "--storage-option", f"token={SECRET}", *options])
        except SystemExit as ended:
            status = ended.code
    case.done.append(" ".join([command, *options]))
    assert status in {0, 1, 2, 3}, err.getvalue()
    if "--json" in options:
        msgspec.json.decode(out.getvalue())
    shown = f"{out.getvalue()}{err.getvalue()}".replace("\n", "").replace("\t", "")
    assert shown.isprintable(), shown
    assert SECRET not in shown
    assert "Traceback" not in shown or "--debug" in options, shown


CALLS: dict[str, Callable[[Case], object]] = {
    "jobs": lambda case: fc.jobs(case.world.url, **HOW),
    "hadoop_jobs": lambda case: fc.hadoop_jobs(case.world.url, **HOW),
    "resume": lambda case: fc.resume(case.world.url, case.world.job_id, **HOW),
    "resume with loss": lambda case: fc.resume(case.world.url, case.world.job_id, accept_loss=True),
    "abort": lambda case: fc.abort(case.world.url, case.world.job_id, **HOW),
    "clean": _clean,
    "clean, dry": lambda case: _clean(case, dry_run=True),
    "clean damaged": lambda case: _clean(case, damaged=[case.world.job_id]),
    "clean damaged with loss": lambda case: _clean(
        case, damaged=[case.world.job_id], accept_loss=True
    ),
    "commit": _commit,
    "drive": _drive,
    "work": _work,
    "command": _command,
}
_SHARES = (22, 3, 22, 3, 16, 9, 4, 4, 4, 2, 6, 4, 1)
PUBLISH = {"resume", "resume with loss", "commit", "drive", "command"}


def try_case(number: int, worlds: Sequence[World], said: Said, ended: Counter[str]) -> None:
    """Run a case, and check what must hold in each.

    Raises:
        AssertionError: It does not hold; the message replays the case.
    """
    case = Case(number, worlds)
    world = case.world
    world.restore()
    case.spoil()
    others, uploads = world.of_others(), world.uploads_of_others()
    visible = world.visible()
    said.lines.clear()
    [name] = case.random.choices(list(CALLS), _SHARES)
    try:
        error = case.call(name)
        if error is not None:
            _check_error(error)
        assert all(line.isprintable() for line in said.lines), said.lines
        after = world.of_others()
        assert not any(SECRET in line for line in said.lines)
        assert SECRET not in repr(case.result)
        assert not any(SECRET.encode() in one.data for one in world.bucket.objects.values())
        assert others.items() <= after.items(), "what is others' has changed"
        beside = after.keys() - others.keys()
        assert not beside, f"written outside of the destination: {beside}"
        assert uploads.items() <= world.uploads_of_others().items(), "aborted others' uploads"
        seen = world.visible()
        if name not in PUBLISH:
            assert seen == visible, "readers see something else"
        assert {one.data for one in seen.values()} <= KNOWN, "readers see what nobody wrote"
    except Exception as failed:
        raise AssertionError(f"{case}: {failed}") from failed
    ended[f"{name}: {'done' if error is None else type(error).__name__}"] += 1


def _check_error(error: BaseException) -> None:
    """It is one of ours, foreseen, and shows nothing that steers a terminal."""
    if isinstance(error, AssertionError):
        raise error
    assert isinstance(error, fc.CommitError), f"{type(error).__name__}: {error}"
    text = "".join(traceback.format_exception(error))
    assert "an unexpected" not in str(error), text
    assert text.replace("\n", "").isprintable(), text
    assert SECRET not in text
    assert SECRET.encode() not in pickle.dumps(error)
