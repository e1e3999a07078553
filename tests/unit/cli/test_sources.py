"""Which files a source names, and what their names tell."""

from __future__ import annotations

import shlex
from errno import EACCES
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import fsspec
import pytest

import fsspec_commit as fc
from fsspec_commit.cli.sources import (
    SourceFile,
    find_sources,
    known_format,
    partition_types,
)
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat.bucket import refused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of files, which is the current one."""
    monkeypatch.chdir(tmp_path)
    for name in (
        "in/a.parquet",
        "in/day=1/b.parquet",
        "in/day=2/c.csv.gz",
        "in/_SUCCESS",
        "in/.a.parquet.crc",
        "in/_temporary/0/x.parquet",
        "in/.hidden/x.parquet",
        "odd/[x].csv",
        "odd/notes.txt",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def found(*sources: str, as_format: str | None = None) -> list[tuple[str, str]]:
    """The files of sources, relative to the current directory, with their formats."""
    files = find_sources(sources, as_format=as_format, options=None)
    return [(Path(file.path).relative_to(Path.cwd()).as_posix(), file.format) for file in files]


IN = [("in/a.parquet", "parquet"), ("in/day=1/b.parquet", "parquet"), ("in/day=2/c.csv.gz", "csv")]


@pytest.mark.parametrize("source", ["in", "in/", "./in"])
def test_a_directory_is_all_of_its_files_that_are_not_hidden(source: str) -> None:
    assert found(source) == IN


def test_sources_keep_their_order() -> None:
    assert found("in/day=2", "in/a.parquet") == [IN[2], IN[0]]


def test_a_glob_matches_files_and_directories() -> None:
    assert found("in/*.parquet") == IN[:1]
    assert found("in/**/*.parquet") == IN[:2]
    assert found("in/day=*") == IN[1:]


def test_a_name_that_looks_like_a_glob_is_a_name_first() -> None:
    assert found("odd/[x].csv") == [("odd/[x].csv", "csv")]


def test_a_current_directory_that_looks_like_a_glob_is_none(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "[a]*").mkdir()
    (here / "in").rename(here / "[a]*" / "in")
    monkeypatch.chdir(here / "[a]*")
    assert found("in/*.parquet") == IN[:1]


def test_urls_and_absolute_paths(here: Path) -> None:
    assert found(f"file://{here}/in") == IN
    assert found(str(here / "in")) == IN


def test_another_filesystem() -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/sources/day=1/a.csv", b"")
    try:
        [file] = find_sources(["memory://sources"], as_format=None, options=None)
    finally:
        memory.rm("/sources", recursive=True)
    assert (file.path, file.base, file.format) == ("/sources/day=1/a.csv", "", "csv")
    assert file.partition_keys == {"day": "1"}


@pytest.mark.parametrize(
    ("source", "says", "kind"),
    [
        ("no.csv", "there is no source 'no.csv'", "missing_source"),
        ("no/*.csv", "no file matches source", "missing_source"),
        ("nope://b/a.csv", "cannot open source 'nope://b/a.csv'", "unknown_protocol"),
        (
            "odd",
            "'.*/odd/notes.txt' tells no format .*, or .*: '.*/odd/\\*\\*/\\*.csv'$",
            "unknown_format",
        ),
        ("odd/notes.txt", "use --source-format$", "unknown_format"),
    ],
)
def test_what_is_not_certain_is_refused(source: str, says: str, kind: str) -> None:
    with pytest.raises(fc.RequestError, match=says) as raised:
        found(source)
    assert raised.value.kind == kind


def test_a_hidden_directory_that_is_named_is_read() -> None:
    assert found("in/_temporary") == [("in/_temporary/0/x.parquet", "parquet")]


def test_a_directory_without_files_is_refused(here: Path) -> None:
    (here / "empty").mkdir()
    with pytest.raises(fc.RequestError, match="holds no file"):
        found("empty")


@pytest.mark.parametrize("again", ["in/*.parquet", "in/../in/day=1", "in/a.parquet"])
def test_a_file_named_twice_is_refused(again: str) -> None:
    with pytest.raises(fc.RequestError, match="is named twice"):
        found("in", again)


def test_credentials_in_a_url_are_refused_and_not_shown() -> None:
    with pytest.raises(fc.RequestError, match="--source-storage-option") as raised:
        found("s3://key:hunter2@bucket/in.csv")
    assert "hunter2" not in str(raised.value)


def test_a_container_in_a_url_is_no_credential() -> None:
    with pytest.raises((fc.RequestError, ImportError)) as raised:
        found("nope://container@account/in.csv")
    assert "credentials" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "format_"),
    [
        ("a.parquet", "parquet"),
        ("a.snappy.parquet", "parquet"),
        ("a.pq", "parquet"),
        ("A.CSV", "csv"),
        ("a.csv.gz", "csv"),
        ("a.csv.zst", "csv"),
        ("a.json", "json"),
        ("a.jsonl.bz2", "json"),
        ("a.ndjson", "json"),
        ("a.orc", "orc"),
        ("a.arrow", "arrow"),
        ("a.feather", "arrow"),
        ("a.ipc", "arrow"),
    ],
)
def test_a_name_tells_the_format(name: str, format_: str, here: Path) -> None:
    (here / name).touch()
    assert found(name) == [(name, format_)]


@pytest.mark.parametrize("name", ["csv", "a.gz", "a.parquet.gz", "a.csv.zip", "a.txt"])
def test_a_name_that_tells_none_can_be_helped(name: str, here: Path) -> None:
    (here / name).touch()
    with pytest.raises(fc.RequestError, match="tells no format"):
        found(name)
    assert found(name, as_format="csv") == [(name, "csv")]


@pytest.mark.parametrize(
    ("text", "format_"),
    [("Parquet", "parquet"), (".jsonl", "json"), ("feather", "arrow"), ("orc", "orc")],
)
def test_a_format_has_several_names(text: str, format_: str) -> None:
    assert known_format(text) == format_


@pytest.mark.parametrize(
    ("source", "keys"),
    [
        ("in/day=1/b.parquet", {"day": "1"}),
        ("in/day=1", {"day": "1"}),
        ("in/day=*/b.parquet", {"day": "1"}),
        ("../x=0/in/day=1", {"day": "1", "x": "0"}),
        ("in/a.parquet", {}),
    ],
)
def test_directories_that_are_typed_are_columns(
    source: str, keys: dict[str, str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if source.startswith(".."):
        (here / "in").rename(here / "kept")
        (here / "x=0").mkdir()
        (here / "kept").rename(here / "x=0" / "in")
        (here / "y=0").mkdir()
        monkeypatch.chdir(here / "y=0")
    [file] = find_sources([source], as_format=None, options=None)
    assert file.partition_keys == keys


def test_directories_that_are_not_typed_are_none(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here / "in" / "day=1")
    [file] = find_sources(["b.parquet"], as_format=None, options=None)
    assert file.partition_keys == {}


def test_names_are_decoded_as_hive_encodes_them() -> None:
    path = "t/a%3Db=c%2Fd=e/none=__HIVE_DEFAULT_PARTITION__/=x/f.csv"
    file = SourceFile(None, path, "", "csv")
    assert file.partition_keys == {"a=b": "c/d=e", "none": None}


@pytest.mark.parametrize(
    ("values", "whole"),
    [
        (["1", "-2", "0"], True),
        (["1", "__HIVE_DEFAULT_PARTITION__"], True),
        (["01", "2"], False),  # month=01 would become month=1
        (["1", "x"], False),
        (["1.5"], False),
        (["9999999999999999999"], False),
        (["__HIVE_DEFAULT_PARTITION__"], False),
        (["٣"], False),
    ],
)
def test_whole_numbers_are_told_from_text(values: list[str], whole: bool) -> None:
    files = [SourceFile(None, f"k={value}/f.csv", "", "csv") for value in values]
    assert partition_types(files) == {"k": whole}


def test_the_glob_that_is_proposed_works() -> None:
    with pytest.raises(fc.RequestError) as refused:
        found("odd")
    [_, proposed] = str(refused.value).rsplit(": ", 1)
    assert found(*shlex.split(proposed)) == [("odd/[x].csv", "csv")]


def test_a_server_that_does_not_answer_is_no_missing_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What fsspec says of both is the same."""
    memory = fsspec.filesystem("memory")
    monkeypatch.setattr("fsspec_commit.cli.sources._opened", lambda *_: (memory, "/no.csv"))
    with pytest.raises(fc.RequestError, match=r"or its server does not answer$"):
        found("http://localhost/no.csv")


def test_a_destination_where_nobody_knows_what_is_committed_is_refused(here: Path) -> None:
    """A part of a job that has committed was read."""
    job = fc.Job(here / "in", mode="append").start()

    async def refuse(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if verb.startswith("list") and path.endswith(f"/{job.job_id}"):
            raise refused(path, "not yours", EACCES)
        return await call()

    with wrapping(lambda store: WrappedStore(store, refuse)):
        assert [info.state for info in fc.jobs(here / "in")] == ["unknown"]
        with pytest.raises(fc.RequestError, match="are committed is not known") as caught:
            found("in")
    assert (caught.value.kind, caught.value.job_id) == ("source_unfinished", job.job_id)
    job.abort()


def test_one_with_a_damaged_job_that_has_not_decided_is_read(here: Path) -> None:
    job = fc.Job(here / "in", mode="append").start()
    (here / "in/_commit" / job.job_id / "job.json").write_text("{torn")
    assert [info.state for info in fc.jobs(here / "in")] == ["damaged"]
    assert found("in") == IN
    fc.clean(here / "in", damaged=[job.job_id], dry_run=False)
    with pytest.raises(fc.JobNotActiveError):
        job.abort()
