"""Records that do not belong together: moved, swapped, copied from another job, or torn."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeAlias

import pytest
from msgspec.structs import replace

import fsspec_commit as fc
from fsspec_commit.records.job import Claim, Decision, JobRecord, Published
from fsspec_commit.testing.committer_contract.crashes import OLD, gives_up_files
from fsspec_commit.testing.committer_contract.given import (
    TASKS,
    Given,
    Place,
    request_refused,
    shown,
    write,
)
from fsspec_commit.testing.committer_contract.superseded import before
from fsspec_commit.testing.faults import Crash

_OTHER_JOB = "20200101T000000-ffffffffffffffff"
_OTHER_NONCE = "f" * 32


@dataclass
class Records:
    """The records of one job, seen and changed by somebody who does not know the package."""

    place: Place
    job_id: str
    _before: dict[str, bytes | None] = field(default_factory=dict)

    def read(self, name: str) -> bytes:
        """What stands in the record *name*."""
        return self.place.read(f"_commit/{self.job_id}/{name}")

    def write(self, name: str, data: bytes) -> None:
        """Put *data* in the place of the record *name*."""
        path = f"_commit/{self.job_id}/{name}"
        self._before.setdefault(name, self.read(name) if self.place.holds(path) else None)
        self.place.put({path: data})

    @property
    def decision(self) -> Decision:
        """The decision that stands."""
        return Decision.decode(self.read("decision"))

    def put_right(self) -> None:
        """Put back what stood there before."""
        for name, data in self._before.items():
            if data is None:
                self.place.remove(f"_commit/{self.job_id}/{name}")
            else:
                self.place.put({f"_commit/{self.job_id}/{name}": data})


Damage: TypeAlias = Callable[[Records], None]


def _decision_of_another_job(records: Records) -> None:
    records.write("decision", replace(records.decision, job_id=_OTHER_JOB).encode())


def _aborted_decision_of_another_job(records: Records) -> None:
    decision = Decision(nonce=_OTHER_NONCE, job_id=_OTHER_JOB, state="aborted")
    records.write("decision", decision.encode())


def _aborted_decision_with_a_claim(records: Records) -> None:
    records.write("decision", replace(records.decision, state="aborted").encode())


def _decision_without_its_claim(records: Records) -> None:
    records.write("decision", replace(records.decision, claim=None).encode())


def _claim_of_another_job_in_the_decision(records: Records) -> None:
    decision = records.decision
    assert decision.claim is not None
    claim = replace(decision.claim, job_id=_OTHER_JOB)
    records.write("decision", replace(decision, claim=claim).encode())


def _torn_decision(records: Records) -> None:
    records.write("decision", records.read("decision")[:-7])


def _published_of_another_job(records: Records) -> None:
    nonce = records.decision.nonce
    published = Published(nonce=_OTHER_NONCE, job_id=_OTHER_JOB, decision=nonce)
    records.write("published", published.encode())


def _published_of_another_decision(records: Records) -> None:
    published = Published(nonce=_OTHER_NONCE, job_id=records.job_id, decision=_OTHER_NONCE)
    records.write("published", published.encode())


def _job_record_of_another_job(records: Records) -> None:
    record = JobRecord.decode(records.read("job.json"))
    records.write("job.json", replace(record, job_id=_OTHER_JOB).encode())


DAMAGES: tuple[Damage, ...] = (
    _decision_of_another_job,
    _aborted_decision_of_another_job,
    _aborted_decision_with_a_claim,
    _decision_without_its_claim,
    _claim_of_another_job_in_the_decision,
    _torn_decision,
    _published_of_another_job,
    _published_of_another_decision,
    _job_record_of_another_job,
)


@pytest.mark.guarantees("P2", "P5", "P9")
class DamagedContract(Given):
    """What cannot be right is shown as damaged, and never acted on; the rest goes on."""

    def _decided(self, place: Place) -> tuple[fc.Job, Records]:
        """A job over old files that died right after its decision."""
        place.put(OLD)
        job = place.job(mode="overwrite").start()
        messages = [place.attempt(job.spec, n, files) for n, files in enumerate(TASKS)]
        with before("create", "/decision", lambda: None, dies=True):
            driver = place.driver(job.spec)
        with suppress(Crash):
            driver.commit(messages)
        return job, Records(place, job.job_id)

    @gives_up_files
    @pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__.lstrip("_"))
    def test_records_that_do_not_belong_together(self, place: Place, damage: Damage) -> None:
        """Nobody acts on them; put right, the job is finished, byte for byte."""
        job, records = self._decided(place)
        damage(records)
        there = place.everything()
        assert [info.state for info in fc.jobs(place.url, **place.how)] == ["damaged"]
        for settle in (fc.resume, fc.abort):
            with pytest.raises(fc.CommitError) as caught:
                settle(place.url, job.job_id, **place.how)
            assert caught.value.outcome != "not_committed", caught.value
        report = fc.clean(place.url, older_than=timedelta(0), dry_run=False, **place.how)
        assert not report.aborted
        assert not report.deleted
        assert any("damaged" in line and job.job_id in line for line in report.shown)
        assert place.everything() == there
        records.put_right()
        fc.resume(place.url, job.job_id, **place.how)
        place.assert_committed(*TASKS)

    @gives_up_files
    @pytest.mark.parametrize("of", ["another job", "another nonce"])
    def test_a_claim_that_is_not_the_jobs(self, place: Place, of: str) -> None:
        """Nobody knows what it holds: others wait, and say for whom; an abort ends it."""
        place.put(OLD)
        dead = place.job(mode="append").start()
        claim = Claim(
            nonce=_OTHER_NONCE,
            job_id=dead.job_id if of == "another nonce" else _OTHER_JOB,
            mode="append",
            names="unique",
            partitions=(),
        )
        name = "0" * 32 if of == "another nonce" else claim.nonce
        place.put({f"_commit/{dead.job_id}/claim-{name}": claim.encode()})
        assert [info.state for info in fc.jobs(place.url, **place.how)] == ["damaged"]
        with pytest.raises(fc.ConcurrentJobError) as caught:
            place.commit(mode="append", wait_s=0.1)
        assert caught.value.other_job_id == dead.job_id
        fc.abort(place.url, dead.job_id, **place.how)
        with place.job(mode="append") as job, job.task() as task:
            write(task, TASKS[0])
        place.clean()
        assert place.visible() == shown(OLD, TASKS[0])

    @gives_up_files
    def test_one_damaged_job_stops_no_other(self, place: Place) -> None:
        """It is shown, the rest goes on; on a person's word it is fenced and removed."""
        dead = [place.job(mode="append").start() for _ in range(3)]
        messages = [place.attempt(dead[0].spec, n, files) for n, files in enumerate(TASKS)]
        place.put({f"_commit/{dead[0].job_id}/job.json": b"garbage"})
        states = {info.job_id: info.state for info in fc.jobs(place.url, **place.how)}
        assert states == {job.job_id: "damaged" if job is dead[0] else "open" for job in dead}
        report = fc.clean(place.url, older_than=timedelta(0), dry_run=False, **place.how)
        assert set(report.aborted) == {job.job_id for job in dead[1:]}
        assert any("damaged" in line and dead[0].job_id in line for line in report.shown)
        place.commit([TASKS[0]], mode="append", wait_s=0.1)
        self._remove(place, dead[0].job_id)
        with pytest.raises(fc.CommitError):
            dead[0].commit(messages)
        place.clean()
        place.assert_committed(TASKS[0])

    @gives_up_files
    def test_a_damaged_job_that_is_committed_is_kept(self, place: Place) -> None:
        """Put right, it is finished."""
        job, records = self._decided(place)
        records.write("job.json", b"garbage")
        there = place.everything()
        for accept_loss in (False, True):
            with request_refused("committed", "partial"):
                self._remove(place, job.job_id, accept_loss=accept_loss)
        assert place.everything() == there
        records.put_right()
        with request_refused("not_damaged", "unknown"):
            self._remove(place, job.job_id)
        fc.resume(place.url, job.job_id, **place.how)
        place.assert_committed(*TASKS)

    @gives_up_files
    def test_a_damaged_decision_takes_a_stronger_word(self, place: Place) -> None:
        """It may be that of a commit: what is visible stays, old files too."""
        job, records = self._decided(place)
        _torn_decision(records)
        with request_refused("perhaps_committed", "unknown"):
            self._remove(place, job.job_id)
        with pytest.raises(fc.ConcurrentJobError, match=f"--damaged {job.job_id}"):
            place.commit(mode="append", wait_s=0.1)
        self._remove(place, job.job_id, accept_loss=True)
        place.clean()
        place.assert_untouched(OLD)

    def _remove(self, place: Place, job_id: str, *, accept_loss: bool = False) -> None:
        for dry_run in (True, False):
            report = fc.clean(
                place.url,
                older_than=timedelta.max,
                dry_run=dry_run,
                damaged=[job_id],
                accept_loss=accept_loss,
                **place.how,
            )
            assert report.deleted == (job_id,)
        assert job_id not in [info.job_id for info in fc.jobs(place.url, **place.how)]
