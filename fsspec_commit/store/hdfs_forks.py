"""Keeps hdfs-native's clients alive in every process, so that a forked child can end.

Whoever drops the last reference to a client stops its threads and waits for them. A forked child
has none of these threads and would wait for ever: in the fork itself, where fsspec drops the
filesystems that it has kept, or when the child's interpreter ends. ``subprocess`` with
``preexec_fn`` forks such a child as well, and PySpark starts its JVM that way.
"""

import ctypes
import os
import sys
from typing import Any


def outlive_forks(client: Any) -> None:
    """Keep *client* for as long as this process and each that is forked from it."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))


def _keep_those_of_fsspec() -> None:
    """Before a fork, also keep clients of filesystems that the program has opened by itself."""
    module = sys.modules.get("hdfs_native.fsspec")
    if module is None:
        return
    kinds = [module.BaseFileSystem]
    for kind in kinds:
        kinds += kind.__subclasses__()
        for filesystem in list(kind._cache.values()):  # noqa: SLF001  # what fsspec drops
            outlive_forks(filesystem.client)


os.register_at_fork(before=_keep_those_of_fsspec)
