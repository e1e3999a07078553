"""The same objects as plain fsspec sees them: what others write, and what readers find."""

from __future__ import annotations

from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from fsspec import AbstractFileSystem

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect
from tests.flat.bucket import bucket_of


class FlatFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """``flat://bucket/key``."""

    protocol = "flat"
    cachable = False

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        path = self._strip_protocol(path).strip("/")
        bucket = bucket_of(path)
        found: dict[str, dict[str, Any]] = {}
        here = bucket.entry(StorePath(path))
        if here is not None:
            found[path] = {"name": path, "size": here.size_bytes, "type": "file"}
        for key in bucket.keys(f"{path}/"):
            name, slash, _rest = key[len(path) + 1 :].partition("/")
            child = f"{path}/{name}"
            if slash:
                found.setdefault(child, {"name": child, "size": 0, "type": "directory"})
            elif (entry := bucket.entry(key)) is not None:
                found[child] = {"name": child, "size": entry.size_bytes, "type": "file"}
        if not found:
            raise FileNotFoundError(path)
        return list(found.values()) if detail else list(found)

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        **_: Any,
    ) -> Any:
        """In one listing, as those of real buckets do."""
        if maxdepth is not None:
            return super().find(path, maxdepth, withdirs, detail)
        path = self._strip_protocol(path).strip("/")
        bucket = bucket_of(path)
        found: dict[str, dict[str, Any]] = {}
        for key in [StorePath(path), *bucket.keys(f"{path}/")]:
            entry = bucket.entry(key)
            if entry is not None:
                found[key] = {"name": key, "size": entry.size_bytes, "type": "file"}
                above = key.rpartition("/")[0]
                while withdirs and len(above) >= len(path) and above not in found:
                    found[above] = {"name": above, "size": 0, "type": "directory"}
                    above = above.rpartition("/")[0]
        names = sorted(found)
        return {name: found[name] for name in names} if detail else names

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: Any
    ) -> bytes:
        path = self._strip_protocol(path)
        found = bucket_of(path).get(StorePath(path))
        if found is None:
            raise FileNotFoundError(path)
        return found.data[start:end]

    def _open(self, path: str, mode: str = "rb", **_: Any) -> BytesIO:
        assert mode == "rb"
        return BytesIO(self.cat_file(path))

    def modified(self, path: str) -> datetime:
        """Long ago: nobody keeps what they have read."""
        return datetime.fromtimestamp(0, UTC)

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        path = self._strip_protocol(path)
        bucket_of(path).put(StorePath(path), value, None, Expect.ANYTHING)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """There are no directories."""

    def rm_file(self, path: str) -> None:
        path = self._strip_protocol(path)
        bucket_of(path).delete(StorePath(path), Expect.ANYTHING)
