"""What the server holds. Every change goes through `State.commit`: all of its steps, or none."""

from __future__ import annotations

import base64
import time
from bisect import bisect_left, insort
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.servers.gcs.strict.access import Account
from tests.servers.gcs.strict.failures import no_bucket, no_object
from tests.servers.gcs.strict.settings import Settings

if TYPE_CHECKING:
    from tests.servers.http_service.journal import Journal

# One change of the state: its kind, then what it needs.
Step = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """One generation of an object: its resource, without what depends on who asks, and its data."""

    resource: dict[str, Any]
    content: bytes

    @property
    def name(self) -> str:
        return str(self.resource["name"])

    @property
    def generation(self) -> int:
        return int(self.resource["generation"])

    @property
    def place(self) -> list[object]:
        """Where its data is, for a step that uses them again."""
        return [self.resource["bucket"], self.name, self.generation]


@dataclass(slots=True)
class Session:
    """A resumable upload; `ended` is what it has made, or {} when it was cancelled.

    Its content is joined when it is asked for, once: chunk by chunk it would be copied each time
    that it no longer fits where it is.
    """

    bucket: str
    resource: dict[str, Any]
    query: dict[str, str]
    ended: dict[str, Any] | None = None
    size_bytes: int = 0
    _pieces: list[bytes] = field(default_factory=list)

    def add(self, data: bytes) -> None:
        self._pieces.append(data)
        self.size_bytes += len(data)

    @property
    def content(self) -> bytes:
        self._pieces = [b"".join(self._pieces)]
        return self._pieces[0]

    def end(self, ended: dict[str, Any]) -> None:
        self.ended, self.size_bytes, self._pieces = ended, 0, []


class Bucket:
    """Names are kept in order, as listings need: that of Python's strings is that of their UTF-8.

    https://cloud.google.com/storage/docs/objects: noncurrent generations stay where versioning is
    enabled.
    """

    def __init__(self, resource: dict[str, Any]) -> None:
        self.resource = resource
        self.objects: dict[str, Stored] = {}
        self.names: list[str] = []
        self.noncurrent: dict[tuple[str, int], Stored] = {}
        self.folders = set[str]()

    @property
    def name(self) -> str:
        return str(self.resource["name"])

    @property
    def is_hierarchical(self) -> bool:
        return bool(self.resource.get("hierarchicalNamespace", {}).get("enabled"))

    @property
    def is_versioned(self) -> bool:
        return bool(self.resource.get("versioning", {}).get("enabled"))

    def find(self, name: str, generation: int | None = None) -> Stored:
        """The live object, or that generation of it.

        Raises:
            Failure: there is none.
        """
        live = self.objects.get(name)
        if generation is not None and (live is None or live.generation != generation):
            live = self.noncurrent.get((name, generation))
        if live is None:
            raise no_object(self.name, name)
        return live

    def put(self, stored: Stored) -> None:
        self._retire(stored.name)
        if stored.name not in self.objects:
            insort(self.names, stored.name)
        self.objects[stored.name] = stored

    def drop(self, name: str) -> None:
        self._retire(name)
        del self.objects[name]
        del self.names[bisect_left(self.names, name)]

    def _retire(self, name: str) -> None:
        live = self.objects.get(name)
        if live is not None and self.is_versioned:
            self.noncurrent[name, live.generation] = live


class State:
    def __init__(self, journal: Journal | None = None) -> None:
        """Empty, or what the journal says."""
        self.buckets: dict[str, Bucket] = {}
        self.sessions: dict[str, Session] = {}
        # By their tokens.
        self.accounts: dict[str, Account] = {}
        self.settings = Settings()
        self._generation = 0
        self._journal = journal
        for steps, payload in () if journal is None else journal.entries():
            self._apply(steps, payload)

    def commit(self, *steps: Step, payload: bytes = b"") -> None:
        """Make these changes, which outlive the process from here on."""
        if self._journal is not None:
            self._journal.write((steps, payload))
        self._apply(steps, payload)

    def bucket(self, name: str) -> Bucket:
        """Raises: Failure: it is not there."""
        bucket = self.buckets.get(name)
        if bucket is None:
            raise no_bucket()
        return bucket

    def new_generation(self) -> int:
        """Later ones are greater; like the provider's, they look like microseconds."""
        self._generation = max(self._generation + 1, time.time_ns() // 1_000)
        return self._generation

    def _apply(self, steps: Any, payload: bytes) -> None:
        for step in steps:
            match step:
                case ("bucket", resource):
                    self.buckets[resource["name"]] = Bucket(resource)
                case ("drop bucket", name):
                    del self.buckets[name]
                case ("session" | "session data" | "end session", *_):
                    self._apply_to_session(step, payload)
                case ("settings" | "account" | "revoke", *_):
                    self._apply_to_access(step)
                case _:
                    self._apply_within(self.buckets[step[1]], step, payload)

    def _apply_to_session(self, step: Any, payload: bytes) -> None:
        match step:
            case ("session", number, bucket, resource, query):
                self.sessions[number] = Session(bucket, resource, query)
            case ("session data", number):
                self.sessions[number].add(payload)
            case ("end session", number, ended):
                self.sessions[number].end(ended)

    def _apply_to_access(self, step: Any) -> None:
        match step:
            case ("settings", settings):
                self.settings = Settings(**settings)
            case ("account", token, name, denied):
                self.accounts[token] = Account(name, frozenset(denied))
            case ("revoke",):
                for account in self.accounts.values():
                    account.is_revoked = True

    def _apply_within(self, bucket: Bucket, step: Any, payload: bytes) -> None:
        match step:
            case ("object", _, resource, content):
                self._generation = max(self._generation, int(resource["generation"]))
                bucket.put(Stored(resource, self._content(content, payload)))
            case ("drop object", _, name):
                bucket.drop(name)
            case ("drop generation", _, name, generation):
                del bucket.noncurrent[name, generation]
            case ("bucket resource", _, resource):
                bucket.resource = resource
            case ("folder", _, name):
                bucket.folders.add(name)
            case _:
                raise ValueError(f"no such step: {step}")

    def _content(self, content: Any, payload: bytes) -> bytes:
        match content:
            case None:
                return payload
            case ("session", number):
                return self.sessions[number].content
            case (bucket, name, generation):
                return self.buckets[bucket].find(name, generation).content
            case _:
                raise ValueError(f"no such content: {content}")


def etag(generation: int) -> str:
    return base64.b64encode(b"%d" % generation).decode()


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
