"""Credentials that lack one permission: it is named, and whoever has it settles what was begun.

Denied is by the store itself what its policies name, and by a proxy each request that an adapter
ever sends.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

import fsspec_commit as fc
from fsspec_commit_stores.s3.operations import OPERATIONS as OF_S3
from tests.integration.users import soon, told_by_the_command, write
from tests.scenes.attempts import DONE_BUT_FOR_THE_AREA, attempt, learn, recover
from tests.scenes.places import keep_versions
from tests.scenes.remotes import on
from tests.scenes.requests_of_jobs import AZURITE, GCS, GEN2
from tests.scenes.scene import Scene, named
from tests.servers.faults import AnswerInstead, Rule
from tests.sweeps import some_tests_by_day

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.scenes.places import RemotePlace
    from tests.scenes.remotes import Remote
    from tests.servers.proxy import FaultProxy

OVERWRITE, APPEND = named("overwrite"), named("append")
DENIED = {
    "ministack": "AccessDenied",
    "strict-gcs": "forbidden",
    "gen2": "AuthorizationPermissionMismatch",
    "azurite": "AuthorizationPermissionMismatch",
}
"""How a store says so."""


@dataclass(frozen=True)
class Lacking:
    """How jobs end without one permission, on a server that is known.

    A job ends in an error before it has changed anything; decided, and unfinished (partial); done,
    with a warning of what could not be removed; or as if nothing were lacking. One whose work fails
    by itself can say in a note what else went wrong.

    Attributes:
        server: Where.
        permission: What the policy calls it; of Azure's hierarchical account, the operation.
        overwrite: How a job ends that replaces files.
        append: How one ends that adds some, where no marker is to be replaced.
        drop: How one ends whose work fails.
        says: What the message names, where that is not the permission.
        probe: How a probe of an unknown server ends, where one is tried.
    """

    server: str
    permission: str
    overwrite: str
    append: str
    drop: str
    says: str = ""
    probe: str = ""

    def __str__(self) -> str:
        return f"{self.server}-{self.permission}"

    @property
    def by_night(self) -> bool:
        return self.server == "azurite" and self.permission != "delete"

    @property
    def named(self) -> str:
        return f"allow {self.says or self.permission}"


AZURE_READS = "blobs/read (of a signature: r)"
AZURE_LISTS = "blobs/read (of a signature: l)"
AZURE_WRITES = "blobs/write (of a signature: c and w)"
AZURE_DELETES = "blobs/delete (of a signature: d)"
LACKING = [
    # How an overwrite ends, an append, and a job whose work fails.
    Lacking("ministack", "s3:GetObject", "error", "error", "note", probe="error"),
    Lacking("ministack", "s3:PutObject", "error", "error", "error", probe="error"),
    Lacking("ministack", "s3:DeleteObject", "partial", "warning", "note", probe="error"),
    Lacking("ministack", "s3:ListBucket", "error", "error", "note", probe="error"),
    Lacking(
        *("ministack", "s3:ListBucketMultipartUploads", "warning", "warning", "note"),
        probe="error",
    ),
    # What is needed only when something goes wrong, or nothing is lost without it.
    Lacking("ministack", "s3:AbortMultipartUpload", "nothing", "nothing", "note", probe="nothing"),
    Lacking(
        *("ministack", "s3:GetBucketVersioning", "nothing", "nothing", "nothing"), probe="nothing"
    ),
    # Of adopted uploads alone, and no job here has any.
    Lacking(
        *("ministack", "s3:ListMultipartUploadParts", "nothing", "nothing", "nothing"),
        probe="nothing",
    ),
    Lacking("ministack", "s3:ListBucketVersions", "error", "nothing", "nothing", probe="error"),
    Lacking("strict-gcs", "storage.objects.create", "error", "error", "error"),
    Lacking("strict-gcs", "storage.objects.get", "error", "error", "note"),
    Lacking("strict-gcs", "storage.objects.list", "error", "error", "note"),
    Lacking("strict-gcs", "storage.objects.delete", "partial", "warning", "note"),
    Lacking("strict-gcs", "storage.buckets.get", "nothing", "nothing", "nothing"),
    Lacking("gen2", "blob.put", "error", "error", "error", AZURE_WRITES),
    Lacking("gen2", "blob.get", "error", "error", "note", AZURE_READS),
    Lacking("gen2", "path.list", "error", "error", "nothing", AZURE_LISTS),
    Lacking("gen2", "blob.properties", "error", "error", "nothing", AZURE_READS),
    Lacking("gen2", "path.rename", "partial", "partial", "nothing", "blobs/move/action"),
    Lacking("gen2", "path.create", "partial", "partial", "nothing", AZURE_WRITES),
    Lacking("gen2", "blob.delete", "partial", "warning", "note", AZURE_DELETES),
    Lacking("gen2", "path.delete", "warning", "warning", "note", AZURE_DELETES),
    Lacking("azurite", "read", "error", "error", "note", AZURE_READS),
    Lacking("azurite", "write", "error", "error", "nothing", AZURE_WRITES),
    Lacking("azurite", "list", "error", "error", "note", AZURE_LISTS),
    Lacking("azurite", "delete", "partial", "warning", "note", AZURE_DELETES),
]
# A move needs a permission of its own, or those to read and to delete.
MOVE = Lacking("strict-gcs", "storage.objects.move", "", "partial", "")


OF_A_COMMAND = {"s3:PutObject", "s3:DeleteObject", "blob.put", "write"}


def every(*lacking: Lacking) -> pytest.MarkDecorator:
    """By day on one server of each protocol, by its own policies."""
    cases = [
        pytest.param(one.server, one, id=str(one), marks=pytest.mark.slow if one.by_night else ())
        for one in lacking
    ]
    return pytest.mark.parametrize(("remote", "lacking"), cases, indirect=["remote"])


class MistakeOfTheWorkError(Exception):
    pass


def fail_after_a_file(task: fc.Task) -> NoReturn:
    with task.open("part.csv", "w") as file:
        file.write("1\n")
    raise MistakeOfTheWorkError


def drop(place: RemotePlace) -> tuple[str, str]:
    """A job whose work fails when a file is written; what its caller hears."""
    try:
        with fc.Job(place.url, mode="append", **place.how) as job, job.task() as task:
            fail_after_a_file(task)
    except MistakeOfTheWorkError as error:
        return "dropped", "\n".join(getattr(error, "__notes__", []))
    except fc.CommitError as error:
        return error.outcome, "\n".join([str(error), *getattr(error, "__notes__", [])])


@contextmanager
def without(remote: Remote, *permissions: str) -> Iterator[RemotePlace]:
    """The destination for somebody who may not do that."""
    place: Any = remote.place()
    if remote.name == "gen2":
        remote.server.settings(denied=permissions)
        yield place
        remote.server.settings()
    else:
        options = remote.server.storage_options_without(*permissions)
        yield replace(place, storage_options=options)


def laid_out(
    remote: Remote, scene: Scene, lacking: Lacking, *, is_known: bool = True
) -> RemotePlace:
    """Old files; an append finds no marker that it would have to replace."""
    if lacking.permission == "s3:ListBucketVersions":
        keep_versions(remote.bucket)
    place = remote.place()
    hidden = {"_SUCCESS"} if scene is APPEND else set()
    place.put({name: data for name, data in scene.laid_out.items() if name not in hidden})
    if is_known:  # from one who may do everything
        learn(place, remote.committer)
    return place


ENDS = {
    "error": "not_committed",
    "note": "dropped",
    "partial": "partial",
    "warning": "done",
    "nothing": "done",
}


def check(ending: str, told: str, message: str, missing: str) -> None:
    """Whether a job ended so, and named what is missing unless it needs nothing of it."""
    if told == "dropped" and ending == "nothing":
        told = "done"
    assert told == ENDS[ending], message
    if ending == "nothing":
        assert message == ""
    else:
        assert "access is denied" in message
        assert missing in message


def settle(
    scene: Scene, place: RemotePlace, told: str, message: str, *, write_again: bool = True
) -> None:
    """Somebody who may do everything finishes the job, or aborts it; then the next one works."""
    truth = {"dropped": "not_committed"}.get(told, told)
    if told == "done" and "the work area was not removed" in message:
        truth = DONE_BUT_FOR_THE_AREA
    recover(scene, place, truth, marker=None, spent_ids=True)
    if write_again:
        assert write(place.url, place.how["storage_options"]).warnings == ()


@some_tests_by_day(5, everywhere=True)
@every(*LACKING)
def test_an_overwrite(remote: Remote, lacking: Lacking) -> None:
    place = laid_out(remote, OVERWRITE, lacking)
    with without(remote, lacking.permission) as denied:
        told, message = soon(lambda: attempt(OVERWRITE, denied, rewriting=False))
    check(lacking.overwrite, told, message, lacking.named)
    settle(OVERWRITE, place, told, message)


@some_tests_by_day(5, everywhere=True)
@every(*LACKING, MOVE)
def test_an_append(remote: Remote, lacking: Lacking) -> None:
    place = laid_out(remote, APPEND, lacking)
    also = ["storage.objects.delete"] if lacking is MOVE else []
    with without(remote, lacking.permission, *also) as denied:
        told, message = soon(lambda: attempt(APPEND, denied, rewriting=False))
    check(lacking.append, told, message, lacking.named)
    settle(APPEND, place, told, message)


@some_tests_by_day(5, everywhere=True)
@every(*LACKING)
def test_a_job_whose_work_fails(remote: Remote, lacking: Lacking) -> None:
    place = laid_out(remote, APPEND, lacking)
    with without(remote, lacking.permission) as denied:
        told, message = soon(lambda: drop(denied))
    check(lacking.drop, told, message, lacking.named)
    settle(APPEND, place, told, message)


@some_tests_by_day(5, everywhere=True)
@every(*(one for one in LACKING if one.probe))
def test_an_unknown_server(remote: Remote, lacking: Lacking) -> None:
    """Whatever a probe is denied, it leaves nothing, and says what is missing."""
    place = laid_out(remote, APPEND, lacking, is_known=False)
    with without(remote, lacking.permission) as denied:
        told, message = soon(lambda: attempt(APPEND, denied, rewriting=False))
    check(lacking.probe, told, message, lacking.named)
    settle(APPEND, place, told, message)


@every(*(one for one in LACKING if one.permission in OF_A_COMMAND))
def test_the_command(remote: Remote, lacking: Lacking, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("day,clicks\n1,2\n", "utf-8")
    place = laid_out(remote, APPEND, lacking, is_known=False)
    with without(remote, lacking.permission) as denied:
        options = denied.how["storage_options"]
        line = told_by_the_command("write", tmp_path / "a.csv", denied.url, options=options)
    assert lacking.named in line
    settle(APPEND, place, "not_committed", line)


BY_REQUEST = [
    *(
        ("ministack", operation.name, operation.permissions.split()[0])
        for method, operation in OF_S3.items()
        # Of directory buckets: `tests/contract/test_s3_directory_bucket.py`. And no job lists parts
        # but one that adopts uploads.
        if method not in {"rename_object", "list_parts"}
    ),
    *(("strict-gcs", name, "storage.") for name in sorted(GCS.operations)),
    *(("gen2", name, "blobs/") for name in sorted(GEN2.operations)),
    *(("azurite", name, "blobs/") for name in sorted(AZURITE.operations)),
]
SILENT = {"GetBucketVersioning", "HeadObject", "buckets.get"}
"""Without the answer, etags are the tokens; a HEAD that is refused without a word is asked again as
a GET, which has the same permission and is not denied here."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("remote", "operation", "missing"), BY_REQUEST, indirect=["remote"], ids="-".join
)
def test_a_request_that_is_denied_names_its_permission(
    remote: Remote, proxy: FaultProxy, operation: str, missing: str
) -> None:
    """In a job that overwrites, or in one whose work fails."""
    if missing == "s3:ListBucketVersions":
        keep_versions(remote.bucket)
    place, proxied = remote.place(), remote.place(proxy=proxy)
    place.put(OVERWRITE.laid_out)
    learn(proxied, remote.committer)
    rule = Rule(AnswerInstead(403, DENIED[remote.name]), operation=operation, times=None)
    proxy.add(rule)
    dropped = drop(proxied)
    proxy.clear()
    settle(OVERWRITE, place, *dropped, write_again=False)
    proxy.add(rule)
    overwritten = attempt(OVERWRITE, proxied)
    proxy.clear()
    assert rule.met
    said = f"{dropped[1]}\n{overwritten[1]}"
    assert operation in SILENT or missing in said, said
    settle(OVERWRITE, place, *overwritten)


