"""What S3A can be told that has no counterpart here: refused, by the setting's name."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

import fsspec_commit as fc
from fsspec_commit.engines.spark.hadoop_settings import (
    is_magic,
    location_of,
    refuse_lost_uploads,
)

SECRET = "wJalr-secret"
KEYS = {"fs.s3a.access.key": "AKIA", "fs.s3a.secret.key": SECRET}
LIST = "fs.s3a.aws.credentials.provider"
S3A = "org.apache.hadoop.fs.s3a"
SDK = "software.amazon.awssdk.auth.credentials"
ROLE = "fs.s3a.assumed.role"
ARN = "arn:aws:iam::123456789012:role/writers"
ENVIRONMENT = f"{SDK}.EnvironmentVariableCredentialsProvider"


def test_an_s3a_before_3_4_is_refused() -> None:
    """It leaves what a job's tasks write as plain files, which nobody looks for."""
    with pytest.raises(fc.RequestError, match=r"hadoop-aws is older than 3\.4"):
        location_of("s3a://bucket/out", {**KEYS, "spark.fsspec_commit.magic": "false"})


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ({}, False),
        ({"fs.s3a.access.key": ""}, False),
        ({"fs.s3a.bucket.other.committer.magic.enabled": "false"}, False),
        ({"fs.s3a.committer.magic.enabled": "false"}, True),
        ({"fs.s3a.bucket.bucket.committer.magic.track.commits.in.memory.enabled": "TRUE"}, True),
    ],
)
def test_how_uploads_are_left_is_asked_by_itself(settings: dict[str, str], refused: bool) -> None:
    path = "s3a://bucket/out"
    with pytest.raises(fc.RequestError, match="set it to") if refused else nullcontext():
        refuse_lost_uploads(path, settings)
    assert is_magic(path, settings) is ("fs.s3a.committer.magic.enabled" not in settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"fs.s3a.committer.magic.enabled": "false"}, "set it to true"),
        ({"fs.s3a.bucket.bucket.committer.magic.enabled": "False"}, "set it to true"),
        ({"fs.s3a.committer.magic.track.commits.in.memory.enabled": "true"}, "set it to false"),
        ({"fs.s3a.multipart.uploads.enabled": "false"}, "set it to true"),
        ({"fs.s3a.audit.execution.interceptors": "com.x.Y"}, "these classes"),
        ({"fs.s3a.encryption.algorithm": "CSE-KMS"}, "bucket's own encryption"),
        ({"fs.s3a.encryption.algorithm": "ROT13"}, "is none of AES256"),
        ({"fs.s3a.encryption.cse.custom.keyring.class.name": "com.x.Ring"}, "encrypted here"),
        ({"fs.s3a.encryption.algorithm": "SSE-C", "fs.s3a.encryption.key": ""}, "256 bits"),
        (
            {"fs.s3a.encryption.algorithm": "SSE-C", "fs.s3a.encryption.key": SECRET},
            "256 bits",
        ),
        (
            {"fs.s3a.encryption.algorithm": "SSE-KMS", "fs.s3a.encryption.context": SECRET},
            "name=value",
        ),
        ({"fs.s3a.acl.default": "LogDeliveryWrite"}, "canned ACL"),
        ({"fs.s3a.create.storage.class": "frozen"}, "storage class"),
        ({"fs.s3a.accesspoint.arn": "arn:aws:s3:eu-west-1:1:accesspoint/x"}, "alias"),
        ({"fs.s3a.bucket.bucket.accesspoint.arn": "arn:aws:s3:x"}, "alias"),
        ({"fs.s3a.accesspoint.required": "true"}, "alias"),
        ({"fs.s3a.custom.signers": "x:com.x.Y"}, "SigV4"),
        ({"fs.s3a.signing-algorithm": "S3SignerType"}, "SigV4"),
        ({"fs.s3a.http.signer.enabled": "true"}, "SigV4"),
        ({"fs.s3a.client.s3.custom.headers": f"a={SECRET}"}, "headers"),
        ({"fs.s3a.s3.client.factory.impl": "com.x.Factory"}, "com.x.Factory"),
        ({"fs.s3a.impl": "com.amazon.ws.emr.hadoop.fs.EmrFileSystem"}, "EmrFileSystem"),
        ({"fs.s3a.proxy.host": "p", "fs.s3a.proxy.domain": "CORP"}, "NTLM"),
        ({"fs.s3a.endpoint": f"https://me:{SECRET}@host"}, "https://host:port"),
        (
            {"fs.s3a.security.credential.provider.path": "jceks://hdfs@nn/a.jceks"},
            "in hadoop.security.credential.provider.path as well",
        ),
        ({"fs.s3a.delegation.token.binding": "x.Y"}, "credentials=ambient"),
        ({"fs.s3a.access.grants.enabled": "true"}, "credentials=ambient"),
        ({LIST: "com.example.VaultProvider"}, "com.example.VaultProvider"),
        ({LIST: ENVIRONMENT, f"{LIST}.mapping": f"{ENVIRONMENT}=x.Y"}, "x.Y"),
        ({LIST: SECRET}, "no class"),
        ({"fs.s3a.endpoint": "http://[::1"}, "https://host:port"),
        ({LIST: f"user:{SECRET}@host"}, "no class"),
        ({LIST: f"{ENVIRONMENT},x.Y"}, "x.Y"),
        (
            {LIST: f"{ENVIRONMENT},{S3A}.AnonymousAWSCredentialsProvider"},
            "put it first",
        ),
        ({LIST: f"{S3A}.auth.AssumedRoleCredentialProvider"}, "is not set"),
        (
            {LIST: f"{S3A}.SimpleAWSCredentialsProvider,{S3A}.auth.AssumedRoleCredentialProvider"},
            "first place",
        ),
        (
            {
                LIST: f"{S3A}.auth.AssumedRoleCredentialProvider",
                f"{ROLE}.arn": ARN,
                f"{ROLE}.session.duration": "soon",
            },
            "length of time",
        ),
        ({LIST: f"{S3A}.SimpleAWSCredentialsProvider", "fs.s3a.secret.key": ""}, "not both set"),
        (
            {LIST: f"{S3A}.auth.ProfileAWSCredentialsProvider", "fs.s3a.auth.profile.file": "/x"},
            "AWS_SHARED_CREDENTIALS_FILE",
        ),
        (
            {
                LIST: f"{ENVIRONMENT},{S3A}.auth.ProfileAWSCredentialsProvider",
                "fs.s3a.auth.profile.name": "prod",
            },
            "name one of the two",
        ),
        # Of the JVM, which looks there first.
        (
            {LIST: f"{SDK}.DefaultCredentialsProvider", "aws.accessKeyId": SECRET},
            "property of the JVM",
        ),
        ({"spark.fsspec_commit.credentials": "mine"}, "'ambient'"),
    ],
)
def test_what_has_no_counterpart_is_refused_and_no_secret_is_said(
    settings: dict[str, str], said: str
) -> None:
    with pytest.raises(fc.RequestError) as caught:
        location_of("s3a://bucket/out", {**KEYS, **settings})
    message = str(caught.value)
    assert caught.value.kind == "unmapped_setting"
    assert said in message
    assert SECRET not in message + repr(caught.value)
    # It names the setting, by the name for all buckets.
    assert (
        any(name.replace("bucket.bucket.", "") in message for name in settings) or ROLE in message
    )
