"""A destination with old data, and one job of each mode that comes over it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from tests.protocol.invariants import model
from tests.scenes.places import LocalPlace

if TYPE_CHECKING:
    from pathlib import Path

OLD = {
    "old.txt": b"old at the top",
    "same.txt": b"old under a name that comes again",
    "day=1/old.txt": b"old in day 1",
    "day=1/same.txt": b"old in day 1 under a name that comes again",
    "day=1/hour=2/old.txt": b"old below day 1",
    "day=2/old.txt": b"old in day 2",
    "day=3/hour=1/old.txt": b"old below day 3",
}
UUID = "6a0d9b8e-5c0f-4a55-9f0e-0123456789ab"
HIDDEN = {"_notes.txt": b"hidden, and nobody's business", "day=1/.hidden": b"the same"}


@dataclass(frozen=True)
class Scene:
    """One job: its options, what each of its tasks writes, and what must come of it."""

    options: dict[str, object]
    tasks: list[dict[str, str]] = field(default_factory=list)

    @property
    def mode(self) -> str:
        return str(self.options["mode"])

    @property
    def declared(self) -> list[str]:
        partitions = self.options.get("partitions", [])
        return list(partitions) if isinstance(partitions, list) else []

    @property
    def old(self) -> dict[str, bytes]:
        return {} if self.mode in {"error", "ignore"} else OLD

    @property
    def new(self) -> dict[str, bytes]:
        """The new files as :func:`tests.protocol.invariants.visible` names them."""
        return self.new_of(self.tasks)

    def new_of(self, tasks: list[dict[str, str]]) -> dict[str, bytes]:
        exact = self.options.get("names") == "exact"
        return {
            name if exact else _told_apart(name, number): text.encode()
            for number, files in enumerate(tasks)
            for name, text in files.items()
        }

    @property
    def after(self) -> dict[str, bytes]:
        return model(self.old, self.new, self.mode, self.declared)

    @property
    def leaves_marker(self) -> bool:
        """One that adds to data with a marker leaves one there, be it without one of its own."""
        adds = self.mode in {"append", "overwrite_partitions"}
        return self.options.get("success") != "none" or (adds and bool(self.old))

    @property
    def laid_out(self) -> dict[str, bytes]:
        """The old data, and the marker of whoever wrote it."""
        return {**self.old, **HIDDEN, "_SUCCESS": b""} if self.old else {}

    def lay_out(self, destination: Path) -> None:
        """Write them to a local directory."""
        LocalPlace(destination).put(self.laid_out)


class NamedScene(Scene):
    """A scene whose old files have names that are never used again."""

    @property
    def old(self) -> dict[str, bytes]:
        return {
            name.replace("old.txt", f"old-{UUID}.txt"): data
            for name, data in super().old.items()
            if not name.endswith("same.txt")
        }


def named(name: str) -> Scene:
    return NamedScene(SCENES[name].options, SCENES[name].tasks)


def _told_apart(name: str, task: int) -> str:
    extension = PurePosixPath(name).suffix
    return f"{name.removesuffix(extension)}@{task}{extension}"


TASKS = [
    {"same.txt": "new of task 0", "day=1/same.txt": "new in day 1, of task 0"},
    {"other.txt": "new of task 1", "day=9/other.txt": "new in day 9, of task 1"},
]
PARTITIONED = [
    {"day=1/same.txt": "new in day 1, of task 0", "day=1/more.txt": "more of task 0"},
    {"day=9/other.txt": "new in day 9, of task 1"},
]

SCENES = {
    "append": Scene({"mode": "append"}, TASKS),
    "append, exact": Scene(
        {"mode": "append", "names": "exact", "success": "json"},
        [{"new.txt": "new of task 0"}, {"day=1/new.txt": "new of task 1"}],
    ),
    "error": Scene({"mode": "error", "idempotency_key": "k"}, TASKS),
    "overwrite": Scene({"mode": "overwrite"}, TASKS),
    "overwrite, in place": Scene({"mode": "overwrite", "names": "exact"}, TASKS),
    "overwrite_partitions": Scene(
        {"mode": "overwrite_partitions", "partitions": ["day=3"]}, PARTITIONED
    ),
    "overwrite_partitions, in place": Scene(
        {"mode": "overwrite_partitions", "names": "exact", "success": "none"}, PARTITIONED
    ),
}
