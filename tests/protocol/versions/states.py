"""All that stands at a destination, as plain data: taken from a store, written down, put back.

On disks a token is an inode and a time, which no copy has. So what is recorded are stores in
memory, where a content can be put back with the token that records name it by.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import fsspec
from fsspec.implementations.memory import MemoryFile, MemoryFileSystem

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Token
from fsspec_commit.testing.simulation.bucket import Object
from fsspec_commit_stores.memory import tree
from tests.flat.bucket import ALL_HABITS, Upload, make_bucket, remove_bucket
from tests.scenes.flat_place import FlatPlace
from tests.scenes.memory_place import MemoryPlace
from tests.scenes.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Iterator

State: TypeAlias = "dict[str, Any]"
"""By ``file PATH``, ``directory PATH`` and ``upload ID``, what stands there; and by ``consumed ID``
the uploads that have become files, which the store knows."""
RecordedPlace: TypeAlias = FlatPlace | MemoryPlace
RECORDED = Path(__file__).with_name("recorded")
ENDING = ".jsonl.gz"
NAME = "recorded"
"""The bucket's, or of the directory in memory: records name where their job is."""
WHERE = {"v1": "memory", "manifest": "gcs", "magic": "versioned"}
"""The store of each committer: memory, or the habits of a flat bucket."""
STORES = {**WHERE, "gen2": "gen2", "minio": "minio"}
"""These, and by their own names two on which a committer makes other calls: where directories are
and listings are paged, and where uploads cannot be listed."""
_LATER_SERIALS = 1_000_000


def make_place(committer: str) -> RecordedPlace:
    """An empty place, always the same one."""
    if STORES[committer] == "memory":
        return MemoryPlace(f"/{NAME}")
    return FlatPlace(make_bucket(ALL_HABITS[STORES[committer]], name=NAME))


def remove(place: RecordedPlace) -> None:
    """Forget what stands there."""
    if isinstance(place, FlatPlace):
        remove_bucket(place.bucket)
    else:
        place.remove()


def state_of(place: RecordedPlace) -> State:
    """All that stands there."""
    if isinstance(place, MemoryPlace):
        return _state_in_memory(place)
    bucket = place.bucket
    files = {
        f"file {path}": [one.data.decode(), one.token, one.nonce]
        for path, one in bucket.objects.items()
    }
    uploads = {
        f"upload {upload_id}": [
            *(one.path, one.nonce),
            {str(number): data.decode() for number, data in one.parts.items()},
        ]
        for upload_id, one in bucket.uploads.items()
    }
    directories = {f"directory {path}": True for path in bucket.directories}
    consumed = {f"consumed {upload_id}": True for upload_id in bucket._consumed}
    return {**files, **uploads, **directories, **consumed}


def put_back(place: RecordedPlace, state: State) -> None:
    """Have exactly *state* stand there."""
    if isinstance(place, MemoryPlace):
        _put_back_in_memory(place, state)
        return
    bucket = place.bucket
    bucket.objects = {
        StorePath(path): Object(
            text.encode(), Token(token), None if nonce is None else Nonce(nonce)
        )
        for path, (text, token, nonce) in _of("file", state)
    }
    bucket.uploads = {
        upload_id: Upload(
            StorePath(path),
            Nonce(nonce),
            {int(number): text.encode() for number, text in parts.items()},
        )
        for upload_id, (path, nonce, parts) in _of("upload", state)
    }
    bucket.directories = {StorePath(path) for path, _ in _of("directory", state)}
    bucket._consumed = {upload_id for upload_id, _ in _of("consumed", state)}
    bucket._serials = count(_LATER_SERIALS)  # No token and no upload of these comes again.


def _of(kind: str, state: State) -> Iterator[tuple[str, Any]]:
    return (
        (key.removeprefix(f"{kind} "), one)
        for key, one in state.items()
        if key.startswith(f"{kind} ")
    )


def _state_in_memory(place: MemoryPlace) -> State:
    files = fsspec.filesystem("memory")
    below = f"{place.top}/"
    found: State = {
        f"file {path}": [file.getvalue().decode(), tree.token_of(file), None]
        for path, file in files.store.items()
        if path.startswith(below)
    }
    return found | {
        f"directory {path}": True for path in files.pseudo_dirs if f"{path}/".startswith(below)
    }


def _put_back_in_memory(place: MemoryPlace, state: State) -> None:
    place.remove()
    files = fsspec.filesystem("memory")
    for path, (text, token, _) in _of("file", state):
        serial, _size, modified = token.split("-")
        file = MemoryFile(MemoryFileSystem(), path, text.encode())
        file.modified = datetime.fromtimestamp(float(modified), UTC)
        tree.serials[file] = int(serial, 16)
        files.store[path] = file
    files.pseudo_dirs.extend(path for path, _ in _of("directory", state))


@dataclass(frozen=True)
class RecordedScene(Scene):
    """A scene as it was when a job of it was recorded."""

    recorded_old: dict[str, str] = field(default_factory=dict)

    @property
    def old(self) -> dict[str, bytes]:
        return {name: text.encode() for name, text in self.recorded_old.items()}


@dataclass(frozen=True)
class Recording:
    """A job, and what stood at its destination after each call that changed something.

    Attributes:
        committer: Its committer, or the store, of ``STORES``.
        scene: The job.
        states: What stood before it began, then after each such call.
        calls: The calls.
    """

    committer: str
    scene: Scene
    states: list[State]
    calls: list[str]

    def write(self, to: Path) -> None:
        """Write it down, one change a line."""
        head = {
            "committer": self.committer,
            "options": self.scene.options,
            "tasks": self.scene.tasks,
            "old": {name: data.decode() for name, data in self.scene.old.items()},
        }
        lines = [json.dumps(head)]
        before: State = {}
        for call, state in zip(["", *self.calls], self.states, strict=True):
            changed = {key: one for key, one in state.items() if before.get(key) != one}
            changed |= dict.fromkeys(before.keys() - state.keys())
            lines.append(json.dumps([call, dict(sorted(changed.items()))]))
            before = state
        text = "\n".join(lines) + "\n"
        to.write_bytes(gzip.compress(text.encode(), mtime=0))

    @classmethod
    def read(cls, path: Path) -> Recording:
        """Read what :meth:`write` wrote."""
        lines = gzip.decompress(path.read_bytes()).splitlines()
        head, *changes = map(json.loads, lines)
        states, calls = [], []
        state: State = {}
        for call, changed in changes:
            state = {key: one for key, one in {**state, **changed}.items() if one is not None}
            states.append(state)
            calls.append(call)
        scene = RecordedScene(head["options"], head["tasks"], head["old"])
        return cls(head["committer"], scene, states, calls[1:])
