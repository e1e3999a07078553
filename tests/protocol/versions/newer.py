"""Jobs of a version to come: recorded ones, with the version of one kind of record raised."""

from __future__ import annotations

import re
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

import fsspec_commit as fc
from fsspec_commit.records import pending_set, task_manifest
from fsspec_commit.records.job import ChosenRecord, Claim, Decision, JobRecord, Published
from fsspec_commit.records.upload import UploadRecord
from tests.protocol.versions.states import NAME, State

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.protocol.versions.states import RecordedPlace


class Kind(NamedTuple):
    """A kind of record.

    Attributes:
        where: Where it stands in a job's area, as a regular expression.
        shown: The same for people.
        form: The class that says which version is written, and read.
    """

    where: str
    shown: str
    form: type[msgspec.Struct]

    @property
    def version(self) -> int:
        """The version that is written, and read."""
        return int(str(self._fixed("version")))

    @property
    def format(self) -> str:
        """Its name."""
        ours, hadoops = self._fixed("format"), self._fixed("type")
        if ours:
            return ours
        return hadoops.partition("/")[0].rpartition(".")[2] or self.form.__name__.strip("_")

    def raised(self, data: str) -> str:
        """The record as a later version would write it: with a field more, too."""
        newer = self.version + 1
        old = re.compile(rf'"version":{self.version}(?=,"[a-zA-Z_]+":)')
        data, count = old.subn(f'"version":{newer},"new":[]', data, count=1)
        assert count
        return data.replace(f'/{self.version}","version"', f'/{newer}","version"')

    def _fixed(self, name: str) -> str:
        fields = {field.name: field.default for field in msgspec.structs.fields(self.form)}
        return str(fields.get(name, ""))


KINDS = (
    Kind(r"job\.json", "`job.json`", JobRecord),
    Kind(r"claim-\w+", "`claim-…`", Claim),
    Kind(r"decision", "`decision`", Decision),
    Kind(r"published", "`published`", Published),
    Kind(r"chosen/\d+", "`chosen/…`", ChosenRecord),
    Kind(r"manifests/\d+/\w+", "`manifests/…` of `v1`, `manifest`", task_manifest._Manifest),
    Kind(r"manifests/\d+/\w+", "`manifests/…` of `magic`", pending_set._PendingSet),
    Kind(r"uploads/.+", "`uploads/…`", UploadRecord),
)
JOB = KINDS[0]
SAID = "was written by a newer version of fsspec-commit"
_AREA = rf"file /?{NAME}(?:/top)?/out/_commit/(\d{{8}}T\d{{6}}-[0-9a-f]{{16}})/"


def job_of(state: State) -> str:
    """The job that is not over."""
    found = (re.fullmatch(f"{_AREA}{JOB.where}", key) for key in state)
    return next((match[1] for match in found if match), "")


def records_of(kind: Kind, state: State) -> list[str]:
    """Where its records stand, of a job that is not over."""
    keys = [key for key in state if re.fullmatch(f"{_AREA}{kind.where}", key)]
    is_hadoops = kind.where.startswith("manifests")
    of_magic = any('"committer":"magic"' in str(one) for one in state.values())
    return [] if is_hadoops and of_magic is (kind.form is task_manifest._Manifest) else keys


def raised(kind: Kind, state: State) -> State:
    """*state* with all records of one kind as a later version would write them."""
    changed = dict(state)
    for key in records_of(kind, state):
        text, *rest = state[key]
        newer = kind.raised(text)
        digests = [sha256(one.encode()).hexdigest() for one in (text, newer)]
        changed = {one: _replaced(found, digests) for one, found in changed.items()}
        changed[key] = [newer, *rest]
    return changed


def _replaced(found: Any, digests: list[str]) -> Any:
    """With the new digest where the record is named by its digest."""
    if not isinstance(found, list) or digests[0] not in found[0]:
        return found
    return [found[0].replace(*digests), *found[1:]]


def _resume(place: RecordedPlace, job_id: str) -> None:
    fc.resume(place.url, job_id)


def _resume_with_loss(place: RecordedPlace, job_id: str) -> None:
    fc.resume(place.url, job_id, accept_loss=True)


def _abort(place: RecordedPlace, job_id: str) -> None:
    fc.abort(place.url, job_id)


def _clean(place: RecordedPlace, job_id: str) -> None:
    report = fc.clean(place.url, older_than=timedelta(0), dry_run=False)
    shown = [one for one in report.shown if SAID in one]
    if shown:
        raise fc.NewerVersionError(shown[0], job_id=job_id)


def _clean_damaged(place: RecordedPlace, job_id: str) -> None:
    fc.clean(place.url, damaged=[job_id], dry_run=False, accept_loss=True)


def _commit_beside(place: RecordedPlace, _: str) -> None:
    job = fc.Job(place.url, mode="overwrite", wait_s=0).start()
    with job.task() as task, task.open("beside.txt", "w") as file:
        file.write("beside")
    try:
        job.commit()
    except fc.CommitError:
        job.abort()
        raise


def _drive(place: RecordedPlace, job_id: str) -> None:
    """Another driver of the job, which has read its spec before."""
    record = JobRecord.decode(place.snapshot()[f"_commit/{job_id}/job.json"])
    fc.Job.from_spec(fc.JobSpec(record)).commit()


def _read(place: RecordedPlace, _: str) -> None:
    fc.committed_files(place.url)


OPERATIONS: dict[str, Callable[[RecordedPlace, str], None]] = {
    "`resume`": _resume,
    "`resume`, with a loss": _resume_with_loss,
    "`abort`": _abort,
    "`clean`": _clean,
    "`clean --damaged`": _clean_damaged,
    "its driver": _drive,
    "commits beside it": _commit_beside,
    "readers": _read,
}
"""What anybody may do where such a job stands."""


def refusal(operation: str, place: RecordedPlace, job_id: str) -> str:
    """What it says, if it refuses because of the version; nothing, if it had another answer."""
    try:
        OPERATIONS[operation](place, job_id)
    except fc.CommitError as error:
        return str(error) if SAID in str(error) else ""
    return ""
