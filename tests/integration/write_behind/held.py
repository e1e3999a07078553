"""Tasks with files that wait at the gate, and what must be left once they are dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.testing.assertions import assert_no_leftovers
from tests.integration.write_behind.gate import content, write

if TYPE_CHECKING:
    import fsspec_commit as fc
    from tests.flat.bucket import Bucket
    from tests.integration.write_behind.gate import Gate

FILES = {f"{number}.txt": b"%d" % number for number in range(5)}


class WantedNoMoreError(Exception):
    """Raised by the code around the library."""


def left_by_an_exception(task: fc.Task) -> None:
    with pytest.raises(WantedNoMoreError), task:
        raise WantedNoMoreError


def held_at(gate: Gate, task: fc.Task, *verbs: str) -> None:
    """Write files, whose requests wait."""
    gate.verbs = set(verbs)
    gate.shut()
    write(task, FILES)
    gate.wait_for(len(FILES))


def check_nothing_left(bucket: Bucket, url: str) -> None:
    assert content(bucket) == {}
    assert not list(bucket.pending(""))
    assert_no_leftovers(url)
