"""The ``Client`` of a cluster that a caller gives: what it must be, and what can be asked of it."""

from typing import Any

from fsspec_commit.errors import RequestError

_ANSWER_S = 2.0
"""So long a scheduler is waited for: who asks may hold up others."""


def check_client(given: object) -> None:
    """Refuse what is no client of Dask that other threads can use.

    Raises:
        RequestError: It is not, or Dask's ``distributed`` is not installed.
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
    # Said by its maker; `given.asynchronous` is false on all threads but that of its loop.
    if getattr(given, "_asynchronous", False):
        raise _invalid(
            "takes a Client that threads can wait for, and this one is asynchronous: make another "
            "with Client(client.scheduler.address), and from a coroutine call what commits by "
            "asyncio.to_thread"
        )
    if given.status in {"closing", "closed"}:
        raise _invalid(
            "was given a Client that is closed, and has no cluster any more: "
            "make one with Client(address), and close it after the job has committed"
        )


def threads_of(client: Any) -> int:
    """How many threads the workers have that are there now; 0 as well if nobody says so."""
    try:
        return sum(client.nthreads(callback_timeout=_ANSWER_S).values())
    except Exception:  # noqa: BLE001  # closed, cut off or slow: of many types, some AttributeErrors
        return 0


def _how_to_get_one(given: object) -> str:
    if isinstance(given, str):
        return "Client(address) connects to the scheduler at an address"
    if hasattr(given, "scheduler_address"):
        return "Client(cluster) connects to a cluster"
    return "Client(address) connects to a cluster, Client() starts one on this machine"


def _invalid(message: str) -> RequestError:
    return RequestError(f"fc.dask.publisher(client) {message}", kind="invalid_request")
