"""The settings of Google's connectors and of hadoop-gcp, and the options that they are here."""

from __future__ import annotations

from typing import Any

import pytest

import fsspec_commit as fc
from fsspec_commit.engines.spark.hadoop_settings import location_of

PATH = "gs://bucket/out"
TYPE = "fs.gs.auth.type"
FILE = "fs.gs.auth.service.account.json.keyfile"
SECRET = "GOCSPX-secret"
USER = {
    TYPE: "USER_CREDENTIALS",
    "fs.gs.auth.client.id": "id",
    "fs.gs.auth.client.secret": SECRET,
    "fs.gs.auth.refresh.token": "1//refresh",
}
OF_USER = {"client_id": "id", "client_secret": SECRET, "refresh_token": "1//refresh"}
# What Hadoop 3.5 sets by itself.
DEFAULTS = {TYPE: "COMPUTE_ENGINE", "fs.gs.block.size": "64m"}
GOOGLES = "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem"
DRIVER = "spark.fsspec_commit.driver"
CONNECTOR_2 = {DRIVER: f"{GOOGLES},{GOOGLES}Base"}
CONNECTOR_3 = {DRIVER: GOOGLES}
OF_KEY = {
    "fs.gs.auth.service.account.email": "a@b",
    "fs.gs.auth.service.account.private.key.id": "1",
    "fs.gs.auth.service.account.private.key": "-----BEGIN\\nx\\n-----END",
}
KEY = {
    "type": "service_account",
    "client_email": "a@b",
    "private_key_id": "1",
    "private_key": "-----BEGIN\nx\n-----END",
    "token_uri": "https://oauth2.googleapis.com/token",
}


@pytest.mark.parametrize("path", [PATH, "gs://bucket/a b/%20 100%/ö#1", "gs://bucket/d=1"])
def test_a_path_is_itself(path: str) -> None:
    assert location_of(path, {}) == (path, {"token": "cloud"})


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, {"token": "cloud"}),
        (DEFAULTS, {"token": "cloud"}),
        ({TYPE: "APPLICATION_DEFAULT"}, {"token": "google_default"}),
        ({TYPE: "UNAUTHENTICATED"}, {"token": "anon"}),
        ({TYPE: "SERVICE_ACCOUNT_JSON_KEYFILE", FILE: "/etc/key.json"}, {"token": "/etc/key.json"}),
        (USER, {"token": OF_USER}),
        # The same names for all of Google's drivers; the driver's own wins.
        (
            {
                "google.cloud.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
                "google.cloud.auth.service.account.json.keyfile": "/etc/all.json",
            },
            {"token": "/etc/all.json"},
        ),
        (
            {
                TYPE: "SERVICE_ACCOUNT_JSON_KEYFILE",
                FILE: "/etc/own.json",
                "google.cloud.auth.service.account.json.keyfile": "/etc/all.json",
            },
            {"token": "/etc/own.json"},
        ),
        # Connector 2.x, under Hadoop 3.5 or not.
        ({**DEFAULTS, "fs.gs.auth.service.account.enable": "true"}, {"token": "cloud"}),
        (
            {
                **DEFAULTS,
                "google.cloud.auth.service.account.enable": "true",
                "google.cloud.auth.service.account.json.keyfile": "/etc/key.json",
            },
            {"token": "/etc/key.json"},
        ),
        (
            {
                **DEFAULTS,
                "fs.gs.auth.null.enable": "true",
                "fs.gs.auth.service.account.enable": "false",
            },
            {"token": "anon"},
        ),
        (
            {**OF_KEY, FILE: "/etc/key.json"},
            {"token": KEY},
        ),
        ({**CONNECTOR_2, **OF_KEY, FILE: "/etc/key.json"}, {"token": KEY}),
        (
            {**CONNECTOR_2, FILE: "/etc/key.json", TYPE: "UNAUTHENTICATED"},
            {"token": "/etc/key.json"},
        ),
        ({**CONNECTOR_2, **USER, TYPE: "COMPUTE_ENGINE"}, {"token": OF_USER}),
        ({**CONNECTOR_2, TYPE: "APPLICATION_DEFAULT"}, {"token": "cloud"}),
        # Later ones do not look at a key's file that nobody told them to use.
        ({**CONNECTOR_3, FILE: "/etc/key.json"}, {"token": "cloud"}),
        ({**CONNECTOR_3, **DEFAULTS, **OF_KEY}, {"token": "cloud"}),
        (
            {"fs.gs.impl": "org.apache.hadoop.fs.gs.GoogleHadoopFileSystem", FILE: "/etc/key.json"},
            {"token": "cloud"},
        ),
        # Where, and whose money.
        (
            {TYPE: "UNAUTHENTICATED", "fs.gs.storage.root.url": "http://127.0.0.1:1/"},
            {"token": "anon", "endpoint_url": "http://127.0.0.1:1"},
        ),
        ({"fs.gs.storage.root.url": "https://storage.googleapis.com/"}, {"token": "cloud"}),
        ({"fs.gs.project.id": "p"}, {"token": "cloud", "project": "p"}),
        (
            {"fs.gs.requester.pays.mode": "ENABLED", "fs.gs.requester.pays.project.id": "payer"},
            {"token": "cloud", "requester_pays": "payer"},
        ),
        (
            {
                "fs.gs.requester.pays.mode": "CUSTOM",
                "fs.gs.requester.pays.buckets": "other, bucket",
                "fs.gs.project.id": "p",
            },
            {"token": "cloud", "project": "p", "requester_pays": "p"},
        ),
        (
            {"fs.gs.requester.pays.mode": "CUSTOM", "fs.gs.requester.pays.buckets": "other"},
            {"token": "cloud"},
        ),
        (
            {"fs.gs.proxy.address": "proxy:3128", "fs.gs.proxy.username": "me"},
            {"token": "cloud", "session_kwargs": {"proxy": "http://me:@proxy:3128"}},
        ),
        ({"spark.fsspec_commit.credentials": "ambient", TYPE: "ACCESS_TOKEN_PROVIDER"}, {}),
    ],
)
def test_a_setting_is_an_option(settings: dict[str, str], options: dict[str, Any]) -> None:
    assert location_of(PATH, settings) == (PATH, options)


