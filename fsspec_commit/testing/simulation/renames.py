"""Renames on a simulated store, and its directories: each verb sends the requests of its family."""

import errno
from collections.abc import Callable
from functools import partial

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, Expectation, Token
from fsspec_commit.testing.simulation.bucket import Bucket, ParentMissingError, refused
from fsspec_commit.testing.simulation.families import Family
from fsspec_commit.testing.simulation.process import Process

_MOVES_MAX = 4


class SimulatedRenames:
    """Renames, and directories where there are any."""

    def __init__(self, root: StorePath, bucket: Bucket, family: Family, process: Process) -> None:
        self._root = root
        self.are_made_by_writes = not family.checks_area
        self._bucket = bucket
        self._family = family
        self._request = process.request

    async def rename(
        self,
        source: StorePath,
        target: StorePath,
        *,
        token: Token | None,
        expecting: Expectation,
        within: StorePath,
    ) -> None:
        """Rename a file; where nothing is conditional, a check comes before it."""
        if not self._family.capabilities.replace_if_match:
            if token is not None:
                await self._request("stat", source, partial(self._check, source, token))
                token = None
            if not isinstance(expecting, Expect):
                await self._request("stat", target, partial(self._check, target, expecting))
                expecting = Expect.ANYTHING

        def rename() -> None:
            self._bucket.rename(source, target, token, expecting)

        await self._making_way("rename", rename, target, within)

    async def rename_directory(
        self, source: StorePath, target: StorePath, *, within: StorePath
    ) -> None:
        """Rename a directory."""

        def rename() -> None:
            self._bucket.rename_directory(source, target)

        await self._making_way("rename_directory", rename, target, within)

    async def make_directory(self, path: StorePath, *, within: StorePath) -> None:
        """Make a directory."""

        def make() -> None:
            is_there = self._bucket.kept(within) in self._bucket.directories
            if not is_there and within != self._root:
                raise refused(path, f"{within!r} is gone", errno.ENOENT)
            self._bucket.make_directory(path)

        await self._request("make_directory", path, make)

    async def remove_empty_directory(self, path: StorePath) -> None:
        """Remove a directory in which there is nothing."""
        await self._request(
            "remove_empty_directory", path, lambda: self._bucket.remove_empty_directory(path)
        )

    async def _making_way(
        self, verb: str, rename: Callable[[], None], target: StorePath, within: StorePath
    ) -> None:
        parent = StorePath(target.rpartition("/")[0])
        for _ in range(_MOVES_MAX):
            try:
                await self._request(verb, target, rename)
            except ParentMissingError:
                await self.make_directory(parent, within=within)
            else:
                return
        raise refused(target, f"{parent!r} goes again and again", errno.ENOENT)

    def _check(self, path: StorePath, token: Token) -> None:
        there = self._bucket.entry(path)
        if there is None or there.token != token:
            number = errno.ENOENT if there is None else errno.EEXIST
            raise refused(path, "it is not what was expected there", number)
