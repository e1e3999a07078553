"""What writers that can go on after a failure have in common."""

from collections.abc import Iterator
from contextlib import contextmanager

from fsspec_commit.errors import Reply, StoreError


@contextmanager
def going_on() -> Iterator[None]:
    """Let a failure that is no refusal say that nothing is lost."""
    try:
        yield
    except StoreError as error:
        error.can_go_on = error.reply is not Reply.REFUSED
        raise
