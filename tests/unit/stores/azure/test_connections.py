"""How requests leave the machine."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from azure.core.exceptions import ServiceRequestError

from fsspec_commit.errors import Reply
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.azure.connections import UnansweredError, _checksum_of, _proxy_for
from fsspec_commit_stores.azure.failures import AzureRequest, unanswered

BODY = b"0123456789"
ENDPOINT = "https://account.blob.core.windows.net"
PROXY = "http://user:secret@proxy.example.org:3128"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


def test_the_environment_s_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _proxy_for(ENDPOINT) is None
    monkeypatch.setenv("https_proxy", PROXY)
    assert _proxy_for(ENDPOINT) == PROXY
    assert _proxy_for("http://127.0.0.1:10000/account") is None, "of the other scheme"


def test_but_not_for_hosts_that_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", PROXY)
    monkeypatch.setenv("no_proxy", "localhost,.windows.net")
    assert _proxy_for(ENDPOINT) is None


def test_what_no_tls_guards_has_a_checksum() -> None:
    """Of what was sent; where that is not what has arrived, the service says so."""
    told = {"Content-MD5": "eB5eJF1ptWaXm4bijSPyxw=="}
    assert _checksum_of("http://127.0.0.1:10000/account/c/b", BODY) == told
    assert _checksum_of(f"{ENDPOINT}/c/b", BODY) == {}


def test_a_certificate_that_was_right_before_is_waited_for() -> None:
    """As of an ingress that restarts: nothing was sent, and a decided job ended partial."""
    host: Any = SimpleNamespace(host="account", port=443, is_ssl=True, ssl=True)
    cause = aiohttp.ClientConnectorCertificateError(host, ValueError("issuer"))
    lost = UnansweredError(ServiceRequestError("lost", error=cause), is_sent=True)
    asked = AzureRequest("write", StorePath("c/a"), "write", ENDPOINT)
    assert unanswered(asked, lost, first_tries=0).reply is Reply.NOT_DONE
    assert unanswered(asked, lost, first_tries=1).reply is Reply.REFUSED
