"""What each request says of who sends it, put together once."""

from functools import cache
from importlib.metadata import version
from typing import Any


def user_agent_of(session: Any) -> str:
    """The words for every request of *session*: ours, and those botocore's sessions use.

    botocore puts its own together twice a request, from a hundred pieces: a tenth of what a small
    request costs. It adds `session.user_agent_extra` to these.
    """
    words: str = session.user_agent()
    extra = session.user_agent_extra
    return f"fsspec-commit/{_version()} {words.removesuffix(f' {extra}') if extra else words}"


@cache
def _version() -> str:
    return version("fsspec-commit")
