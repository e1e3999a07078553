"""fsspec's memory filesystem, which is shared by the whole process."""

from fsspec_commit_stores.memory.store import CAPABILITIES, MemoryStore

__all__ = ["CAPABILITIES", "MemoryStore"]
