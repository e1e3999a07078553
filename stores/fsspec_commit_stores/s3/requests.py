"""One request at a time to one bucket: the user's parameters and ours, sent once, classified.

The client is called itself, not through s3fs, which would try again five times and drop every
parameter that it does not know: an unknown ``IfNoneMatch`` would become an unconditional write.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import ClientError

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.http.redirections import is_redirection
from fsspec_commit_stores.s3.answers import Answer, answer_of
from fsspec_commit_stores.s3.failures import (
    FAILURES,
    Asked,
    failed,
    is_timeout,
    made,
    silent,
)


@dataclass(frozen=True, slots=True)
class Request:
    """An operation of the service: its name there, what it does to a path, what it needs."""

    name: str
    verb: str
    actions: str


_READING = "s3:GetObject (and s3:ListBucket, without which a missing file is refused as well)"
REQUESTS = {
    "head_object": Request("HeadObject", "look at", _READING),
    "get_object": Request("GetObject", "read", _READING),
    "put_object": Request("PutObject", "write", "s3:PutObject"),
    "delete_object": Request("DeleteObject", "delete", "s3:DeleteObject"),
    "delete_objects": Request("DeleteObjects", "delete all below", "s3:DeleteObject"),
    "rename_object": Request(
        "RenameObject", "rename to", "s3express:CreateSession (of a ReadWrite session)"
    ),
    "list_objects_v2": Request("ListObjectsV2", "list", "s3:ListBucket"),
    "list_object_versions": Request(
        "ListObjectVersions", "list the versions in", "s3:ListBucketVersions"
    ),
    "get_bucket_versioning": Request(
        "GetBucketVersioning", "ask for the versioning of", "s3:GetBucketVersioning"
    ),
    "create_multipart_upload": Request(
        "CreateMultipartUpload", "begin an upload of", "s3:PutObject"
    ),
    "upload_part": Request("UploadPart", "upload a part of", "s3:PutObject"),
    "complete_multipart_upload": Request(
        "CompleteMultipartUpload", "complete the upload of", "s3:PutObject"
    ),
    "abort_multipart_upload": Request(
        "AbortMultipartUpload", "abort the upload of", "s3:AbortMultipartUpload"
    ),
    "list_multipart_uploads": Request(
        "ListMultipartUploads", "list the uploads below", "s3:ListBucketMultipartUploads"
    ),
}
"""Every request that is ever sent, by the client's method, and what a policy must allow for it."""

# A condition on what stands there reads it.
_CONDITIONAL = " and s3:GetObject"


