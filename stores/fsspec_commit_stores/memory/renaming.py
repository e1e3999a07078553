"""Renames in memory: fsspec's file objects are moved to other names."""

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, Expectation, Token
from fsspec_commit_stores.memory import tree


class Renames:
    """`RenamesFiles` and `RenamesDirectories`; content and token stay what they were."""

    async def rename(
        self,
        source: StorePath,
        target: StorePath,
        *,
        token: Token | None,
        expecting: Expectation,
        within: StorePath,
    ) -> None:
        """Rename a file, atomically on condition of *token* and *expecting*."""
        with tree.LOCK:
            file = tree.files().get(source)
            if file is None:
                raise tree.refused(f"cannot rename {source!r}: there is no such file", source)
            if token is not None and tree.token_of(file) != token:
                raise tree.refused(f"cannot rename {source!r}: it has other content by now", source)
            tree.check(target, expecting)
            tree.make_way(target, within)
            tree.place(target, file, expecting)
            if source != target:
                tree.files().pop(source, None)

    async def rename_directory(
        self, source: StorePath, target: StorePath, *, within: StorePath
    ) -> None:
        """Rename a directory with all below it, if nothing stands at *target*."""
        with tree.LOCK:
            if source in tree.files() or not tree.is_directory(source):
                raise tree.refused(f"cannot rename {source!r}: there is no such directory", source)
            if f"{target}/".startswith(f"{source}/"):
                raise tree.refused(f"cannot rename {source!r} into itself", source)
            if target in tree.files() or tree.is_directory(target):
                raise tree.refused(f"cannot rename {source!r}: {target!r} exists", target)
            tree.make_way(target, within)
            listed = tree.directories_at(source)
            moved = {target + name[len(source) :]: file for name, file in tree.below(source)}
            # New names first: a listing that takes no lock may see both, never neither.
            tree.directories().extend(
                {target, *(target + directory[len(source) :] for directory in listed)}
            )
            for name, file in moved.items():
                tree.place(name, file, Expect.ANYTHING)
            for name in moved:
                tree.files().pop(source + name[len(target) :], None)
            tree.remove_directories(listed)
