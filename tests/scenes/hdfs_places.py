"""Where the jobs of these tests write on HDFS: a directory, by either client.

Looked at by means of hdfs-native's synchronous client, never through the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.protocol.invariants import AREA
from tests.servers.hdfs.plugin import HdfsDirectory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@dataclass(frozen=True)
class HdfsPlace:
    """A directory below the test's own.

    Attributes:
        above: The test's directory.
        name: Its name there.
    """

    above: HdfsDirectory
    name: str

    @property
    def may_come_back(self) -> bool:
        """`MKDIRS` of WebHDFS makes what is above as well, and is looked for just before."""
        return self.above.protocol == "webhdfs"

    @property
    def root(self) -> str:
        return f"{self.above.path}/{self.name}"

    @property
    def url(self) -> str:
        return f"{self.above.url}/{self.name}"

    @property
    def where(self) -> dict[str, Any]:
        return {"destination": self.url, **self.how}

    @property
    def how(self) -> dict[str, Any]:
        """The storage options as the package takes them."""
        return {"storage_options": self.above.storage_options}

    def put(self, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            self.above.write(f"{self.root}/{name}", data)

    def snapshot(self) -> dict[str, bytes]:
        return self._read(name for name, is_directory in self._listed() if not is_directory)

    def data(self) -> dict[str, bytes]:
        """The same without the work areas, which a reader does not open."""
        names = (name for name, is_directory in self._listed() if not is_directory)
        return self._read(name for name in names if not name.startswith(AREA))

    def directories(self) -> set[str]:
        return {name for name, is_directory in self._listed() if is_directory}

    def pending(self) -> list[str]:
        """There are no uploads."""
        return []

    def _read(self, names: Iterator[str]) -> dict[str, bytes]:
        found = {name: self.above.read(f"{self.root}/{name}") for name in names}
        # What has gone meanwhile is left out.
        return {name: data for name, data in found.items() if data is not None}

    def _listed(self) -> list[tuple[str, bool]]:
        """Every file and directory; what goes away meanwhile is left out."""
        found, left = [], [self.root]
        while left:
            directory = left.pop()
            try:
                children = list(self.above.cluster.client.list_status(directory))
            except FileNotFoundError:
                continue
            for child in children:
                found.append((child.path.removeprefix(f"{self.root}/"), child.isdir))
                if child.isdir:
                    left.append(child.path)
        return found


@dataclass(frozen=True)
class ProxiedHdfsPlace(HdfsPlace):
    """The same, reached by what lies before the NameNode's HTTP port.

    Attributes:
        endpoint_url: The proxy's.
    """

    endpoint_url: str

    @property
    def url(self) -> str:
        return f"webhdfs://{self.endpoint_url.removeprefix('http://')}{self.root}"


def hdfs_places(
    above: HdfsDirectory, *, endpoint_url: str | None = None
) -> Callable[[object], HdfsPlace]:
    """Directories below one; reached at *endpoint_url*, a proxy's."""
    if endpoint_url is not None:
        return lambda name: ProxiedHdfsPlace(above, str(name), endpoint_url)
    return lambda name: HdfsPlace(above, str(name))
