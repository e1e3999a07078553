"""Ids of chosen attempts, held as numbers."""

from __future__ import annotations

import random

from fsspec_commit.protocol.chosen import AttemptIds


def test_each_id_is_found_and_no_other() -> None:
    chance = random.Random(13)
    drawn = [f"{chance.getrandbits(64):016x}" for _ in range(4_000)]
    chosen, others = drawn[:2_000], drawn[2_000:]
    ids = AttemptIds()
    ids.extend(chosen[:1_000])
    ids.extend(chosen[1_000:])
    ids.freeze()
    assert all(one in ids for one in chosen)
    assert not any(one in ids for one in others)
