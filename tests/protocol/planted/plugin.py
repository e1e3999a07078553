"""Plants one bug for a whole run of pytest: ``-p tests.protocol.planted.plugin --planted NAME``."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--planted", help="the name of a planted bug")


def pytest_configure(config: pytest.Config) -> None:
    from tests.protocol.planted.bugs import BUGS

    name = config.getoption("planted")
    if name is not None:
        BUGS[name].plant(pytest.MonkeyPatch())
