"""What a server of WebHDFS answers: read here once, and believed only where it is HDFS that speaks.

A gateway with a login page may stand between a client and its NameNode, or a proxy whose upstream
is gone; and while a NameNode starts, its web server is up before WebHDFS is, and answers 404 to
everything. HDFS is known by what it documents for each operation: the one status, and the JSON with
its key, or no body and the type that HDFS names even then. In a failure it is known by a
``RemoteException``. Whatever else is answered says nothing about what was done.

https://hadoop.apache.org/docs/r3.5.0/hadoop-project-dist/hadoop-hdfs/WebHDFS.html
"""

from http import HTTPStatus
from typing import Literal, TypeVar
from urllib.parse import urlsplit

import msgspec
import requests

from fsspec_commit.errors import Reply
from fsspec_commit.store.json_forms import decode_json
from fsspec_commit_stores.hdfs.failures import (
    RequestDescription,
    RequestFailedError,
    Told,
    answered_by_data_node,
    answered_by_name_node,
    store_error,
)
from fsspec_commit_stores.hdfs.requests import Status
from fsspec_commit_stores.http.answers import is_overload_by
from fsspec_commit_stores.http.redirections import is_redirection, origin_of, why_redirected

T = TypeVar("T")

_LOG_IN = "log in (kinit), or check user=, password= and token="
_NOT_HDFS = "it is starting, or no NameNode: check host and port (dfs.namenode.http-address)"
_PREFIX = "/webhdfs/v1/"
_OCTETS = "application/octet-stream"
_WORDS: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: f": {_LOG_IN}",
    HTTPStatus.FORBIDDEN: f" without saying why: it is no NameNode, or {_LOG_IN}",
    HTTPStatus.NOT_FOUND: f" without saying what is missing: {_NOT_HDFS}",
}


class FileStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What HDFS says of one path; a file is listed as itself, without a name."""

    type: Literal["FILE", "DIRECTORY", "SYMLINK"]
    length: int
    modification_time: int
    path_suffix: str = ""

    @property
    def status(self) -> Status:
        """The status in the form that both clients share."""
        return Status(self.type == "DIRECTORY", self.length, self.modification_time)


class Looked(msgspec.Struct, frozen=True, rename="pascal"):
    """The answer to ``GETFILESTATUS``."""

    file_status: FileStatus


class _FileStatuses(msgspec.Struct, frozen=True, rename="pascal"):
    file_status: list[FileStatus]


class Listed(msgspec.Struct, frozen=True, rename="pascal"):
    """The answer to ``LISTSTATUS``."""

    file_statuses: _FileStatuses

    @property
    def names(self) -> list[tuple[str, Status]]:
        """Names and statuses."""
        found = self.file_statuses.file_status
        return [(one.path_suffix, one.status) for one in found if one.path_suffix]


class _DirectoryListing(msgspec.Struct, frozen=True, rename="camel"):
    partial_listing: Listed
    remaining_entries: int


class ListedInPart(msgspec.Struct, frozen=True, rename="pascal"):
    """The answer to ``LISTSTATUS_BATCH``."""

    directory_listing: _DirectoryListing


class Said(msgspec.Struct, frozen=True):
    """The answer to ``MKDIRS`` and ``DELETE``, and to a rename whose options were not heeded."""

    boolean: bool


class _RemoteException(msgspec.Struct, frozen=True, rename="camel"):
    exception: str = ""
    java_class_name: str = ""
    message: str | None = None


class _Failed(msgspec.Struct, frozen=True, rename="pascal"):
    remote_exception: _RemoteException


def value_of(asked: RequestDescription, answer: requests.Response, form: type[T]) -> T:
    """What the JSON of an answer says: 200, and the keys that HDFS documents.

    Raises:
        RequestFailedError: It says that it failed, or is not of HDFS.
    """
    found = _read(answer, form) if answer.status_code == HTTPStatus.OK else None
    if found is None:
        raise failure_of(asked, answer)
    return found


def check_empty(asked: RequestDescription, answer: requests.Response) -> None:
    """See that an answer is a yes without a body, which HDFS gives a type all the same.

    Raises:
        RequestFailedError: It says that it failed, or is not of HDFS.
    """
    if answer.status_code != HTTPStatus.OK or answer.content or not _is_octets(answer):
        raise failure_of(asked, answer)


def check_created(asked: RequestDescription, answer: requests.Response) -> None:
    """See that a DataNode says that it has created a file.

    Raises:
        RequestFailedError: It says that it failed, or is not a DataNode.
    """
    if answer.status_code != HTTPStatus.CREATED or answer.content:
        raise failure_of(asked, answer, is_data_node=True)


def data_of(asked: RequestDescription, answer: requests.Response) -> bytes:
    """What a DataNode has read.

    Raises:
        RequestFailedError: It says that it failed, or is not a DataNode.
    """
    if answer.status_code != HTTPStatus.OK or not _is_octets(answer):
        raise failure_of(asked, answer, is_data_node=True)
    return bytes(answer.content)


def data_node_of(asked: RequestDescription, answer: requests.Response) -> str:
    """Where the NameNode sends whoever reads or writes data: what it documents, and no more.

    Raises:
        RequestFailedError: It sends us nowhere, or to what is not a DataNode.
    """
    location = answer.headers.get("Location", "")
    is_sent_on = answer.status_code == HTTPStatus.TEMPORARY_REDIRECT
    if is_sent_on and origin_of(location) and urlsplit(location).path.find(_PREFIX) >= 0:
        return location
    raise failure_of(asked, answer)


def failure_of(
    asked: RequestDescription, answer: requests.Response, *, is_data_node: bool = False
) -> RequestFailedError:
    """The failure of a request whose answer is not the documented success.

    Whatever HDFS has not said itself leaves it in doubt: a gateway answers the same when the
    request got through and its answer did not.
    """
    status = answer.status_code
    failed = _read(answer, _Failed) if status >= HTTPStatus.BAD_REQUEST else None
    if failed is not None:
        remote = failed.remote_exception
        told = Told.of(remote.java_class_name or remote.exception, remote.message or "")
        return (answered_by_data_node if is_data_node else answered_by_name_node)(asked, told)
    if is_redirection(status):
        origin = origin_of(answer.headers.get("Location", ""))
        why = f"{why_redirected(status, origin)}; {_LOG_IN}"
    elif status >= HTTPStatus.BAD_REQUEST:
        why = f"{asked.server} answered {status}{_WORDS.get(status, '')}"
    else:
        why = f"{asked.server} answered something that is not of WebHDFS (HTTP {status}); {_LOG_IN}"
    is_overload = is_overload_by(status)
    return RequestFailedError(store_error(asked, why, Reply.UNKNOWN, is_overload=is_overload))


def said_in(answer: requests.Response) -> bool | None:
    """Yes or no, where an answer is one of these; ``None`` where it is another."""
    said = _read(answer, Said) if answer.status_code == HTTPStatus.OK else None
    return None if said is None else said.boolean


def _read(answer: requests.Response, form: type[T]) -> T | None:
    """The body, where it is JSON of this form."""
    try:
        return decode_json(answer.content, form)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _is_octets(answer: requests.Response) -> bool:
    kind: str = answer.headers.get("Content-Type", "")
    return kind.partition(";")[0].strip().lower() == _OCTETS
