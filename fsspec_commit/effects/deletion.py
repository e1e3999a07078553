"""May I delete? The only place that says yes; a reviewer reads this file and is done (P5, P9, P10).

Every deletion on a store takes a :class:`Permit`, and a permit is made here only, each from a
record that stands on the store for everyone, or, for what nobody else has been told of yet, by
its owner. Nothing permits a path outside the destination, and only a replaced list permits one
outside the destination's work area.
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
"""How long after a job has ended a request of its to delete a file may still be carried out.

By the clocks of two machines, and of the store: see :mod:`fsspec_commit.protocol.late_deletes`.
"""


class PermitExpiredError(Exception):
    """Nothing was sent: a permit for a time is over, and what it was made from is to be read again.

    Whoever asked for the deletion handles it; no caller of the library ever sees it.
    """


@dataclass(frozen=True, slots=True)
class Permit:
    """What may go, and why; made by the functions below only."""

    trees: tuple[StorePath, ...]
    files: frozenset[StorePath]
    because: str
    uploads: frozenset[tuple[StorePath, str]] = frozenset()
    expires: datetime | None = None

    def until(self, moment: datetime) -> "Permit":
        """The same, for a time: no request goes by it from *moment* on."""
        return replace(self, expires=moment)

    def is_over(self, now: datetime) -> bool:
        """Whether it was for a time that has passed."""
        return self.expires is not None and now >= self.expires

    def check_time(self, now: datetime) -> None:
        """Raise :class:`PermitExpiredError` when it is over; asked before each request."""
        if self.is_over(now):
            raise PermitExpiredError(self.because)

    def check(self, path: StorePath) -> None:
        """Raise unless *path* may go: a mistake of ours, never of a caller."""
        if path in self.files or path in self.trees:
            return
        above = next((tree for tree in self.trees if path.startswith(f"{tree}/")), None)
        if above is None or not {"", ".", ".."}.isdisjoint(path[len(above) + 1 :].split("/")):
            raise AssertionError(f"no permit to delete {path!r} ({self.because})")

    def check_upload(self, upload: PendingUpload) -> None:
        """Raise unless *upload* may be aborted: a mistake of ours, never of a caller."""
        if (upload.path, upload.upload_id) not in self.uploads:
            raise AssertionError(f"no permit to abort an upload of {upload.path!r}")


def of_aborted(layout: JobLayout, decision: Standing[Decision]) -> Permit:
    """The job's area: its aborted decision stands, no attempt can become visible any more."""
    _must_be(decision, "aborted", layout)
    return _area(layout, "the job is aborted")


def of_published(layout: JobLayout, published: Standing[Published]) -> Permit:
    """The job's area: every new file is in place and everything after it is done."""
    if published.record.job_id != layout.job_id:
        raise AssertionError("published is another job's")
    return _area(layout, "the job is finished")


def of_stale_success(
    layout: JobLayout, decision: Standing[Decision]
) -> tuple[Permit, Entry] | None:
    """The ``_SUCCESS`` seen before the decision, by its token: never a later job's."""
    _must_be(decision, "committed", layout)
    seen = decision.record.stale_success
    if seen is None:
        return None
    path = layout.destination.success
    return Permit((), frozenset([path]), "the marker of an earlier job"), _entry(path, seen)


def of_replaced(
    layout: JobLayout, published: Standing[Published], listed: Sequence[ReplacedFile]
) -> tuple[Permit, list[Entry]]:
    """Old files with exactly the tokens they were listed with: every new file is in place.

    *listed* comes from the list that the decision fixes by its digest. Names are checked again:
    a list cannot name the work area or a place outside the destination.
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
    """The epochs listed before ours was created: empty files that only ever change."""
    paths = frozenset(entry.path for entry in seen)
    if not all(map(layout.is_epoch, paths)):
        raise AssertionError("an epoch is a file of the destination's own work area")
    return Permit((), paths, f"epochs before the end of {published.record.job_id}")


def of_late_deletes(layout: DestinationLayout, path: StorePath, now: datetime) -> Permit | None:
    """What a job left about its deletions, when none of them can come any more; else ``None``."""
    ended = layout.deleted_at(path)
    if ended is None or now - ended < LATE_DELETES_END:
        return None
    return Permit((path,), frozenset(), "no request of a job that ended so long ago is left")


def of_own_attempt(attempt: AttemptLayout) -> Permit:
    """An attempt's own files, by itself, while no message of it has been sent."""
    trees = (attempt.working_directory, attempt.committed_directory)
    return Permit(trees, frozenset([attempt.manifest]), "the attempt's own")


