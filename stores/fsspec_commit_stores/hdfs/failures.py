"""What a failed request to HDFS says about its effect: classified here, once, for both clients.

By the name of the Java exception that the NameNode or a DataNode answers with, never by the type
that a client makes of it: hdfs-native hides most of them in a `RuntimeError`, fsspec's WebHDFS has
four types for all. Only a name that is known to be given before anything was done says that nothing
was done; all others leave it in doubt. Whatever has no name of its own is an ``IOException``: from
the NameNode it is a refusal, as its changes are atomic; from a DataNode it may mean a file that was
half closed when it lost the other DataNodes.

No client's own text is passed on: that of requests holds the URL, and so a delegation token.
"""

import errno
import os
import re
from dataclasses import dataclass

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit_stores.http.failures import after_first_tries
from fsspec_commit_stores.http.requests import Contact, FailedRequestError

MISSING = "FileNotFoundException"
EXISTS = "FileAlreadyExistsException"
NO_DIRECTORY = "ParentNotDirectoryException"
NOT_EMPTY = "PathIsNotEmptyDirectoryException"

_NUMBERS = {
    "AccessControlException": errno.EACCES,
    "AlreadyBeingCreatedException": errno.EEXIST,
    "AuthenticationException": errno.EACCES,
    "AuthorizationException": errno.EACCES,
    "ClusterStorageCapacityExceededException": errno.ENOSPC,
    "DSQuotaExceededException": errno.EDQUOT,
    EXISTS: errno.EEXIST,
    MISSING: errno.ENOENT,
    "HadoopIllegalArgumentException": errno.EINVAL,
    "IllegalArgumentException": errno.EINVAL,
    "InvalidPathException": errno.EINVAL,
    "InvalidToken": errno.EACCES,
    "MaxDirectoryItemsExceededException": errno.ENOSPC,
    "NSQuotaExceededException": errno.EDQUOT,
    NO_DIRECTORY: errno.ENOTDIR,
    "PathComponentTooLongException": errno.ENAMETOOLONG,
    "PathIsDirectoryException": errno.EISDIR,
    NOT_EMPTY: errno.ENOTEMPTY,
    "QuotaByStorageTypeExceededException": errno.EDQUOT,
    "QuotaExceededException": errno.EDQUOT,
    "RpcNoSuchMethodException": errno.EOPNOTSUPP,
    "RpcNoSuchProtocolException": errno.EOPNOTSUPP,
    "SecurityException": errno.EACCES,
    "SnapshotAccessControlException": errno.EACCES,
    "SnapshotException": errno.EINVAL,
    "UnresolvedPathException": errno.ELOOP,
    "UnsupportedOperationException": errno.EOPNOTSUPP,
}
_TOO_BUSY = "RetriableException"
# The same request is good as soon as the cluster is: it starts, fails over, or is overloaded.
_NOT_DONE = frozenset(
    {
        "NotReplicatedYetException",
        "ObserverRetryOnActiveException",
        _TOO_BUSY,
        "RetryStartFileException",
        "SafeModeException",
        "StandbyException",
    }
)
# Of what has no exception of its own. Messages are matched whole, since there is a path in them,
# which may read like anything; and never those of an exception that has a name.
_NAMELESS = frozenset({"IOException", "RemoteException"})
_NOT_DONE_TEXT = re.compile(
    r"Name ?node is in startup mode\.?"
    r"|Cannot .*\. Name node is in safe mode\."
    r"|File .* could only be (?:written|replicated) to \d+ (?:nodes?|of the \d+ )\b.*",
    re.IGNORECASE,
)
# What a router says of several NameNodes: one of them may have done it, and not answered.
_OF_ROUTER_TEXT = re.compile(
    r"No namenode available to invoke .*"
    r"|Cannot get a connection to .*"
    r"|(?:[\w.]+\.)?NoNamenodesAvailableException: .*"
)
_EXPLAINED = {
    "SafeModeException": "the NameNode is in safe mode",
    "StandbyException": "this NameNode is a standby; name the nameservice, or the active one",
    "InvalidToken": "the delegation token is unknown or has expired",
    "AuthenticationException": "the cluster does not accept the credentials; run kinit",
    "UnresolvedPathException": "there is a symbolic link; links inside a destination are refused",
}
_WHY_MAX = 300
_SILENT = "did not answer in time; check it, or wait longer with 'dfs.client.socket-timeout' (ms)"


@dataclass(frozen=True, slots=True)
class Told:
    """What a server answered.

    Attributes:
        exception: The Java class, without its package.
        why: Its message, without the stack.
    """

    exception: str
    why: str

    @classmethod
    def of(cls, java_class: str, message: str) -> "Told":
        """From the full name of the class and everything it said."""
        name = re.split(r"[.$]", java_class)[-1]
        first = message.partition("\n")[0].strip()
        return cls(name, repr(first[:_WHY_MAX])[1:-1])


@dataclass(frozen=True, slots=True)
class RequestDescription:
    """What was asked, in the words of a message.

    Attributes:
        verb: What could not be done, as in "cannot *read* …".
        path: To what.
        server: Of whom, without user, path and query.
    """

    verb: str
    path: str
    server: str


class RequestFailedError(FailedRequestError[Told]):
    """A request to HDFS that was not done as asked."""

    @property
    def is_missing(self) -> bool:
        """Whether the NameNode said that there is no such path."""
        return self.says(MISSING, NO_DIRECTORY)

    def says(self, *exceptions: str) -> bool:
        """Whether the server answered with one of these."""
        return self.answer is not None and self.answer.exception in exceptions


