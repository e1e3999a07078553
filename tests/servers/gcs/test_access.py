"""Tokens, permissions and limits of the strict server, through gcsfs and raw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gcsfs
import pytest
from google.api_core.exceptions import TooManyRequests
from google.oauth2.service_account import Credentials

if TYPE_CHECKING:
    from tests.servers.gcs.plugin import GcsBucket
    from tests.servers.gcs.raw import Raw

pytestmark = pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)
NOBODY = {"Authorization": "Bearer ya29.nobody"}


def filesystem(options: dict[str, Any]) -> Any:
    return gcsfs.GCSFileSystem(**options, skip_instance_cache=True)


def session_of(bucket: GcsBucket, *denied: str) -> dict[str, str]:
    """What somebody says who may do everything else."""
    return {"Authorization": f"Bearer {bucket.server.credentials_without(*denied).token}"}


def test_an_unknown_token_is_refused(raw: Raw) -> None:
    answer = raw.insert("a", headers=NOBODY)
    assert (answer.status, answer.reason) == (401, "authError")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert raw.names() == []


def test_nobody_may_be_wanted(gcs_bucket: GcsBucket, raw: Raw) -> None:
    gcs_bucket.server.control.set(anonymous=False)
    assert raw.insert("a").reason == "required"
    filesystem(gcs_bucket.storage_options).pipe_file(f"{gcs_bucket.name}/a", b"one")
    gcs_bucket.server.control.set()
    assert raw.names() == ["a"]


def test_a_key_file_is_good_for_the_other_client(gcs_bucket: GcsBucket) -> None:
    server = gcs_bucket.server
    server.control.set(anonymous=False)
    scopes = ["https://www.googleapis.com/auth/devstorage.read_write"]
    key: Any = server.service_account
    known = Credentials.from_service_account_info(key, scopes=scopes)  # type: ignore[no-untyped-call]
    client = server.client_through(server.endpoint_url, known)
    client.bucket(gcs_bucket.name).blob("a").upload_from_string(b"one")
    assert [blob.name for blob in client.list_blobs(gcs_bucket.name)] == ["a"]
    client.close()


def test_a_missing_permission_is_named(gcs_bucket: GcsBucket, raw: Raw) -> None:
    options = gcs_bucket.server.storage_options_without("storage.objects.create")
    with pytest.raises(OSError, match=r"does not have storage\.objects\.create access"):
        filesystem(options).pipe_file(f"{gcs_bucket.name}/a", b"one")
    assert raw.names() == []


def test_to_replace_is_to_delete(gcs_bucket: GcsBucket, raw: Raw) -> None:
    creator = session_of(gcs_bucket, "storage.objects.delete")
    for name in ("a", "b", "c"):
        assert raw.insert(name, headers=creator).status == 200
    for answer in (
        raw.insert("a", headers=creator),
        raw.move("b", "a", headers=creator),
        raw.object("DELETE", "a", headers=creator),
    ):
        assert (answer.status, answer.reason) == (403, "forbidden")
    # The right to move is enough for the source.
    assert raw.move("c", "d", headers=creator).status == 200
    lesser = session_of(gcs_bucket, "storage.objects.move", "storage.objects.delete")
    assert raw.move("b", "e", headers=lesser).status == 403
    assert raw.names() == ["a", "b", "d"]


def test_tokens_are_revoked(gcs_bucket: GcsBucket, raw: Raw) -> None:
    session = session_of(gcs_bucket)
    assert raw.insert("a", headers=session).status == 200
    gcs_bucket.server.revoke_tokens()
    assert raw.insert("b", headers=session).reason == "authError"


def test_what_is_opened_after_a_revocation_has_another_token(gcs_bucket: GcsBucket) -> None:
    """fsspec keeps what an earlier test of the process opened, with the token that it had."""
    kept = gcsfs.GCSFileSystem(**gcs_bucket.storage_options)
    kept.pipe_file(f"{gcs_bucket.name}/a", b"one")
    assert gcsfs.GCSFileSystem(**gcs_bucket.storage_options) is kept
    gcs_bucket.server.revoke_tokens()
    gcsfs.GCSFileSystem(**gcs_bucket.storage_options).pipe_file(f"{gcs_bucket.name}/b", b"two")


def test_a_restart_forgets_no_token_and_no_setting(gcs_bucket: GcsBucket, raw: Raw) -> None:
    server = gcs_bucket.server
    known = filesystem(gcs_bucket.storage_options)
    known.pipe_file(f"{gcs_bucket.name}/a", b"one")
    server.control.set(anonymous=False)
    server.kill()
    server.restart()
    known.pipe_file(f"{gcs_bucket.name}/b", b"two")
    assert raw.insert("c").reason == "required"


def test_a_name_is_written_once_in_a_while(gcs_bucket: GcsBucket, raw: Raw) -> None:
    gcs_bucket.server.control.set(write_interval_s=600)
    assert raw.insert("a").status == 200
    second = raw.insert("a")
    assert (second.status, second.reason) == (429, "rateLimitExceeded")
    assert raw.insert("b").status == 200
    assert raw.move("b", "a").status == 429
    assert raw.object("DELETE", "a").status == 204
    assert raw.names() == ["b"]
    blob = gcs_bucket.server.client.bucket(gcs_bucket.name).blob("a")
    with pytest.raises(TooManyRequests):
        blob.upload_from_string(b"", retry=None)
    gcs_bucket.server.control.set()
    assert raw.insert("a").status == 200


def test_a_deletion_counts_where_it_is_said_to(gcs_bucket: GcsBucket, raw: Raw) -> None:
    gcs_bucket.server.control.set(write_interval_s=600, deletions_count=True)
    assert raw.insert("a").status == 200
    refused = raw.object("DELETE", "a")
    assert (refused.status, refused.reason) == (429, "rateLimitExceeded")
    assert raw.move("a", "b").status == 429
    gcs_bucket.server.control.set()
    assert raw.insert("c").status == 200
    gcs_bucket.server.control.set(write_interval_s=600, deletions_count=True)
    assert raw.object("DELETE", "c").status == 204
    assert raw.insert("c").status == 429


def test_too_many_calls_are_refused(gcs_bucket: GcsBucket, raw: Raw) -> None:
    control = gcs_bucket.server.control
    control.set_load(rate_per_s=0.001, burst_s=2_000)
    before = control.statistics()
    answers = [raw.insert(str(number)) for number in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 429, 429]
    assert answers[-1].reason == "rateLimitExceeded"
    met = control.statistics().since(before)
    assert (met.requests["objects.insert"], met.throttled["objects.insert"]) == (4, 2)
    control.set_load()
    assert raw.names() == ["0", "1"]
