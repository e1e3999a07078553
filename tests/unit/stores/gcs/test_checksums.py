"""What is kept is what was sent: a small file brings its checksum, a long one is compared."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store import Expect
from fsspec_commit_stores.gcs import checksums
from fsspec_commit_stores.gcs.checksums import checksum_of
from tests.unit.stores.gcs.answers import error, resource, said
from tests.unit.stores.gcs.uploads import PIECES, Uploads, persistent
from tests.unit.stores.gcs.verbs import write
from tests.unit.stores.verbs import PATH

if TYPE_CHECKING:
    from tests.unit.stores.gcs.scripted import ScriptedGcs


def test_a_small_file_is_sent_with_it(gcs: ScriptedGcs, uploads: Uploads) -> None:
    gcs.run(write(gcs.store, b"abc"))
    assert b'"crc32c": "Nks/tw=="' in gcs.received[0].body
    assert uploads.sent == ["multipart 0"]


def test_and_sent_again_where_it_was_changed_on_its_way(gcs: ScriptedGcs, uploads: Uploads) -> None:
    """The service says so, and keeps nothing."""
    why = 'Provided CRC32C "Nks/tw==" doesn\'t match calculated CRC32C "AAAAAA==".'
    uploads.faults = {0: error(400, "invalid", message=why)}
    with pytest.raises(StoreError, match="changed on its way") as caught:
        gcs.run(write(gcs.store, b"abc"))
    assert caught.value.reply is Reply.NOT_DONE
    uploads.faults = {1: error(400, "invalid", message=why)}
    gcs.run(persistent(gcs.store, b"abc"))
    assert uploads.content == b"abc"


def test_a_small_file_that_is_kept_otherwise_is_written_again(
    gcs: ScriptedGcs, uploads: Uploads
) -> None:
    """By a server that does not look at what it is sent with."""
    uploads.changing = 1
    entry = gcs.run(persistent(gcs.store, b"abc"))
    assert uploads.content == b"abc"
    assert entry.token == "2"


@pytest.mark.parametrize("kept_at_once_max", [1 << 40, 5 << 20])
def test_a_long_file_that_is_kept_otherwise_is_none(
    gcs: ScriptedGcs, uploads: Uploads, kept_at_once_max: int
) -> None:
    """It is a working file yet; whoever writes it hears that, and it is never published."""
    uploads.kept_at_once_max = kept_at_once_max
    uploads.changing = 1
    with pytest.raises(StoreError, match="another content than was sent") as caught:
        gcs.run(write(gcs.store, *PIECES))
    assert caught.value.reply is Reply.REFUSED
    assert caught.value.can_go_on is False


def test_where_it_is_not_said_nothing_is_compared(gcs: ScriptedGcs) -> None:
    gcs.script(said(resource(size=3)))
    assert gcs.run(write(gcs.store, b"abc")).token == "7"


def test_md5_where_the_other_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytes(range(256))
    monkeypatch.setattr(checksums, "_IS_COMPILED", False)
    assert checksum_of(data) == base64.b64encode(hashlib.md5(data).digest()).decode()


def test_records_are_kept_apart_from_what_the_bucket_does_with_data(gcs: ScriptedGcs) -> None:
    """No cache shows an old one, and a cold bucket does not charge months for it."""
    gcs.script(said(resource()))
    gcs.run(gcs.store.put(PATH, b"1", expecting=Expect.ABSENT, within=None))
    gcs.run(write(gcs.store, b"1"))
    record, data = (one.body for one in gcs.received)
    for said_of_it in (b'"cacheControl": "no-store"', b'"storageClass": "STANDARD"'):
        assert said_of_it in record
        assert said_of_it not in data
