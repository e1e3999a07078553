"""Signatures by an account's key: those that are made here are azure-storage's, or are not used."""

from __future__ import annotations

import logging
from base64 import b64encode
from typing import Any
from urllib.parse import quote

import pytest
from azure.core.pipeline import PipelineContext, PipelineRequest
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.core.pipeline.transport import AioHttpTransport, HttpRequest
from azure.storage.blob._shared.authentication import SharedKeyCredentialPolicy
from hypothesis import given, settings
from hypothesis import strategies as st

from fsspec_commit_stores.azure import signing
from fsspec_commit_stores.azure.credentials import Credentials
from fsspec_commit_stores.azure.signing import SAME_MIN, KeySignatures, signing_policy_of

KEY = b64encode(b"planted-account-key-of-32-bytes!").decode()
URL = "https://account.dfs.core.windows.net/container/day=1/part-1.parquet"
HEADERS = {
    "x-ms-version": "2023-11-03",
    "x-ms-date": "Thu, 26 Nov 2026 22:00:00 GMT",
    "x-ms-rename-source": "/container/_commit/a",
    "x-ms-source-if-match": '"0x8DC"',
    "If-None-Match": "*",
    "Content-Length": "0",
}
BODY = {
    "x-ms-version": "2023-11-03",
    "x-ms-date": "Thu, 26 Nov 2026 22:00:00 GMT",
    "x-ms-blob-type": "BlockBlob",
    "x-ms-meta-nonce": "0" * 32,
    "Content-Length": "7",
    "Content-Type": "application/octet-stream",
    "Content-MD5": "eB5eJF1ptWaXm4bijSPyxw==",
}


class Counted(SharedKeyCredentialPolicy):
    """azure-storage's own, and how often it has signed."""

    def __init__(self) -> None:
        super().__init__("account", KEY)  # type: ignore[no-untyped-call]  # it has no types
        self.count = 0

    def on_request(self, request: Any) -> None:
        self.count += 1
        super().on_request(request)  # type: ignore[no-untyped-call]


def azures(key: str) -> Any:
    """azure-storage's own, which has no types."""
    policy: Any = SharedKeyCredentialPolicy
    return policy("account", key)


def signed(policy: Any, headers: dict[str, str], url: str = URL, method: str = "PUT") -> str:
    sent = HttpRequest(method, url)
    sent.headers.update(headers)
    policy.on_request(PipelineRequest(sent, PipelineContext(AioHttpTransport())))
    found: str = sent.headers["Authorization"]
    return found


@pytest.fixture
def sdk() -> Counted:
    return Counted()


@pytest.fixture
def proven(sdk: Counted) -> KeySignatures:
    """What has signed each of the two shapes as often as it takes."""
    policy = KeySignatures(sdk)
    for headers in (HEADERS, BODY):
        for _ in range(SAME_MIN):
            signed(policy, headers)
    sdk.count = 0
    return policy


@pytest.mark.parametrize("headers", [HEADERS, BODY], ids=["a rename", "a body"])
def test_the_first_of_a_shape_are_azure_storages(sdk: Counted, headers: dict[str, str]) -> None:
    policy, theirs = KeySignatures(sdk), azures(KEY)
    for count in (1, 2, 2, 2):
        assert signed(policy, headers) == signed(theirs, headers)
        assert sdk.count == count == min(count, SAME_MIN)


_TEXT = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20)
_NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9)


@settings(max_examples=200, deadline=None)
@given(
    names=st.lists(_NAME, min_size=1, max_size=4),
    of_rename=st.lists(_TEXT, min_size=5, max_size=5),
    length=st.integers(0, 99),
)
def test_one_that_is_made_here_is_the_same(
    names: list[str], of_rename: list[str], length: int
) -> None:
    sdk, theirs = Counted(), azures(KEY)
    policy = KeySignatures(sdk)
    for proof in (URL, f"{URL}%20"):
        for _ in range(SAME_MIN):
            signed(policy, HEADERS, proof)
    path = quote("/".join(names), safe="/~")
    url = f"https://account.dfs.core.windows.net/{path}"
    values = [*of_rename, str(length)]
    headers = dict(zip(HEADERS, values, strict=True))
    assert signed(policy, headers, url) == signed(theirs, headers, url)
    leads_elsewhere = any(name in {"", ".", ".."} for name in path.split("/"))
    assert sdk.count == 2 * SAME_MIN + leads_elsewhere


