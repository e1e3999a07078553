"""Permits to delete: no other module grants one, so a reviewer need read only this (P5, P9, P10).

Every deletion on a store takes a :class:`Permit`. A permit is made here only: from a record that
stands on the store for everyone; or by the owner of what nobody else knows of yet. Nothing permits
a path outside the destination, and only a replaced list permits one outside its work area.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fsspec_commit.layout import AttemptLayout, DestinationLayout, JobLayout, StorePath
from fsspec_commit.names import Target, existing_name
from fsspec_commit.records import Standing
from fsspec_commit.records.job import (
    Claim,
    Decision,
    FileIdentity,
    Published,
    ReplacedFile,
)
from fsspec_commit.store import Entry, PendingUpload, Token

LATE_DELETES_END = timedelta(hours=2)
"""How long after the end of a job one of its delete requests may still be carried out.

The clocks of two machines and of the store count: see :mod:`fsspec_commit.protocol.late_deletes`.
"""


class PermitExpiredError(Exception):
    """A permit has expired, and nothing was sent: the record it rests on must be read again.

    The function that requested the deletion handles it; users of the library never see it.
    """


@dataclass(frozen=True, slots=True)
class Permit:
    """What may be deleted, and why; made only by the functions of this module."""

    trees: tuple[StorePath, ...]
    files: frozenset[StorePath]
    because: str
    uploads: frozenset[tuple[StorePath, str]] = frozenset()
    expires: datetime | None = None

    def until(self, moment: datetime) -> "Permit":
        """This permit, but expiring at *moment*."""
        return replace(self, expires=moment)

    def is_over(self, now: datetime) -> bool:
        """Whether the permit has expired."""
        return self.expires is not None and now >= self.expires

    def check_time(self, now: datetime) -> None:
        """Raise :class:`PermitExpiredError` if it has expired; called before each request."""
        if self.is_over(now):
            raise PermitExpiredError(self.because)

    def covers(self, path: StorePath) -> bool:
        """Whether *path* may be deleted by its name: one with ``..``, say, only with its tree."""
        if path in self.files or path in self.trees:
            return True
        above = next((tree for tree in self.trees if path.startswith(f"{tree}/")), None)
        return above is not None and {"", ".", ".."}.isdisjoint(path[len(above) + 1 :].split("/"))

    def check(self, path: StorePath) -> None:
        """Raise unless *path* may be deleted: an internal error, not a user's."""
        if not self.covers(path):
            raise AssertionError(f"no permit to delete {path!r} ({self.because})")

    def check_upload(self, upload: PendingUpload) -> None:
        """Raise unless *upload* may be aborted: an internal error, not a user's."""
        if (upload.path, upload.upload_id) not in self.uploads:
            raise AssertionError(f"no permit to abort an upload of {upload.path!r}")


def of_aborted(layout: JobLayout, decision: Standing[Decision]) -> Permit:
    """Permit the area of an aborted job: no attempt of it can become visible any more."""
    _must_be(decision, "aborted", layout)
    return _area(layout, "the job is aborted")


def of_published(layout: JobLayout, published: Standing[Published]) -> Permit:
    """Permit the area of a job that has published every file and done everything after it."""
    if published.record.job_id != layout.job_id:
        raise AssertionError("published is another job's")
    return _area(layout, "the job is finished")


def of_stale_success(
    layout: JobLayout, decision: Standing[Decision]
) -> tuple[Permit, Entry] | None:
    """Permit the ``_SUCCESS`` seen before the decision, by its token: never a later job's."""
    _must_be(decision, "committed", layout)
    seen = decision.record.stale_success
    if seen is None:
        return None
    path = layout.destination.success
    return Permit((), frozenset([path]), "the marker of an earlier job"), _entry(path, seen)


def of_replaced(
    layout: JobLayout, published: Standing[Published], listed: Sequence[ReplacedFile]
) -> tuple[Permit, list[Entry]]:
    """Permit old files, with exactly the tokens that were listed: every new file is in place.

    *listed* comes from the list whose digest is in the decision. Names are checked again: a list
    cannot name the work area or a path outside the destination.
    """
    if published.record.job_id != layout.job_id or published.record.lost:
        raise AssertionError("a job that lost files deletes none")
    entries = []
    for file in listed:
        if file.in_place:
            continue
        path = layout.destination.final(existing_name(file.name))
        entries.append(Entry(path=path, size_bytes=file.size, token=Token(file.token)))
    paths = frozenset(entry.path for entry in entries)
    return Permit((), paths, "replaced, and every new file is in place"), entries


def of_epochs(
    layout: DestinationLayout, published: Standing[Published], seen: Sequence[Entry]
) -> Permit:
    """Permit the epochs listed before the job's own was created: empty files without content."""
    paths = frozenset(entry.path for entry in seen)
    if not all(map(layout.is_epoch, paths)):
        raise AssertionError("an epoch is a file of the destination's own work area")
    return Permit((), paths, f"epochs before the end of {published.record.job_id}")


def of_late_deletes(layout: DestinationLayout, path: StorePath, now: datetime) -> Permit | None:
    """Permit a job's record of its deletions, once none can be carried out late; or ``None``."""
    ended = layout.deleted_at(path)
    if ended is None or now - ended < LATE_DELETES_END:
        return None
    return Permit((path,), frozenset(), "no request of a job that ended so long ago is left")


def of_own_attempt(attempt: AttemptLayout) -> Permit:
    """Permit an attempt its own files, while no message of it has been sent."""
    trees = (attempt.working_directory, attempt.committed_directory)
    return Permit(trees, frozenset([attempt.manifest]), "the attempt's own")


