"""What a store is: the contract that an adapter's author reads, and nothing else."""

from fsspec_commit.store.abilities import (
    Ask,
    CompletesUploads,
    DirectWriter,
    Durability,
    MakesDirectories,
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
    "Ask",
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
    "MakesDirectories",
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
