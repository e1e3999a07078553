"""S3A's credentials: lists of providers, profiles, roles; where each is looked for here."""

from __future__ import annotations

from typing import Any

import pytest

from fsspec_commit.engines.spark.hadoop_settings import location_of
from tests.unit.engines.spark.hadoop_settings.test_s3a import OF_KEYS, OF_REGION, REGION, options_of

LIST = "fs.s3a.aws.credentials.provider"
S3A = "org.apache.hadoop.fs.s3a"
SDK = "software.amazon.awssdk.auth.credentials"
ROLE = "fs.s3a.assumed.role"
ARN = "arn:aws:iam::123456789012:role/writers"
PROFILE = ("assume-role", "sso", "shared-credentials-file", "custom-process", "config-file")


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        # The list of core-default.xml: keys if there are any, then the environment, the machine.
        (None, {"credential_providers": ("env", "container-role", "iam-role")}),
        # S3A's own, where somebody has emptied it.
        ("", {"credential_providers": ("env", "container-role", "iam-role")}),
        (f"{S3A}.AnonymousAWSCredentialsProvider", {"anon": True}),
        ("com.amazonaws.auth.AnonymousAWSCredentials", {"anon": True}),
        (f"{SDK}.EnvironmentVariableCredentialsProvider", {"credential_providers": ("env",)}),
        (
            "com.amazonaws.auth.EnvironmentVariableCredentialsProvider",
            {"credential_providers": ("env",)},
        ),
        (
            f"{S3A}.auth.IAMInstanceCredentialsProvider",
            {"credential_providers": ("container-role", "iam-role")},
        ),
        (
            f"{SDK}.ContainerCredentialsProvider,\n  {SDK}.InstanceProfileCredentialsProvider ",
            {"credential_providers": ("container-role", "iam-role")},
        ),
        (
            f"{SDK}.WebIdentityTokenFileCredentialsProvider",
            {"credential_providers": ("assume-role-with-web-identity",)},
        ),
        (
            f"{SDK}.DefaultCredentialsProvider",
            {
                "credential_providers": (
                    *("env", "assume-role-with-web-identity", *PROFILE),
                    *("container-role", "iam-role"),
                )
            },
        ),
        (f"{SDK}.ProfileCredentialsProvider", {"credential_providers": PROFILE}),
        (
            f"{S3A}.auth.ProfileAWSCredentialsProvider",
            {"credential_providers": ("shared-credentials-file",)},
        ),
    ],
)
def test_a_list_of_providers_is_where_they_are_looked_for(
    listed: str | None, expected: dict[str, Any]
) -> None:
    settings = REGION if listed is None else {**REGION, LIST: listed}
    assert location_of("s3a://bucket/out", settings)[1] == {**OF_REGION, **expected}


def test_keys_that_come_after_others_are_looked_for_after_them() -> None:
    assert options_of({LIST: ""}) == {
        **OF_KEYS,
        **OF_REGION,
        "credential_providers": ("env", "container-role", "iam-role", "explicit"),
    }


def test_a_class_that_stands_for_another_is_that_one() -> None:
    mapped = "fs.s3a.aws.credentials.provider.mapping"
    settings = {
        LIST: "com.example.OfTheCluster",
        mapped: f"com.example.Other=x\ncom.example.OfTheCluster={S3A}.SimpleAWSCredentialsProvider",
    }
    assert options_of(settings) == {**OF_KEYS, **OF_REGION}
    # Of the first SDK S3A knows some itself, and a cluster's mapping stands for the others.
    settings = {
        LIST: "com.amazonaws.auth.DefaultAWSCredentialsProviderChain",
        mapped: (
            "com.amazonaws.auth.DefaultAWSCredentialsProviderChain="
            f"{S3A}.SimpleAWSCredentialsProvider"
        ),
    }
    assert options_of(settings) == {**OF_KEYS, **OF_REGION}


def test_a_profile_is_named() -> None:
    settings = {
        LIST: f"{S3A}.auth.ProfileAWSCredentialsProvider",
        "fs.s3a.auth.profile.name": "prod",
    }
    assert options_of(settings)["profile"] == "prod"
    # Those of the SDK know nothing of it.
    settings[LIST] = f"{SDK}.ProfileCredentialsProvider"
    assert "profile" not in options_of(settings)


def test_a_role_is_taken_with_what_the_inner_list_finds() -> None:
    settings = {
        LIST: f"{S3A}.auth.AssumedRoleCredentialProvider",
        f"{ROLE}.arn": ARN,
        f"{ROLE}.session.name": "nightly",
        f"{ROLE}.session.duration": "30m",
        f"{ROLE}.external.id": "e",
        f"{ROLE}.policy": "{}",
        f"{ROLE}.sts.endpoint": "sts.eu-west-1.amazonaws.com",
        f"{ROLE}.sts.endpoint.region": "eu-west-1",
    }
    role = {
        "RoleArn": ARN,
        "RoleSessionName": "nightly",
        "DurationSeconds": 1800,
        "ExternalId": "e",
        "Policy": "{}",
        "endpoint_url": "https://sts.eu-west-1.amazonaws.com",
        "region_name": "eu-west-1",
    }
    assert options_of(settings) == {**OF_KEYS, **OF_REGION, "assume_role": role}
    settings[f"{ROLE}.credentials.provider"] = f"{S3A}.auth.IAMInstanceCredentialsProvider"
    assert options_of(settings) == {
        **OF_REGION,
        "credential_providers": ("container-role", "iam-role"),
        "assume_role": role,
    }


def test_the_session_of_a_role_is_called_after_the_user() -> None:
    settings = {
        LIST: f"{S3A}.auth.AssumedRoleCredentialProvider",
        f"{ROLE}.arn": ARN,
        "spark.fsspec_commit.user": "CORP\\ada love",
    }
    assert options_of(settings)["assume_role"]["RoleSessionName"] == "CORP-ada-love"


def test_ambient_credentials_leave_everything_else_as_it_is_set() -> None:
    settings = {
        LIST: "com.example.Vault",
        "fs.s3a.encryption.algorithm": "AES256",
        "spark.fsspec_commit.credentials": "ambient",
    }
    assert options_of(settings) == {
        **OF_REGION,
        "s3_additional_kwargs": {"ServerSideEncryption": "AES256"},
    }
