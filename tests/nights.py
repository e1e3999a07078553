"""How much of what is long one night runs: a share of the tests, each night another one.

All of them take some hours, and a night has one. Which tests a share has, their names say, so that
shares are disjoint, and whole together; but for those that each night runs. So it is with the
benchmarks, whose order says it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar
from zlib import crc32

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")
_SHARE = re.compile(r"(\d+)/([1-9]\d*)")


@dataclass(frozen=True)
class Share:
    """One of some shares, counted from 0."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``2/5``: the third of five; ``7/5`` is the same one."""
        found = _SHARE.fullmatch(text)
        if found is None:
            raise pytest.UsageError(f"--share={text} is none: write 0/3, 1/3 or 2/3 for a third")
        number, count = map(int, found.groups())
        return cls(number % count, count)

    def has(self, nodeid: str) -> bool:
        """Whether it is for this share to run a test."""
        return crc32(nodeid.encode()) % self.count == self.number

    def of(self, all_of_them: Sequence[T]) -> Sequence[T]:
        """Every *count*-th of them: what stands side by side is of different nights."""
        return all_of_them[self.number :: self.count]

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--share",
        type=Share.parse,
        default=Share(0, 1),
        metavar="NUMBER/COUNT",
        help="run one of so many shares of the tests: 0/3, 1/3 and 2/3 together are all",
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    share: Share = config.option.share
    return None if share.count == 1 else f"of {share.count} shares of the tests: --share={share}"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    share: Share = config.option.share
    others = [item for item in items if not _runs(share, item)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if _runs(share, item)]
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def _runs(share: Share, item: pytest.Item) -> bool:
    return share.has(item.nodeid) or item.get_closest_marker("every_night") is not None
