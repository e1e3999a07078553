"""The deletion of one object, believed only where it is shown to have happened.

It is answered by 204 and no content, which anybody on the way can say as well. So it is shown by
S3's mark or, where a server marks nothing, by a look at what stands now.
"""

from collections.abc import Mapping
from typing import Any

from fsspec_commit.layout import StorePath
from fsspec_commit_stores.s3.provenance import headers_of, is_marked
from fsspec_commit_stores.s3.requests import Bucket, RequestFailedError


async def delete(bucket: Bucket, path: StorePath, conditions: Mapping[str, Any]) -> None:
    """Delete one object on *conditions*.

    Raises:
        RequestFailedError: It was not deleted, or it is not known whether it was.
        StoreError: The answer does not say that it was, and a look does not show it.
    """
    answer = await bucket.request("delete_object", path, **conditions)
    if is_marked(headers_of(answer)):
        return
    try:
        await bucket.look(path)
    except RequestFailedError as error:
        if error.is_missing:
            return
        shown = f"a look shows nothing: {error.failure}"
    else:
        shown = "a file stands there; check endpoint_url= and the proxy"
    why = f"it was answered by an empty 204 without S3's mark, as by a proxy, and {shown}"
    raise bucket.doubt("delete_object", path, why)
