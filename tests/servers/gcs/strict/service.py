"""What every method of the API is given: the state, and what each change must pass first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.servers.gcs.strict.access import Access, require
from tests.servers.gcs.strict.failures import invalid, retention_policy_not_met
from tests.servers.gcs.strict.write_rate import WriteRate

if TYPE_CHECKING:
    from tests.servers.gcs.strict.messages import Call
    from tests.servers.gcs.strict.settings import Settings
    from tests.servers.gcs.strict.state import Bucket, State, Step


class Service:
    def __init__(self, state: State) -> None:
        self.state = state
        self.access = Access(state)
        self._write_rate = WriteRate()

    @property
    def settings(self) -> Settings:
        return self.state.settings

    def allow_write(self, call: Call, bucket: Bucket, name: str) -> None:
        """The last that a new generation must pass, after its preconditions.

        Raises:
            Failure: the caller may not replace what is there, or the name was written just now.
        """
        self.authorize_write(call, bucket, name)
        self.protect(bucket, name)

    def authorize_write(self, call: Call, bucket: Bucket, name: str) -> None:
        """`storage.objects.delete` is needed where an object is replaced, beside the method's own.

        Raises:
            Failure: the caller lacks it, or nothing there may be replaced.
        """
        if name in bucket.objects:
            require(call, "storage.objects.delete")
            if "retentionPolicy" in bucket.resource:
                raise retention_policy_not_met(bucket.name, name)

    def protect(self, bucket: Bucket, name: str) -> None:
        if bucket.resource["locationType"] == "zone":
            # Their objects are written by gRPC, appended to and not made whole, which is not here.
            raise invalid("The operation is not supported for zonal buckets.")
        self._check_rate(bucket, name)

    def allow_removal(self, bucket: Bucket, name: str) -> None:
        """The last that an object must pass that is deleted or moved away.

        Raises:
            Failure: it may not go so soon.
        """
        if "retentionPolicy" in bucket.resource:
            raise retention_policy_not_met(bucket.name, name)
        if self.settings.deletions_count:
            self._check_rate(bucket, name)

    def note_removal(self, bucket: Bucket, name: str) -> None:
        if self.settings.deletions_count:
            self.note_write(bucket, name)

    def note_write(self, bucket: Bucket, name: str) -> None:
        interval_s = self.settings.write_interval_s
        self._write_rate.note(bucket.name, name, interval_s=interval_s)

    def _check_rate(self, bucket: Bucket, name: str) -> None:
        interval_s = self.settings.write_interval_s
        self._write_rate.check(bucket.name, name, interval_s=interval_s)

    def parents(self, bucket: Bucket, name: str) -> list[Step]:
        """The folders that an object of that name needs and that are not there.

        https://cloud.google.com/storage/docs/hns-overview: they come with the object.
        """
        if not bucket.is_hierarchical:
            return []
        missing: list[Step] = []
        place = name.find("/")
        while place >= 0:
            folder = name[: place + 1]
            if folder not in bucket.folders:
                missing.append(("folder", bucket.name, folder))
            place = name.find("/", place + 1)
        return missing
