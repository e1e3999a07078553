"""One line of shell, on every store: the flights commit, by the committer that `explain` names."""

from __future__ import annotations

import json
import re
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pyarrow.csv
import pyarrow.parquet
import pytest

from tests.demo.flights import FLIGHTS, all_flights
from tests.integration.cli.command import command
from tests.scenes.azure_places import AzurePlace, azure_places
from tests.scenes.gcs_places import gcs_places
from tests.scenes.hdfs_places import HdfsPlace
from tests.scenes.places import LocalPlace, S3Place, s3_places

if TYPE_CHECKING:
    from pathlib import Path

    from tests.scenes.places import Place
    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.gcs.plugin import GcsBucket
    from tests.servers.hdfs.plugin import HdfsDirectory
    from tests.servers.plugin import S3Bucket

# The flights come with the demo, which the wheel does not bring.
pytestmark = pytest.mark.checkout

EVERY = 100
MONTHS = 12
DATA = re.compile(r"month=\d+/[^/]+\.parquet")


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some flights of every month, as a file of text."""
    path = tmp_path_factory.mktemp("flights") / "flights.csv"
    pyarrow.csv.write_csv(all_flights().take(list(range(0, FLIGHTS, EVERY))), path)
    return path


def check(flights: Path, place: Place, url: object, committer: str, **options: Any) -> None:
    """Write, look with the store's own client, and ask why it was done so."""
    how = [f"--storage-option={name}={value}" for name, value in options.items()]
    ran = command("write", flights, url, "--partition-by", "month", "--json", *how)
    assert ran.status == 0, ran.err
    said = ran.document
    rows = len(range(0, FLIGHTS, EVERY))
    assert (said["committer"], said["rows"]) == (committer, rows)
    shown = {name: data for name, data in place.data().items() if not name.startswith("_")}
    assert all(map(DATA.fullmatch, shown)), list(shown)
    assert len({name.partition("/")[0] for name in shown}) == MONTHS
    read = [pyarrow.parquet.read_metadata(BytesIO(data)).num_rows for data in shown.values()]
    assert sum(read) == rows
    assert place.pending() == []
    explained = command("explain", url, "--json", *how).document
    assert explained["committer"] == committer
    assert explained["reasons"][0].startswith(f"{committer}: "), explained["reasons"]


def test_a_local_directory(flights: Path, tmp_path: Path) -> None:
    check(flights, LocalPlace(tmp_path / "out"), f"file://{tmp_path / 'out'}", "v1")


@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
def test_s3(flights: Path, s3_bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    place: S3Place = s3_places(s3_bucket)("out")
    account = place.storage_options
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", account["key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", account["secret"])
    check(flights, place, place.url, "magic", endpoint_url=s3_bucket.server.endpoint_url)


@pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)
def test_gcs(flights: Path, gcs_bucket: GcsBucket, tmp_path: Path) -> None:
    key_file, server = tmp_path / "key.json", gcs_bucket.server
    key_file.write_text(json.dumps(server.service_account), "utf-8")
    options = {"token": key_file, "endpoint_url": server.endpoint_url}
    place = gcs_places(gcs_bucket)("out")
    check(flights, place, place.where["destination"], "manifest", **options)


def test_azure(
    flights: Path, azure_container: AzureContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gen2 and flat."""
    text = azure_container.storage_options["connection_string"]
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
    place: AzurePlace = azure_places(azure_container)("out")
    committer = "manifest" if azure_container.server.is_hierarchical else "magic"
    check(flights, place, place.url, committer)


def test_hdfs(flights: Path, hdfs_directory: HdfsDirectory) -> None:
    """By either client."""
    place = HdfsPlace(hdfs_directory, "out")
    check(flights, place, place.url, "v1", **hdfs_directory.storage_options)
