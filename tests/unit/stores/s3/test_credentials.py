"""Where credentials are looked for, when the user says where, and the role that is taken."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import pytest

from fsspec_commit.errors import Reply, RequestError, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.s3 import S3Store
from tests.unit.stores.responder import Answer, Received
from tests.unit.stores.s3.answers import MARK, error
from tests.unit.stores.scripted import all_that_shows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.stores.s3.scripted import ScriptedS3

PATH = StorePath("bucket/out/a")
ARN = "arn:aws:iam::123456789012:role/writers"
ROLE = {"RoleArn": ARN, "RoleSessionName": "nightly", "DurationSeconds": 900, "ExternalId": "of-us"}
OF_STS = "AKIAROLE"
LATER = "2099-01-01T00:00:00Z"


@pytest.fixture(autouse=True)
def machine(s3: ScriptedS3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One with credentials everywhere: variables, a file, a container's address."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of the environment")
    profile = "[default]\naws_access_key_id = AKIAFILE\naws_secret_access_key = of the file\n"
    (tmp_path / "credentials").write_text(profile)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{s3.url}/container")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    s3.answering = answer


def answer(request: Received) -> Answer:
    """S3, STS and a container's host, all at one address."""
    if request.path == "/container":
        told = {"AccessKeyId": "AKIABOX", "SecretAccessKey": "s", "Token": "t", "Expiration": LATER}
        return Answer(200, json.dumps(told).encode())
    if b"Action=AssumeRole" in request.body:
        found = f"<AccessKeyId>{OF_STS}</AccessKeyId><SecretAccessKey>role-secret</SecretAccessKey>"
        found += f"<SessionToken>role-token</SessionToken><Expiration>{LATER}</Expiration>"
        text = (
            "<AssumeRoleResponse><AssumeRoleResult><Credentials>"
            f"{found}</Credentials></AssumeRoleResult></AssumeRoleResponse>"
        )
        return Answer(200, text.encode())
    return Answer(200, b"", {"ETag": '"e1"', **MARK})


def signer_of(request: Received) -> str:
    found = re.search(r"Credential=([^/]+)/", request.headers.get("authorization", ""))
    return found[1] if found else ""


def to_s3(s3: ScriptedS3) -> list[Received]:
    return [one for one in s3.received if one.path.startswith("/bucket")]


async def opened(s3: ScriptedS3, **options: Any) -> S3Store:
    given = {"endpoint_url": s3.url, "client_kwargs": {"region_name": "eu-west-1"}, **options}
    return await S3Store.open("s3://bucket/out", OpenOptions(storage_options=given))


def look(s3: ScriptedS3, times: int = 1, **options: Any) -> list[Received]:
    """What S3 is sent by a look at a file, or by many at one time."""

    async def look() -> None:
        store = await opened(s3, **options)
        try:
            await asyncio.gather(*(store.stat(PATH) for _ in range(times)))
        finally:
            await store.close()

    s3.run(look())
    return to_s3(s3)


@pytest.mark.parametrize(
    ("options", "signer"),
    [
        ({}, "AKIAENV"),
        ({"credential_providers": ["env"]}, "AKIAENV"),
        ({"credential_providers": ("shared-credentials-file", "env")}, "AKIAFILE"),
        ({"credential_providers": ["container-role", "iam-role"]}, "AKIABOX"),
        ({"credential_providers": ["explicit", "env"], "key": "AKIAME", "secret": "s"}, "AKIAME"),
        ({"credential_providers": ["env", "explicit"], "key": "AKIAME", "secret": "s"}, "AKIAENV"),
        ({"credential_providers": ["explicit", "env"]}, "AKIAENV"),
        ({"profile": "default", "credential_providers": ["shared-credentials-file"]}, "AKIAFILE"),
    ],
)
def test_the_first_place_where_there_are_any(
    s3: ScriptedS3, options: dict[str, Any], signer: str
) -> None:
    [request] = look(s3, **options)
    assert signer_of(request) == signer


def test_what_is_nowhere_else_is_not_looked_for_elsewhere(
    s3: ScriptedS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(StoreError, match="no credentials were found") as caught:
        look(s3, credential_providers=["env"])
    assert caught.value.reply is Reply.REFUSED
    assert s3.received == []


@pytest.mark.parametrize(
    ("options", "asker"),
    [
        ({}, "AKIAENV"),
        ({"key": "AKIAME", "secret": "s"}, "AKIAME"),
        ({"credential_providers": ["shared-credentials-file"]}, "AKIAFILE"),
    ],
)
def test_a_role_is_asked_for_once_and_signs(
    s3: ScriptedS3, options: dict[str, Any], asker: str
) -> None:
    requests = look(s3, times=8, assume_role={**ROLE, "endpoint_url": s3.url}, **options)
    assert {signer_of(one) for one in requests} == {OF_STS}
    assert {one.headers["x-amz-security-token"] for one in requests} == {"role-token"}
    [asked] = [one for one in s3.received if not one.path.startswith("/bucket")]
    assert signer_of(asked) == asker
    sent = {name: value for name, [value] in parse_qs(asked.body.decode()).items()}
    assert sent == {
        "Action": "AssumeRole",
        "Version": "2011-06-15",
        **{name: str(value) for name, value in ROLE.items()},
    }


def test_a_role_that_is_denied_is_no_answer_of_the_bucket(s3: ScriptedS3) -> None:
    s3.answering = lambda _: error(403, "AccessDenied")
    role = {**ROLE, "endpoint_url": s3.url}
    [canary, *_] = s3.secrets
    with pytest.raises(StoreError, match="credentials") as caught:
        look(s3, assume_role=role, key="AKIAME", secret=canary)
    assert caught.value.reply is not Reply.UNKNOWN
    assert canary not in all_that_shows(caught.value)
    assert to_s3(s3) == []


@pytest.mark.parametrize(
    "options",
    [
        {"credential_providers": "env"},
        {"credential_providers": []},
        {"credential_providers": ["environment"]},
        {"assume_role": ARN},
        {"assume_role": {"RoleSessionName": "x"}},
        {"assume_role": {**ROLE, "role_arn": ARN}},
        {"assume_role": ROLE, "session": object()},
    ],
)
def test_what_makes_no_sense_is_refused(s3: ScriptedS3, options: dict[str, Any]) -> None:
    with pytest.raises(
        RequestError, match=r"credential_providers=|assume_role=|session="
    ) as caught:
        look(s3, **options)
    assert caught.value.kind == "invalid_option"
    assert s3.received == []
