"""What may be a secret in a destination is refused without being repeated, however it is typed."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path, PurePosixPath

import fsspec
import pytest

from fsspec_commit.errors import RequestError
from fsspec_commit.location import locate
from fsspec_commit.store.destination_text import refuse_secrets

SECRET = "Planted/With+Slashes42"
PLAIN = "planted42"
HOLDING = [
    *(f"{scheme}://key:{SECRET}@bucket/out" for scheme in ("s3", "S3", "gs", "hdfs", "file", "x")),
    f"s3://:{SECRET}@bucket/out",
    f"s3://{PLAIN}@bucket/out",
    f"gs://{PLAIN}@bucket/out",
    f"s3://{PLAIN}@b",
    f"s3://AKIAKEY/{SECRET}@bucket/out",
    f"s3://key%3A{PLAIN}@bucket/out",
    f"s3://key%253A{PLAIN}%2540bucket/out",
    f"s3://key:{PLAIN}%40bucket/out",
    f"s3://arn:aws:s3:{PLAIN}@bucket/out",
    f"abfs://{PLAIN}==@account.dfs.core.windows.net/out",
    f"simplecache::s3://key:{PLAIN}@bucket/out",
    f"simplecache::s3://{PLAIN}@bucket/out",
    # Not a URL, as it is typed.
    f"s3:/key:{PLAIN}@bucket/out",
    f"s3:key:{PLAIN}@bucket/out",
    f"s3 ://key:{PLAIN}@bucket/out",
    f"mine:/key:{PLAIN}@bucket/out",
    f" s3://key:{PLAIN}@bucket/out",
    f"\ufeffs3://key:{PLAIN}@bucket/out",
    f"'s3://key:{PLAIN}@bucket/out'",
    f"//user:{PLAIN}@host/share",
    f"user:{PLAIN}@host/out",
    # Queries and connection strings.
    f"https://account.blob.core.windows.net/c/out?sv=1&sig={SECRET}",
    f"account.blob.core.windows.net/c/out?sv=1&sig={SECRET}",
    f"/out?sig={SECRET}",
    f"abfs://c@account.dfs.core.windows.net/out?{SECRET}",
    f"abfs://c/out?a=1&%73ig={SECRET}",
    f"abfs://c/out?sharedkey={SECRET}",
    *(f"gs://b/out?{name}={PLAIN}" for name in ("key", "auth", "code", "jwt", "x")),
    *(f"x://b/out?{name}={PLAIN}" for name in ("key", "auth", "Code", "jwt", "X-Amz-Signature")),
    f"hdfs://h/out?delegation={PLAIN}",
    f"webhdfs://h:9870/out?user.name=me&delegation={PLAIN}",
    f"s3://b/out#X-Amz-Signature={PLAIN}",
    f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={SECRET};EndpointSuffix=x",
    f"AccountKey={SECRET};AccountName=a",
    f"BlobEndpoint=https://a.blob.x/;SharedAccessSignature=sv=1&sig={SECRET}",
    f"abfs://DefaultEndpointsProtocol=https;AccountName=a;AccountKey={SECRET}/out",
]
MISTYPED = [
    "s3:/bucket/out",
    "s3:bucket/out",
    f"\ufeffs3://key:{SECRET}@bucket/out",
    f" s3://key:{SECRET}@bucket/out",
    f"s3:key:{SECRET}@bucket/out",
    f"s3:/key:{SECRET}@bucket/out",
    f"s3:/{PLAIN}@bucket/out",
    f"gs:/{PLAIN}@bucket",
    " s3://bucket/out",
    "\ts3://bucket/out",
    "s3 ://bucket/out",
    "file:/out",
    "HDFS:/out",
]
HOLDING_NONE = [
    "out",
    "/out",
    "./a:b/out",
    "a:b/out",
    "c:/out",
    "~/out",
    "/data/user:1/me@host",
    "/data/token=5/sig=7",
    "token=5/day=1",
    "data/day=1;key=2",
    "/what?/and#more",
    "file:///out",
    "s3://bucket",
    "s3://bucket/out/me@example.com/day=1",
    "s3://bucket/token=5",
    "s3://bucket/what?",
    "s3://bucket/a?versionId=7",
    "s3://arn:aws:s3:eu-west-1:123456789012:accesspoint/mine/out",
    "gs://bucket/out",
    "abfs://container@account.dfs.core.windows.net/out",
    "az://container/out",
    "hdfs://me@namenode:8020/out",
    "hdfs:///out",
    "webhdfs://[::1]:9870/out",
    "memory://out",
    "x://me@host:9000/out?page=1",
    "simplecache::s3://bucket/out",
]


@pytest.mark.parametrize("text", HOLDING)
def test_a_secret_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(RequestError) as caught:
        locate(text)
    assert caught.value.kind == "secret_in_url"
    assert "pass it in storage_options= or through the environment" in str(caught.value)
    told = str(caught.value) + repr(vars(caught.value))
    assert "planted" not in told.lower()


@pytest.mark.parametrize("text", MISTYPED)
def test_what_is_mistyped_is_no_path_on_this_disk(text: str) -> None:
    """It would be written there, under the working directory, and named in every message."""
    with pytest.raises(RequestError) as caught:
        locate(text)
    assert caught.value.kind == "invalid_url"
    scheme = text.partition(":")[0].strip("\ufeff \t").lower()
    assert f"begins with '{scheme}://'" in str(caught.value)
    assert "planted" not in (str(caught.value) + repr(vars(caught.value))).lower()
    assert "bucket" not in str(caught.value)


def test_a_url_that_was_made_a_path_is_none() -> None:
    with pytest.raises(RequestError, match="neither a URL nor a path"):
        locate(PurePosixPath("s3://bucket/out"))


@pytest.mark.parametrize("text", HOLDING_NONE)
def test_what_holds_none_is_taken(text: str) -> None:
    refuse_secrets(text)


@pytest.mark.parametrize(
    "text",
    [
        "s3://b/" + "?token" * 40_000,
        "s3://b/" + "&" * 200_000,
        "s3://b/?" + "secret" * 40_000,
        "s3://" + ":" * 200_000,
        "s3://" + "@:" * 100_000,
        "//" * 100_000,
        "::" * 100_000,
        "::s3://" * 30_000,
        "a" * 200_000 + ":",
        " " * 200_000,
        "s3:" + "/" * 200_000,
        "x://" + "%25" * 70_000,
        "arn:aws" + "-" * 200_000,
        ";" * 200_000 + "=",
        "?[" * 100_000,
        "://" * 70_000,
    ],
    ids=lambda text: f"{text[:12]!r}…",
)
def test_hostile_text_is_read_once(text: str) -> None:
    """Time in proportion to 200 kB; the cube of it would not end before the machine does."""
    for hostile in (text, "s3://b/" + text, "simplecache::" + text):
        with suppress(RequestError):
            locate(hostile)


ODD_PATHS = ["run;tokens=5", "data?token_count=5", "/a:b@c/d", "a?sig=1"]


@pytest.mark.parametrize("name", ODD_PATHS)
def test_a_path_that_stands_is_one_whatever_it_is_called(name: str, tmp_path: Path) -> None:
    path = f"{tmp_path}/{name}"
    with pytest.raises(RequestError, match="write it as file:///") as caught:
        locate(path)
    assert name not in str(caught.value)
    Path(path).mkdir(parents=True)
    assert locate(path).url == os.path.normpath(path)
    assert locate(path, filesystem=fsspec.filesystem("file")).url == os.path.normpath(path)


@pytest.mark.parametrize("name", ODD_PATHS)
@pytest.mark.parametrize("scheme", ["file", "local", "FILE"])
def test_a_file_url_is_of_this_machine(scheme: str, name: str, tmp_path: Path) -> None:
    url = locate(f"{scheme}://{tmp_path}/{name}").url
    assert url == f"{scheme.lower()}://{os.path.normpath(f'{tmp_path}/{name}')}"


@pytest.mark.parametrize("rest", [f"/x::s3://key:{PLAIN}@b/out", f"//user:{PLAIN}@host/share"])
def test_what_is_hidden_in_a_file_url_is_found(rest: str) -> None:
    with pytest.raises(RequestError) as caught:
        locate(f"file://{rest}")
    assert caught.value.kind == "secret_in_url"
    assert PLAIN not in str(caught.value)


def test_the_working_directory_is_not_looked_at() -> None:
    assert locate("out").url == os.path.join(os.getcwd(), "out")  # noqa: PTH109, PTH118  # as text


@pytest.mark.parametrize("text", ["zip://a.csv::file.txt", "memory://a::b", "s3://b/x?a=b::y"])
def test_a_chain_is_no_secret(text: str) -> None:
    """And it is not repeated, as it may hold one."""
    with pytest.raises(RequestError, match="is a chain of URLs") as caught:
        refuse_secrets(text)
    assert caught.value.kind == "chained_url"
    assert text not in str(caught.value)