@on("ministack")
def test_a_worker_needs_two_permissions(remote: Remote) -> None:
    others = {one.permission for one in LACKING if one.server == remote.name}
    lacking = remote.server.storage_options_without(*others - {"s3:PutObject", "s3:GetObject"})
    with fc.Job(remote.url, mode="append", storage_options=remote.options) as job:
        with (
            fc.Task.from_spec(job.spec, 0, storage_options=lacking) as task,
            task.open("part.csv", "w") as file,
        ):
            file.write("1\n")
        assert task.message is not None
        assert job.commit([task.message]).warnings == ()


@pytest.mark.parametrize(
    ("remote", "operation", "missing"),
    [
        ("ministack", "CompleteMultipartUpload", "s3:PutObject"),
        ("strict-gcs", "objects.move", "storage.objects.move"),
        ("gen2", "path.rename", "blobs/move/action"),
        ("azurite", "blocklist.put", "blobs/write"),
    ],
    indirect=["remote"],
    ids=lambda one: one,
)
def test_a_file_that_may_not_be_published_is_no_loss(
    remote: Remote, proxy: FaultProxy, operation: str, missing: str
) -> None:
    """What is to be published is there, and `accept_loss` must not give it up."""
    place = remote.place(proxy=proxy)
    learn(place, remote.committer)
    proxy.add(Rule(AnswerInstead(403, DENIED[remote.name]), operation=operation, times=None))
    with pytest.raises(fc.PartialCommitError, match=f"allow {missing}") as caught:
        write(place.url, place.how["storage_options"])
    job_id = caught.value.job_id
    assert job_id is not None
    with pytest.raises(fc.PartialCommitError, match=f"allow {missing}"):
        fc.resume(place.url, job_id, accept_loss=True, **place.how)
    proxy.clear()
    result = fc.resume(place.url, job_id, accept_loss=True, **place.how)
    assert (result.file_count, result.warnings) == (1, ())


def test_every_action_of_the_adapter_to_s3_is_here() -> None:
    """All but the one of directory buckets, which no server here has."""
    named = {word.strip("(),") for one in OF_S3.values() for word in one.permissions.split()}
    denied = {one.permission for one in LACKING if one.server == "ministack"}
    assert {word for word in named if word.startswith("s3:")} == denied