def of_own_uploads(attempt: AttemptLayout, uploads: Iterable[PendingUpload]) -> Permit:
    """Permit an attempt its own uploads: no message names them, or the message is discarded."""
    return Permit((), frozenset(), f"of attempt {attempt.attempt_id}", _named(uploads))


def of_own_marker(layout: JobLayout, upload: PendingUpload) -> Permit:
    """Permit a driver the marker that it prepared for a decision it could not take."""
    if upload.path != layout.destination.success:
        raise AssertionError(f"{upload.path!r} is no marker")
    return Permit((), frozenset(), "of no decision", _named([upload]))


def of_own_upload_records(attempt: AttemptLayout) -> Permit:
    """Permit an attempt the records of its own uploads, which are aborted."""
    return Permit((attempt.uploads,), frozenset(), "the attempt's own")


def of_leftover_uploads(
    layout: JobLayout, permit: Permit, uploads: Iterable[PendingUpload]
) -> Permit:
    """Permit uploads of a job whose area may be deleted: none of them will be completed."""
    permit.check(layout.area)
    below = layout.destination.final(Target(""))
    attributed = _named(uploads)
    if not all(path.startswith(below) for path, _ in attributed):
        raise AssertionError("an upload of a job is below its destination")
    return Permit((), frozenset(), permit.because, attributed)


def of_magic_directory(layout: JobLayout, permit: Permit) -> Permit:
    """Permit what S3A has written for a job whose area may be deleted, beside that area."""
    permit.check(layout.area)
    return Permit((layout.magic_directory,), frozenset(), permit.because)


def of_probe_uploads(layout: DestinationLayout, uploads: Iterable[PendingUpload]) -> Permit:
    """Permit uploads that a probe has begun in its own directory: they hold no data."""
    attributed = _named(uploads)
    if not all(layout.is_in_probe(path) for path, _ in attributed):
        raise AssertionError("an upload of a probe is in a probe's directory")
    return Permit((), frozenset(), "begun by a probe", attributed)


def of_marker_uploads(layout: DestinationLayout, uploads: Iterable[PendingUpload]) -> Permit:
    """Permit uploads of the marker that no job can publish any more: they hold no data."""
    attributed = _named(uploads)
    if any(path != layout.success for path, _ in attributed):
        raise AssertionError("only uploads of the marker are any job's")
    return Permit((), frozenset(), "of no job that can decide", attributed)


def of_own_claim(layout: JobLayout, claim: Claim) -> Permit:
    """Permit a driver a claim that it withdraws; its nonce is never used again."""
    return Permit((), frozenset([layout.claim(claim.nonce)]), "the claim is withdrawn")


def of_own_sign_of_life(layout: JobLayout, sign: StorePath) -> Permit:
    """Permit a driver its previous sign of life, since a newer one stands."""
    if not layout.is_sign_of_life(sign) or not sign.startswith(f"{layout.area}/"):
        raise AssertionError(f"{sign!r} is no sign of life")
    return Permit((), frozenset([sign]), "another sign of life stands")


def of_own_decision(layout: JobLayout) -> Permit:
    """Permit a decision to its creator, if the job was already over: it means nothing."""
    return Permit((), frozenset([layout.decision]), "the job was gone before the decision")


def of_void_area(layout: JobLayout) -> Permit:
    """Permit an area without ``job.json``: its job is over, and nothing else in it counts."""
    return _area(layout, "an area without job.json is void")


def of_taken(layout: JobLayout, taken: StorePath) -> Permit:
    """Permit an area under the name to which this process renamed it, without ``job.json``."""
    if layout.destination.taken_from(taken) != layout.job_id:
        raise AssertionError(f"{taken!r} was not the area of {layout.job_id}")
    return Permit((taken,), frozenset(), "an area without job.json is void")


def of_unusable_area(layout: JobLayout) -> Permit:
    """Permit a non-directory at the path of a job's area, such as a link; not what it points to."""
    return _area(layout, "it is no job's area")


def of_given_up(layout: JobLayout, doubt: str) -> Permit:
    """Permit the area of a damaged job that may have committed, if a person accepts the loss."""
    return _area(layout, f"the job is damaged, and given up though {doubt}")


def of_remains(layout: DestinationLayout, path: StorePath) -> Permit:
    """Permit a settled job's area that was renamed before its deletion; or what a probe left."""
    if not layout.is_gone(path) and not layout.is_probe(path):
        raise AssertionError(f"{path!r} is neither a settled job's area nor a probe's")
    return Permit((path,), frozenset(), "the remains of a settled job or of a probe")


def of_retired(layout: JobLayout, permit: Permit, remains: StorePath) -> Permit:
    """Permit a settled job's area under its new name, by a permit for the area."""
    permit.check(layout.area)
    return of_remains(layout.destination, remains)


def _named(uploads: Iterable[PendingUpload]) -> frozenset[tuple[StorePath, str]]:
    return frozenset((upload.path, upload.upload_id) for upload in uploads)


def _area(layout: JobLayout, because: str) -> Permit:
    return Permit((layout.area,), frozenset(), because)


def _must_be(decision: Standing[Decision], state: str, layout: JobLayout) -> None:
    if decision.record.state != state or decision.record.job_id != layout.job_id:
        raise AssertionError(f"the decision that stands is not {state!r} for {layout.job_id}")


def _entry(path: StorePath, seen: FileIdentity) -> Entry:
    return Entry(path=path, size_bytes=seen.size, token=Token(seen.token))
