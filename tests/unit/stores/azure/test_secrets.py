"""What an error of the options shows of them."""

from __future__ import annotations

import traceback

import pytest

from fsspec_commit.errors import RequestError
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.azure import AzureStore
from tests.unit.stores.azure.scripted import KEY, ScriptedAzure

SIGNATURE = "planted-signature"


@pytest.mark.parametrize(
    "given",
    [
        {"connection_string": f"AccountName=account;AccountKey={KEY};nonsense"},
        {"connection_string": f"AccountKey={KEY}"},
        {"account_key": KEY},
        {"account_name": "account", "account_key": KEY, "unknown": object()},
        {"account_name": "account", "account_key": "no base64", "sas_token": SIGNATURE},
    ],
)
def test_options_that_make_no_sense_are_not_repeated(
    gen2: ScriptedAzure, given: dict[str, object]
) -> None:
    options = OpenOptions(storage_options={**given, "connection_timeout": 0.01})
    with pytest.raises((RequestError, OSError)) as caught:
        gen2.run(AzureStore.open("abfs://bucket/out", options))
    shown = "".join(traceback.format_exception(caught.value))
    for secret in (KEY, SIGNATURE, "no base64"):
        assert secret not in shown.replace(repr(given), "")
