"""What a failure of HDFS says about its effect, by the name of the exception it answers with."""

from __future__ import annotations

import errno
from types import SimpleNamespace
from typing import Any

import pytest
import requests

from fsspec_commit.errors import Reply
from fsspec_commit_stores.hdfs.failures import (
    ClusterContact,
    RequestDescription,
    RequestFailedError,
    Told,
    answered,
    answered_by_data_node,
    answered_by_name_node,
)
from fsspec_commit_stores.hdfs.native import NativeRequests, _told_by
from fsspec_commit_stores.hdfs.web_session import kind_of
from fsspec_commit_stores.http.failures import FIRST_TRIES_MAX

ASKED = RequestDescription("rename", "/a/b", "hdfs://nn:8020")
SECRET = "HAAEcm9vdARyb290"


@pytest.mark.parametrize(
    ("java_class", "message", "reply", "number"),
    [
        ("java.io.FileNotFoundException", "rename source /a", Reply.REFUSED, errno.ENOENT),
        ("org.apache.hadoop.fs.FileAlreadyExistsException", "x", Reply.REFUSED, errno.EEXIST),
        ("org.apache.hadoop.fs.ParentNotDirectoryException", "x", Reply.REFUSED, errno.ENOTDIR),
        (
            "org.apache.hadoop.security.AccessControlException",
            "Permission denied: user=me",
            Reply.REFUSED,
            errno.EACCES,
        ),
        (
            "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException",
            "quota",
            Reply.REFUSED,
            errno.EDQUOT,
        ),
        (
            "org.apache.hadoop.hdfs.protocol.FSLimitException$PathComponentTooLongException",
            "too long",
            Reply.REFUSED,
            errno.ENAMETOOLONG,
        ),
        (
            "org.apache.hadoop.security.token.SecretManager$InvalidToken",
            "expired",
            Reply.REFUSED,
            errno.EACCES,
        ),
        ("org.apache.hadoop.ipc.StandbyException", "READ", Reply.NOT_DONE, errno.EAGAIN),
        # A router, which may have had another answer before, or none.
        (
            "org.apache.hadoop.ipc.StandbyException",
            "No namenode available to invoke rename2 [/a, /b] in [ns0-nn1, ns0-nn2] from router",
            Reply.UNKNOWN,
            errno.EIO,
        ),
        (
            "org.apache.hadoop.ipc.StandbyException",
            "Cannot get a connection to nn1:8020",
            Reply.UNKNOWN,
            errno.EIO,
        ),
        (
            "org.apache.hadoop.ipc.RetriableException",
            "org.apache.hadoop.hdfs.server.federation.router.NoNamenodesAvailableException: no",
            Reply.UNKNOWN,
            errno.EIO,
        ),
        # A DataNode that has lost the NameNode, on a connection from before its restart.
        ("java.io.EOFException", "End of File Exception between", Reply.UNKNOWN, errno.EIO),
        ("java.net.ConnectException", "Connection refused", Reply.UNKNOWN, errno.EIO),
        (
            "org.apache.hadoop.hdfs.server.namenode.SafeModeException",
            "Cannot rename /a",
            Reply.NOT_DONE,
            errno.EAGAIN,
        ),
        (
            "org.apache.hadoop.ipc.RemoteException",
            "Cannot create file/a. Name node is in safe mode.",
            Reply.NOT_DONE,
            errno.EAGAIN,
        ),
        ("java.io.IOException", "Namenode is in startup mode", Reply.NOT_DONE, errno.EAGAIN),
        (
            "java.io.IOException",
            "File /a could only be written to 0 of the 1 minReplication nodes.",
            Reply.NOT_DONE,
            errno.EAGAIN,
        ),
        # A DataNode's, which had the file open: it may be there, or become whole later.
        (
            "java.io.IOException",
            "Unable to close file because the last block BP-1:blk_1_2 does not have enough number",
            Reply.UNKNOWN,
            errno.EIO,
        ),
        ("java.io.IOException", "All datanodes [a:9866] are bad.", Reply.UNKNOWN, errno.EIO),
        ("java.io.IOException", "Connection reset by peer", Reply.UNKNOWN, errno.EIO),
        (
            "org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException",
            "No lease on /a (inode 1)",
            Reply.UNKNOWN,
            errno.EIO,
        ),
        ("com.example.NeverHeardOfException", "", Reply.UNKNOWN, errno.EIO),
    ],
)
def test_an_answer_is_known_by_its_exception(
    java_class: str, message: str, reply: Reply, number: int
) -> None:
    told = Told.of(java_class, f"{message}\n\tat org.apache.hadoop.Somewhere(A.java:1)")
    failure = answered(ASKED, told).failure
    assert (failure.reply, failure.errno) == (reply, number)
    assert "'/a/b'" in str(failure)
    assert message in str(failure)
    assert "Somewhere" not in str(failure)


WORDS = [
    "safe mode",
    "Namenode is in startup mode",
    "not replicated yet",
    "File a could only be written to 0 of the 1 minReplication nodes",
]


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize(
    ("java_class", "message", "reply"),
    [
        (
            "org.apache.hadoop.fs.FileAlreadyExistsException",
            "rename destination /data/{}/decision already exists",
            Reply.REFUSED,
        ),
        ("java.io.FileNotFoundException", "Parent directory doesn't exist: /{}", Reply.REFUSED),
        ("java.io.IOException", "Could not get block locations. Source file /{}", Reply.UNKNOWN),
        ("java.io.IOException", "failed to close /{}/x for reasons", Reply.UNKNOWN),
    ],
)
def test_the_words_of_a_path_say_nothing(
    java_class: str, message: str, reply: Reply, words: str
) -> None:
    told = Told.of(java_class, message.format(words))
    assert answered(ASKED, told).failure.reply is reply


