"""What a server of WebHDFS answers: read here once, and believed only where it is HDFS that speaks.

Between a client and its NameNode may stand a gateway with a login page, or nobody yet: of a
NameNode that starts, the web server is up before WebHDFS is, and answers 404 to everything.
"""

import json
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import requests

from fsspec_commit.errors import Reply
from fsspec_commit_stores.hdfs.failures import Asked, RequestFailedError, Told, answered, made
from fsspec_commit_stores.http.redirections import is_redirection, origin_of, why_redirected

_THROTTLED = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_NOT_DONE, _REFUSED, _UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN
_LOG_IN = "log in (kinit), or check user=, password= and token="
_NOT_HDFS = "it is starting, or no NameNode: check host and port (dfs.namenode.http-address)"
_PREFIX = "/webhdfs/v1/"


def failure_of(asked: Asked, answer: requests.Response) -> RequestFailedError | None:
    """What an answer says that is no success by its status."""
    status = answer.status_code
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return None
    remote = (_object(answer) or {}).get("RemoteException")
    if isinstance(remote, dict):
        name = str(remote.get("javaClassName") or remote.get("exception"))
        return answered(asked, Told.of(name, str(remote.get("message") or "")))
    why = f"{asked.server} answered {status}"
    reply = _REFUSED
    if is_redirection(status):
        return redirected(asked, answer)
    if status == HTTPStatus.UNAUTHORIZED:
        why = f"{why}: {_LOG_IN}"
    elif status == HTTPStatus.NOT_FOUND:
        # The NameNode says what it misses. Who else answers knows nothing of what was done.
        why, reply = f"{why} without saying what is missing: {_NOT_HDFS}", _UNKNOWN
    elif status in _THROTTLED:
        reply = _NOT_DONE
    elif status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        reply = _UNKNOWN
    return RequestFailedError(made(asked, why, reply))


def object_of(asked: Asked, answer: requests.Response, holding: str) -> dict[str, Any]:
    """The object of JSON that the answer to a request is.

    Args:
        asked: What was asked.
        answer: A success, by its status.
        holding: What must be in it; empty where the answer has no body.

    Raises:
        RequestFailedError: It is something else, such as a login page; what was done is not known.
    """
    found = _object(answer)
    if found is not None and (not holding or holding in found):
        return found
    why = f"{asked.server} answered something that is not of WebHDFS; {_LOG_IN}"
    raise RequestFailedError(made(asked, why, _UNKNOWN))


def data_node_of(asked: Asked, answer: requests.Response) -> str:
    """Where the NameNode sends whoever reads or writes data: what it documents, and no more.

    Raises:
        RequestFailedError: Nowhere, or to what is no DataNode.
    """
    failure = failure_of(asked, answer)
    location = answer.headers.get("Location")
    if answer.status_code == HTTPStatus.TEMPORARY_REDIRECT and location:
        if origin_of(location) and urlsplit(location).path.find(_PREFIX) >= 0:
            return location
    elif failure is None:
        why = f"{asked.server} does not say which DataNode has it"
        failure = RequestFailedError(made(asked, why, _NOT_DONE))
    raise failure or redirected(asked, answer)


def redirected(asked: Asked, answer: requests.Response) -> RequestFailedError:
    """The failure of a request that was sent elsewhere, where nobody follows."""
    origin = origin_of(answer.headers.get("Location", ""))
    why = f"{why_redirected(answer.status_code, origin)}; {_LOG_IN}"
    return RequestFailedError(made(asked, why, _UNKNOWN))


def _object(answer: requests.Response) -> dict[str, Any] | None:
    """The body, if it is an object of JSON; an empty one where there is none."""
    try:
        found = json.loads(answer.content) if answer.content else {}
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
