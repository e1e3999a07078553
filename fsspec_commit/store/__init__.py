"""What a store is: the contract that an adapter's author reads, and nothing else."""

from fsspec_commit.store.abilities import (
    CompletesUploads,
    DirectWriter,
    Durability,
    OpenOptions,
    RenamesDirectories,
    RenamesFiles,
    RenamesInBulk,
    Store,
    Writer,
    WritesDirectly,
)
from fsspec_commit.store.capabilities import AtomicRename, Capabilities, Evidence
from fsspec_commit.store.values import (
    Content,
    Directory,
    Entry,
    Expect,
    Expectation,
    Part,
    PendingUpload,
    Token,
)

__all__ = [
    "AtomicRename",
    "Capabilities",
    "CompletesUploads",
    "Content",
    "DirectWriter",
    "Directory",
    "Durability",
    "Entry",
    "Evidence",
    "Expect",
    "Expectation",
    "OpenOptions",
    "Part",
    "PendingUpload",
    "RenamesDirectories",
    "RenamesFiles",
    "RenamesInBulk",
    "Store",
    "Token",
    "Writer",
    "WritesDirectly",
]
