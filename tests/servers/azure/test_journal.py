"""The journal of our own server gives back what was written whole, and goes on behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.servers.azure.gen2.journal import Journal
from tests.servers.azure.gen2.storage import File, Storage

if TYPE_CHECKING:
    from pathlib import Path

STAMP = ("0x8DD", 1.0)


def stored(path: Path) -> Storage:
    return Storage(Journal(path))


def put(storage: Storage, path: str, content: bytes) -> None:
    etag, now_s = storage.stamp()
    file = File(etag, now_s, now_s, {}, {}, blocks=(("", content),))
    storage.change("put", "c", path, file)


@pytest.mark.parametrize("lost_bytes", [1, 5, 60])
def test_what_breaks_off_is_cut_away(tmp_path: Path, lost_bytes: int) -> None:
    path = tmp_path / "journal"
    first = stored(path)
    first.change("create", "c", *STAMP, {})
    put(first, "kept", b"1")
    put(first, "lost", b"2")
    whole = path.read_bytes()
    path.write_bytes(whole[:-lost_bytes])
    second = stored(path)
    assert list(second.containers["c"].root.children) == ["kept"]
    put(second, "next", b"3")
    third = stored(path)
    assert sorted(third.containers["c"].root.children) == ["kept", "next"]
    node = third.containers["c"].find("next")
    assert isinstance(node, File)
    assert node.content == b"3"


def test_an_etag_is_never_given_again(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    first = stored(path)
    first.change("create", "c", *STAMP, {})
    # As if the clock had been put back between the two.
    far = "0xFFFFFFFFFFFFFFF"
    first.change("put", "c", "f", File(far, 0.0, 0.0, {}, {}))
    etags = [int(one.stamp()[0], 16) for one in (first, stored(path), first)]
    assert min(etags) > int(far, 16)