def test_connector_2_looks_into_the_environment_and_later_ones_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/etc/of-the-environment.json")
    found = [location_of(PATH, driver)[1]["token"] for driver in (CONNECTOR_2, CONNECTOR_3)]
    assert found == ["google_default", "cloud"]
    assert location_of(PATH, {**CONNECTOR_2, FILE: "/etc/key.json"})[1]["token"] == "/etc/key.json"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {TYPE: "ACCESS_TOKEN_PROVIDER", "fs.gs.auth.access.token.provider": "com.x.Tokens"},
            "com.x.Tokens",
        ),
        ({"fs.gs.auth.access.token.provider.impl": "com.x.Tokens"}, "com.x.Tokens"),
        ({TYPE: "SERVICE_ACCOUNT_JSON_KEYFILE"}, FILE),
        ({**USER, "fs.gs.auth.refresh.token": ""}, "fs.gs.auth.refresh.token"),
        ({**USER, "fs.gs.token.server.url": "http://mine"}, "fs.gs.token.server.url"),
        ({TYPE: "MAGIC"}, TYPE),
        (
            {
                TYPE: "WORKLOAD_IDENTITY_FEDERATION_CREDENTIAL_CONFIG_FILE",
                "fs.gs.auth.workload.identity.federation.credential.config.file": "/x",
            },
            "GOOGLE_APPLICATION_CREDENTIALS",
        ),
        ({"fs.gs.auth.impersonation.service.account": "a@b"}, "GOOGLE_APPLICATION_CREDENTIALS"),
        (
            {"fs.gs.auth.impersonation.service.account.for.user.me": "a@b"},
            "GOOGLE_APPLICATION_CREDENTIALS",
        ),
        (
            {"google.cloud.auth.impersonation.service.account": "a@b"},
            "google.cloud.auth.impersonation",
        ),
        ({"fs.gs.auth.service.account.keyfile": "/x.p12"}, "JSON file"),
        ({"google.cloud.service.account.auth.keyfile": "/x.p12"}, "JSON file"),
        ({**CONNECTOR_2, "fs.gs.enable.service.account.auth": "false"}, "credentials=ambient"),
        ({"fs.gs.auth.service.account.enable": "false"}, "credentials=ambient"),
        ({"fs.gs.encryption.key": SECRET}, "fs.gs.encryption.key"),
        ({"fs.gs.storage.http.headers.x-goog-a": SECRET}, "headers"),
        ({"fs.gs.authorization.handler.impl": "com.x.Ranger"}, "authorization.handler"),
        ({"fs.gs.config.override.file": "/x"}, "override"),
        ({"fs.gs.delegation.token.binding": "com.x.Y"}, "credentials=ambient"),
        ({"fs.gs.storage.service.path": "storage/v2/"}, "storage/v1/"),
        ({"fs.gs.storage.root.url": f"https://me:{SECRET}@host"}, "https://host:port"),
        ({"fs.gs.requester.pays.mode": "AUTO"}, "CUSTOM"),
        ({"fs.gs.requester.pays.mode": "ENABLED"}, "pay"),
        ({"fs.gs.impl": "shaded.databricks.Gcs"}, "shaded.databricks.Gcs"),
    ],
)
def test_what_has_no_counterpart_is_refused_and_no_secret_is_said(
    settings: dict[str, str], said: str
) -> None:
    with pytest.raises(fc.RequestError) as caught:
        location_of(PATH, settings)
    message = str(caught.value)
    assert caught.value.kind == "unmapped_setting"
    assert said in message
    assert SECRET not in message + repr(caught.value)
