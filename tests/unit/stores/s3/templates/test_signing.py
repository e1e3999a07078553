"""Signatures are those that botocore makes, of any request, in any second."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import pytest
from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials
from hypothesis import given
from hypothesis import strategies as st

from fsspec_commit_stores.s3.templates.signing import Signer

if TYPE_CHECKING:
    from collections.abc import Mapping

KEYS = ReadOnlyCredentials("AKIAPLANTED", "planted+/secret", None)
OF_A_SESSION = ReadOnlyCredentials("ASIAPLANTED", "another/secret", "session+token==")
MIDNIGHT = 1_795_478_400  # 2026-11-24

texts = st.text(max_size=20)
plain = st.from_regex("[!-~]+( [!-~]+)*", fullmatch=True)
names = st.from_regex("x-amz-[a-z0-9-]{1,20}", fullmatch=True)


class Request(NamedTuple):
    """What is signed, and with what."""

    second: int
    credentials: Any
    headers: Mapping[str, str]
    path: str
    body: bytes


def by_botocore(region: str, asked: Request) -> str:
    """The header that botocore makes in that second."""
    url = f"https://bucket.example{asked.path}"
    request = AWSRequest("PUT", url, dict(asked.headers), asked.body)
    request.context["payload_signing_enabled"] = True
    moment = datetime.fromtimestamp(asked.second, UTC)
    request.context["timestamp"] = stamp = moment.strftime("%Y%m%dT%H%M%SZ")
    signing = auth.S3SigV4Auth(asked.credentials, "s3", region)
    # What `add_auth` does when it has asked for the time.
    signing._modify_request_before_signing(request)
    canonical = signing.canonical_request(request)
    signature = signing.signature(signing.string_to_sign(request, canonical), request)
    signing._inject_signature_to_request(request, signature)
    assert request.headers["X-Amz-Date"] == stamp
    return str(request.headers["Authorization"])


def by_us(signer: Signer, asked: Request) -> str:
    moment = signer.at(asked.second, asked.credentials)
    digest = sha256(asked.body).hexdigest()
    told = {"host": "bucket.example", "x-amz-content-sha256": digest, "x-amz-date": moment.stamp}
    if asked.credentials.token:
        told["x-amz-security-token"] = asked.credentials.token
    told.update(asked.headers)
    signed = ";".join(sorted(told))
    lines = "\n".join(f"{name}:{told[name]}" for name in sorted(told))
    canonical = f"PUT\n{asked.path}\n\n{lines}\n\n{signed}\n{digest}"
    return moment.authorization(canonical, signed)


credentials = st.builds(
    ReadOnlyCredentials,
    st.from_regex("[A-Z0-9]{3,20}", fullmatch=True),
    st.text(min_size=1, max_size=40),
    st.none() | st.from_regex("[A-Za-z0-9+/=]{1,60}", fullmatch=True),
)
requests = st.builds(
    Request,
    st.integers(0, 4_000_000_000),
    credentials,
    st.dictionaries(names, plain, max_size=4),
    texts.map(lambda key: "/" + quote(key, safe="/~")),
    st.binary(max_size=40),
)


@given(region=st.sampled_from(["us-east-1", "cn-north-1", "auto"]), asked=requests)
def test_a_signature_is_botocores(region: str, asked: Request) -> None:
    assert by_us(Signer(region, "s3"), asked) == by_botocore(region, asked)


@pytest.mark.parametrize(
    "moments",
    [
        [(MIDNIGHT - 1, KEYS), (MIDNIGHT, KEYS), (MIDNIGHT + 1, KEYS), (MIDNIGHT - 1, KEYS)],
        [(MIDNIGHT, KEYS), (MIDNIGHT, OF_A_SESSION), (MIDNIGHT, KEYS)],
        [(MIDNIGHT - 1, OF_A_SESSION), (MIDNIGHT, KEYS), (MIDNIGHT, OF_A_SESSION)],
        [(MIDNIGHT, KEYS), (MIDNIGHT + 86_400, KEYS), (MIDNIGHT, KEYS)],
    ],
    ids=["another day", "other keys", "both at once", "days later"],
)
def test_what_was_derived_before_signs_nothing_else(moments: list[tuple[int, Any]]) -> None:
    """The day in UTC is in the key, and keys rotate while a job runs."""
    signer = Signer("eu-west-1", "s3")
    for second, keys in moments:
        asked = Request(second, keys, {}, "/out/a", b"1")
        assert by_us(signer, asked) == by_botocore("eu-west-1", asked)


def test_nothing_of_the_keys_is_shown() -> None:
    signer = Signer("eu-west-1", "s3")
    moment = signer.at(MIDNIGHT, OF_A_SESSION)
    for shown in (repr(signer), repr(moment), str(moment)):
        assert OF_A_SESSION.secret_key not in shown
        assert OF_A_SESSION.token not in shown
