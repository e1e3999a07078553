"""Calls of the client's methods: by template where there is one for a shape, else by botocore."""

import logging
import time
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import aiohttp
import botocore
from yarl import URL

from fsspec_commit_stores.http.exchanges import MESSAGE_BYTES_MAX
from fsspec_commit_stores.http.plain_answers import Received
from fsspec_commit_stores.s3.connections import SendingOnce
from fsspec_commit_stores.s3.operations import OPERATIONS
from fsspec_commit_stores.s3.places import is_directory_bucket
from fsspec_commit_stores.s3.provenance import FORM, STREAMED
from fsspec_commit_stores.s3.rehearsals import Outcome, Rehearsals
from fsspec_commit_stores.s3.sending import Sending
from fsspec_commit_stores.s3.templates.answers import Successes
from fsspec_commit_stores.s3.templates.contents import content_of
from fsspec_commit_stores.s3.templates.handlers import Handlers
from fsspec_commit_stores.s3.templates.known import Templates
from fsspec_commit_stores.s3.templates.samples import shape_of
from fsspec_commit_stores.s3.templates.template import Filled, Template

FREQUENT = frozenset(
    {
        "complete_multipart_upload",
        "create_multipart_upload",
        "delete_object",
        "get_object",
        "head_object",
        "put_object",
        "upload_part",
    }
)
"""Methods that are called once per file, or per task."""
_READING = "get_object"
_LOOKING = "head_object"
_PART = "Range"
BODY_BYTES_MAX = 8 << 20
"""Compared with the work for a longer body, botocore's is little."""

_SERVICE, _VERSION = "s3", "s3v4"
_log = logging.getLogger("fsspec_commit")


class Calls:
    """Calls of the client's methods, by botocore."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def __call__(
        self,
        method: str,
        parameters: Mapping[str, Any],
        sending: Sending,  # noqa: ARG002  # the client's events tell it
    ) -> dict[str, Any]:
        """Call *method*, which sends one request.

        Raises:
            Exception: Of any class: it was not done, or it is not known whether it was. *sending*
                says whether it has left.
        """
        answer: dict[str, Any] = await getattr(self._client, method)(**parameters)
        return answer


class TemplatedCalls(Calls):
    """Calls of which the frequent ones are made by template, as far as there is one."""

    def __init__(
        self, client: Any, templates: Templates, rehearsals: Rehearsals, request_signer: Any
    ) -> None:
        """Call *client*.

        Args:
            client: aiobotocore's.
            templates: By the shapes of its requests.
            rehearsals: Its calls that end before the network.
            request_signer: Its own, which is asked for the credentials of each request.
        """
        super().__init__(client)
        self._templates = templates
        self._rehearsals = rehearsals
        self._signer = request_signer
        self._region = client.meta.region_name
        model = client.meta.service_model
        self._successes = {
            method: Successes(OPERATIONS[method], model.operation_model(OPERATIONS[method].name))
            for method in FREQUENT
        }

    async def __call__(
        self, method: str, parameters: Mapping[str, Any], sending: Sending
    ) -> dict[str, Any]:
        """Call *method*, which sends one request.

        Raises:
            Exception: Of any class: it was not done, or it is not known whether it was. *sending*
                says whether it has left.
        """
        is_frequent = method in FREQUENT and _PART not in parameters
        if not is_frequent or len(parameters.get("Body", b"")) > BODY_BYTES_MAX:
            return await super().__call__(method, parameters, sending)
        found = await self._filled(method, parameters)
        if found is None:
            return await super().__call__(method, parameters, sending)
        sending.has_left = True
        outcome: Outcome
        try:
            outcome = await _sent(method, *found)
        except Exception as error:  # noqa: BLE001  # of any class, and botocore is told of all
            outcome = error
        else:
            template, _ = found
            answer = self._understood(method, template, outcome)
            if answer is not None:
                return answer
        return await self._rehearsals.retell(method, parameters, outcome)

    def _understood(
        self, method: str, template: Template, outcome: Received | aiohttp.ClientResponse
    ) -> dict[str, Any] | None:
        """What *outcome* says, if it is plainly the success that was asked for."""
        if isinstance(outcome, Received):
            return self._successes[method].read(outcome)
        received = Received(outcome.status, outcome.raw_headers, b"")
        told = self._successes[method].read_headers(received, {FORM: STREAMED})
        if told is None:
            return None
        told["Body"] = content_of(outcome, told, is_compared=template.asks_for_checksum)
        return None if told["Body"] is None else told

    async def _filled(
        self, method: str, parameters: Mapping[str, Any]
    ) -> tuple[Template, Filled] | None:
        """The request, ready to be sent; ``None`` where botocore makes it."""
        shape = shape_of(method, parameters)
        if self._templates.are_declined(shape):
            return None
        # Before any waits for a template: if credentials must be renewed, all wait for it at once.
        signing = await self._signer.get_auth_instance(
            signing_name=_SERVICE, region_name=self._region, signature_version=_VERSION
        )
        credentials = signing.credentials
        if credentials is None:
            return None
        template = await self._templates.get(shape, credentials)
        if template is None:
            return None
        filled = template.fill(parameters, template.signer.at(int(time.time()), credentials))
        return None if filled is None else (template, filled)


def calls_of(client: Any, bucket: str, *, by_template: bool) -> Calls:
    """How the methods of *client* are called for *bucket*.

    Args:
        client: aiobotocore's.
        bucket: What all calls are about.
        by_template: Whether the user lets the frequent ones be made so.
    """
    handlers = Handlers.of(client)
    signer = getattr(client, "_request_signer", None)
    connections = getattr(getattr(client, "_endpoint", None), "http_session", None)
    if not by_template:
        why = "request_templates=False"
    elif handlers is None:
        why = "calls of the client are watched, or nobody can know whether they are"
    elif not hasattr(signer, "get_auth_instance") or not isinstance(connections, SendingOnce):
        why = "the installed aiobotocore is built in another way"
    elif client.meta.config.signature_version is botocore.UNSIGNED:
        why = "nobody signs them"
    elif is_directory_bucket(bucket):
        why = "those of a directory bucket are signed by the keys of a session"
    else:
        rehearsals = Rehearsals(client, connections)
        return TemplatedCalls(client, Templates(rehearsals, handlers), rehearsals, signer)
    _log.debug("S3: all requests are left to botocore: %s", why)
    return Calls(client)


async def _sent(
    method: str, template: Template, filled: Filled
) -> Received | aiohttp.ClientResponse:
    """Send *filled* once, and return the answer; no redirection is followed.

    Of an object's content only the headers have come, of all else all of it.
    """
    session, values, exchanges = template.session, filled.values, template.exchanges
    if exchanges is not None and session.timeout.total is None and method != _READING:
        message = (template.message % values).encode() + filled.body
        if len(message) <= MESSAGE_BYTES_MAX:
            return await exchanges.send(message, session.timeout, is_head=method == _LOOKING)
    answer = await session.request(
        template.method,
        URL(template.url % values, encoded=True),
        headers={name: text % values for name, text in template.headers.items()},
        # As a stream: sent in pieces, so that the loop is not held up.
        data=BytesIO(filled.body) if filled.body else None,
        allow_redirects=False,
        **template.proxy,
    )
    if method == _READING:
        return answer
    async with answer:
        return Received(answer.status, answer.raw_headers, await answer.read())
