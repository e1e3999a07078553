"""What a store is: the contract that an adapter's author reads, and nothing else."""

from fsspec_commit.store.abilities import (
    AdoptsUploads,
    CompletesUploads,
    DeletesInBulk,
    DirectWriter,
    ListsInOrder,
    MakesDirectories,
    RemovesEmptyDirectories,
    RenamesDirectories,
    RenamesFiles,
    RenamesInBulk,
    Store,
    Writer,
    WritesDirectly,
)
from fsspec_commit.store.capabilities import AtomicRename, Capabilities, Evidence
from fsspec_commit.store.clients import Client, Clients
from fsspec_commit.store.opening import Ask, Durability, OpenOptions
from fsspec_commit.store.values import (
    Content,
    Directory,
    Entry,
    Expect,
    Expectation,
    Part,
    PendingUpload,
    Token,
    Unusable,
)

__all__ = [
    "AdoptsUploads",
    "Ask",
    "AtomicRename",
    "Capabilities",
    "Client",
    "Clients",
    "CompletesUploads",
    "Content",
    "DeletesInBulk",
    "DirectWriter",
    "Directory",
    "Durability",
    "Entry",
    "Evidence",
    "Expect",
    "Expectation",
    "ListsInOrder",
    "MakesDirectories",
    "OpenOptions",
    "Part",
    "PendingUpload",
    "RemovesEmptyDirectories",
    "RenamesDirectories",
    "RenamesFiles",
    "RenamesInBulk",
    "Store",
    "Token",
    "Unusable",
    "Writer",
    "WritesDirectly",
]
