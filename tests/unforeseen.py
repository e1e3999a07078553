"""No bug passes for a failure of the store: a test fails in which one did.

The library treats an exception that nobody has foreseen, of an adapter or of its own code, like a
call that failed, and says so in an error with an outcome. So a bug could hide wherever a failure is
expected. A test that plans such an exception names its class: `mark.unforeseen("KeyError")`. One
that plants a bug on purpose names none, which is any.
"""

from __future__ import annotations

from functools import wraps
from traceback import format_exception
from typing import TYPE_CHECKING

import pytest

from fsspec_commit import errors
from fsspec_commit.effects import confirm
from fsspec_commit.effects.confirmed import reads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARK = "unforeseen"
_seen: list[tuple[str, str]] = []
"""Of each its class and its traceback as text: itself, it would keep alive what a test gives up."""


def _noting(convert: Callable[[Exception], object]) -> Callable[[Exception], object]:
    @wraps(convert)
    def noted(error: Exception) -> object:
        if not _is_of_the_dropped(error):
            _seen.append((type(error).__name__, "".join(format_exception(error))))
        return convert(error)

    return noted


def _is_of_the_dropped(error: BaseException | None) -> bool:
    """Whether it came while a coroutine was closed that nobody awaits: so nobody is told."""
    while error is not None and not isinstance(error, GeneratorExit):
        error = error.__context__
    return error is not None


def pytest_configure() -> None:
    """Note what is taken for a failure of the store, in this process."""
    for module, name in (errors, "_unforeseen"), (confirm, "unclassified"), (reads, "unclassified"):
        vars(module)[name] = _noting(vars(module)[name])


@pytest.fixture(autouse=True)
def nothing_unforeseen(request: pytest.FixtureRequest) -> Iterator[None]:
    _seen.clear()
    yield
    mark = request.node.get_closest_marker(MARK)
    for name, shown in _seen:
        if mark is None or (mark.args and name not in mark.args):
            pytest.fail(f"taken for a failure of the store: {shown}", pytrace=False)
