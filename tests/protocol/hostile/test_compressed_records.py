"""A compressed record is none, and nobody unpacks it: it may be a thousand times as long (P10)."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from functools import partial
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.protocol.hostile.bit_flips import kind_of
from tests.protocol.hostile.cases import CALLS, Case
from tests.protocol.hostile.decoding import is_believed, written_records
from tests.protocol.hostile.long_records import most_bytes, peak_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.protocol.hostile.worlds import World

FORMS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}
BOMB_BYTES = 32 << 20


@pytest.mark.guarantees("P10")
@pytest.mark.parametrize("form", FORMS)
def test_p10_what_is_compressed_is_no_record(form: str, spoiled: list[World]) -> None:
    records = [one for one in written_records(spoiled) if kind_of(one)]
    assert not any(
        is_believed(record, FORMS[form](record.data))
        for record in records
        if not record.name.startswith(("chosen-", "replaced-"))
    )
    world = next(one for one in spoiled if f"{one.area}/decision" in one.records())
    bomb = FORMS[form](b" " * BOMB_BYTES)
    for name in ("job.json", "decision"):
        world.restore()
        world.write(f"{world.area}/{name}", bomb)
        case = Case(0, [world])
        assert peak_bytes(partial(CALLS["resume"], case)) < most_bytes(bomb)
        assert isinstance(case.call("resume"), fc.RecordError)
