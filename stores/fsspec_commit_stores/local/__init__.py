"""Local disks, and whatever is mounted like one, on Linux and macOS."""

from fsspec_commit_stores.local.store import LocalStore

__all__ = ["LocalStore"]
