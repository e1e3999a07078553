"""What is read through HDFS is the file, all of it, and never what a DataNode says of a failure."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

import fsspec_commit as fc
from fsspec_commit.cli.json_lines import batches
from fsspec_commit.cli.sources import find_sources
from fsspec_commit.filesystems import filesystem_of
from tests.servers.hdfs.cluster import HdfsCluster
from tests.servers.hdfs.plugin import HdfsDirectory
from tests.servers.plugin import available_or_skip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Options: TypeAlias = dict[str, Any]
ROWS = b'{"a": 1}\n{"a": 2}\n'
FILES, REPORTS_EVERY_MS = 8, 300


def by_filesystem(url: str, options: Options) -> list[str]:
    """As whoever lists the files of jobs and opens them."""
    found = fc.committed_files(url, storage_options=options)
    with found.filesystem.open(found.paths[0]) as file:
        return list(file.read().decode().splitlines())


def by_dataset(url: str, options: Options) -> list[str]:
    """As a dataset of Arrow's."""
    return [str(fc.dataset(url, format="json", storage_options=options).to_table().to_pylist())]


def by_command(url: str, options: Options) -> list[str]:
    """As the source of the command ``write``."""
    (file,) = find_sources([url], as_format=None, options=options)
    return [str(batch.to_pylist()) for batch in batches(file, None)]


@pytest.mark.parametrize("hdfs_directory", ["webhdfs"], indirect=True)
@pytest.mark.parametrize("read", [by_filesystem, by_dataset, by_command])
def test_a_file_that_goes_before_its_data_node_is_asked_is_missing(
    hdfs_directory: HdfsDirectory, read: Callable[[str, Options], list[str]]
) -> None:
    """An overwrite deletes it when the NameNode has said which DataNode to ask.

    fsspec's own client takes what the DataNode answers then for the content: a line of JSON.
    """
    asked: list[str] = []

    def goes_by(location: str) -> str:
        # fsspec's `data_proxy`, called with the address of each request.
        if "namenoderpcaddress" in location:
            hdfs_directory.cluster.client.delete(path)
            asked.append(location)
        return location

    path, url = f"{hdfs_directory.path}/a.jsonl", hdfs_directory.url
    options = hdfs_directory.storage_options
    hdfs_directory.write(path, ROWS)
    whole = read(url, options)
    assert "2" in whole[-1]
    with pytest.raises(FileNotFoundError):
        read(url, {**options, "data_proxy": goes_by})
    assert asked


@pytest.fixture
def slow_to_report(hdfs_environment: None) -> Iterator[HdfsDirectory]:
    """On a cluster of which the NameNode hears of most blocks when their file is long closed."""
    start = partial(HdfsCluster, reports_every_ms=REPORTS_EVERY_MS)
    with available_or_skip(start) as cluster:
        yield HdfsDirectory(cluster, "hdfs", "/out")


def test_a_block_that_is_not_reported_is_waited_for(slow_to_report: HdfsDirectory) -> None:
    """hdfs-native has less of a file that is read too soon, and does not say so."""
    client, path = slow_to_report.cluster.client, slow_to_report.path
    filesystem, _ = filesystem_of(slow_to_report.url)
    too_soon = 0
    for number in range(FILES):
        slow_to_report.write(f"{path}/plain-{number}", ROWS)
        too_soon += bytes(client.read(f"{path}/plain-{number}").read()) != ROWS
        slow_to_report.write(f"{path}/{number}", ROWS)
        with filesystem.open(f"{path}/{number}") as file:
            assert file.read() == ROWS
    assert too_soon
