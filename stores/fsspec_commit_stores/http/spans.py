"""Parts of a file: whether an answer is the one that was asked for."""

import re

ANOTHER_PART = "the store answered with another part than was asked"
"""Why such an answer is not believed: one half of a sentence."""
_SPAN = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")


def is_span(content_range: str, size_bytes: int, *, start: int, length: int) -> bool:
    """Whether a part of *size_bytes* is what was asked for, cut short by the file's end alone."""
    found = _SPAN.fullmatch(content_range)
    if found is None:
        return False
    first, last, total = map(int, found.groups())
    end = min(start + length, total)
    return first == start and last + 1 == end and size_bytes == end - start
