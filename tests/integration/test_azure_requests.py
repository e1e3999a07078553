"""What a job sends over the wire to Azure, counted by the proxy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from tests.integration.azure_places import AzurePlace, azure_places
from tests.integration.s3_jobs import learn, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.proxied_connection import Exchange
    from tests.servers.proxy import FaultProxy

PER_JOB = 32
PER_COMMIT = 24
DAYS = 30
SHAPES = {
    "one file": [["part.txt"]],
    "many files": [[f"day={day}/part.txt" for day in range(DAYS)] for _ in range(2)],
    "ten tasks": [["part.txt"] for _ in range(10)],
}
every_shape = pytest.mark.parametrize("tasks", SHAPES.values(), ids=SHAPES.keys())


def proxied(container: AzureContainer, proxy: FaultProxy) -> AzurePlace:
    """A destination by the proxy, once it is known what the server does."""
    place: AzurePlace = azure_places(container, endpoint_url=proxy.endpoint_url)("one")  # type: ignore[assignment]  # it makes AzurePlaces
    learn(place, place.committer)
    proxy.clear()
    return place


def run(place: AzurePlace, proxy: FaultProxy, tasks: list[list[str]], **options: Any) -> int:
    """A whole job; how many requests there were before its commit."""
    proxy.clear()
    job = fc.Job(place.url, **{"mode": "append", **options}, **place.how).start()
    for names in tasks:
        with job.task() as task:
            for name in names:
                write(task, name, name)
    before = len(proxy.exchanges)
    assert job.commit().warnings == ()
    return before


def shown(exchanges: Sequence[Exchange]) -> str:
    return "\n".join(f"{one.operation} {one.path} {one.query}" for one in exchanges)


def directories_of(tasks: list[list[str]]) -> int:
    return len({name.rpartition("/")[0] for names in tasks for name in names} - {""})


@every_shape
@pytest.mark.parametrize("azure_server", ["gen2"], indirect=True)
def test_a_rename_publishes_a_file(
    azure_container: AzureContainer, azure_proxy: FaultProxy, tasks: list[list[str]]
) -> None:
    """One request a file in the job's commit, and one for each new directory."""
    place = proxied(azure_container, azure_proxy)
    before = run(place, azure_proxy, tasks)
    exchanges = azure_proxy.exchanges
    files, directories = sum(map(len, tasks)), directories_of(tasks)
    commit = exchanges[before:]
    renamed = [one for one in commit if one.operation == "path.rename"]
    assert len(renamed) == files + 1, shown(renamed)  # the marker
    made = [one.path for one in commit if one.operation == "path.create"]
    assert len(made) == len(set(made)) == directories
    assert len(commit) <= files + directories + 2 * len(tasks) + PER_COMMIT, shown(commit)
    whole = 3 * files + directories + 5 * len(tasks) + PER_JOB
    assert len(exchanges) <= whole, shown(exchanges)


@every_shape
@pytest.mark.parametrize("azure_server", ["azurite"], indirect=True)
def test_a_block_list_publishes_a_file(
    azure_container: AzureContainer, azure_proxy: FaultProxy, tasks: list[list[str]]
) -> None:
    """Two requests a file in the whole job: a block, and its completion."""
    place = proxied(azure_container, azure_proxy)
    before = run(place, azure_proxy, tasks)
    exchanges = azure_proxy.exchanges
    files = sum(map(len, tasks))
    commit = exchanges[before:]
    assert azure_proxy.operations()["blocklist.put"] == files + 1  # the marker
    assert azure_proxy.operations()["block.put"] == files + 1
    assert len(commit) <= files + 3 * len(tasks) + PER_COMMIT, shown(commit)
    assert len(exchanges) <= 2 * files + 5 * len(tasks) + PER_JOB, shown(exchanges)


def test_an_append_of_unique_names_lists_no_files(
    azure_container: AzureContainer, azure_proxy: FaultProxy
) -> None:
    """Only work areas are listed."""
    place = proxied(azure_container, azure_proxy)
    names = [f"day={day}/part.txt" for day in range(5)]
    for _ in range(2):
        run(place, azure_proxy, [names, names])
        listed = [
            one.query.get("prefix") or one.query.get("directory", "")
            for one in azure_proxy.exchanges
            if one.operation in {"blob.list", "path.list"}
        ]
        assert listed
        areas, marker = f"{place.root}/_commit", f"{place.root}/_SUCCESS/"
        assert all(prefix.startswith(areas) or prefix == marker for prefix in listed), listed
