"""What a test expects the local adapter to refuse."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def refused(*names: object, code: int | None = None) -> Iterator[None]:
    with pytest.raises(StoreError) as caught:
        yield
    assert caught.value.reply is Reply.REFUSED, caught.value
    for name in names:
        assert str(name) in str(caught.value)
    if code is not None:
        assert caught.value.errno == code
