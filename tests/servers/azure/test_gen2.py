"""The DFS endpoint of our own server, through azure-storage-file-datalake."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import (
    AzureError,
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)

from tests.servers.azure.gen2.messages import Request
from tests.servers.azure.refusals import code_of, names, refused
from tests.servers.faults import AnswerInstead, Rule
from tests.servers.races import ROUNDS, race

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.azure.server import AzureServer
    from tests.servers.proxy import FaultProxy

MISSING = {"match_condition": MatchConditions.IfMissing}


@pytest.mark.parametrize(
    ("host", "target"),
    [
        ("127.0.0.1:80", "/tests/box/a/b?restype=x"),
        ("tests.blob.core.windows.net:80", "/box/a/b?restype=x"),
        ("tests.dfs.core.windows.net", "/box/a/b?restype=x"),
    ],
)
def test_an_account_is_named_by_the_host_or_the_path(host: str, target: str) -> None:
    request = Request("GET", target, {"host": host})
    assert (request.account, request.container, request.path) == ("tests", "box", "a/b")


def test_a_file_is_written_step_by_step(gen2_container: AzureContainer) -> None:
    file = gen2_container.dfs_client.get_file_client("a/b c/ü=d.txt")
    created = file.create_file(metadata={"nonce": "n 1"})
    assert file.get_file_properties().size == 0
    file.append_data(b"world", offset=6, length=5)
    file.append_data(b"hello ", offset=0, length=6)
    # Data that waits for a flush cannot be read.
    assert file.get_file_properties().size == 0
    refused(400, "InvalidFlushPosition", file.flush_data, 12)
    file.flush_data(11, close=True)
    found = file.get_file_properties()
    assert (found.size, found.metadata) == (11, {"nonce": "n 1"})
    assert found.etag != created["etag"]
    assert file.download_file().readall() == b"hello world"
    assert file.download_file(offset=6, length=3).readall() == b"wor"
    assert gen2_container.client.download_blob("a/b c/ü=d.txt").readall() == b"hello world"
    # Directories were made with it.
    assert names(gen2_container) == ["a", "a/b c", "a/b c/ü=d.txt"]


def test_a_gap_is_not_flushed(gen2_container: AzureContainer) -> None:
    file = gen2_container.dfs_client.create_file("f")
    file.append_data(b"later", offset=10, length=5)
    refused(400, "InvalidFlushPosition", file.flush_data, 15)
    refused(404, "PathNotFound", gen2_container.dfs_client.get_file_client("g").flush_data, 0)


def test_what_the_other_interface_wrote_is_not_appended_to(gen2_container: AzureContainer) -> None:
    gen2_container.client.upload_blob("f", b"blob")
    file = gen2_container.dfs_client.get_file_client("f")
    refused(409, "InvalidFlushOperation", file.append_data, b"x", offset=4, length=1)
    file.upload_data(b"written", overwrite=True)
    assert file.download_file().readall() == b"written"


def test_a_create_may_be_exclusive(gen2_container: AzureContainer) -> None:
    dfs = gen2_container.dfs_client
    file = dfs.get_file_client("f")
    file.create_file(**MISSING)
    refused(409, "PathAlreadyExists", file.create_file, **MISSING)
    directory = dfs.get_directory_client("d/e")
    directory.create_directory(**MISSING)
    with pytest.raises(HttpResponseError) as caught:
        directory.create_directory(**MISSING)
    response: Any = caught.value.response
    assert response.headers["x-ms-error-code"] == "PathAlreadyExists"
    assert response.headers["x-ms-existing-resource-type"] == "directory"
    dfs.create_file("d/e/kept")
    directory.create_directory()
    assert names(gen2_container, "d") == ["d/e", "d/e/kept"]
    refused(409, "PathConflict", dfs.get_file_client("d/e").create_file)
    refused(409, "PathConflict", dfs.get_directory_client("f").create_directory)
    refused(409, "PathConflict", dfs.get_file_client("f/below").create_file)


def test_a_name_that_xml_cannot_hold(gen2_container: AzureContainer) -> None:
    gen2_container.client.upload_blob("d \x01 %41", b"")
    assert [found.name for found in gen2_container.client.list_blobs()] == ["d \x01 %41"]
    assert names(gen2_container) == ["d \x01 %41"]


def test_one_of_many_creates(gen2_container: AzureContainer) -> None:
    dfs = gen2_container.dfs_client

    def create(path: str, _: int) -> bool:
        try:
            dfs.get_file_client(path).create_file(**MISSING)
        except ResourceExistsError:
            return False
        return True

    for turn in range(ROUNDS):
        assert race(partial(create, f"f{turn}")).count(True) == 1


def test_a_listing(gen2_container: AzureContainer) -> None:
    dfs = gen2_container.dfs_client
    for path in ("d/b", "d/a/1", "d-e", "d/a-b", "z"):
        dfs.get_file_client(path).upload_data(b"xyz", overwrite=True)
    assert names(gen2_container, recursive=False) == ["d", "d-e", "z"]
    assert names(gen2_container, "d", recursive=False) == ["d/a", "d/a-b", "d/b"]
    assert names(gen2_container, "d") == ["d/a", "d/a/1", "d/a-b", "d/b"]
    pages = [list(page) for page in dfs.get_paths("d", max_results=3).by_page()]
    assert [[found.name for found in page] for page in pages] == [
        ["d/a", "d/a/1", "d/a-b"],
        ["d/b"],
    ]
    found = {one.name: (one.is_directory, one.content_length) for one in dfs.get_paths("d")}
    assert found["d/a"] == (True, 0)
    assert found["d/b"] == (False, 3)
    with pytest.raises(ResourceNotFoundError) as caught:
        names(gen2_container, "none")
    assert code_of(caught.value) == "PathNotFound"
    with pytest.raises(ResourceNotFoundError) as gone:
        names(gen2_container, "z")
    assert code_of(gone.value) == "PathNotFound"


def test_a_delete(gen2_container: AzureContainer) -> None:
    dfs = gen2_container.dfs_client
    etag = dfs.get_file_client("d/f").upload_data(b"x", overwrite=True)["etag"]
    same = {"match_condition": MatchConditions.IfNotModified}
    with pytest.raises(ResourceModifiedError):
        dfs.get_file_client("d/f").delete_file(etag="0x1", **same)
    blob = gen2_container.client.get_blob_client("d")
    refused(409, "DirectoryIsNotEmpty", blob.delete_blob)
    dfs.get_file_client("d/f").delete_file(etag=etag, **same)
    refused(404, "PathNotFound", dfs.get_file_client("d/f").delete_file)
    dfs.create_file("d/e/g")
    dfs.get_directory_client("d").delete_directory()
    assert names(gen2_container) == []


def test_a_directory_on_the_blob_endpoint(gen2_container: AzureContainer) -> None:
    client = gen2_container.client
    gen2_container.dfs_client.create_file("d/e/f")
    assert client.get_blob_client("d/e").get_blob_properties().metadata == {"hdi_isfolder": "true"}
    found = {one.name: one.metadata or {} for one in client.list_blobs(include=["metadata"])}
    folder = {"hdi_isfolder": "true"}
    assert found == {"d": folder, "d/e": folder, "d/e/f": {}}
    assert [one.name for one in client.walk_blobs("d/", delimiter="/")] == ["d/e/"]
    refused(409, "ResourceTypeMismatch", client.upload_blob, "d/e", b"", overwrite=True)
    refused(409, "ResourceTypeMismatch", client.upload_blob, "d/e/f/g", b"", overwrite=True)
    gen2_container.client.upload_blob("new/dir/blob", b"")
    assert gen2_container.dfs_client.get_directory_client("new/dir").exists()


@pytest.mark.parametrize(
    ("code", "ask"),
    [
        ("UnsupportedQueryParameter", lambda found: found.get_blob_client("f").get_block_list()),
        (
            "InvalidQueryParameterValue",
            lambda found: list(found.list_blobs(include=["uncommittedblobs"])),
        ),
    ],
    ids=["a list of blocks", "blobs of blocks"],
)
def test_what_it_cannot_do_it_does_not_pretend_to(
    gen2_container: AzureContainer, code: str, ask: Callable[[Any], object]
) -> None:
    refused(400, code, ask, gen2_container.client)


def test_the_account_says_what_it_is(
    gen2_server: AzureServer, gen2_container: AzureContainer
) -> None:
    assert gen2_server.client.get_account_information()["is_hns_enabled"] is True
    assert gen2_container.client.get_account_information()["is_hns_enabled"] is True
    access = gen2_container.dfs_client.get_directory_client("/").get_access_control()
    assert access["owner"] == "$superuser"


def test_the_proxy_knows_its_operations(
    gen2_server: AzureServer, gen2_container: AzureContainer, gen2_proxy: FaultProxy
) -> None:
    name = gen2_container.name
    with gen2_server.dfs_client_through(gen2_proxy.endpoint_url) as client:
        dfs = client.get_file_system_client(name)
        dfs.create_directory("d")
        file = dfs.create_file("f")
        file.append_data(b"x", offset=0, length=1)
        file.flush_data(1)
        moved = file.rename_file(f"{name}/d/f", **MISSING)
        moved.get_access_control()
        assert [found.name for found in dfs.get_paths("d")] == ["d/f"]
        moved.delete_file()
        gen2_proxy.add(Rule(AnswerInstead(), operation="path.create"))
        refused(503, "ServerBusy", dfs.create_file, "g")
    assert gen2_proxy.operations() == {
        "path.create": 3,
        "path.append": 1,
        "path.flush": 1,
        "path.rename": 1,
        "path.access_control": 1,
        "path.list": 1,
        "path.delete": 1,
    }
    assert gen2_server.statistics().requests.keys() >= gen2_proxy.operations().keys()


def test_a_kill_loses_nothing(gen2_server: AzureServer, gen2_container: AzureContainer) -> None:
    dfs, name = gen2_container.dfs_client, gen2_container.name
    dfs.create_directory("to")
    source = dfs.get_file_client("from/f")
    source.upload_data(b"content", overwrite=True, metadata={"nonce": "n"})
    source.rename_file(f"{name}/to/f", **MISSING)
    half = dfs.create_file("half")
    half.append_data(b"abc", offset=0, length=3)
    staged = gen2_container.client.get_blob_client("staged")
    staged.stage_block("block-1", b"block")
    gen2_container.client.upload_blob("deleted", b"")
    gen2_container.client.delete_blob("deleted")
    before = [(found.name, found.etag) for found in dfs.get_paths()]
    gen2_server.kill()
    assert not gen2_server.running
    gen2_server.restart()
    assert [(found.name, found.etag) for found in dfs.get_paths()] == before
    moved = dfs.get_file_client("to/f")
    assert moved.download_file().readall() == b"content"
    assert moved.get_file_properties().metadata == {"nonce": "n"}
    half.flush_data(3)
    assert half.download_file().readall() == b"abc"
    staged.commit_block_list(["block-1"])
    assert staged.download_blob().readall() == b"block"
    # Etags go on where they were.
    assert max(found.etag for found in dfs.get_paths()) > max(etag for _, etag in before)


def test_a_kill_in_the_middle_loses_nothing(
    gen2_server: AzureServer, gen2_container: AzureContainer
) -> None:
    """What was acknowledged is there as it was, and what was renamed only where it went."""
    dfs, name = gen2_container.dfs_client, gen2_container.name
    dfs.create_directory("to")
    begun = threading.Event()

    def work(worker: int) -> dict[str, bytes]:
        done: dict[str, bytes] = {}
        with suppress(AzureError):
            for number in itertools.count():
                path, content = f"{worker}-{number}", b"%d" % number * 1_000
                gen2_container.client.upload_blob(path, content)
                done[path] = content
                dfs.get_file_client(path).rename_file(f"{name}/to/{path}", **MISSING)
                done[f"to/{path}"] = done.pop(path)
                if number == 5:
                    begun.set()
        return done

    with ThreadPoolExecutor(4) as pool:
        working = [pool.submit(work, worker) for worker in range(4)]
        assert begun.wait(60)
        gen2_server.kill()
        done = {path: content for each in working for path, content in each.result().items()}
    gen2_server.restart()
    found = {one.name for one in dfs.get_paths() if not one.is_directory}
    for path, content in done.items():
        # Its last rename may have happened without an answer.
        place = path if path in found else f"to/{path}"
        assert gen2_container.client.download_blob(place).readall() == content
    # Beside these at most one unanswered write of each worker.
    assert len(found) <= len(done) + 4
