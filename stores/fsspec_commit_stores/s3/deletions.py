"""The deletion of all that a listing of S3 shows, a page by one request.

A key that ends in a slash is what consoles and other file systems write to make an empty directory
visible: it is deleted with its directory.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from fsspec_commit.errors import Reply
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.http.listings import Continuations, below, first_of
from fsspec_commit_stores.s3.answers import Answer, is_overload, reply_of
from fsspec_commit_stores.s3.pages import directories_of, next_place
from fsspec_commit_stores.s3.requests import Bucket

_DELETED_AT_ONCE_MAX = 1000


class Deletions:
    """Deletes many files of one bucket.

    Args:
        bucket: Which one.
        page: Lists one page of it: a method, below which path, what is asked for, and where to go
            on.

    Attributes:
        files_max: How many files are deleted by one request.
        keeps_directories: Below the bucket there may be a file system, where a directory is listed
            as long as nobody removes it, though nothing is in it (SeaweedFS).
    """

    files_max = _DELETED_AT_ONCE_MAX

    def __init__(
        self,
        bucket: Bucket,
        page: Callable[
            [str, StorePath, Mapping[str, Any], Mapping[str, Any]], Awaitable[dict[str, Any]]
        ],
        *,
        keeps_directories: bool,
    ) -> None:
        self.keeps_directories = keeps_directories
        self._bucket = bucket
        self._page = page

    async def delete_tree(self, path: StorePath) -> None:
        """Delete every key below *path*, a page by one request, from the front until none is left.

        From the front, because a server's place in a listing can be a number, which deletions
        shift; but past pages with nothing on them. Where directories may be kept, the request names
        them after what was in them, as the console does: that removes an empty one, and changes
        nothing where there are none.

        Raises:
            StoreError: Some are left; the error names the first ones.
        """
        prefix = below(self._bucket.key(path))
        deleted = set[str]()
        directories = {prefix}
        limits = {"Prefix": prefix, "MaxKeys": _DELETED_AT_ONCE_MAX}
        place: dict[str, Any] = {}
        # The places of pages without a key since the last one with keys.
        continuations = Continuations(self._bucket, "list_objects_v2", path)
        while True:
            page = await self._page("list_objects_v2", path, limits, place)
            keys = [str(listed["Key"]) for listed in page.get("Contents") or ()]
            if keys and deleted.issuperset(keys):
                why = f"its files come back, or the listing is stale: {keys[0]!r}"
                raise self._bucket.doubt("delete_objects", path, why)
            directories.update(directories_of(keys, prefix))
            is_last = not page.get("IsTruncated")
            emptied = sorted(directories, key=len, reverse=True) if is_last else []
            emptied = [one for one in emptied if self.keeps_directories and one not in keys]
            room = _DELETED_AT_ONCE_MAX - len(keys)
            if keys or emptied:
                await self._delete(path, keys, emptied[:room])
                deleted = set(keys)
            for start in range(room, len(emptied), _DELETED_AT_ONCE_MAX):
                await self._delete(path, [], emptied[start : start + _DELETED_AT_ONCE_MAX])
            if is_last:
                return
            if keys:
                place = {}
                continuations.clear()
            else:
                place = next_place(page)
                continuations.check(*place.values())

    async def delete_files(self, paths: Sequence[StorePath], *, within: StorePath) -> None:
        """Delete *paths*; where directories may be kept, those that are empty then as well.

        Raises:
            StoreError: Some are left; the error names the first ones.
        """
        keys = [self._bucket.key(path) for path in paths]
        prefix = below(self._bucket.key(within))
        emptied = sorted({prefix, *directories_of(keys, prefix)}, key=len, reverse=True)
        emptied = emptied if self.keeps_directories else []
        room = _DELETED_AT_ONCE_MAX - len(keys)
        await self._delete(within, keys, emptied[:room])
        for start in range(room, len(emptied), _DELETED_AT_ONCE_MAX):
            await self._delete(within, [], emptied[start : start + _DELETED_AT_ONCE_MAX])

    async def _delete(self, path: StorePath, keys: list[str], emptied: list[str]) -> None:
        """Delete *keys*, and the directories *emptied* unless something is in them by now."""
        objects = [{"Key": key} for key in (*keys, *emptied)]
        answer = await self._bucket.send(
            "delete_objects", path, Delete={"Objects": objects, "Quiet": True}
        )
        codes = {
            str(error.get("Key")): str(error.get("Code") or "")
            for error in answer.get("Errors") or ()
            if error.get("Code") != "NoSuchKey" and error.get("Key") not in emptied
        }
        if not codes:
            return
        shown = first_of([f"{key!r} ({code})" for key, code in codes.items()])
        answers = [Answer(status=0, code=code, error={}, headers={}) for code in codes.values()]
        refused = all(reply_of(one) is Reply.REFUSED for one in answers)
        why = f"{len(codes)} of its files were not deleted: {shown}"
        raise self._bucket.failure(
            "delete_objects",
            path,
            why,
            Reply.REFUSED if refused else Reply.UNKNOWN,
            is_overload=any(is_overload(one) for one in answers),
        )
