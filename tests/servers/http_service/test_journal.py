"""A journal gives back what was written whole, and goes on behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.servers.azure.gen2.storage import File, Storage
from tests.servers.http_service.journal import Journal

if TYPE_CHECKING:
    from pathlib import Path


def test_what_breaks_off_is_cut_away(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    assert list(journal.entries()) == []
    journal.write(("one", b"first\n"))
    whole = path.read_bytes()
    journal.write(("two", b"second"))
    for cut in range(len(whole), path.stat().st_size):
        other = tmp_path / f"cut-{cut}"
        other.write_bytes(path.read_bytes()[:cut])
        again = Journal(other)
        assert list(again.entries()) == [("one", b"first\n")]
        again.write(("three", b""))
        assert list(Journal(other).entries()) == [("one", b"first\n"), ("three", b"")]


def test_an_etag_is_never_given_again(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    first = Storage(Journal(path))
    first.change("create", "c", "0x8DD", 1.0, {})
    # As if the clock had been put back between the two.
    far = "0xFFFFFFFFFFFFFFF"
    first.change("put", "c", "f", File(far, 0.0, 0.0, {}, {}))
    etags = [int(one.stamp()[0], 16) for one in (first, Storage(Journal(path)), first)]
    assert min(etags) > int(far, 16)
