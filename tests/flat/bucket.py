"""Buckets of the tests: each a simulated store with the habits of one kind of server."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.testing.simulation.bucket import (
    Bucket,
    Habits,
    ParentMissingError,
    Upload,
    refused,
)
from fsspec_commit.testing.simulation.families import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

AWS, VERSIONED, MINIO = (FAMILIES[name].habits for name in ("s3", "s3-versioned", "minio"))
BY_PATH = Habits(versioned=True, keyed_by="path", again=403)
HABITS = {"unversioned": AWS, "versioned": VERSIONED, "minio": MINIO, "by path": BY_PATH}
GCS, GEN2, EXPRESS = (FAMILIES[name].habits for name in ("gcs", "gen2", "s3-express"))
RENAMING = {"gcs": GCS, "gen2": GEN2, "express": EXPRESS}
ALL_HABITS = {**HABITS, **RENAMING}

_buckets: dict[str, Bucket] = {}


def make_bucket(habits: Habits, name: str = "", **clock: Callable[[], datetime]) -> Bucket:
    """A new bucket, of a name of its own, or of this one; its clock may be given as *now*."""
    bucket = Bucket(name or f"bucket-{uuid4().hex[:12]}", habits, **clock)
    _buckets[bucket.name] = bucket
    return bucket


def bucket_of(path: str) -> Bucket:
    """The bucket that a path begins with."""
    name = path.partition("/")[0]
    found = _buckets.get(name)
    if found is None:
        raise StoreError(f"there is no bucket {name!r}", reply=Reply.REFUSED, path=path)
    return found


def remove_bucket(bucket: Bucket) -> None:
    """Forget it."""
    _buckets.pop(bucket.name, None)


__all__ = [
    "ALL_HABITS",
    "AWS",
    "BY_PATH",
    "EXPRESS",
    "GCS",
    "GEN2",
    "HABITS",
    "MINIO",
    "RENAMING",
    "VERSIONED",
    "Bucket",
    "Habits",
    "ParentMissingError",
    "Upload",
    "bucket_of",
    "make_bucket",
    "refused",
    "remove_bucket",
]