class RequestFailedError(Exception):
    """A request that was not done as asked: the failure, and the answer if there was one."""

    def __init__(self, failure: StoreError, answer: Answer | None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.answer = answer

    def is_missing(self, *codes: str) -> bool:
        """Whether the store said 404, with one of *codes* or, as to a HEAD, with none."""
        told = self.answer
        if told is None or told.status != HTTPStatus.NOT_FOUND:
            return False
        return told.code in codes if told.has_code else told.is_to_head


class Bucket:
    """The requests of one opened store.

    Attributes:
        name: The bucket.
        endpoint: Where requests go.
    """

    def __init__(
        self, client: Any, name: str, *, parameters: Mapping[str, Any], checksum: str | None
    ) -> None:
        """Send through *client*.

        Args:
            client: aiobotocore's client for S3.
            name: The bucket.
            parameters: What the user wants in every request that knows it, such as encryption.
            checksum: The algorithm to protect uploads by, unless the user names one.
        """
        self.name = name
        parts = urlsplit(client.meta.endpoint_url)
        self.endpoint = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self.checksum = parameters.get("ChecksumAlgorithm", checksum)
        self._client = client
        self._model = client.meta.service_model
        self._wanted = dict(parameters)
        self._known: dict[str, frozenset[str]] = {}
        self._always: dict[str, dict[str, Any]] = {}
        self._first_tries = 0
        self._has_answered = False
        self._is_silent = False

    def path(self, key: str) -> StorePath:
        """Bucket and key."""
        return StorePath(f"{self.name}/{key}")

    def key(self, path: StorePath) -> str:
        """The key of a path, which begins with the bucket; empty for the bucket itself."""
        return path[len(self.name) + 1 :]

    def knows(self, method: str, parameter: str) -> bool:
        """Whether the installed service model has *parameter*."""
        return parameter in self._parameters(method)

    async def request(self, method: str, path: StorePath, **parameters: Any) -> dict[str, Any]:
        """Send one request about *path*, once; what takes a key gets that of *path*.

        Args:
            method: Of the client.
            path: What it is about, for messages.
            parameters: Ours; they win over the user's, and are never left out.

        Raises:
            RequestFailedError: It was not done, or it is not known.
            StoreError: One of ours is unknown to the installed botocore (`Reply.REFUSED`).
        """
        known = self._parameters(method)
        if "Key" in known:
            parameters["Key"] = self.key(path)
        unknown = parameters.keys() - known
        if unknown:
            why = f"the installed botocore does not know {', '.join(sorted(unknown))}; upgrade it"
            raise made(self._asked(method, path, parameters), why, Reply.REFUSED)
        if self._is_silent and not self._has_answered:
            raise RequestFailedError(silent(self._asked(method, path, parameters)), None)
        always = self._always[method]
        if "Metadata" in parameters and "Metadata" in always:
            parameters["Metadata"] = {**always["Metadata"], **parameters["Metadata"]}
        try:
            answer: dict[str, Any] = await getattr(self._client, method)(
                Bucket=self.name, **{**always, **parameters}
            )
        except FAILURES as error:
            failure = self._failed(self._asked(method, path, parameters), error)
        else:
            self._has_answered = True
            if not _is_redirected(answer):
                return answer
            elsewhere = ClientError(answer, REQUESTS[method].name)
            failure = self._failed(self._asked(method, path, parameters), elsewhere)
        # Outside, so that the exception of the client, which may hold secrets, is no context of it.
        raise failure

    async def send(self, method: str, path: StorePath, **parameters: Any) -> dict[str, Any]:
        """The same for who treats every failure alike.

        Raises:
            StoreError: It was not done, or it is not known.
        """
        try:
            return await self.request(method, path, **parameters)
        except RequestFailedError as error:
            failure = error.failure
        raise failure

    async def body(self, answer: Mapping[str, Any], path: StorePath) -> bytes:
        """Read all that *answer* carries.

        Raises:
            StoreError: The connection broke meanwhile.
        """
        stream = answer["Body"]
        try:
            data: bytes = await stream.read()
        except FAILURES as error:
            failure = self._failed(self._asked("get_object", path, {}), error).failure
        else:
            return data
        finally:
            stream.close()
        raise failure

    def refusal(self, method: str, path: StorePath, why: str, number: int) -> StoreError:
        """A refusal of our own, before anything was sent."""
        return made(self._asked(method, path, {}), why, Reply.REFUSED, number)

    def doubt(self, method: str, path: StorePath, why: str) -> StoreError:
        """An answer that does not say what was done."""
        return self.failure(method, path, why, Reply.UNKNOWN)

    def failure(self, method: str, path: StorePath, why: str, reply: Reply) -> StoreError:
        """What an answer says that is no error by its status."""
        return made(self._asked(method, path, {}), why, reply)

    def _failed(self, asked: Asked, error: BaseException) -> RequestFailedError:
        answer = answer_of(error)
        if answer is not None:
            self._has_answered = True
        self._first_tries = 0 if self._has_answered else self._first_tries + 1
        # It took the connection, and then said nothing for as long as one waits.
        self._is_silent |= is_timeout(error)
        return RequestFailedError(failed(asked, error, first_tries=self._first_tries), answer)

    def _asked(self, method: str, path: StorePath, parameters: Mapping[str, Any]) -> Asked:
        request = REQUESTS[method]
        reads = "IfMatch" in parameters and not request.actions.startswith("s3:GetObject")
        actions = request.actions + (_CONDITIONAL if reads else "")
        return Asked(verb=request.verb, path=path, actions=actions, endpoint=self.endpoint)

    def _parameters(self, method: str) -> frozenset[str]:
        known = self._known.get(method)
        if known is None:
            shape = self._model.operation_model(REQUESTS[method].name).input_shape
            known = self._known[method] = frozenset(shape.members)
            self._always[method] = {
                name: value for name, value in self._wanted.items() if name in known
            }
        return known


def _is_redirected(answer: Mapping[str, Any]) -> bool:
    """Whether it is a 300, which botocore takes for a success."""
    found = is_redirection(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if found and "Body" in answer:
        answer["Body"].close()
    return found
