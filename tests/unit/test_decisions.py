"""The table of decisions in the documentation says what is decided."""

import pytest

from tests import decisions

pytestmark = pytest.mark.checkout


def test_the_page_is_that_of_selection() -> None:
    written = decisions.PAGE.read_text("utf-8")
    assert written == decisions.page(), "python -m tests.decisions writes it anew"
