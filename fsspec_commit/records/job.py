"""The records of one job: its spec, the message of a task, claim, decision, publication."""

from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from msgspec import Meta, Struct, field, json
from msgspec.structs import replace

from fsspec_commit.errors import RecordError
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.records import JsonRecord, decode_strictly, must_be, text_bytes
from fsspec_commit.records.outline import Outline
from fsspec_commit.store import Capabilities

CommitterName: TypeAlias = Literal["v1", "manifest", "magic"]
Mode: TypeAlias = Literal["error", "ignore", "append", "overwrite", "overwrite_partitions"]
MODES: tuple[Mode, ...] = ("error", "ignore", "append", "overwrite", "overwrite_partitions")
Names: TypeAlias = Literal["unique", "exact"]
Success: TypeAlias = Literal["marker", "json", "none"]
Collect: TypeAlias = Literal["messages", "store"]
Durability: TypeAlias = Literal["none", "marker", "full"]

# ``\Z``, because ``$`` also matches before a line feed at the end.
JobIdText: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9]{8}T[0-9]{6}-[0-9a-f]{16}\Z")]
NonceText: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
AttemptIdText: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]
Digest: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
ShortText: TypeAlias = Annotated[str, Meta(max_length=4096)]
TASKS_MAX = 1 << 31
"""Task numbers are below it."""
_MESSAGE_BYTES_MAX = 64 << 10


class JobRecord(JsonRecord, frozen=True, kw_only=True):
    """``job.json``: every option that a worker, a resumer or a person needs, but no secret.

    Attributes:
        capabilities: The facts from which the committer was chosen. Everybody who works on the job
            uses these, and nobody determines them anew.
    """

    limit_bytes: ClassVar[int] = 16 << 20

    format: Literal["fsspec_commit.Job"] = "fsspec_commit.Job"
    version: Literal[1] = 1
    nonce: NonceText
    job_id: JobIdText
    destination: ShortText
    committer: CommitterName
    capabilities: Capabilities = field(default_factory=Capabilities)
    mode: Mode
    partitions: tuple[ShortText, ...] = ()
    names: Names = "unique"
    tasks: Annotated[int, Meta(ge=1, lt=TASKS_MAX)] | None = None
    collect: Collect = "messages"
    key_digest: Digest | None = None
    success: Success = "marker"
    allow_empty: bool = False
    durability: Durability = "none"
    single_writer: bool = False
    delete_by_name: bool = False
    host: ShortText = ""

    def check_path(self, layout: JobLayout, path: StorePath) -> None:  # noqa: ARG002  # one name
        """Refuse another job's record."""
        must_be(self.job_id, layout.job_id, "job")

    @property
    def is_collected(self) -> bool:
        """Whether the messages of tasks are in the store, instead of being passed to the driver."""
        return self.collect == "store"

    def layout(self, root: StorePath) -> JobLayout:
        """The job's paths below the destination, as the opened store names it."""
        return DestinationLayout(root).job(self.job_id)


