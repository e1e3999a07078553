"""S3A's settings, by their names, and the options that they are here."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from fsspec_commit.engines.spark.hadoop_settings import location_of

SECRET = "wJalr-secret"
KEYS = {"fs.s3a.access.key": "AKIA", "fs.s3a.secret.key": SECRET}
OF_KEYS = {"key": "AKIA", "secret": SECRET}
REGION = {"fs.s3a.endpoint.region": "eu-west-1"}
OF_REGION = {"client_kwargs": {"region_name": "eu-west-1"}}
LIST = "fs.s3a.aws.credentials.provider"
S3A = "org.apache.hadoop.fs.s3a"
SDK = "software.amazon.awssdk.auth.credentials"
SSE_C = base64.b64encode(b"k" * 32).decode()


def options_of(settings: dict[str, str], path: str = "s3a://bucket/out") -> dict[str, Any]:
    return location_of(path, {**KEYS, **REGION, **settings})[1]


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("s3a://bucket/a/b", "s3://bucket/a/b"),
        ("s3a://bucket/a/", "s3://bucket/a"),
        ("s3a://bucket", "s3://bucket"),
        ("S3A://bucket/day=2026-11-20", "s3://bucket/day=2026-11-20"),
        ("s3a://bucket/a b/100%/%20/ö#x", "s3://bucket/a b/100%/%20/ö#x"),
    ],
)
def test_a_path_is_taken_as_it_stands(path: str, url: str) -> None:
    assert location_of(path, KEYS)[0] == url


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, {}),
        # Credentials.
        ({"fs.s3a.session.token": "tok"}, {"token": "tok"}),
        ({"fs.s3a.access.key": "  AKIA\n"}, {}),
        ({LIST: f"{S3A}.SimpleAWSCredentialsProvider", "fs.s3a.session.token": "of another"}, {}),
        # What it does not matter to.
        (
            {
                "fs.s3a.buffer.dir": "/tmp",
                "fs.s3a.committer.name": "directory",
                # Of the parts of uploads, which the store is asked for.
                "fs.s3a.create.checksum.algorithm": "SHA256",
                "fs.s3a.connection.maximum": "500",
                "fs.s3a.fast.upload": "true",
                "fs.s3a.impl": f"{S3A}.S3AFileSystem",
                "fs.s3a.threads.max": "96",
            },
            {},
        ),
        # The JVM has looked there.
        (
            {
                "fs.s3a.bucket.bucket.security.credential.provider.path": "jceks://file/own",
                "hadoop.security.credential.provider.path": "jceks://file/all, jceks://file/own",
            },
            {},
        ),
        # Where.
        ({"fs.s3a.endpoint": "s3.amazonaws.com"}, {}),
        ({"fs.s3a.endpoint": "s3.eu-west-1.amazonaws.com"}, {}),
        (
            {"fs.s3a.endpoint": "minio.example.com:9000"},
            {
                "endpoint_url": "https://minio.example.com:9000",
                "config_kwargs": {"s3": {"addressing_style": "virtual"}},
            },
        ),
        (
            {"fs.s3a.endpoint": "127.0.0.1:9000", "fs.s3a.connection.ssl.enabled": "false"},
            {"endpoint_url": "http://127.0.0.1:9000"},
        ),
        (
            {
                "fs.s3a.endpoint": "http://minio:9000/",
                "fs.s3a.connection.ssl.enabled": "true",
                "fs.s3a.path.style.access": "TRUE",
            },
            {
                "endpoint_url": "http://minio:9000",
                "config_kwargs": {"s3": {"addressing_style": "path"}},
            },
        ),
        (
            {"fs.s3a.endpoint": "s3.dualstack.us-east-1.amazonaws.com"},
            {"endpoint_url": "https://s3.dualstack.us-east-1.amazonaws.com"},
        ),
        ({"fs.s3a.endpoint.fips": "true"}, {"config_kwargs": {"use_fips_endpoint": True}}),
        # Encryption.
        (
            {"fs.s3a.encryption.algorithm": "AES256"},
            {"s3_additional_kwargs": {"ServerSideEncryption": "AES256"}},
        ),
        (
            {"fs.s3a.encryption.algorithm": "SSE-KMS"},
            {"s3_additional_kwargs": {"ServerSideEncryption": "aws:kms"}},
        ),
        (
            {"fs.s3a.encryption.algorithm": "DSSE-KMS", "fs.s3a.encryption.key": "arn:key"},
            {
                "s3_additional_kwargs": {
                    "ServerSideEncryption": "aws:kms:dsse",
                    "SSEKMSKeyId": "arn:key",
                }
            },
        ),
        (
            {"fs.s3a.encryption.algorithm": "SSE-C", "fs.s3a.encryption.key": SSE_C},
            {
                "s3_additional_kwargs": {
                    "SSECustomerAlgorithm": "AES256",
                    "SSECustomerKey": b"k" * 32,
                }
            },
        ),
        (
            {
                "fs.s3a.server-side-encryption-algorithm": "SSE-KMS",
                "fs.s3a.server-side-encryption.key": "old",
            },
            {"s3_additional_kwargs": {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "old"}},
        ),
        ({"fs.s3a.encryption.key": "of nothing"}, {}),
        # Whose, and where it is kept.
        (
            {"fs.s3a.acl.default": "BucketOwnerFullControl"},
            {"s3_additional_kwargs": {"ACL": "bucket-owner-full-control"}},
        ),
        (
            {"fs.s3a.create.storage.class": "standard_ia"},
            {"s3_additional_kwargs": {"StorageClass": "STANDARD_IA"}},
        ),
        (
            {"fs.s3a.object.content.encoding": "gzip"},
            {"s3_additional_kwargs": {"ContentEncoding": "gzip"}},
        ),
        ({"fs.s3a.requester.pays.enabled": "true"}, {"requester_pays": True}),
        # A proxy.
        (
            {"fs.s3a.proxy.host": "proxy", "fs.s3a.proxy.port": "3128"},
            {
                "config_kwargs": {
                    "proxies": {"http": "http://proxy:3128", "https": "http://proxy:3128"}
                }
            },
        ),
        # Since Hadoop 3.4 the port that is not said is that of the way to the proxy.
        (
            {"fs.s3a.proxy.host": "proxy"},
            {"config_kwargs": {"proxies": dict.fromkeys(("http", "https"), "http://proxy:80")}},
        ),
        ({"spark.fsspec_commit.magic": "true"}, {}),
        (
            {
                "fs.s3a.proxy.host": "proxy",
                "fs.s3a.proxy.ssl.enabled": "true",
                "fs.s3a.proxy.username": "me",
                "fs.s3a.proxy.password": "p@ss",
            },
            {
                "config_kwargs": {
                    "proxies": {
                        "http": "https://me:p%40ss@proxy:443",
                        "https": "https://me:p%40ss@proxy:443",
                    }
                }
            },
        ),
    ],
)
def test_a_setting_is_an_option(settings: dict[str, str], options: dict[str, Any]) -> None:
    assert options_of(settings) == {**OF_KEYS, **OF_REGION, **options}


def test_the_context_of_a_key_is_sent_as_s3_wants_it() -> None:
    settings = {
        "fs.s3a.encryption.algorithm": "SSE-KMS",
        "fs.s3a.encryption.context": "project=hive, team = data",
    }
    sent = options_of(settings)["s3_additional_kwargs"]["SSEKMSEncryptionContext"]
    assert json.loads(base64.b64decode(sent)) == {"project": "hive", "team": "data"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # Nobody says: S3A asks for the bucket's region, and so does s3fs.
        ({}, {"cache_regions": True}),
        ({"fs.s3a.endpoint": "s3.amazonaws.com"}, {"cache_regions": True}),
        ({"fs.s3a.endpoint.region": " "}, {"cache_regions": True}),
        (
            {"fs.s3a.cross.region.access.enabled": "false"},
            {"client_kwargs": {"region_name": "us-east-2"}},
        ),
        (
            {"fs.s3a.endpoint": "s3.cn-north-1.amazonaws.com.cn"},
            {"client_kwargs": {"region_name": "cn-north-1"}},
        ),
        (
            {"fs.s3a.endpoint": "http://127.0.0.1:1"},
            {
                "endpoint_url": "http://127.0.0.1:1",
                "client_kwargs": {"region_name": "us-east-1"},
            },
        ),
        # Some servers of others sign by a region, too, and the AWS SDK reads it so.
        (
            {"fs.s3a.endpoint": "s3.fr-par.example.cloud", "fs.s3a.path.style.access": "true"},
            {
                "endpoint_url": "https://s3.fr-par.example.cloud",
                "client_kwargs": {"region_name": "fr-par"},
                "config_kwargs": {"s3": {"addressing_style": "path"}},
            },
        ),
        (
            {"fs.s3a.endpoint": "https://bucket.vpce-1a-2b.s3.us-west-2.vpce.amazonaws.com"},
            {
                "endpoint_url": "https://bucket.vpce-1a-2b.s3.us-west-2.vpce.amazonaws.com",
                "client_kwargs": {"region_name": "us-west-2"},
            },
        ),
    ],
)
def test_a_region_is_said_found_in_the_endpoint_or_asked_for(
    settings: dict[str, str], expected: dict[str, Any]
) -> None:
    assert location_of("s3a://bucket/out", {**KEYS, **settings})[1] == {**OF_KEYS, **expected}


def test_what_is_set_to_nothing_for_the_bucket_is_not_set() -> None:
    settings = {
        "fs.s3a.bucket.bucket.encryption.algorithm": "",
        "fs.s3a.bucket.bucket.endpoint": " ",
        "fs.s3a.bucket.bucket.session.token": "",
        "fs.s3a.encryption.algorithm": "SSE-KMS",
        "fs.s3a.endpoint": "http://minio:9000",
        "fs.s3a.session.token": "of another",
    }
    assert options_of(settings) == {**OF_KEYS, **OF_REGION}


def test_what_is_set_for_the_bucket_wins() -> None:
    settings = {
        "fs.s3a.bucket.my.bucket.access.key": "OWN",
        "fs.s3a.bucket.my.bucket.secret.key": "of its short name",
        "fs.s3a.bucket.my.bucket.fs.s3a.secret.key": "own secret",
        "fs.s3a.bucket.my.bucket.fs.s3a.endpoint": "of.no.secret",
        "fs.s3a.bucket.my.bucket.endpoint.region": "eu-north-1",
        "fs.s3a.bucket.my.bucket.server-side-encryption-algorithm": "AES256",
        "fs.s3a.bucket.my.bucket.requester.pays.enabled": " ",
        "fs.s3a.bucket.my.access.key": "of a bucket called my",
        "fs.s3a.encryption.algorithm": "SSE-KMS",
        "fs.s3a.requester.pays.enabled": "true",
    }
    assert options_of(settings, "s3a://my.bucket/out") == {
        "key": "OWN",
        "secret": "own secret",
        "client_kwargs": {"region_name": "eu-north-1"},
        "s3_additional_kwargs": {"ServerSideEncryption": "AES256"},
    }
