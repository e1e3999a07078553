"""One request at a time to one bucket: the user's parameters and ours, sent once, classified.

The client is called directly, not through s3fs, which would try again five times and drop every
parameter that it does not know: an unknown ``IfNoneMatch`` would become an unconditional write.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from botocore.exceptions import ClientError
from botocore.model import OperationNotFoundError

from fsspec_commit.errors import Reply
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.http.failures import silent, store_error
from fsspec_commit_stores.http.requests import (
    FailedRequestError,
    Requests,
    endpoint_of,
    raising_store_errors,
    while_open,
)
from fsspec_commit_stores.s3.answers import Answer, answer_of
from fsspec_commit_stores.s3.checksums import CRC32, calculated_bytes_max, with_crc32
from fsspec_commit_stores.s3.failures import S3Request, failed, is_of_all, is_timeout
from fsspec_commit_stores.s3.operations import OPERATIONS
from fsspec_commit_stores.s3.provenance import Provenance, is_aws
from fsspec_commit_stores.s3.sending import Sending
from fsspec_commit_stores.s3.templates.calls import Calls

# Meant for the data: an archived record cannot be read, and a cached one may be out of date.
_OF_DATA = frozenset(
    {
        "CacheControl",
        "ContentDisposition",
        "ContentEncoding",
        "ContentLanguage",
        "ContentType",
        "Expires",
        "ObjectLockLegalHoldStatus",
        "ObjectLockMode",
        "ObjectLockRetainUntilDate",
        "StorageClass",
        "WebsiteRedirectLocation",
    }
)
# A condition on what stands there reads it.
_READING = "s3:GetObject"
_CONDITIONAL = f" and {_READING}"


class RequestFailedError(FailedRequestError[Answer]):
    """A request to S3 that was not done as asked."""

    @property
    def is_missing(self) -> bool:
        """Whether the store said that there is no such key."""
        return self.is_not_found("NoSuchKey")

    def is_not_found(self, *codes: str) -> bool:
        """Whether the store said 404, with one of *codes* or, as to a HEAD, with none."""
        told = self.answer
        if told is None or told.status != HTTPStatus.NOT_FOUND:
            return False
        return told.code in codes if told.has_code else not told.is_foreign

    @property
    def is_unexplained(self) -> bool:
        """Whether somebody refused a HEAD without a word or a mark: it may not have been S3."""
        told = self.answer
        return (
            told is not None
            and told.is_to_head
            and told.is_foreign
            and HTTPStatus.BAD_REQUEST <= told.status < HTTPStatus.INTERNAL_SERVER_ERROR
        )


class Bucket(Requests):
    """The requests of one opened store.

    Attributes:
        endpoint: Where requests go.
    """

    def __init__(
        self,
        client: Any,
        name: str,
        *,
        parameters: Mapping[str, Any],
        checksum: str | None,
        call: Calls,
    ) -> None:
        """Send through *client*.

        Args:
            client: aiobotocore's client for S3.
            name: The bucket.
            parameters: What the user wants in every request that knows it, such as encryption.
            checksum: The algorithm to protect uploads by, unless the user names one.
            call: Calls the client's methods.
        """
        super().__init__(name, endpoint_of(client.meta.endpoint_url))
        self.checksum = parameters.get("ChecksumAlgorithm", checksum)
        self._calculated_bytes_max = calculated_bytes_max(self.endpoint)
        self._call = call
        self._model = client.meta.service_model
        self._wanted = dict(parameters)
        self._known: dict[str, frozenset[str]] = {}
        self._always: dict[str, dict[str, Any]] = {}
        self._provenance = Provenance(always_marks=is_aws(self.endpoint))

    def knows(self, method: str, parameter: str) -> bool:
        """Whether the installed service model has *parameter*."""
        return parameter in self._parameters(method)

    @while_open
    async def request(
        self, /, method: str, path: StorePath, *, as_record: bool = False, **parameters: Any
    ) -> dict[str, Any]:
        """Send one request about *path*, once; a method that takes a key gets that of *path*.

        Args:
            method: Of the client.
            path: What it is about, for messages.
            as_record: What is written is not data: the user's storage class and the like stay out.
            parameters: Ours; they win over the user's, and are never left out.

        Raises:
            RequestFailedError: It was not done, or it is not known whether it was.
            StoreError: The installed botocore does not know the method's operation, or one of
                *parameters* (`Reply.REFUSED`).
            RuntimeError: The store is closed.
        """
        told = self._told(method, path, parameters, as_record=as_record)
        if self.contact.is_silent:
            raise RequestFailedError(silent(self.described(method, path, parameters)), None)
        request = OPERATIONS[method]
        with Sending(request.name) as sending:
            try:
                answer = await self._call(method, told, sending)
            except Exception as error:  # noqa: BLE001  # of any class, and all are classified
                failure = self._failed(
                    self.described(method, path, parameters), error, has_left=sending.has_left
                )
            else:
                in_range = "Range" in parameters
                if self._provenance.is_from_s3(request, answer, in_range=in_range):
                    self.contact.has_answered = True
                    return answer
                if "Body" in answer:
                    answer["Body"].close()
                # What botocore takes for a success.
                doubted = ClientError(answer, request.name)
                failure = self._failed(self.described(method, path, parameters), doubted)
        # Outside, so that the exception of the client, which may hold secrets, is not its context.
        raise failure

    async def look(self, path: StorePath) -> dict[str, Any]:
        """What stands at *path*, by a HEAD; a server that refuses it without a mark is asked again.

        The answer to a HEAD has no body, so nothing but a mark tells its 404 from an ingress's. The
        answer to a GET has a body.

        Raises:
            RequestFailedError: As `request` does.
        """
        try:
            return await self.request("head_object", path)
        except RequestFailedError as error:
            if not error.is_unexplained:
                raise
        answer = await self.request("get_object", path)
        answer["Body"].close()
        return answer

    send = raising_store_errors(request)
    """Send one request for a caller that treats every failure alike: as a `StoreError`."""

    @while_open
    async def body(self, answer: Mapping[str, Any], path: StorePath) -> bytes:
        """Read all that *answer* carries.

        Raises:
            StoreError: The connection broke meanwhile.
        """
        stream = answer["Body"]
        try:
            data: bytes = await stream.read()
        except Exception as error:  # noqa: BLE001  # of any class, and all are classified
            failure = self._failed(self.described("get_object", path), error).failure
        else:
            return data
        finally:
            stream.close()
        raise failure

    def described(
        self, operation: str, path: StorePath, parameters: Mapping[str, Any] | None = None
    ) -> S3Request:
        """A call of the client's method *operation* about *path*, for messages."""
        request = OPERATIONS[operation]
        reads = "IfMatch" in (parameters or {}) and not request.permissions.startswith(_READING)
        permissions = request.permissions + (_CONDITIONAL if reads else "")
        return S3Request(request.verb, path, permissions, self.endpoint)

    def _told(
        self, method: str, path: StorePath, parameters: Mapping[str, Any], *, as_record: bool
    ) -> dict[str, Any]:
        """The user's parameters and ours, as *method* is told them."""
        try:
            known = self._parameters(method)
            unknown = parameters.keys() - known
        except OperationNotFoundError:
            known, unknown = frozenset[str](), {OPERATIONS[method].name}
        if unknown:
            why = f"the installed botocore does not know {', '.join(sorted(unknown))}; upgrade it"
            raise store_error(self.described(method, path, parameters), why, Reply.REFUSED)
        always = self._always[method]
        if as_record:
            always = {name: value for name, value in always.items() if name not in _OF_DATA}
        told = {"Bucket": self.name, **always, **parameters}
        if "Key" in known:
            told["Key"] = self.key(path)
        if "Metadata" in parameters and "Metadata" in always:
            told["Metadata"] = {**always["Metadata"], **parameters["Metadata"]}
        return with_crc32(told) if "Body" in told and self._calculates(told["Body"]) else told

    def _calculates(self, body: bytes) -> bool:
        """Whether the checksum of *body* is calculated here."""
        return self.checksum == CRC32 and len(body) <= self._calculated_bytes_max

    def _failed(
        self, request: S3Request, error: BaseException, *, has_left: bool = True
    ) -> RequestFailedError:
        answer = answer_of(error)
        if answer is not None and not answer.is_foreign:
            self.contact.has_answered = True
        if is_of_all(error, answer):
            self.contact.is_sound = False
        first_tries = self.contact.failed(is_timeout=has_left and is_timeout(error))
        failure = failed(request, error, first_tries=first_tries, has_left=has_left)
        return RequestFailedError(failure, answer)

    def _parameters(self, method: str) -> frozenset[str]:
        known = self._known.get(method)
        if known is None:
            shape = self._model.operation_model(OPERATIONS[method].name).input_shape
            known = self._known[method] = frozenset(shape.members)
            self._always[method] = {
                name: value for name, value in self._wanted.items() if name in known
            }
        return known
