"""What new files and directories ask for, through both clients."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, OpenOptions
from fsspec_commit_stores.hdfs import HdfsStore
from fsspec_commit_stores.hdfs.native import NativeRequests
from fsspec_commit_stores.hdfs.permissions import UMASK, Permissions
from tests.unit.stores.responder import Answer, Received

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.unit.stores.hdfs.scripted import ScriptedHdfs

PATH = StorePath("/out/a")


def name_node(request: Received) -> Answer:
    status = {"type": "DIRECTORY", "length": 0, "modificationTime": 1}
    if request.query["op"] == "GETFILESTATUS":
        return Answer(200, json.dumps({"FileStatus": status}).encode())
    return Answer(200, b'{"boolean": true}')


def asked_for(hdfs: ScriptedHdfs, operation: str, options: Mapping[str, Any]) -> dict[str, str]:
    """What the NameNode is told, the first time."""
    hdfs.answering = name_node
    store = hdfs.open(**options)
    if operation == "MKDIRS":
        hdfs.run(store.directory_creation.make_directory(PATH, within=store.root))
    else:
        hdfs.failure_of(store.put(PATH, b"1", expecting=Expect.ANYTHING, within=None))
    return next(one.query for one in hdfs.received if one.query["op"] == operation)


@pytest.mark.parametrize(
    ("umask", "directory", "file"),
    [({}, "755", "644"), ({UMASK: "002"}, "775", "664"), ({UMASK: "077"}, "700", "600")],
    ids=["none", "002", "077"],
)
def test_a_umask_is_heeded_and_a_default_acl_is_told_of_no_umask(
    hdfs: ScriptedHdfs, umask: dict[str, str], directory: str, file: str
) -> None:
    made = asked_for(hdfs, "MKDIRS", umask)
    assert (made["permission"], made["unmaskedpermission"]) == (directory, "777")
    created = asked_for(hdfs, "CREATE", umask)
    assert (created["permission"], created["unmaskedpermission"]) == (file, "666")


@pytest.mark.parametrize("url", ["hdfs://nn:8020/a", "webhdfs://nn:9870/a"])
@pytest.mark.parametrize("umask", ["u=rwx,g=rx,o=", "088", "-1", "00022"])
def test_another_form_of_it_is_refused(url: str, umask: str) -> None:
    with pytest.raises(fc.RequestError, match="takes an octal number") as caught:
        asyncio.run(HdfsStore.open(url, OpenOptions(storage_options={UMASK: umask})))
    assert caught.value.kind == "invalid_option"


def test_the_native_client_is_told_of_the_umask() -> None:
    told: list[int] = []

    class Client:
        inner: Any = None

        def mkdirs(self, _: str, permission: int, *, create_parent: bool = False) -> None:
            told.append(permission)

        def create(self, _: str, options: Any) -> None:
            told.append(options.permission)

    client: Any = Client()
    client.inner = client
    native = NativeRequests(
        client,
        "hdfs://nn",
        timeout_s=10,
        threads=1,
        how_to_write={},
        permissions=Permissions.under("027"),
    )
    asyncio.run(native.make_directory(PATH))
    asyncio.run(native.make_directories(PATH))
    asyncio.run(native.create(PATH))
    assert told == [0o750, 0o750, 0o640]
