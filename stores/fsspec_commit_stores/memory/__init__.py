"""The memory filesystem of fsspec, which all of a process share."""

from fsspec_commit_stores.memory.store import CAPABILITIES, MemoryStore

__all__ = ["CAPABILITIES", "MemoryStore"]
