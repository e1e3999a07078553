"""Which committer each store gets, and why: the table of `docs/decisions.md`, from `selection`.

``python -m tests.decisions`` writes it anew; a test compares it with what `choose` decides.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

from fsspec_commit.records.job import CommitterName
from fsspec_commit.selection import choose
from fsspec_commit.store import AtomicRename, Capabilities
from fsspec_commit_stores.azure import opening as azure
from fsspec_commit_stores.gcs import opening as gcs
from fsspec_commit_stores.gcs.buckets import ZONAL_FACTS
from fsspec_commit_stores.hdfs.opening import CAPABILITIES as HDFS
from fsspec_commit_stores.local.opening import DISK
from fsspec_commit_stores.memory import CAPABILITIES as MEMORY
from fsspec_commit_stores.s3 import opening as s3
from fsspec_commit_stores.s3.places import place_of

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGE = Path(__file__).resolve().parents[1] / "docs/decisions.md"
HEAD = "<!-- Written by `python -m tests.decisions`; a test compares it with the decisions. -->\n"
AWS, AZURE = "https://s3.amazonaws.com", "https://account.blob.core.windows.net"


def _s3(url: str, endpoint: str) -> Capabilities:
    return s3.capabilities_of(place_of(url).bucket, endpoint, single_writer=False)


def _azure(*, hierarchical: bool) -> Capabilities:
    return azure.capabilities_of(AZURE, is_hierarchical=hierarchical, single_writer=False)


def _gcs(*, google: bool) -> Capabilities:
    return gcs.capabilities_of(is_google=google, single_writer=False)


STORES: Mapping[str, Capabilities] = {
    "local disk": DISK,
    "network mount (NFS, SMB, FUSE)": DISK.known("declared", consistent_listing=None),
    "memory": MEMORY,
    "HDFS, `hdfs://` and `webhdfs://`": HDFS,
    "S3": _s3("s3://bucket/out", AWS),
    "S3 directory bucket": _s3("s3://bucket--az1--x-s3/out", AWS),
    "S3, another server, before its probe": _s3("s3://bucket/out", "https://s3.example.org"),
    "GCS": _gcs(google=True),
    "GCS, zonal bucket": _gcs(google=True).known("declared", **ZONAL_FACTS),
    "Azure with a hierarchical namespace (Gen2)": _azure(hierarchical=True),
    "Azure without (flat)": _azure(hierarchical=False),
}
FACTS = {
    "atomic_rename": "renames whole",
    "consistent_listing": "listing consistent",
    "paged_listing": "listing paged",
    "exclusive_create": "create if absent",
    "multipart": "uploads completed later",
    "delete_if_match": "delete if unchanged",
}


def page() -> str:
    """The whole table."""
    columns = ("store", *FACTS.values(), "committer", "because", "on request")
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [_row(store, facts) for store, facts in STORES.items()]
    return HEAD + "\n".join(lines) + "\n"


def _row(store: str, facts: Capabilities) -> str:
    chosen = choose(facts)
    known = facts.facts()
    others: list[CommitterName] = [
        name
        for name in get_args(CommitterName)
        if name != chosen.committer and choose(facts, name).committer == name
    ]
    why = chosen.reasons[-1].removeprefix(f"{chosen.committer}: ")
    cells = (
        store,
        *(_shown(known[name]) for name in FACTS),
        "refused" if chosen.committer is None else f"`{chosen.committer}`",
        why,
        ", ".join(f"`{name}`" for name in others) or "-",
    )
    return f"| {' | '.join(cells)} |"


def _shown(fact: object) -> str:
    if isinstance(fact, AtomicRename):
        kinds = {AtomicRename.NONE: "nothing", AtomicRename.FILE: "a file"}
        return kinds.get(fact, "a directory")
    return "not known" if fact is None else "yes" if fact else "no"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
