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
from tests.scenes.places import LocalPlace
from tests.scenes.remotes import on
from tests.sweeps import some_tests_by_day

if TYPE_CHECKING:
    from pathlib import Path

    from tests.scenes.places import Place
    from tests.scenes.remotes import Remote

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


def known_to_a_shell(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, object]:
    """By the environment where the store's own tools look there; what is left are options."""
    options = dict(remote.options)
    if remote.name == "ministack":
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", options.pop("key"))
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", options.pop("secret"))
    elif remote.name == "strict-gcs":
        key_file = tmp_path / "key.json"
        key_file.write_text(json.dumps(remote.server.service_account), "utf-8")
        options["token"] = key_file
    elif "connection_string" in options:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", options.pop("connection_string"))
    return options


@some_tests_by_day(2, everywhere=True)
@on("ministack", "strict-gcs", "gen2", "azurite", "hdfs", "webhdfs")
def test_a_remote_store(
    flights: Path, remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = known_to_a_shell(remote, tmp_path, monkeypatch)
    place = remote.place()
    check(flights, place, place.url, remote.committer, **options)
