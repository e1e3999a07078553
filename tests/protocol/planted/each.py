"""Plants for each test the bug that it holds, and no other: each must fail, or the run does.

``-p tests.protocol.planted.each --plant BUGS``, with the tests; BUGS is a JSON file of the name of
a bug for each test. One run of pytest for many bugs is one start of a process, and not many.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

HELD = pytest.StashKey[dict[str, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--plant", help="a file that says which test holds which bug")


def pytest_configure(config: pytest.Config) -> None:
    named = config.getoption("plant")
    config.stash[HELD] = {} if named is None else json.loads(Path(named).read_text())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        name = config.stash[HELD].get(item.nodeid)
        if name is not None:
            item.add_marker(pytest.mark.xfail(reason=f"planted: {name}", strict=True))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Before all fixtures, and until all of them are gone."""
    from tests.protocol.planted.bugs import BUGS

    name = item.config.stash[HELD].get(item.nodeid)
    with pytest.MonkeyPatch.context() as patch:
        if name is not None:
            BUGS[name].plant(patch)
        return (yield)
