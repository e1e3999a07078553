"""What is called before each step of a thread."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType


@contextmanager
def traced(tracer: Callable[[FrameType, str, Any], Any]) -> Iterator[None]:
    """Trace this thread by *tracer*, and then as before, such as by a measurement of coverage."""
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        yield
    finally:
        sys.settrace(before)
