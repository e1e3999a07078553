"""The records of one job: its spec, the message of a task, claim, decision, publication."""

from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from msgspec import Meta, Struct, field, json
from msgspec.structs import replace

from fsspec_commit.errors import RecordError, RequestError
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.records import JsonRecord, decode_strictly, must_be, text_bytes
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
_MESSAGE_BYTES_MAX = 64 << 10


class JobRecord(JsonRecord, frozen=True, kw_only=True):
    """``job.json``: every option that a worker, a resumer or a person needs; never a secret.

    Attributes:
        capabilities: The facts that the committer was chosen from: whoever works on the job goes
            by them, so that nobody has to find them out again, or finds others.
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
    tasks: Annotated[int, Meta(ge=1, lt=1 << 31)] | None = None
    collect: Collect = "messages"
    key_digest: Digest | None = None
    success: Success = "marker"
    allow_empty: bool = False
    durability: Durability = "none"
    single_writer: bool = False
    delete_by_name: bool = False
    host: ShortText = ""

    def check_path(self, layout: JobLayout, path: StorePath) -> None:  # noqa: ARG002  # one name
        """Refuse another job's."""
        must_be(self.job_id, layout.job_id, "job")

    def layout(self, root: StorePath) -> JobLayout:
        """The job's paths below the destination as the opened store names it."""
        return DestinationLayout(root).job(self.job_id)


class TaskCommit(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The proof of task commit: what an attempt tells the driver, and a line of the decision.

    Small, picklable and comparable; without it the attempt never happened.

    Attributes:
        task_id: The task.
        attempt_id: The one attempt of it that this message speaks of.
        file_count: How many files the attempt wrote.
        bytes: How large they are together.
        manifest: Where the list of them is kept, relative to the destination's work area.
        digest: SHA-256 of that list.
        chosen: With ``collect="store"``: whether this attempt of the task came first.
    """

    task_id: Annotated[int, Meta(ge=0, lt=1 << 31)]
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
        """Read what :meth:`to_json` wrote.

        Raises:
            RequestError: *text* is no text.
            RecordError: *text* is anything else.
        """
        given: object = text
        if not isinstance(given, str):
            what = type(given).__name__
            message = f"a message is read from the text that to_json() gave, not from {what}"
            raise RequestError(message, kind="not_a_message")
        data = text_bytes(given, cls, _MESSAGE_BYTES_MAX)
        try:
            return decode_strictly(data, cls, _MESSAGE_BYTES_MAX)
        except RecordError as error:
            message = f"the text is no message of a task, as to_json() gives one: {error}"
            raise RecordError(message) from error

    def told_chosen(self, *, chosen: bool) -> "TaskCommit":
        """The message with the answer to whether its attempt came first."""
        return replace(self, chosen=chosen)

    def unbiased(self) -> "TaskCommit":
        """The message as the decision holds it, whoever carried it here."""
        return self if self.chosen is None else replace(self, chosen=None)


class ChosenRecord(JsonRecord, frozen=True, kw_only=True):
    """``chosen/<task_id>``: the attempt that came first, where no messages travel."""

    limit_bytes: ClassVar[int] = 64 << 10

    format: Literal["fsspec_commit.Chosen"] = "fsspec_commit.Chosen"
    version: Literal[1] = 1
    nonce: NonceText
    message: TaskCommit

    def check_path(self, layout: JobLayout, path: StorePath) -> None:
        """Refuse another task's, or one of another job's attempt."""
        if layout.chosen(self.message.task_id) != path:
            raise RecordError(f"it is another task's: of task {self.message.task_id}")
        attempt = layout.attempt(self.message.task_id, self.message.attempt_id)
        must_be(self.message.manifest, attempt.manifest_name, "manifest")


class Claim(JsonRecord, frozen=True, kw_only=True):
    """Commit has begun: what the job may touch until it is withdrawn or finished.

    ``partitions`` holds directories; ``None`` is the whole destination. What lies below them
    counts as touched as well. ``reusable_names`` says whether the job writes a name that another
    job could give to a file: what does not say so is taken to.
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

    def check_path(self, layout: JobLayout, path: StorePath) -> None:
        """Refuse another job's, and one under another's name."""
        must_be(self.job_id, layout.job_id, "job")
        must_be(layout.claim(self.nonce), path, "place")


class ReplacedList(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Names, counts and fixes by its digest the list of old files that will go."""

    count: Count
    digest: Digest


class ChosenList(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Names, counts and fixes by its digest the list of chosen attempts, where they are many.

    Its nonce is its own, and no claim's: the list is written before there is a claim.
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

    A committed decision is all that publication is done from, whoever does it: the claim it was
    made under, the chosen manifests with their digests, the old files that go, the marker that
    was prepared and the stale one that was seen.

    Attributes:
        chosen: The attempts that are published, by task, where they are few.
        chosen_list: The list of them beside the decision, where they are many.
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
        """How many attempts it publishes."""
        return len(self.chosen) if self.chosen_list is None else self.chosen_list.count

    def check_path(self, layout: JobLayout, path: StorePath) -> None:  # noqa: ARG002  # one name
        """Refuse another job's, and one that no driver of the job would have taken."""
        must_be(self.job_id, layout.job_id, "job")
        if self.claim is not None:
            must_be(self.claim.job_id, layout.job_id, "job")
        if (self.claim is None) is (self.state == "committed"):
            raise RecordError(f"{self.state}, and {'no' if self.claim is None else 'a'} claim")
        if len({message.task_id for message in self.chosen}) != len(self.chosen):
            raise RecordError("it chooses two attempts of one task")


class Published(JsonRecord, frozen=True, kw_only=True):
    """``published``: every new file is in place, so old ones may go."""

    limit_bytes: ClassVar[int] = 64 << 10

    format: Literal["fsspec_commit.Published"] = "fsspec_commit.Published"
    version: Literal[1] = 1
    nonce: NonceText
    job_id: JobIdText
    decision: NonceText
    lost: Count = 0

    def check_path(self, layout: JobLayout, path: StorePath) -> None:  # noqa: ARG002  # one name
        """Refuse another job's."""
        must_be(self.job_id, layout.job_id, "job")

    def check_decision(self, decision: Decision) -> None:
        """Refuse one that says it of another decision: old files go because it stands.

        Raises:
            RecordError: It does.
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
