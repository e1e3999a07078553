"""What can differ between a checkout and the wheel: modules, entry points, data, what is required.

`python -m tests.smoke` runs these against the wheel, where nothing is installed but what its extras
ask for: by one interpreter in `.ci/run`, by each of the machine in `make nightly`.
"""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pytest

import fsspec_commit as fc
import fsspec_commit_stores
from fsspec_commit.testing import assert_committed
from tests.servers.slow_s3.server import SlowS3

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.gcs.plugin import GcsBucket

TABLE = pa.table({"year": [2013, 2014], "flights": [336_776, 0]})

# Of 478 MB, which the wheel is not tried with; what imports it is, in the checkout.
OF_PYSPARK = {"fsspec_commit.engines.spark.data_source"}


@pytest.mark.parametrize("package", [fc, fsspec_commit_stores], ids=lambda one: one.__name__)
def test_every_module_is_there_with_what_it_imports(package: Any) -> None:
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    names = {one.name for one in found} - OF_PYSPARK
    assert len(names) > 20
    for name in names:
        importlib.import_module(name)


@pytest.mark.parametrize("package", ["fsspec_commit", "fsspec_commit_stores"])
def test_type_checkers_are_told_of_its_types(package: str) -> None:
    assert files(package).joinpath("py.typed").is_file()


def test_pytest_finds_the_plugin() -> None:
    [plugin] = entry_points(group="pytest11", name="fsspec_commit")
    assert plugin.load().__name__ == "fsspec_commit.testing.plugin"


def test_the_command_writes_a_dataset(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("fsspec-commit")
    source = tmp_path / "flights.csv"
    source.write_text("year,flights\n2013,336776\n2014,0\n", "utf-8")
    out = tmp_path / "out"
    write: list[str | Path] = [command, "write", source, out, "--partition-by", "year"]
    subprocess.run(write, check=True, capture_output=True)
    assert sorted(path.name for path in out.glob("year=*")) == ["year=2013", "year=2014"]
    shown = subprocess.run([command, "explain", out], check=True, capture_output=True)
    assert b"v1" in shown.stdout


def check(url: str, committer: str, **storage_options: Any) -> None:
    """A job of one task, and a dataset by Arrow beside it."""
    how: Mapping[str, Any] = {"storage_options": storage_options}
    with fc.Job(url, **how) as job, job.task() as task, task.open("a/1.txt", "w") as file:
        file.write("one")
    assert_committed(url, file_count=1, **how)
    result = fc.write_dataset(TABLE, f"{url}-by-arrow", partition_by=["year"], **how)
    assert result.committer == committer
    assert_committed(f"{url}-by-arrow", file_count=2, **how)


def test_a_job_on_a_disk(tmp_path: Path) -> None:
    check(str(tmp_path / "out"), "v1")


def test_a_job_in_memory() -> None:
    check(f"memory://{uuid4().hex}", "v1")


def test_a_job_on_s3() -> None:
    with SlowS3() as server:
        url = f"s3://{server.new_bucket()}/out"
        check(url, "magic", **server.storage_options)


@pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)
def test_a_job_on_gcs(gcs_bucket: GcsBucket) -> None:
    check(f"{gcs_bucket.url}/out", "manifest", **gcs_bucket.storage_options)


@pytest.mark.parametrize("azure_server", ["gen2"], indirect=True)
def test_a_job_on_azure(azure_container: AzureContainer) -> None:
    check(f"{azure_container.url}/out", "manifest", **azure_container.storage_options)
