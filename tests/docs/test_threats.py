"""What attackers try: the page says what is in the list, and each test that it names is there."""

from __future__ import annotations

import ast

import pytest

from tests.threats import PAGE, ROOT, THREATS, page

pytestmark = pytest.mark.checkout


def test_the_page_is_what_is_listed() -> None:
    assert PAGE.read_text("utf-8") == page(), "python -m tests.threats writes it anew"


def test_none_is_left_out() -> None:
    assert [*THREATS] == [f"S{number}" for number in range(1, 18)]
    assert all(threat.tests for threat in THREATS.values())


@pytest.mark.parametrize("one", THREATS)
def test_who_tries_it_is_there(one: str) -> None:
    for path, tests in THREATS[one].tests.items():
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        for test in tests:
            assert test.rpartition("::")[2].startswith("test_")
            nodes: list[ast.stmt] = tree.body
            for name in test.split("::"):
                [found] = [node for node in nodes if getattr(node, "name", None) == name]
                nodes = getattr(found, "body", [])
