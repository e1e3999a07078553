"""What the account holds: one tree of directories and files a container, and staged blocks.

Changes are made here only, each by a method of `Storage` that is written to the journal first: a
server that is killed and started again on its journal holds what it had acknowledged.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.http_service.journal import Journal

_TICKS_PER_S = 10_000_000
_UNIX_EPOCH_TICKS = 621_355_968_000_000_000


@dataclass(slots=True)
class Node:
    """What files and directories have; `etag` is without quotes, `metadata` is decoded."""

    etag: str
    modified_s: float
    created_s: float
    metadata: dict[str, str]
    headers: dict[str, str]


@dataclass(slots=True)
class File(Node):
    """`blocks` are those that make it up, by id; what DFS has written is in one without id.

    `appended` is what waits for a flush, by position.
    """

    blocks: tuple[tuple[str, bytes], ...] = ()
    by_dfs: bool = False
    appended: dict[int, bytes] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        return sum(len(content) for _, content in self.blocks)

    @property
    def content(self) -> bytes:
        if len(self.blocks) == 1:
            return self.blocks[0][1]
        return b"".join(content for _, content in self.blocks)


@dataclass(slots=True)
class Directory(Node):
    children: dict[str, File | Directory] = field(default_factory=dict)
    _sorted: list[str] | None = None

    def names(self) -> list[str]:
        """In order."""
        if self._sorted is None:
            self._sorted = sorted(self.children)
        return self._sorted

    def put(self, name: str, node: File | Directory) -> None:
        if name not in self.children:
            self._sorted = None
        self.children[name] = node

    def take(self, name: str) -> File | Directory:
        self._sorted = None
        return self.children.pop(name)


@dataclass(slots=True)
class Container:
    root: Directory
    # Blocks that no list names yet, by path and id.
    staged: dict[str, dict[str, bytes]] = field(default_factory=dict)
    legal_hold: bool = False
    immutable: bool = False

    def find(self, path: str) -> File | Directory | None:
        node: File | Directory = self.root
        for name in path.split("/") if path else ():
            if not isinstance(node, Directory):
                return None
            below = node.children.get(name)
            if below is None:
                return None
            node = below
        return node

    def file_above(self, path: str) -> bool:
        """Whether something that is no directory is where one of its parents must be."""
        node: File | Directory | None = self.root
        for name in path.split("/")[:-1]:
            if not isinstance(node, Directory):
                return True
            node = node.children.get(name)
            if node is None:
                return False
        return not isinstance(node, Directory)

    def walk(self, path: str) -> Iterator[tuple[str, File | Directory]]:
        """All that is below a directory; a directory comes before what is in it."""
        top = self.find(path)
        if not isinstance(top, Directory):
            return
        before = f"{path}/" if path else ""
        pending = [(before + name, top.children[name]) for name in reversed(top.names())]
        while pending:
            place, node = pending.pop()
            yield place, node
            if isinstance(node, Directory):
                pending += [
                    (f"{place}/{name}", node.children[name]) for name in reversed(node.names())
                ]


class Storage:
    def __init__(self, journal: Journal | None = None) -> None:
        """Empty, or what the journal says."""
        self.containers: dict[str, Container] = {}
        self._journal: Journal | None = None
        self._ticks = 0
        if journal is not None:
            for name, arguments in journal.entries():
                getattr(self, f"_{name}")(*arguments)
            self._journal = journal

    def stamp(self) -> tuple[str, float]:
        """An etag that was never given before, and the time."""
        now_s = time.time()
        self._ticks = max(self._ticks + 1, int(now_s * _TICKS_PER_S) + _UNIX_EPOCH_TICKS)
        return f"0x{self._ticks:X}", now_s

    def change(self, name: str, *arguments: Any) -> None:
        """Write the change down, then make it: one of the methods below, without its underscore."""
        if self._journal is not None:
            self._journal.write((name, arguments))
        getattr(self, f"_{name}")(*arguments)

    def _create(self, container: str, etag: str, now_s: float, metadata: dict[str, str]) -> None:
        root = Directory(self._seen(etag), now_s, now_s, metadata, {})
        self.containers[container] = Container(root)

    def _drop(self, container: str) -> None:
        del self.containers[container]

    def _hold(self, container: str, legal_hold: bool, immutable: bool) -> None:
        held = self.containers[container]
        held.legal_hold, held.immutable = legal_hold, immutable

    def _put(self, container: str, path: str, node: File | Directory) -> None:
        """In the place of what was there; its parents come with it. Staged blocks are dropped."""
        self._seen(node.etag)
        held = self.containers[container]
        *parents, name = path.split("/")
        directory = held.root
        for parent in parents:
            below = directory.children.get(parent)
            if below is None:
                below = Directory(node.etag, node.modified_s, node.modified_s, {}, {})
                directory.put(parent, below)
            assert isinstance(below, Directory)
            directory = below
        directory.put(name, node)
        held.staged.pop(path, None)

    def _describe(
        self,
        container: str,
        path: str,
        stamp: tuple[str, float],
        metadata: dict[str, str] | None,
        headers: dict[str, str] | None,
    ) -> None:
        node = self.containers[container].find(path)
        assert node is not None
        etag, node.modified_s = stamp
        node.etag = self._seen(etag)
        if metadata is not None:
            node.metadata = metadata
        if headers is not None:
            node.headers = {**node.headers, **headers}

    def _remove(self, container: str, paths: tuple[str, ...]) -> None:
        held = self.containers[container]
        for path in paths:
            self._parent(held, path).take(path.rpartition("/")[2])
            for staged in [one for one in held.staged if f"{one}/".startswith(f"{path}/")]:
                del held.staged[staged]

    def _move(self, container: str, source: str, to_container: str, destination: str) -> None:
        """With all that is in it, its etag and theirs: nothing of them is written."""
        held, to = self.containers[container], self.containers[to_container]
        moved = self._parent(held, source).take(source.rpartition("/")[2])
        self._parent(to, destination).put(destination.rpartition("/")[2], moved)
        held.staged.pop(source, None)
        to.staged.pop(destination, None)

    def _append(self, container: str, path: str, position: int, content: bytes) -> None:
        node = self.containers[container].find(path)
        assert isinstance(node, File)
        node.appended[position] = content

    def _flush(self, container: str, path: str, length: int, etag: str, now_s: float) -> None:
        node = self.containers[container].find(path)
        assert isinstance(node, File)
        pieces = [content for _, content in node.blocks]
        position = node.size_bytes
        while position < length:
            content = node.appended.pop(position)
            pieces.append(content)
            position += len(content)
        node.blocks = (("", b"".join(pieces)),)
        node.appended.clear()
        node.etag, node.modified_s, node.by_dfs = self._seen(etag), now_s, True

    def _stage(self, container: str, path: str, block_id: str, content: bytes) -> None:
        self.containers[container].staged.setdefault(path, {})[block_id] = content

    @staticmethod
    def _parent(container: Container, path: str) -> Directory:
        parent = container.find(path.rpartition("/")[0])
        assert isinstance(parent, Directory)
        return parent

    def _seen(self, etag: str) -> str:
        self._ticks = max(self._ticks, int(etag, 16))
        return etag
