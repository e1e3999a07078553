"""What URLs and options mean; nothing is sent."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

import fsspec_commit as fc
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.hdfs import HdfsStore
from fsspec_commit_stores.hdfs.opening import Place, place_of


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HADOOP_CONF_DIR", "HADOOP_HOME", "HADOOP_USER_NAME"):
        monkeypatch.delenv(name, raising=False)


def opened(url: str, **options: object) -> HdfsStore:
    async def run() -> HdfsStore:
        store = await HdfsStore.open(url, OpenOptions(storage_options=options))
        await store.close()
        return store

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("hdfs://nn:8020/a/b/", ("hdfs", "nn", 8020, None, "/a/b")),
        ("HDFS://service/a b/c%41", ("hdfs", "service", None, None, "/a b/c%41")),
        ("hdfs:///a", ("hdfs", "", None, None, "/a")),
        ("webhdfs://me@nn:9870/a", ("webhdfs", "nn", 9870, "me", "/a")),
    ],
)
def test_a_url_names_a_directory(url: str, place: tuple[Any, ...]) -> None:
    assert place_of(url) == Place(*place)


@pytest.mark.parametrize(
    "url",
    [
        "hdfs://nn:8020",
        "hdfs://nn:8020/",
        "hdfs://nn:8020//a",
        "hdfs://nn:8020/a/../b",
        "hdfs://nn:8020/a?b",
        "hdfs://nn:8020/a#b",
        "hdfs://nn:8020/.reserved/raw/a",
        "hdfs://nn:8020/a/.snapshot/s",
        "hdfs://nn:eight/a",
        "viewfs://nn/a",
    ],
)
def test_a_url_that_names_none_is_refused(url: str) -> None:
    with pytest.raises(fc.RequestError) as caught:
        place_of(url)
    assert caught.value.kind == "invalid_url"


def test_a_password_in_a_url_is_refused_and_not_shown() -> None:
    with pytest.raises(fc.RequestError) as caught:
        place_of("webhdfs://me:hunter2@nn:9870/a")
    assert "hunter2" not in f"{caught.value!r} {caught.value.__dict__}"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"host": "nn", "port": "8020"},
        {"extra_conf": {"dfs.replication": "1"}, "replication": 2, "default_block_size": 1 << 20},
        {"dfs.client.use.datanode.hostname": "true", "use_listings_cache": False},
        {"dfs.client.socket-timeout": "5000", "buffer_size": 0},
    ],
)
def test_options_of_either_kind_are_taken(options: dict[str, object]) -> None:
    assert opened("hdfs://nn:8020/a", **options).root == "/a"


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"user": "somebody-else"}, "HADOOP_USER_NAME"),
        ({"nonsense": 1}, "nonsense="),
        ({"extra_conf": "text"}, "mapping"),
        ({"replication": "two"}, "number"),
    ],
)
def test_options_that_cannot_be_had_are_refused(options: dict[str, object], remedy: str) -> None:
    with pytest.raises(fc.RequestError) as caught:
        opened("hdfs://nn:8020/a", **options)
    assert caught.value.kind == "invalid_option"
    assert remedy in str(caught.value)


def test_the_user_of_the_environment_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "etl")
    assert opened("hdfs://nn:8020/a", user="etl").root == "/a"


def test_a_nameservice_must_be_known() -> None:
    with pytest.raises(fc.RequestError, match="HADOOP_CONF_DIR"):
        opened("hdfs://service/a")
    where = {
        "dfs.ha.namenodes.service": "one,two",
        "dfs.namenode.rpc-address.service.one": "h1:8020",
        "dfs.namenode.rpc-address.service.two": "h2:8020",
    }
    assert opened("hdfs://service/a", **where).root == "/a"


@pytest.mark.parametrize(
    "options", [{"password": "p"}, {"token": "t", "user": "u"}, {"kerberos": True, "user": "u"}]
)
def test_what_fsspec_refuses_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(fc.RequestError) as caught:
        opened("webhdfs://nn:9870/a", **options)
    assert caught.value.kind == "invalid_option"


def test_both_clients_choose_v1() -> None:
    for url in ("hdfs://nn:8020/a", "webhdfs://nn:9870/a"):
        assert fc.explain(url).committer == "v1"


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.endswith("webhdfs") or ".hdfs.web" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "requests", None)
    with pytest.raises(ImportError, match="webhdfs:// is served through requests"):
        opened("webhdfs://namenode:9870/a")
