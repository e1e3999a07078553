"""A job, bound to its store, committer and removal."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from fsspec_commit.committers import Committer
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.removal import Removal
from fsspec_commit.errors import UnsafeStoreError
from fsspec_commit.layout import AttemptLayout, JobLayout
from fsspec_commit.names import Target, is_named_with, unique_suffix, uniquely_named
from fsspec_commit.protocol.kept_manifests import KeptManifests
from fsspec_commit.records.job import JobRecord


def settle_command(verb: str, *arguments: str) -> str:
    """The shell command that settles a job, quoted for a shell."""
    return shlex.join(["fsspec-commit", verb, *arguments])


@dataclass(frozen=True, slots=True)
class BoundJob:
    """One job, its paths, and the store, committer and removal that were bound to it.

    Attributes:
        walks: Whether data is listed directory by directory, and not by pages.
        looks_ahead: Whether it lists ahead of a look that will list the same, so must list little.
        own_manifests: Those that tasks of the driver's own process have created.
    """

    record: JobRecord
    layout: JobLayout
    store: ConfirmedStore
    committer: Committer
    removal: Removal
    attempts_in_names: bool = False
    walks: bool = False
    looks_ahead: bool = False
    own_manifests: KeptManifests = field(default_factory=KeptManifests, repr=False, compare=False)

    def of(self, record: JobRecord) -> "BoundJob":
        """Another job of the same destination, by its record."""
        layout = self.layout.destination.job(record.job_id)
        return replace(self, record=record, layout=layout, own_manifests=KeptManifests())

    def final_name(self, name: Target, attempt: AttemptLayout) -> Target:
        """The name under which the file *name* of *attempt* is published.

        Raises:
            RequestError: The name is longer than stores take.
            UnsafeStoreError: It is hidden, and so kept as it is, where only names with the
                attempt's id are safe.
        """
        if self.record.names == "exact":
            return name
        attempt_id = attempt.attempt_id if self.attempts_in_names else None
        suffix = unique_suffix(attempt.job.job_id, attempt.task_id, attempt_id)
        final = uniquely_named(name, suffix)
        if self.attempts_in_names and not is_named_with(final, suffix):
            # Another job that commits a file of that name would drop what is uploaded for ours:
            # once we have decided, nobody could finish the job.
            message = (
                f"cannot write {name!r} here: a hidden name is not made unique, and this store "
                "keeps uploads by path, so that two jobs which write it destroy each other's file; "
                "leave it out, or write it beside the job"
            )
            raise UnsafeStoreError(message, task_id=attempt.task_id, path=name, stage="write")
        return final

    def settle_command(self, verb: str) -> str:
        """The shell command that settles this job."""
        return settle_command(verb, self.record.destination, self.record.job_id)


Bind: TypeAlias = Callable[[JobRecord], BoundJob]
"""Binds a job that is to be changed; its capabilities then hold for the store."""
Check: TypeAlias = Callable[[JobRecord], None]
"""Raises `RecordError` if this store lacks an ability that the job needs; changes nothing."""
