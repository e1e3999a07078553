"""A job is opened by the settings with which Hadoop's own drivers reach a server."""

from __future__ import annotations

import base64
import getpass
import json
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_hex
from typing import TYPE_CHECKING, ClassVar

import pytest

import fsspec_commit as fc
from fsspec_commit.engines.spark.hadoop_settings import location_of
from tests.scenes.remotes import on
from tests.servers.hadoop import on_azure, on_gcs, on_s3
from tests.servers.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.scenes.remotes import Remote

pytestmark = pytest.mark.filterwarnings("error")
# A Hadoop path is not percent-encoded, and what looks so is a name.
ODD = "out/day=2026-11-20/a b/100%/%20/ö"


def hadoop_of(remote: Remote) -> tuple[str, dict[str, str]]:
    """How Hadoop names the bucket, and its settings for the server."""
    at = remote.endpoint_url
    if remote.name in {"strict-gcs", "fake-gcs-server"}:
        return remote.bucket.url, on_gcs.connection_of(at)
    if remote.name in {"gen2", "azurite"}:
        url = on_azure.url_of(remote.server, remote.bucket.name, "")
        return url.rstrip("/"), on_azure.connection_of(remote.server, at)
    if remote.name in {"hdfs", "webhdfs"}:
        return remote.bucket.url, {"spark.fsspec_commit.user": getpass.getuser()}
    return f"s3a://{remote.bucket.name}", on_s3.connection_of({**remote.options})


def written(url: str, options: dict[str, object]) -> fc.CommitResult:
    """Commit a job of one file."""
    job = fc.Job(url, mode="overwrite", names="unique", storage_options=options)
    with job, job.task() as task, task.open("part.csv", "w") as file:
        file.write("1\n")
    assert job.result is not None
    return job.result


@on("ministack", "versitygw", "gen2", "azurite", "strict-gcs", "hdfs", "webhdfs")
@pytest.mark.parametrize("name", ["out", ODD], ids=["plain", "odd"])
def test_a_job_is_committed_with_them(remote: Remote, name: str) -> None:
    above, settings = hadoop_of(remote)
    place = remote.place(name)
    url, options = location_of(above + place.url.removeprefix(remote.bucket.url), settings)
    result = written(url, options)
    assert (result.file_count, result.committer) == (1, remote.committer)
    # At the very place, as one sees who looks in another way.
    assert sorted(place.data().values()) == [b"", b"1\n"]


@on("strict-gcs")
def test_the_private_key_of_a_service_account(remote: Remote) -> None:
    above, settings = hadoop_of(remote)
    account = remote.server.service_account
    named = "fs.gs.auth.service.account"
    del settings["fs.gs.auth.null.enable"]
    settings |= {
        f"{named}.enable": "true",
        f"{named}.email": account["client_email"],
        f"{named}.private.key.id": account["private_key_id"],
        f"{named}.private.key": account["private_key"].replace("\n", "\\n"),
        "fs.gs.token.server.url": account["token_uri"],
    }
    assert written(*location_of(f"{above}/out", settings)).committer == "manifest"


@on("gen2", "azurite")
def test_a_fixed_signature(remote: Remote) -> None:
    above, settings = hadoop_of(remote)
    text = remote.server.storage_options_without()["connection_string"]
    fields = dict(part.split("=", 1) for part in text.split(";"))
    settings = {name: value for name, value in settings.items() if "account.key" not in name}
    settings["fs.azure.account.auth.type"] = "SAS"
    settings["fs.azure.sas.fixed.token"] = f"?{fields['SharedAccessSignature']}"
    assert written(*location_of(f"{above}/out", settings)).committer == remote.committer


@on("ministack")
def test_what_says_how_objects_are_kept_is_sent(remote: Remote) -> None:
    above, settings = hadoop_of(remote)
    settings["fs.s3a.encryption.algorithm"] = "AES256"
    url, options = location_of(f"{above}/out", settings)
    written(url, options)
    client = remote.server.client
    listed = client.list_objects_v2(Bucket=remote.bucket.name)["Contents"]
    assert {"out/_SUCCESS"} < {one["Key"] for one in listed}
    for one in listed:
        found = client.head_object(Bucket=remote.bucket.name, Key=one["Key"])
        assert found.get("ServerSideEncryption") == "AES256"


