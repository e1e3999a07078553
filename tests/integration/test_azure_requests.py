"""What a job sends over the wire to Azure, counted by the proxy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.scenes.attempts import learn
from tests.scenes.azure_places import AzurePlace, azure_places
from tests.scenes.costs import directories_of, exchanged, requests_of, shapes

if TYPE_CHECKING:
    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.proxy import FaultProxy

PER_JOB = 32
PER_COMMIT = 24
SHAPES = shapes()
every_shape = pytest.mark.parametrize("tasks", SHAPES.values(), ids=SHAPES)


def proxied(container: AzureContainer, proxy: FaultProxy) -> AzurePlace:
    """A destination by the proxy, once it is known what the server does."""
    place: AzurePlace = azure_places(container, endpoint_url=proxy.endpoint_url)("one")
    learn(place, place.committer)
    proxy.clear()
    return place


@every_shape
@pytest.mark.parametrize("azure_server", ["gen2"], indirect=True)
def test_a_rename_publishes_a_file(
    azure_container: AzureContainer, azure_proxy: FaultProxy, tasks: list[list[str]]
) -> None:
    """One request a file in the job's commit, and one for each new directory."""
    place = proxied(azure_container, azure_proxy)
    writing, commit = requests_of(place, azure_proxy, tasks)
    exchanges = writing + commit
    files, directories = sum(map(len, tasks)), directories_of(tasks)
    renamed = [one for one in commit if one.operation == "path.rename"]
    assert len(renamed) == files + 1, exchanged(renamed)  # the marker
    made = [one.path for one in commit if one.operation == "path.create"]
    assert len(made) == len(set(made)) == directories
    assert len(commit) <= files + directories + 2 * len(tasks) + PER_COMMIT, exchanged(commit)
    whole = 3 * files + directories + 5 * len(tasks) + PER_JOB
    assert len(exchanges) <= whole, exchanged(exchanges)


@every_shape
@pytest.mark.parametrize("azure_server", ["azurite"], indirect=True)
def test_a_block_list_publishes_a_file(
    azure_container: AzureContainer, azure_proxy: FaultProxy, tasks: list[list[str]]
) -> None:
    """Two requests a file in the whole job: a block, and its completion."""
    place = proxied(azure_container, azure_proxy)
    writing, commit = requests_of(place, azure_proxy, tasks)
    exchanges = writing + commit
    files = sum(map(len, tasks))
    assert azure_proxy.operations()["blocklist.put"] == files + 1  # the marker
    assert azure_proxy.operations()["block.put"] == files + 1
    assert len(commit) <= files + 3 * len(tasks) + PER_COMMIT, exchanged(commit)
    assert len(exchanges) <= 2 * files + 5 * len(tasks) + PER_JOB, exchanged(exchanges)


def test_an_append_of_unique_names_lists_no_files(
    azure_container: AzureContainer, azure_proxy: FaultProxy
) -> None:
    """Only work areas are listed."""
    place = proxied(azure_container, azure_proxy)
    names = [f"day={day}/part.txt" for day in range(5)]
    for _ in range(2):
        requests_of(place, azure_proxy, [names, names])
        listed = [
            one.query.get("prefix") or one.query.get("directory", "")
            for one in azure_proxy.exchanges
            if one.operation in {"blob.list", "path.list"}
        ]
        assert listed
        areas, marker = f"{place.root}/_commit", f"{place.root}/_SUCCESS/"
        assert all(prefix.startswith(areas) or prefix == marker for prefix in listed), listed