@pytest.mark.parametrize(
    "why",
    [
        "/a can't be moved from an encryption zone",
        "Source /a and destination /b must both be files",
    ],
)
def test_what_the_name_node_says_without_a_name_is_a_refusal(why: str) -> None:
    """It does one thing at once; a DataNode has asked for several by then."""
    told = Told.of("java.io.IOException", why)
    failure = answered_by_name_node(ASKED, told).failure
    assert (failure.reply, failure.errno) == (Reply.REFUSED, errno.EINVAL)
    assert answered_by_data_node(ASKED, told).failure.reply is Reply.UNKNOWN


@pytest.mark.parametrize("name", ["NullPointerException", "ConnectException", "NeverHeardOf"])
def test_what_else_it_says_is_in_doubt(name: str) -> None:
    assert answered_by_name_node(ASKED, Told(name, "")).failure.reply is Reply.UNKNOWN


@pytest.mark.parametrize("name", ["SafeModeException", "StandbyException", "RetriableException"])
def test_a_data_node_may_have_begun_when_the_name_node_stops(name: str) -> None:
    told = Told(name, "no")
    assert answered(ASKED, told).failure.reply is Reply.NOT_DONE
    assert answered_by_data_node(ASKED, told).failure.reply is Reply.UNKNOWN
    assert answered(ASKED, told).failure.is_overload is (name == "RetriableException")


@pytest.mark.parametrize(
    ("error", "exception"),
    [
        (FileNotFoundError("/a"), "FileNotFoundException"),
        (FileExistsError("/a"), "FileAlreadyExistsException"),
        (IsADirectoryError("/a"), "PathIsDirectoryException"),
        (NotImplementedError("erasure coding"), "UnsupportedOperationException"),
        # Its ticket cache or a socket is missing, and no file on the cluster.
        (FileNotFoundError("No such file or directory (os error 2)"), None),
        (ValueError("nobody knows what of"), None),
        (
            RuntimeError('RPCError("org.apache.hadoop.ipc.StandbyException", "no\\n\\tat A")'),
            "StandbyException",
        ),
        (
            RuntimeError('FatalRPCError("org.apache.hadoop.ipc.RpcNoSuchMethodException", "x")'),
            "RpcNoSuchMethodException",
        ),
        (RuntimeError("NoSASLMechanism"), "AuthenticationException"),
        (RuntimeError('GSSAPIError(GSS_S_FAILURE, 1, "no ticket")'), "AuthenticationException"),
        (RuntimeError('OperationFailed("Failed to complete file in time")'), None),
        (RuntimeError('DataTransferError("closed")'), None),
        (OSError("Connection reset by peer (os error 104)"), None),
    ],
)
def test_the_native_client_hides_it_in_a_text(error: Exception, exception: str | None) -> None:
    told = _told_by(error)
    assert (told.exception if told else None) == exception


@pytest.mark.parametrize(
    ("address", "reply"), [(None, Reply.UNKNOWN), (("127.0.0.1", 0), Reply.NOT_DONE)]
)
def test_the_last_name_node_of_a_nameservice_does_not_speak_for_the_first(
    address: tuple[str, int] | None, reply: Reply
) -> None:
    """The client asks the next one where a connection breaks, and shows its answer alone."""
    client: Any = SimpleNamespace()
    native = NativeRequests(
        client, "hdfs://ns", timeout_s=1, threads=1, how_to_write={}, address=address
    )
    error = RuntimeError('RPCError("org.apache.hadoop.ipc.StandbyException", "no")')
    assert native._failed(ASKED, error).failure.reply is reply


def test_nobody_at_all_is_found_out_soon() -> None:
    contact = ClusterContact("hdfs://nn:8020")
    replies = [contact.refused(ASKED, "OSError").failure.reply for _ in range(FIRST_TRIES_MAX)]
    assert replies == [Reply.NOT_DONE] * (FIRST_TRIES_MAX - 1) + [Reply.REFUSED]


def test_who_has_answered_once_is_waited_for() -> None:
    contact = ClusterContact("hdfs://nn:8020")
    contact.has_answered = True
    for _ in range(2 * FIRST_TRIES_MAX):
        assert contact.refused(ASKED, "OSError").failure.reply is Reply.NOT_DONE
        assert contact.timed_out(ASKED).failure.reply is Reply.UNKNOWN
        contact.begin("look at", "/a")


def test_who_never_answers_is_not_waited_for_twice() -> None:
    contact = ClusterContact("hdfs://nn:8020")
    assert contact.timed_out(ASKED).failure.reply is Reply.UNKNOWN
    with pytest.raises(RequestFailedError) as caught:
        contact.begin("look at", "/a")
    assert caught.value.failure.reply is Reply.REFUSED
    assert "dfs.client.socket-timeout" in str(caught.value)


def test_of_a_client_only_the_kind_of_failure_is_told() -> None:
    """The text of requests holds the URL, and so the delegation token."""
    from urllib3.exceptions import MaxRetryError, NewConnectionError

    reason = NewConnectionError(None, "refused")  # type: ignore[arg-type]  # no connection is needed
    url = f"/webhdfs/v1/a?delegation={SECRET}"
    error = requests.ConnectionError(MaxRetryError(None, url, reason))  # type: ignore[arg-type]  # nor a pool
    assert SECRET in str(error)
    assert kind_of(error) == "NewConnectionError"
