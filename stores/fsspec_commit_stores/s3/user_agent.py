"""The ``User-Agent`` of requests, put together once."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any


def user_agent_of(session: Any) -> str:
    """The ``User-Agent`` of requests of *session*: our words, and those of botocore's sessions.

    botocore puts its own together twice a request, from a hundred pieces: a tenth of what a small
    request costs. It adds `session.user_agent_extra` to these.
    """
    words: str = session.user_agent()
    extra = session.user_agent_extra
    ours = f"{_ourselves()} {words.removesuffix(f' {extra}') if extra else words}"
    # botocore takes any text from the environment; only its own is made fit for a header.
    return "".join(one if one.isascii() and one.isprintable() else "-" for one in ours)


@cache
def _ourselves() -> str:
    name = "fsspec-commit"
    try:
        return f"{name}/{version(name)}"
    except PackageNotFoundError:  # Copied, as to a cluster or into one program, and not installed.
        return name
