"""hdfs-native's filesystem, which opens files whole or not at all.

A NameNode may let a file be closed before any DataNode has reported its last block
(``dfs.namenode.file.close.num-committed-allowed``). hdfs-native knows nothing of such a block, and
silently ends the file before it: what is read is then no table, or has fewer rows.
"""

import errno
import time
from functools import cache
from typing import Any, ClassVar

from fsspec_commit.store.hdfs_forks import outlive_forks

_LOOKS_MAX = 14  # each after a longer time: two seconds altogether


def whole_files(filesystem: Any) -> Any:
    """The same filesystem, but a file is opened only when all of it can be read."""
    return _made(type(filesystem), filesystem.storage_args, filesystem.storage_options)


class _WholeFiles:
    """A mixin in front of hdfs-native's class, which is not imported here."""

    _plain: ClassVar[Any]
    client: Any

    def __reduce__(self) -> tuple[object, ...]:
        # The class is made anew where the pickle is read.
        of = self.storage_args, self.storage_options  # type: ignore[attr-defined]  # fsspec's
        return _made, (self._plain, *of)

    def _open(self, path: str, mode: str = "rb", **how: Any) -> Any:
        """Open a file.

        Raises:
            OSError: A block is still not reported after two seconds.
        """
        open_file = super()._open  # type: ignore[misc]  # hdfs-native's
        if mode != "rb":
            return open_file(path, mode, **how)
        for look in range(_LOOKS_MAX):
            if look:
                time.sleep(0.001 * 2 ** min(look, 8))
            size_bytes = self.client.get_file_info(path).length
            file = open_file(path, mode, **how)
            known_bytes = len(getattr(file, "raw", file))
            if known_bytes == size_bytes:
                return file
        why = f"{known_bytes} of its {size_bytes} bytes can be read so far; read it again"
        raise OSError(errno.EAGAIN, why, path)


@cache
def _kind_of(plain: Any) -> Any:
    return type(plain)(plain.__name__, (_WholeFiles, plain), {"_plain": plain})


def _made(plain: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    filesystem = _kind_of(plain)(*arguments, **options)
    outlive_forks(filesystem.client)
    return filesystem