@on("seaweedfs")
def test_a_key_of_the_customers_own_is_needed_to_read(remote: Remote) -> None:
    above, settings = hadoop_of(remote)
    settings["fs.s3a.encryption.algorithm"] = "SSE-C"
    settings["fs.s3a.encryption.key"] = base64.b64encode(b"k" * 32).decode()
    result = written(*location_of(f"{above}/out", settings))
    assert result.file_count == 1


@on("ministack")
def test_the_region_of_a_bucket_is_asked_for(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody says it, as S3A does; the endpoint is the environment's here, to be S3's."""
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", remote.endpoint_url)
    settings = {
        "fs.s3a.access.key": str(remote.options["key"]),
        "fs.s3a.secret.key": str(remote.options["secret"]),
    }
    url, options = location_of(f"s3a://{remote.bucket.name}/out", settings)
    assert options["cache_regions"] is True
    assert written(url, options).committer == "magic"


def new_role(remote: Remote) -> str:
    """One that anybody may take, and that may do everything with objects."""
    name = f"role-{token_hex(8)}"
    trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    allowed = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
    with closing(remote.server.client_through(remote.endpoint_url, service="iam")) as iam:
        made = iam.create_role(RoleName=name, AssumeRolePolicyDocument=policy(trust))
        iam.put_role_policy(RoleName=name, PolicyName="tests", PolicyDocument=policy(allowed))
    return str(made["Role"]["Arn"])


def policy(statement: Mapping[str, object]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@on("ministack")
def test_a_role_is_asked_of_sts(remote: Remote) -> None:
    above, settings = hadoop_of(remote)
    settings |= {
        "fs.s3a.aws.credentials.provider": (
            "org.apache.hadoop.fs.s3a.auth.AssumedRoleCredentialProvider"
        ),
        "fs.s3a.assumed.role.arn": new_role(remote),
        "fs.s3a.assumed.role.session.name": "nightly",
        "fs.s3a.assumed.role.session.duration": "30m",
        "fs.s3a.assumed.role.sts.endpoint": remote.endpoint_url,
        "fs.s3a.assumed.role.sts.endpoint.region": "us-east-1",
    }
    assert written(*location_of(f"{above}/out", settings)).committer == "magic"


class Proxy(BaseHTTPRequestHandler):
    """Refuses whatever comes, and keeps how it was asked."""

    asked: ClassVar[list[tuple[str, str]]] = []

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Proxy-Authorization", "")))
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def proxy_port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(Proxy, "asked", [])
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "settings", "prefix"),
    [
        (
            "s3a://bucket/out",
            {
                "fs.s3a.access.key": "k",
                "fs.s3a.secret.key": "s",
                "fs.s3a.endpoint": "http://store.invalid:9000",
                "fs.s3a.path.style.access": "true",
            },
            "fs.s3a.proxy",
        ),
        (
            "gs://bucket/out",
            {
                "fs.gs.auth.type": "UNAUTHENTICATED",
                "fs.gs.storage.root.url": "http://store.invalid:9000",
            },
            "fs.gs.proxy",
        ),
    ],
)
def test_a_proxy_is_gone_through(
    proxy_port: int, path: str, settings: dict[str, str], prefix: str
) -> None:
    named = {
        f"{prefix}.address": f"127.0.0.1:{proxy_port}",
        f"{prefix}.host": "127.0.0.1",
        f"{prefix}.port": str(proxy_port),
        f"{prefix}.username": "me",
        f"{prefix}.password": "p@ss",
    }
    url, options = location_of(path, {**settings, **named})
    with pytest.raises(fc.CommitError) as caught:
        fc.jobs(url, storage_options=options)
    assert "p@ss" not in str(caught.value)
    login = base64.b64encode(b"me:p@ss").decode()
    for target, authorization in Proxy.asked:
        assert target.startswith("http://store.invalid:9000/")
        assert authorization == f"Basic {login}"
    assert Proxy.asked


@on("hdfs")
def test_a_nameservice_is_found_without_a_directory_of_settings(remote: Remote) -> None:
    """And its second NameNode where the first does not answer."""
    [nobody] = free_ports(1)
    settings = {
        "dfs.nameservices": "tests",
        "dfs.ha.namenodes.tests": "a,b",
        "dfs.namenode.rpc-address.tests.a": f"127.0.0.1:{nobody}",
        "dfs.namenode.rpc-address.tests.b": f"127.0.0.1:{remote.bucket.cluster.port}",
    }
    url, options = location_of(f"hdfs://tests{remote.bucket.path}/ha", settings)
    assert written(url, options).committer == "v1"
