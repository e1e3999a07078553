"""Somebody changes what a file has besides its content, while a job runs: to the job it is another.

By its metadata, which the service documents to change the etag; an access control list may, too.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from azure.core.exceptions import ResourceNotFoundError

import fsspec_commit as fc
from fsspec_commit.errors import Reply
from fsspec_commit.layout import StorePath
from fsspec_commit.store import OpenOptions, Token
from fsspec_commit_stores.azure import AzureStore
from tests.scenes.wire import At
from tests.servers.faults import LoseReply
from tests.unit.stores.asking import ask_twice

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.proxy import FaultProxy


def write(container: AzureContainer, names: str, mode: Any, endpoint_url: str) -> tuple[str, ...]:
    options = container.server.storage_options_through(endpoint_url)
    job = fc.Job(f"{container.url}/out", mode=mode, storage_options=options)
    with job, job.task() as task:
        for name in names.split():
            with task.open(f"{name}.txt", "w") as file:
                file.write(name)
    return job.result.warnings


def data(container: AzureContainer) -> list[str]:
    names = [one.name for one in container.client.list_blobs("out/") if one.size]
    return sorted(n.removeprefix("out/").partition("-")[0] for n in names if "/_commit/" not in n)


def touching(container: AzureContainer, ending: str) -> Callable[[], None]:
    """Gives every file of such a name other metadata beside its own."""

    def touch() -> None:
        for one in container.client.list_blobs("out/", include=["metadata"]):
            if one.name.partition("-")[0].endswith(ending) or one.name.endswith(ending):
                with suppress(ResourceNotFoundError):  # done by then
                    blob = container.client.get_blob_client(one.name)
                    blob.set_blob_metadata({**(one.metadata or {}), "touched": "1"})

    return touch


def test_an_old_file_stays_as_if_it_were_rewritten(
    gen2_container: AzureContainer, gen2_proxy: FaultProxy
) -> None:
    """Taken for what was listed, a newer file could be lost."""
    write(gen2_container, "kept gone", "append", gen2_proxy.endpoint_url)
    rule = gen2_proxy.add(
        At("path.rename", "new").rule(None, before=touching(gen2_container, "out/kept"))
    )
    (warning,) = write(gen2_container, "new", "overwrite", gen2_proxy.endpoint_url)
    assert rule.met
    assert "stay beside the new ones: 'kept-" in warning
    assert data(gen2_container) == ["kept", "new"]


def test_a_file_that_waits_is_not_published_and_not_lost(
    gen2_container: AzureContainer, gen2_proxy: FaultProxy
) -> None:
    rule = gen2_proxy.add(
        At("path.rename", "first").rule(None, before=touching(gen2_container, ".pending"))
    )
    with pytest.raises(fc.PartialCommitError) as caught:
        write(gen2_container, "first second", "append", gen2_proxy.endpoint_url)
    assert rule.met
    assert caught.value.outcome == "partial"
    names = list(gen2_container.client.list_blob_names())
    waiting = [name for name in names if "/tasks/" in name and name.endswith(".pending")]
    assert len(waiting) + len(data(gen2_container)) == 2
    assert waiting


def test_a_file_that_is_published_is_known_again(
    gen2_container: AzureContainer, gen2_proxy: FaultProxy
) -> None:
    """By what it carries: to who was not told that it was renamed, it was lost."""
    touch = touching(gen2_container, "out/first")
    rule = gen2_proxy.add(At("path.rename", "first").rule(LoseReply(), after=touch))
    write(gen2_container, "first second", "append", gen2_proxy.endpoint_url)
    assert rule.met
    assert data(gen2_container) == ["first", "second"]


def test_a_directory_is_not_deleted_in_a_file_s_place(gen2_container: AzureContainer) -> None:
    """*Delete Blob* takes an empty one; but not by the etag of the file that stood there."""

    async def delete(path: StorePath, token: Token) -> None:
        store = await AzureStore.open(
            f"{gen2_container.url}/out",
            OpenOptions(storage_options=gen2_container.storage_options, ask=ask_twice),
        )
        try:
            await store.delete(path, expecting=token)
        finally:
            await store.close()

    blob = gen2_container.client.get_blob_client("out/a")
    token = Token(blob.upload_blob(b"1")["etag"].strip('"'))
    blob.delete_blob()
    directory = gen2_container.dfs_client.get_directory_client("out/a")
    directory.create_directory()
    with pytest.raises(fc.StoreError) as caught:
        asyncio.run(delete(StorePath(f"{gen2_container.name}/out/a"), token))
    assert caught.value.reply is Reply.REFUSED
    assert directory.exists()
