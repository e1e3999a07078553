"""Pages of simulated listings: by name where the real ones are, else in an order from the seed."""

from __future__ import annotations

import pytest

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect
from fsspec_commit.testing.simulation import FAMILIES, Plan
from fsspec_commit.testing.simulation.loop import SimulationLoop
from fsspec_commit.testing.simulation.world import World

NAMES = [f"{name}.txt" for name in "abcdefghij"]
CASES = [
    (name, what)
    for name, family in FAMILIES.items()
    if family.page_entries is not None
    for what in ("files", "children", "directories", "uploads")
    if what != "uploads" or (family.habits.uploads and family.habits.listable)
]


def listed(family: str, seed: int, what: str) -> list[str]:
    """What a listing shows, in its order, of ten files, directories or uploads."""
    loop = SimulationLoop()
    try:
        return loop.run_until_complete(
            _listed(World(Plan(family=family, schedule=seed), loop), what)
        )
    finally:
        loop.close()


async def _listed(world: World, what: str) -> list[str]:
    store = world.open(world.process("somebody"))._raw
    top = StorePath(f"{store.root}/in")
    for name in NAMES:
        if what == "uploads":
            world.bucket.start(StorePath(f"{top}/{name}"), Nonce("n"))
        else:
            below = f"{name}/x" if what == "directories" else name
            world.bucket.put(StorePath(f"{top}/{below}"), b"", None, Expect.ANYTHING)
    if what == "uploads":
        assert store.uploads is not None
        shown = [one.path async for one in store.uploads.pending(top)]
    elif what == "files":
        shown = [one.path async for one in store.list_tree(top)]
    else:
        shown = [one.path async for one in store.list_children(top)]
    return [path.removeprefix(f"{top}/") for path in shown]


@pytest.mark.parametrize(("family", "what"), CASES)
def test_pages_go_by_name_or_in_an_order_that_the_seed_says(family: str, what: str) -> None:
    """The names of one order are all there, each once, though a page shows three of them."""
    orders = [tuple(listed(family, seed, what)) for seed in range(6)]
    assert all(sorted(order) == NAMES for order in orders)
    assert listed(family, 0, what) == [*orders[0]]
    if family == "s3-express":
        assert len({*orders}) == len(orders)
        assert tuple(NAMES) not in orders
    else:
        assert {*orders} == {tuple(NAMES)}
