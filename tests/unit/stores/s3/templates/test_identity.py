"""What a template gives is what botocore makes, byte for byte, wherever the store is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.stores.s3.templates.both_ways import BothWays, Content, verbs_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ALIAS = "my-ap-abcdefghij1234567890-s3alias"
KMS = {
    "ServerSideEncryption": "aws:kms",
    "SSEKMSKeyId": "arn:aws:kms:eu-west-1:111122223333:key/1234-abcd",
    "SSEKMSEncryptionContext": "eyJhIjoiYiJ9",
    "BucketKeyEnabled": True,
}
KEY_OF_CUSTOMER = {
    "SSECustomerAlgorithm": "AES256",
    "SSECustomerKey": "planted-key-of-32-bytes-xxxxxxxx",
}
OWNED = {
    "ACL": "bucket-owner-full-control",
    "ExpectedBucketOwner": "111122223333",
    "StorageClass": "STANDARD_IA",
    "Tagging": "a=b&c=d%20e",
    "ContentType": "application/vnd.apache.parquet",
    "CacheControl": "max-age=3,  must-revalidate",
}
MINIO = {"endpoint_url": "http://127.0.0.1:9000"}


def s3(**config: Any) -> dict[str, Any]:
    return {"config_kwargs": {"s3": config}}


PLACES: dict[str, dict[str, Any]] = {
    "virtual": {},
    "path": s3(addressing_style="path"),
    "token": {"token": "TOKEN+/==%25"},
    "of an own server": MINIO,
    "of an own server, virtual": {
        "endpoint_url": "http://minio.example:9000",
        **s3(addressing_style="virtual"),
    },
    "endpoint with a path": {"endpoint_url": "https://gw.example/s3/v1"},
    "endpoint with a path and a slash": {"endpoint_url": "https://gw.example:8443/s3/"},
    "default port": {"endpoint_url": "https://gw.example:443"},
    "capitals": {"endpoint_url": "https://GW.Example"},
    "IPv6": {"endpoint_url": "http://[::1]:9000"},
    "IPv6, default port": {"endpoint_url": "https://[2001:db8::1]"},
    "dualstack": {"config_kwargs": {"use_dualstack_endpoint": True}},
    "FIPS": {
        "config_kwargs": {"use_fips_endpoint": True},
        "client_kwargs": {"region_name": "us-east-1"},
    },
    "accelerate": s3(use_accelerate_endpoint=True),
    "China": {"client_kwargs": {"region_name": "cn-north-1"}},
    "the oldest region": {"client_kwargs": {"region_name": "us-east-1"}},
    "signed by name": {"config_kwargs": {"signature_version": "s3v4"}},
    "body signed": s3(payload_signing_enabled=True),
    "body unsigned": s3(payload_signing_enabled=False),
    "body unsigned, plain": {**MINIO, **s3(payload_signing_enabled=False)},
    "named": {"config_kwargs": {"user_agent_extra": "x/1", "user_agent_appid": "a%pp"}},
    "requester pays": {"requester_pays": True},
    "KMS": {"s3_additional_kwargs": KMS},
    "KMS, own server": {**MINIO, "s3_additional_kwargs": KMS},
    "key of a customer": {"s3_additional_kwargs": KEY_OF_CUSTOMER},
    "owned, tagged": {"s3_additional_kwargs": OWNED},
    "metadata": {"s3_additional_kwargs": {"Metadata": {"Project": "of us & 100%", "b": "x y"}}},
    "no checksums": {"config_kwargs": {"request_checksum_calculation": "when_required"}},
    "access point": {},
    "through a proxy": {"config_kwargs": {"proxies": {"https": "http://proxy.example:3128"}}},
}
LENGTHS = (0, 1, 100, 65_000, 70_000, 1 << 20, (1 << 20) + 1)
"""Of a connection's buffer, of what leave is asked for."""

texts = st.text(min_size=1)
components = st.one_of(
    texts,
    st.text("+%/ .~?#&=;:@'\"!*()$,[]{}|\\^`<>-_", min_size=1),
    st.sampled_from(
        [".", "..", "a//b", "/", "day=2026-11-24", "%2F", "%C3%BC", "a+b", "\u00fc", "u\u0308"]
    ),
)
keys = (
    st.lists(components, min_size=1, max_size=4)
    .map("/".join)
    .filter(lambda key: len(key.encode()) < 1024)
)
plain = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=40)
contents = st.builds(
    Content,
    key=keys,
    upload_id=st.one_of(plain, texts),
    number=st.integers(1, 9_999),
    etag=plain.map(lambda text: text.replace(";", "-")),
    checksum=plain.map(lambda text: text.replace(";", "-")),
    body=st.one_of(st.binary(max_size=300), st.sampled_from(LENGTHS).map(bytes)),
    nonce=st.text("0123456789abcdef", min_size=32, max_size=32),
    size_bytes=st.integers(0, 5 << 40),
)


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def opened(place: str, one_certificate: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A store there, and the loop that it is opened on."""
    monkeypatch.setenv("AWS_CA_BUNDLE", one_certificate)
    bucket = ALIAS if place == "access point" else "bucket"
    with asyncio.Runner() as runner:
        both = runner.run(BothWays.open(f"s3://{bucket}/out", **PLACES[place]))
        yield runner, both, bucket
        runner.run(both.close())


async def same(both: BothWays, verb: Any) -> bool:
    """Whether it is made by template; then it is the same."""
    await both.ask(verb)
    if await both.template() is None:
        return False
    theirs, second = await both.by_botocore()
    ours = await both.by_template(second)
    assert ours is None or ours == theirs
    return ours is not None


def test_every_frequent_request_has_a_template(opened: Any) -> None:
    runner, both, bucket = opened
    for name, verb in verbs_of(Content(), bucket).items():
        assert runner.run(same(both, verb)), name


def test_it_is_the_same_whatever_it_is_about(opened: Any) -> None:
    runner, both, bucket = opened
    examples = max(8, settings().max_examples // 12)

    @settings(max_examples=examples)
    @given(content=contents)
    def every(content: Content) -> None:
        for verb in verbs_of(content, bucket).values():
            runner.run(same(both, verb))

    every()


ODD = {
    "blanks in metadata": {"s3_additional_kwargs": {"Metadata": {"b": "x  y"}}},
    "an empty value": {"s3_additional_kwargs": {"Metadata": {"b": ""}}},
}


@pytest.mark.parametrize("options", ODD.values(), ids=ODD)
def test_what_a_signature_would_change_is_left_to_botocore(
    options: dict[str, Any], one_certificate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", one_certificate)
    with asyncio.Runner() as runner:
        both = runner.run(BothWays.open(**options))
        for name in ("create", "put with nonce"):
            assert not runner.run(same(both, verbs_of(Content())[name]))
            assert runner.run(both.template()) is not None
        assert runner.run(same(both, verbs_of(Content())["complete"]))
        runner.run(both.close())


@pytest.mark.parametrize(
    "content",
    [
        Content(key="out/\ud800"),
        Content(upload_id="\ud800"),
        Content(etag="<e"),
        Content(etag="e\u00fc"),
        Content(checksum=""),
    ],
    ids=["key", "upload", "markup", "not ASCII", "empty"],
)
def test_an_odd_value_is_left_to_botocore(
    content: Content, one_certificate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", one_certificate)
    with asyncio.Runner() as runner:
        both = runner.run(BothWays.open())
        runner.run(both.ask(verbs_of(content)["complete in place"]))
        assert runner.run(both.template()) is not None
        assert runner.run(both.by_template(0)) is None
        runner.run(both.close())