class TaskCommit(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The message of an attempt to the driver, which proves that the attempt has committed.

    Small, picklable and comparable. Without it the attempt counts as never made.

    Attributes:
        task_id: The task.
        attempt_id: The attempt that has committed.
        file_count: How many files the attempt wrote.
        bytes: How large they are together.
        manifest: The path of the attempt's manifest, relative to the destination's work area.
        digest: The manifest's SHA-256.
        chosen: With ``collect="store"``: whether this attempt of the task came first. Once the job
            is over it means nothing: a late attempt may be told so as well.
    """

    task_id: Annotated[int, Meta(ge=0, lt=TASKS_MAX)]
    attempt_id: AttemptIdText
    file_count: Count
    bytes: Count
    manifest: ShortText
    digest: Digest
    chosen: bool | None = None

    def to_json(self) -> str:
        """The message as text, for engines that carry no objects."""
        return json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a message that :meth:`to_json` wrote.

        Raises:
            RequestError: *text* is not a ``str``.
            RecordError: *text* is not a message.
        """
        data = text_bytes(text, cls, _MESSAGE_BYTES_MAX, noun="message")
        try:
            return decode_strictly(data, cls, _MESSAGE_BYTES_MAX)
        except RecordError as error:
            message = f"the text is no message of a task, as to_json() gives one: {error}"
            raise RecordError(message) from error

    def check_values(self) -> None:
        """Check what :meth:`from_json` checks, but neither the constructor nor pickle does.

        Raises:
            RecordError: A value is of the wrong type, or not one that a task sends.
        """
        try:
            data = json.encode(self)
        except (OverflowError, TypeError, UnicodeEncodeError) as error:
            raise RecordError(f"it cannot be written down: {error}") from None
        decode_strictly(data, TaskCommit, _MESSAGE_BYTES_MAX)

    def told_chosen(self, *, chosen: bool) -> "TaskCommit":
        """The message with ``chosen``: whether its attempt came first."""
        return replace(self, chosen=chosen)

    def unbiased(self) -> "TaskCommit":
        """The message as the decision holds it, without ``chosen``."""
        return self if self.chosen is None else replace(self, chosen=None)


class ChosenRecord(JsonRecord, frozen=True, kw_only=True):
    """``chosen/<task_id>``: the attempt of a task that came first, with ``collect="store"``."""

    limit_bytes: ClassVar[int] = 64 << 10

    format: Literal["fsspec_commit.Chosen"] = "fsspec_commit.Chosen"
    version: Literal[1] = 1
    nonce: NonceText
    message: TaskCommit

    def check_path(self, layout: JobLayout, path: StorePath) -> None:
        """Refuse the record of another task, or of another job's attempt."""
        if layout.chosen(self.message.task_id) != path:
            raise RecordError(f"it is another task's: of task {self.message.task_id}")
        attempt = layout.attempt(self.message.task_id, self.message.attempt_id)
        must_be(self.message.manifest, attempt.manifest_name, "manifest")


class Claim(JsonRecord, frozen=True, kw_only=True):
    """``claim-<nonce>``: commit has begun, and this is what the job may touch.

    ``partitions`` are directories, with everything below them; ``None`` is the whole destination.
    ``reusable_names`` says whether the job writes a name that another job could use as well; a
    record without it counts as one that does.
    """

    limit_bytes: ClassVar[int] = 1 << 20

    format: Literal["fsspec_commit.Claim"] = "fsspec_commit.Claim"
    version: Literal[1] = 1
    nonce: NonceText
    job_id: JobIdText
    mode: Mode
    names: Names
    partitions: tuple[ShortText, ...] | None
    reusable_names: bool = True
    key_digest: Digest | None = None

    @property
    def only_adds(self) -> bool:
        """Whether the job only adds files, under names of its own except for reusable ones."""
        return self.mode == "append" and self.names == "unique"

    @property
    def outline(self) -> Outline:
        """The claim in short."""
        return Outline.of(
            self.partitions,
            only_adds=self.only_adds,
            reusable_names=self.reusable_names,
            key_digest=self.key_digest,
        )

    def outlined(self) -> Self:
        """The same claim, with a nonce that says what it holds, as far as a nonce can."""
        return replace(self, nonce=self.outline.in_nonce(self.nonce, self.job_id))

    def check_path(self, layout: JobLayout, path: StorePath) -> None:
        """Refuse another job's claim, and one under another name."""
        must_be(self.job_id, layout.job_id, "job")
        must_be(layout.claim(self.nonce), path, "place")


class ReplacedList(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The list of old files that will be removed: count and digest; the claim's nonce names it."""

    count: Count
    digest: Digest


class ChosenList(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The list of chosen attempts, if they are many: its name, count and digest.

    Its nonce is its own, and not a claim's: the list is written before there is a claim.
    """

    nonce: NonceText
    count: Count
    digest: Digest


class FileIdentity(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One content at one path: its size and its token."""

    size: Count
    token: ShortText


class Decision(JsonRecord, frozen=True, kw_only=True):
    """``decision``: the commit point, one exclusive create of the whole record.

    Anybody can publish the job from a committed decision alone: it has the claim under which it was
    made, the chosen manifests with their digests, the old files to be removed, the prepared marker
    and the stale one.

    Attributes:
        chosen: The attempts to publish, by task, if they are few.
        chosen_list: The list of these beside the decision, if they are many.
    """

    limit_bytes: ClassVar[int] = 2 << 20

    format: Literal["fsspec_commit.Decision"] = "fsspec_commit.Decision"
    version: Literal[1] = 1
    nonce: NonceText
    job_id: JobIdText
    state: Literal["committed", "aborted"]
    by: ShortText = ""
    claim: Claim | None = None
    chosen: tuple[TaskCommit, ...] = ()
    chosen_list: ChosenList | None = None
    replaced: ReplacedList | None = None
    success: FileIdentity | None = None
    stale_success: FileIdentity | None = None

    @property
    def task_count(self) -> int:
        """How many attempts are published."""
        return len(self.chosen) if self.chosen_list is None else self.chosen_list.count

    def check_path(self, layout: JobLayout, path: StorePath) -> None:  # noqa: ARG002  # one name
        """Refuse another job's decision, and one that no driver of the job would have made."""
        must_be(self.job_id, layout.job_id, "job")
        if self.claim is not None:
            must_be(self.claim.job_id, layout.job_id, "job")
        if (self.claim is None) is (self.state == "committed"):
            raise RecordError(f"{self.state}, and {'no' if self.claim is None else 'a'} claim")
        if len({message.task_id for message in self.chosen}) != len(self.chosen):
            raise RecordError("it chooses two attempts of one task")

    def check_key(self, record: JobRecord) -> None:
        """Refuse a job with another idempotency key: whoever finishes it marks its key as done.

        Raises:
            RecordError: The job decided with another key, or without one.
        """
        if self.claim is not None and self.claim.key_digest != record.key_digest:
            raise RecordError("its idempotency key is not the one that its decision was made with")


class Published(JsonRecord, frozen=True, kw_only=True):
    """``published``: every new file is in place, so old ones may be removed."""

    limit_bytes: ClassVar[int] = 64 << 10

    format: Literal["fsspec_commit.Published"] = "fsspec_commit.Published"
    version: Literal[1] = 1
    nonce: NonceText
    job_id: JobIdText
    decision: NonceText
    lost: Count = 0

    def check_path(self, layout: JobLayout, path: StorePath) -> None:  # noqa: ARG002  # one name
        """Refuse another job's record."""
        must_be(self.job_id, layout.job_id, "job")

    def check_decision(self, decision: Decision) -> None:
        """Refuse a record of another decision: old files are removed because this record stands.

        Raises:
            RecordError: It names another decision.
        """
        must_be(self.decision, decision.nonce, "decision")


class ReplacedFile(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """One line of the replaced list: a name relative to the destination, and its identity.

    ``in_place`` files are replaced by a new file of the same name, all others are deleted once
    every new file is in place.
    """

    name: ShortText
    size: Count
    token: ShortText
    in_place: bool