@pytest.mark.parametrize(
    "url",
    [
        f"{URL}?resource=directory",
        f"{URL}?",
        "https://account.dfs.core.windows.net/container/%2E%2E/b",
        "https://account.dfs.core.windows.net/container/a%2",
        "https://account.dfs.core.windows.net/container/a+b",
        "https://account.dfs.core.windows.net/container/../b",
        "https://account.dfs.core.windows.net/container/./b",
        "https://account.dfs.core.windows.net/container//b",
        "https://account.dfs.core.windows.net/container/",
        "https://account.dfs.core.windows.net",
    ],
)
def test_what_is_not_plain_is_azure_storages(sdk: Counted, proven: KeySignatures, url: str) -> None:
    theirs = azures(KEY)
    assert signed(proven, HEADERS, url) == signed(theirs, HEADERS, url)
    plain = url.endswith("?")  # which asks nothing
    assert sdk.count == (0 if plain else 1)


def test_so_is_another_shape(sdk: Counted, proven: KeySignatures) -> None:
    signed(proven, HEADERS, method="HEAD")
    signed(proven, {**HEADERS, "If-Match": "e"})
    signed(proven, HEADERS, f"{URL}%20")
    assert sdk.count == 3
    signed(proven, HEADERS)
    assert sdk.count == 3


def test_there_are_not_too_many_shapes(sdk: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing, "SHAPES_MAX", 1)
    policy = KeySignatures(sdk)
    for headers in (HEADERS, BODY):
        for _ in range(SAME_MIN + 1):
            signed(policy, headers)
    assert sdk.count == SAME_MIN + (SAME_MIN + 1)


@pytest.mark.parametrize(
    ("part", "otherwise"),
    [
        ("_get_verb", lambda _: "PUT "),
        ("_get_canonicalized_headers", lambda _: "x-ms-new:1\n"),
        ("_get_canonicalized_resource", lambda *_: "/account/other"),
        ("_get_canonicalized_resource_query", lambda _: "\na:b"),
    ],
)
def test_where_azure_storage_signs_in_another_way_it_signs_all(
    sdk: Counted,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    part: str,
    otherwise: Any,
) -> None:
    caplog.set_level(logging.DEBUG, "fsspec_commit")
    made = otherwise if part == "_get_canonicalized_resource" else staticmethod(otherwise)
    monkeypatch.setattr(SharedKeyCredentialPolicy, part, made)
    policy, theirs = KeySignatures(sdk), azures(KEY)
    for _ in range(SAME_MIN + 2):
        assert signed(policy, HEADERS) == signed(theirs, HEADERS)
    assert sdk.count == SAME_MIN + 2
    [told] = [one.getMessage() for one in caplog.records if "left to azure-storage" in one.message]
    assert told.startswith("Azure: signatures of the shape PUT(content-length, if-none-match, ")
    assert not any(value in told for value in (KEY, *HEADERS.values()) if len(value) > 1)


def test_a_shape_that_came_out_otherwise_once_is_never_signed_here(
    sdk: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = KeySignatures(sdk)
    with monkeypatch.context() as odd:
        odd.setattr(SharedKeyCredentialPolicy, "_get_verb", staticmethod(lambda _: "GET\n"))
        signed(policy, HEADERS)
    for count in range(2, 6):
        signed(policy, HEADERS)
        assert sdk.count == count


def test_a_key_that_is_exchanged_signs_from_then_on(sdk: Counted, proven: KeySignatures) -> None:
    before = signed(proven, HEADERS)
    sdk.account_key = b64encode(b"another-account-key-of-32-bytes!").decode()
    theirs = azures(sdk.account_key)
    assert signed(proven, HEADERS) == signed(theirs, HEADERS) != before
    assert sdk.count == 0


def test_only_azure_storages_own_policy_is_known() -> None:
    class Mine(SansIOHTTPPolicy[Any, Any]):
        account_name = "account"
        account_key = KEY

    mine, theirs = Mine(), azures(KEY)
    assert signing_policy_of(mine) is mine
    assert isinstance(signing_policy_of(theirs), KeySignatures)
    assert Credentials(theirs, "", signs_here=False).policies == [theirs]
    [policy] = Credentials(theirs, "").policies
    assert isinstance(policy, KeySignatures)