def answered(asked: RequestDescription, told: Told) -> RequestFailedError:
    """The failure of a request that was answered, whoever on the cluster it was."""
    name = told.exception
    is_nameless = name in _NAMELESS
    reply, number = Reply.UNKNOWN, errno.EIO
    is_early = name in _NOT_DONE and not _OF_ROUTER_TEXT.fullmatch(told.why)
    if is_early or (is_nameless and _NOT_DONE_TEXT.fullmatch(told.why)):
        reply, number = Reply.NOT_DONE, errno.EAGAIN
    elif name in _NUMBERS:
        reply, number = Reply.REFUSED, _NUMBERS[name]
    explained = _EXPLAINED.get(name)
    why = f"{explained}: {told.why}" if explained else told.why
    is_overload = name == _TOO_BUSY
    failure = store_error(asked, f"{why} ({name})", reply, number, is_overload=is_overload)
    return RequestFailedError(failure, told)


def answered_by_name_node(asked: RequestDescription, told: Told) -> RequestFailedError:
    """The failure of a request that the NameNode answered.

    The NameNode carries a request out at once or not at all: so an exception without a name is a
    refusal too, such as that of a rename of a directory onto a file.
    """
    error = answered(asked, told)
    if told.exception == "IOException" and error.failure.reply is Reply.UNKNOWN:
        error.failure.reply = Reply.REFUSED
        error.failure.errno = errno.EINVAL
    return error


def answered_by_data_node(asked: RequestDescription, told: Told) -> RequestFailedError:
    """The failure of a request that a DataNode answered.

    To do what it is asked, a DataNode asks the NameNode more than once: when the NameNode turns out
    to be in safe mode, the file may have been created already.
    """
    error = answered(asked, told)
    if error.failure.reply is Reply.NOT_DONE:
        error.failure.reply = Reply.UNKNOWN
    return error


class ClusterContact(Contact):
    """Whether a cluster has ever answered, and the failures that depend on it.

    Attributes:
        server: Whom requests go to, for messages.
    """

    def __init__(self, server: str) -> None:
        super().__init__()
        self.server = server

    def begin(self, verb: str, path: str) -> RequestDescription:
        """Describe a request that is about to be sent.

        Raises:
            RequestFailedError: Nobody has ever answered, so nobody is waited for once more.
        """
        asked = RequestDescription(verb, path, self.server)
        if self.is_silent:
            why = f"{self.server} {_SILENT}"
            raise RequestFailedError(store_error(asked, why, Reply.REFUSED, errno.ETIMEDOUT))
        return asked

    def answered(self, asked: RequestDescription, told: Told) -> RequestFailedError:
        """The failure of a request that the NameNode answered."""
        self.has_answered = True
        return answered_by_name_node(asked, told)

    def timed_out(self, asked: RequestDescription) -> RequestFailedError:
        """The failure of a request that was sent, and not answered in time."""
        self.failed(is_timeout=True)
        why = f"{self.server} {_SILENT}"
        return RequestFailedError(store_error(asked, why, Reply.UNKNOWN, errno.ETIMEDOUT))

    def broke(self, asked: RequestDescription, kind: str) -> RequestFailedError:
        """The failure of a request whose connection broke before the answer."""
        why = f"the connection to {self.server} failed before the answer ({kind})"
        return RequestFailedError(store_error(asked, why, Reply.UNKNOWN))

    def unacceptable(self, asked: RequestDescription, kind: str, remedy: str) -> RequestFailedError:
        """The failure of a request that the client itself does not send, nor would later."""
        why = f"it was not sent to {self.server} ({kind}); {remedy}"
        return RequestFailedError(store_error(asked, why, Reply.REFUSED, errno.EINVAL))

    def unsent(self, asked: RequestDescription, kind: str, remedy: str) -> RequestFailedError:
        """The failure over a certificate, or over a ticket: before anything was sent.

        Where the cluster has answered, it was good enough then. An ingress that restarts shows a
        certificate of its own meanwhile, and the host that issues tickets comes back.
        """
        error = self.unacceptable(asked, kind, remedy)
        if self.has_answered:
            error.failure.reply = Reply.NOT_DONE
        return error

    def refused(self, asked: RequestDescription, kind: str) -> RequestFailedError:
        """The failure of a request that could not be sent."""
        why = f"{self.server} cannot be reached ({kind}); check host and port, and the network"
        failure = store_error(asked, why, Reply.NOT_DONE, errno.EHOSTUNREACH)
        first_tries = self.failed(is_timeout=False)
        return RequestFailedError(after_first_tries(failure, first_tries))


def store_error(
    asked: RequestDescription,
    why: str,
    reply: Reply,
    number: int = errno.EIO,
    *,
    is_overload: bool = False,
) -> StoreError:
    """A ``StoreError`` with the ``errno`` a system call would have given."""
    message = f"cannot {asked.verb} {asked.path!r}: {why}"
    error = StoreError(message, reply=reply, path=asked.path, is_overload=is_overload)
    error.errno = number
    error.strerror = os.strerror(number)
    return error


def refusal(verb: str, path: str, why: str, number: int) -> StoreError:
    """A refusal of our own."""
    return store_error(RequestDescription(verb, path, ""), why, Reply.REFUSED, number)


def without_effect(error: StoreError) -> StoreError:
    """The failure of a step before the one that counts: whatever it was, nothing can be seen."""
    if error.reply is Reply.UNKNOWN:
        error.reply = Reply.NOT_DONE
    return error