def of_own_uploads(attempt: AttemptLayout, uploads: Iterable[PendingUpload]) -> Permit:
    """Uploads that this very attempt has begun: no message names them, or it is discarded."""
    return Permit((), frozenset(), f"of attempt {attempt.attempt_id}", _named(uploads))


def of_own_marker(layout: JobLayout, upload: PendingUpload) -> Permit:
    """The prepared marker of a decision that this very driver could not take."""
    if upload.path != layout.destination.success:
        raise AssertionError(f"{upload.path!r} is no marker")
    return Permit((), frozenset(), "of no decision", _named([upload]))


def of_own_upload_records(attempt: AttemptLayout) -> Permit:
    """The records of an attempt's own uploads, which are aborted."""
    return Permit((attempt.uploads,), frozenset(), "the attempt's own")


def of_leftover_uploads(
    layout: JobLayout, permit: Permit, uploads: Iterable[PendingUpload]
) -> Permit:
    """Uploads attributed to a job whose area may go: none of them will be completed any more."""
    permit.check(layout.area)
    below = layout.destination.final(Target(""))
    attributed = _named(uploads)
    if not all(path.startswith(below) for path, _ in attributed):
        raise AssertionError("an upload of a job is below its destination")
    return Permit((), frozenset(), permit.because, attributed)


def of_probe_uploads(layout: DestinationLayout, uploads: Iterable[PendingUpload]) -> Permit:
    """Uploads that a probe has begun, in its own directory: they hold nothing of anybody's."""
    attributed = _named(uploads)
    if not all(layout.is_in_probe(path) for path, _ in attributed):
        raise AssertionError("an upload of a probe is in a probe's directory")
    return Permit((), frozenset(), "begun by a probe", attributed)


def of_own_claim(layout: JobLayout, claim: Claim) -> Permit:
    """A claim that we withdraw; its nonce is never used again."""
    return Permit((), frozenset([layout.claim(claim.nonce)]), "the claim is withdrawn")


def of_own_sign_of_life(layout: JobLayout, sign: StorePath) -> Permit:
    """The sign of life before our newest one."""
    if not layout.is_sign_of_life(sign) or not sign.startswith(f"{layout.area}/"):
        raise AssertionError(f"{sign!r} is no sign of life")
    return Permit((), frozenset([sign]), "another sign of life stands")


def of_own_decision(layout: JobLayout) -> Permit:
    """A decision that we created in the area of a job that was already gone: it means nothing."""
    return Permit((), frozenset([layout.decision]), "the job was gone before the decision")


def of_void_area(layout: JobLayout) -> Permit:
    """An area without ``job.json``: its job is over, whatever else lies in it means nothing."""
    return _area(layout, "an area without job.json is void")


def of_taken(layout: JobLayout, taken: StorePath) -> Permit:
    """The same under the name that we have renamed it to, alone, and found no ``job.json`` in."""
    if layout.destination.taken_from(taken) != layout.job_id:
        raise AssertionError(f"{taken!r} was not the area of {layout.job_id}")
    return Permit((taken,), frozenset(), "an area without job.json is void")


def of_unusable_area(layout: JobLayout) -> Permit:
    """What stands in place of a job's area and is no directory: itself, and nothing behind it."""
    return _area(layout, "it is no job's area")


def of_given_up(layout: JobLayout, doubt: str) -> Permit:
    """The area of a damaged job that may have committed, on the word of a person who was told."""
    return _area(layout, f"the job is damaged, and given up though {doubt}")


def of_remains(layout: DestinationLayout, path: StorePath) -> Permit:
    """A settled job's area, renamed away before its deletion; or what a probe has left."""
    if not layout.is_gone(path) and not layout.is_probe(path):
        raise AssertionError(f"{path!r} is neither a settled job's area nor a probe's")
    return Permit((path,), frozenset(), "the remains of a settled job or of a probe")


def of_retired(layout: JobLayout, permit: Permit, remains: StorePath) -> Permit:
    """The same area under the name it was renamed to, by a permit for the area."""
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
