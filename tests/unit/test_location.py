"""Which place a path, a URL and a filesystem name together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import fsspec
import pytest

from fsspec_commit.errors import RequestError
from fsspec_commit.location import locate

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def cluster() -> Any:
    """A filesystem of HDFS; nothing is sent before it is used."""
    return fsspec.filesystem("webhdfs", host="one", port=9870, skip_instance_cache=True)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("/data/out", "webhdfs:///data/out"),
        ("webhdfs://one:9870/data/out", "webhdfs://one:9870/data/out"),
        ("webhdfs://one/data/out", "webhdfs://one/data/out"),
    ],
)
def test_a_path_on_a_cluster_keeps_its_first_directory(given: str, url: str, cluster: Any) -> None:
    """It was taken for the host, and the job written beside: to ``/out``."""
    found = locate(given, filesystem=cluster)
    assert found.url == url
    assert found.storage_options["host"] == "one"


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("webhdfs://two:9870/out", "about host: the URL names 'two'"),
        ("webhdfs://one:9871/out", "about port: the URL names 9871"),
        ("s3://bucket/out", "is a 's3' URL"),
    ],
)
def test_a_url_of_another_cluster_is_refused(given: str, what: str, cluster: Any) -> None:
    with pytest.raises(RequestError, match=what) as caught:
        locate(given, filesystem=cluster)
    assert caught.value.kind == "store_mismatch"


@pytest.mark.parametrize("options", [{"protocol": "file"}, {"protocol": "dir", "path": "/a"}])
def test_a_filesystem_is_no_destination(options: dict[str, str]) -> None:
    """It has a protocol and options like a ``UPath``; a directory was made that had its name."""
    if options["protocol"] == "dir":
        options = {**options, "target_protocol": "file"}
    with pytest.raises(RequestError, match=r"is a filesystem, fsspec.*: give the path on it"):
        locate(fsspec.filesystem(**options))


def test_two_names_of_one_protocol_agree() -> None:
    memory, disk = fsspec.filesystem("memory"), fsspec.filesystem("file")
    assert locate("memory://a/b", filesystem=memory).url == "memory://a/b"
    assert locate("/a/b", filesystem=memory).url == "memory://a/b"
    assert locate("local:///a/b", filesystem=disk).url == "/a/b"
    directory = fsspec.filesystem("dir", path="/a", fs=disk)
    assert locate("b", filesystem=directory).url == "/a/b"
    with pytest.raises(RequestError, match="is a 'file' URL"):
        locate("file:///a/b", filesystem=directory)


@pytest.mark.parametrize("host", ["", "localhost", "LOCALHOST"])
def test_localhost_is_this_machine_and_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert locate(f"file://{host}/data/clicks").url == "file:///data/clicks"
    for relative in ("./clicks", "../clicks"):
        assert locate(f"file://{relative}").url == f"file://{os.path.normpath(tmp_path / relative)}"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("file://localhosts/clicks", "'localhosts' is not this machine: write file:///…"),
        ("local://data", "'data' is not this machine"),
        ("$HOME/clicks", "'$HOME' is a variable that nobody has expanded"),
        ("/data/${HOME}_x", r"use os.environ['HOME']"),
        ("~nobody-is-called-so/x", "no user is called 'nobody-is-called-so'"),
        ("C:\\data", "a path of Windows"),
        ("c:/data", "a path of Windows"),
        ("out/*", "a pattern, and a destination is one directory"),
        ("s3://bucket/out/*.parquet", "a pattern"),
    ],
)
def test_what_was_to_be_replaced_first_is_not_taken_literally(given: str, says: str) -> None:
    """It became a directory of that name, of the working directory, without a word."""
    with pytest.raises(RequestError) as caught:
        locate(given)
    assert says in str(caught.value)
    assert caught.value.kind == "invalid_url"


@pytest.mark.parametrize("name", ["$HOME", "~nobody-is-called-so", "C:\\data", "a*"])
def test_what_is_called_so_is_taken(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    for given in (name, f"{name}/out", str(tmp_path / name / "out")):
        assert locate(given).url == str(tmp_path / given)
    assert locate("a$none_is_called_so").url == str(tmp_path / "a$none_is_called_so")


@pytest.mark.parametrize("name", ["plain", "a#b", "a?b", "a%20b", "a::b", "s3:", "user:pw@host"])
def test_a_relative_path_is_as_good_as_the_absolute_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whatever the working directory is called: workers are sent the absolute one."""
    working = tmp_path / name
    working.mkdir()
    monkeypatch.chdir(working)
    given = locate("out")
    assert given.url == str(working / "out")
    assert locate(given.url) == given


def test_a_working_directory_that_is_gone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(RequestError, match="works in is gone; give an absolute path"):
        locate("out")
    os.chdir(tmp_path)
