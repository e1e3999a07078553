"""The deletion of one object, believed only where it is shown to have happened.

It is answered by 204 and no content, as anybody on the way can answer too. So what counts is the
service's mark on the answer, or else a look at what stands there now.

https://cloud.google.com/storage/docs/json_api/v1/objects/delete
"""

from http import HTTPStatus

from fsspec_commit.errors import StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.gcs.answers import why_not_believed
from fsspec_commit_stores.gcs.lookup import look
from fsspec_commit_stores.gcs.requests import Bucket, Given

_NAME = "objects.delete"


async def delete(bucket: Bucket, path: StorePath, **conditions: str) -> None:
    """Delete one object on *conditions*.

    Raises:
        RequestFailedError: It was not deleted, or it is not known.
        StoreError: The answer does not say that it was, and a look does not show it.
    """
    target = bucket.object_target(path, **conditions)
    # 200 is fake-gcs-server's.
    done = (HTTPStatus.NO_CONTENT, HTTPStatus.OK)
    answered = await bucket.request(Given(_NAME, "DELETE", target, done=done), path)
    if answered.status == HTTPStatus.NO_CONTENT and answered.is_marked:
        return
    try:
        there = await look(bucket, path, "generation")
    except StoreError as error:
        why = f"{why_not_believed(answered.status)}, and a look shows nothing: {error}"
    else:
        if there is None:
            return
        why = f"{why_not_believed(answered.status)}, and a file stands there"
    raise bucket.doubt(_NAME, path, why)
