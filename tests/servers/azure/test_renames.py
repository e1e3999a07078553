"""Renames on our own server, through azure-storage-file-datalake."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import (
    ResourceExistsError,
    ResourceNotFoundError,
)
from azure.storage.filedatalake import ContentSettings
from azure.storage.filedatalake._generated.models import ModifiedAccessConditions

from tests.servers.azure.refusals import names, refused
from tests.servers.races import ROUNDS, race

if TYPE_CHECKING:
    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.azure.server import AzureServer

MISSING = {"match_condition": MatchConditions.IfMissing}


def test_a_rename_keeps_the_etag(gen2_container: AzureContainer) -> None:
    dfs, name = gen2_container.dfs_client, gen2_container.name
    dfs.create_directory("to")
    source = dfs.get_file_client("from ü/f=1.txt")
    settings = ContentSettings(content_type="text/csv")
    source.upload_data(
        b"content", overwrite=True, metadata={"nonce": "n"}, content_settings=settings
    )
    before = source.get_file_properties()
    source.rename_file(f"{name}/to/f 2.txt", **MISSING)
    after = dfs.get_file_client("to/f 2.txt").get_file_properties()
    assert (after.etag, after.metadata, after.size) == (before.etag, {"nonce": "n"}, 7)
    assert after.content_settings.content_type == "text/csv"
    listed = {found.name: found.etag for found in dfs.get_paths("to")}
    assert listed == {"to/f 2.txt": before.etag.strip('"')}
    with pytest.raises(ResourceNotFoundError):
        source.get_file_properties()


def test_conditions_of_a_rename(gen2_container: AzureContainer) -> None:
    dfs, name = gen2_container.dfs_client, gen2_container.name
    for path in ("a", "b", "c"):
        dfs.get_file_client(path).upload_data(path.encode(), overwrite=True)
    etags = {found.name: found.etag for found in dfs.get_paths()}
    file = dfs.get_file_client("a")
    refused(409, "PathAlreadyExists", file.rename_file, f"{name}/b", **MISSING)
    same = MatchConditions.IfNotModified
    source = {"source_etag": etags["b"], "source_match_condition": same}
    refused(412, "SourceConditionNotMet", file.rename_file, f"{name}/b", **source)
    expected = {"etag": etags["c"], "match_condition": same}
    refused(412, "ConditionNotMet", file.rename_file, f"{name}/b", **expected)
    refused(412, "ConditionNotMet", file.rename_file, f"{name}/none", **expected)
    right = {"source_etag": etags["a"], "source_match_condition": same}
    file.rename_file(f"{name}/b", etag=etags["b"], match_condition=same, **right)
    assert dfs.get_file_client("b").download_file().readall() == b"a"
    dfs.get_file_client("b").rename_file(f"{name}/c")
    assert names(gen2_container) == ["c"]
    # A reply that was lost: the source is gone, and the etag is where it was to go.
    refused(404, "SourcePathNotFound", file.rename_file, f"{name}/c", **MISSING)
    assert dfs.get_file_client("c").get_file_properties().etag.strip('"') == etags["a"]


@pytest.mark.parametrize("odd", ["100% ?#&=+.txt", "ü 日本é", "a\\b", "it's;(1),~!$"])
def test_odd_names_are_kept(gen2_container: AzureContainer, odd: str) -> None:
    dfs, name = gen2_container.dfs_client, gen2_container.name
    dfs.create_directory(odd).rename_directory(f"{name}/to")
    gen2_container.client.upload_blob(f"from {odd}", b"content")
    dfs.get_file_client(f"from {odd}").rename_file(f"{name}/to/{odd}", **MISSING)
    assert names(gen2_container) == ["to", f"to/{odd}"]
    assert gen2_container.client.download_blob(f"to/{odd}").readall() == b"content"
    listed = gen2_container.client.list_blobs(f"to/{odd}")
    assert [found.name for found in listed] == [f"to/{odd}"]


def test_the_source_of_a_rename_is_percent_encoded(gen2_container: AzureContainer) -> None:
    """By whoever asks: the SDK for Python decodes a name first that looks as if it were."""
    dfs, name = gen2_container.dfs_client, gen2_container.name
    gen2_container.client.upload_blob("d/%41", b"content")
    refused(404, "SourcePathNotFound", dfs.get_file_client("d/%41").rename_file, f"{name}/t")
    target = dfs.get_file_client("t")
    # As the one for Java does it, slashes included.
    assert calls(target, "create", mode="legacy", rename_source=f"{name}%2Fd%2F%2541") == 1
    assert target.download_file().readall() == b"content"


def test_what_is_in_the_way_of_a_rename(gen2_container: AzureContainer) -> None:
    dfs, name = gen2_container.dfs_client, gen2_container.name
    dfs.create_file("f")
    dfs.create_file("d/inside")
    dfs.create_directory("empty")
    file, directory = dfs.get_file_client("f"), dfs.get_directory_client("d")
    refused(404, "RenameDestinationParentPathNotFound", file.rename_file, f"{name}/no/f", **MISSING)
    refused(409, "InvalidDestinationPath", directory.rename_directory, f"{name}/f/g")
    refused(409, "InvalidSourceOrDestinationResourceType", file.rename_file, f"{name}/empty")
    refused(409, "InvalidRenameSourcePath", directory.rename_directory, f"{name}/d/inside2")
    dfs.create_file("full/inside")
    refused(409, "PathAlreadyExists", directory.rename_directory, f"{name}/full")
    refused(409, "PathAlreadyExists", directory.rename_directory, f"{name}/empty", **MISSING)
    directory.rename_directory(f"{name}/empty")
    assert names(gen2_container) == ["empty", "empty/inside", "f", "full", "full/inside"]


def test_a_directory_moves_with_all_its_etags(gen2_container: AzureContainer) -> None:
    dfs, name = gen2_container.dfs_client, gen2_container.name
    for number in range(5):
        dfs.create_file(f"d/e/{number}")
    before = {found.name.removeprefix("d/"): found.etag for found in dfs.get_paths("d")}
    dfs.get_directory_client("d").rename_directory(f"{name}/moved", **MISSING)
    after = {found.name.removeprefix("moved/"): found.etag for found in dfs.get_paths("moved")}
    assert after == before
    assert not dfs.get_directory_client("d").exists()


def test_a_rename_and_a_delete_take_several_calls(
    gen2_server: AzureServer, gen2_container: AzureContainer
) -> None:
    dfs, name = gen2_container.dfs_client, gen2_container.name
    for number in range(5):
        dfs.create_file(f"d/{number % 2}/{number}")
    etags = {found.name.removeprefix("d/"): found.etag for found in dfs.get_paths("d")}
    gen2_server.settings(paths_per_call=2)
    target = dfs.get_directory_client("to")
    assert calls(target, "create", mode="legacy", rename_source=f"/{name}/d", **MISSING) == 3
    assert not dfs.get_directory_client("d").exists()
    moved = {found.name.removeprefix("to/"): found.etag for found in dfs.get_paths("to")}
    files = [path for path in etags if "/" in path]
    assert len(files) == 5
    assert {path: moved[path] for path in files} == {path: etags[path] for path in files}
    assert calls(target, "delete", recursive=True) == 4
    assert names(gen2_container) == []


def calls(client: Any, verb: str, **options: Any) -> int:
    """How many it takes: the SDK follows no continuation of a rename."""
    made, token = 0, None
    if options.pop("match_condition", None) is MatchConditions.IfMissing:
        options["modified_access_conditions"] = ModifiedAccessConditions(if_none_match="*")
    # Its public verbs make one call.
    call = getattr(client._client.path, verb)
    while made == 0 or token:
        headers = call(continuation=token, cls=lambda *found: found[2], **options)
        token, made = headers["x-ms-continuation"], made + 1
    return made


def test_one_of_many_renames(gen2_container: AzureContainer) -> None:
    client, dfs, name = gen2_container.client, gen2_container.dfs_client, gen2_container.name

    def rename(turn: int, racer: int) -> bool:
        source = f"s{turn}-{racer}"
        client.upload_blob(source, b"%d" % racer)
        try:
            dfs.get_file_client(source).rename_file(f"{name}/t{turn}", **MISSING)
        except ResourceExistsError:
            return False
        return True

    for turn in range(ROUNDS):
        won = race(partial(rename, turn))
        assert won.count(True) == 1
        assert client.download_blob(f"t{turn}").readall() == b"%d" % won.index(True)
