"""`import fsspec_commit as fc`: exactly the names that the specification of the API promises."""

from __future__ import annotations

import inspect
import sys

import pytest

import fsspec_commit as fc
from fsspec_commit import store, testing

# Section 1 to 5 of the API, as far as this release goes.
PUBLIC = {
    # writing
    *("Job", "JobOptions", "JobSpec", "Mode", "Task", "TaskCommit", "hive_path", "write_dataset"),
    *("AdoptedFile", "dask", "spark"),
    # the result
    *("CommitResult", "FileNames"),
    # who publishes
    "Publisher",
    # reading
    *("CommittedFiles", "VerifyReport", "committed_files", "dataset", "verify"),
    # recovery, choosing
    *("CleanReport", "JobInfo", "ProbeReport", "Selection"),
    *("abort", "clean", "explain", "jobs", "probe", "resume"),
    # beside the specification: what Hadoop's own jobs have left
    *("HadoopJob", "HadoopTask", "hadoop_jobs"),
    # stores
    *("AtomicRename", "Capabilities", "register"),
    # errors
    *("CommitError", "CommitFailedError", "CommitStateUnknownError", "ConcurrentJobError"),
    *("ConflictError", "DestinationExistsError", "JobNotActiveError", "NewerVersionError"),
    *("PartialCommitError", "RecordError", "RequestError", "SnapshotUnstableError", "StoreError"),
    *("UnknownProtocolError", "UnsafeStoreError"),
}
LATER = {"ray"}


def test_the_names_are_those_of_the_specification() -> None:
    assert set(fc.__all__) - LATER == PUBLIC
    assert sorted(fc.__all__, key=lambda name: (name[0].islower(), name)) == fc.__all__


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_public_name_is_there(name: str) -> None:
    value = getattr(fc, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__doc__, f"{name} says nothing of itself"
        assert value.__name__ == name


def test_without_arrow_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for engine in ("arrow", "dataset", "partitioned", "feed"):
        monkeypatch.delitem(sys.modules, f"fsspec_commit.engines.{engine}", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'fsspec-commit\[arrow\]'"):
        _ = fc.write_dataset
    with pytest.raises(ImportError, match="dataset needs pyarrow"):
        _ = fc.dataset


def test_no_other_name_is_promised() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        fc.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_every_name_of_the_parts_is_there() -> None:
    for part in (store, testing):
        assert sorted(part.__all__) == sorted(set(part.__all__))
        for name in part.__all__:
            assert getattr(part, name) is not None
    assert {"Store", "RenamesFiles", "RenamesDirectories", "CompletesUploads"} <= set(store.__all__)
    assert {"StoreContract", "CommitterContract", "FaultyStore", "Fault", "Crash", "inject"} <= set(
        testing.__all__
    )


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        ("jobs", {"storage_options", "filesystem", "probe", "single_writer"}),
        ("hadoop_jobs", {"storage_options", "filesystem", "probe", "single_writer"}),
        (
            "resume",
            {
                *("job_id", "accept_loss", "callback", "publisher", "share_secrets"),
                *("storage_options", "filesystem", "probe", "single_writer"),
            },
        ),
        ("abort", {"job_id", "storage_options", "filesystem", "probe", "single_writer"}),
        (
            "clean",
            {
                *("older_than", "dry_run", "damaged", "accept_loss"),
                *("storage_options", "filesystem", "probe", "single_writer"),
            },
        ),
        ("explain", {"committer", "storage_options", "filesystem", "probe", "single_writer"}),
        ("probe", {"storage_options", "filesystem", "single_writer"}),
        ("committed_files", {"storage_options", "filesystem"}),
        ("verify", {"storage_options", "filesystem"}),
        (
            "dataset",
            {"format", "schema", "partitioning", "storage_options", "filesystem"},
        ),
    ],
)
def test_the_operations_take_what_is_specified(function: str, parameters: set[str]) -> None:
    signature = inspect.signature(getattr(fc, function))
    assert set(signature.parameters) == {"destination", *parameters}
    for name, parameter in signature.parameters.items():
        by_place = name in {"destination", "job_id"}
        assert (parameter.kind is parameter.KEYWORD_ONLY) != by_place


def test_the_options_of_a_job_are_those_of_the_specification() -> None:
    assert set(fc.JobOptions.__annotations__) == {
        *("mode", "partitions", "names", "committer", "tasks", "collect", "idempotency_key"),
        *("success", "allow_empty", "wait_s", "concurrency", "durability", "probe"),
        *("single_writer", "delete_by_name", "storage_options", "filesystem", "share_secrets"),
        "write_behind",
        *("callback", "publisher"),
    }


def test_every_name_is_completed_before_its_first_use() -> None:
    """Editors and notebooks ask for `dir`."""
    assert {*fc.__all__, "__version__"} <= set(dir(fc))


def test_without_pytest_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if "testing.store_contract" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pytest", None)
    with pytest.raises(ImportError, match=r"pip install 'fsspec-commit\[testing\]'"):
        _ = testing.StoreContract
