"""What requests cost: `prices.json`, which says of each price where and when it was found."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

FILE = Path(__file__).with_name("prices.json")


class Prices(msgspec.Struct, frozen=True, kw_only=True):
    """Of one store, in one region.

    Attributes:
        name: What its owner sells it as.
        counted_on: The server of `slow_servers.py` whose requests are those of this store.
        region: Where.
        date: When these prices were so.
        source: The provider's page.
        verified: How far that is known.
        usd_per_1000: US dollars for a thousand requests of each class.
        classes: The operations of each class.
    """

    name: str
    counted_on: str
    region: str
    date: str
    source: str
    verified: str
    usd_per_1000: Mapping[str, float]
    classes: Mapping[str, tuple[str, ...]]

    def usd(self, requests: Mapping[str, float]) -> float:
        """What so many requests of each operation cost.

        Raises:
            KeyError: an operation has no price.
        """
        price = {
            operation: self.usd_per_1000[name]
            for name, operations in self.classes.items()
            for operation in operations
        }
        return sum(count * price[operation] / 1000 for operation, count in requests.items())


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    currency: str
    stores: tuple[Prices, ...]


@cache
def all_prices() -> tuple[Prices, ...]:
    """Of every store that has some."""
    return msgspec.json.decode(FILE.read_bytes(), type=_Table).stores
