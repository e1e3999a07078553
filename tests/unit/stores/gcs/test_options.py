"""Options that gcsfs does not know, and swallows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import RequestError
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.gcs import GcsStore

if TYPE_CHECKING:
    from tests.unit.stores.gcs.scripted import ScriptedGcs


def test_an_option_that_gcsfs_does_not_know_is_named(gcs: ScriptedGcs) -> None:
    """It was swallowed, and the network told as unreachable where credentials were looked for."""
    wrong = {"service_account": "planted-secret", "GOOGLE_Endpoint": "x", "nothing": 1}
    given = OpenOptions(storage_options={**wrong, "token": "anon", "use_listings_cache": True})
    with pytest.raises(RequestError) as caught:
        gcs.run(GcsStore.open("gs://bucket/out", given))
    assert str(caught.value) == (
        "cannot open 'gs://bucket/out': an option is not one of gcsfs's (unknown: service_account, "
        "GOOGLE_Endpoint, nothing; service_account is token= there; GOOGLE_Endpoint is "
        "endpoint_url= there)"
    )
    assert caught.value.kind == "invalid_option"


def test_what_fsspec_takes_itself_is_no_unknown_option(gcs: ScriptedGcs) -> None:
    store = gcs.open(
        listings_expiry_time=5, max_paths=3, skip_instance_cache=True, batch_size=7, project="p"
    )
    assert store.root == "bucket/out"
