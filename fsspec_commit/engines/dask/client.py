"""The ``Client`` of a cluster that a caller gives: what it must be, and what can be asked of it."""

from collections.abc import Sequence
from typing import Any

from fsspec_commit.errors import RequestError

_ANSWER_S = 2.0
"""How long to wait for a scheduler's answer: the caller may be holding up others."""


def check_client(given: object) -> None:
    """Refuse anything but a client of Dask that other threads can use.

    Raises:
        RequestError: *given* is not one, or Dask's ``distributed`` is not installed.
    """
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        if error.name not in {"dask", "distributed"}:
            raise
        message = (
            "fc.dask.publisher(client) needs distributed, here and on every worker: "
            "pip install 'fsspec-commit[dask]'"
        )
        raise RequestError(message, kind="missing_package") from error
    if not isinstance(given, Client):
        kind = given if isinstance(given, type) else type(given)
        what = f"{'the class' if kind is given else 'a'} {kind.__module__}.{kind.__qualname__}"
        raise _invalid(f"takes a distributed.Client, not {what}: {_how_to_get_one(given)}")
    # As its maker chose; `given.asynchronous` is false on every thread but that of its loop.
    if getattr(given, "_asynchronous", False):
        raise _invalid(
            "takes a Client that threads can wait for, and this one is asynchronous: make another "
            "with Client(client.scheduler.address, security=client.security), and from a coroutine "
            "call what makes it and commits by asyncio.to_thread"
        )
    if given.status in {"closing", "closed"}:
        raise _invalid(
            "was given a Client that is closed, and has no cluster any more: "
            "make one with Client(address), and close it after the job has committed"
        )


def threads_of(client: Any) -> int:
    """How many threads those workers have that take tasks now; 0 also if there is no answer.

    A worker that is paused for its memory takes none.
    """
    return sum(_asked(client, "ncores_running").values())


def is_at_work(client: Any, keys: Sequence[object]) -> bool:
    """Whether workers run tasks of *keys* at this moment, and say so."""
    return bool(_asked(client, "call_stack", keys=keys))


def _asked(client: Any, what: str, **how: Any) -> dict[str, Any]:
    """What the scheduler answers; empty if it does not answer."""
    try:
        ask = getattr(client.scheduler, what)
        answer: dict[str, Any] = client.sync(ask, callback_timeout=_ANSWER_S, **how)
    except Exception:  # noqa: BLE001  # closed, cut off or slow: of many types, some AttributeErrors
        return {}
    return answer


def _how_to_get_one(given: object) -> str:
    if isinstance(given, str):
        return "Client(address) connects to the scheduler at an address"
    if hasattr(given, "scheduler_address"):
        return "Client(cluster) connects to a cluster"
    return "Client(address) connects to a cluster, Client() starts one on this machine"


def _invalid(message: str) -> RequestError:
    return RequestError(f"fc.dask.publisher(client) {message}", kind="invalid_request")
