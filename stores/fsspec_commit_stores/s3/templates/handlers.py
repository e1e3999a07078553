"""Whether others watch a client's requests, or change them: then botocore makes all of them.

botocore calls event handlers, its own and those of the user's session, and tracers wrap the method
through which all calls go. No public interface shows either, so private attributes are looked up
when the client is new, and where they are missing nobody can know.
"""

import inspect
from typing import Any, Self

from aiobotocore.client import AioBaseClient

_EVENTS = (
    "provide-client-params",
    "before-parameter-build",
    "before-endpoint-resolution",
    "before-call",
    "request-created",
    "choose-signer",
    "before-sign",
    "before-send",
    "before-parse",
    "response-received",
    "needs-retry",
    "after-call",
    "after-call-error",
)
_OURS = frozenset({"aiobotocore", "botocore", "fsspec_commit_stores"})


class Handlers:
    """The event handlers that are called for the requests of one client."""

    def __init__(self, emitter: Any) -> None:
        self._emitter = emitter
        self._seen = emitter._lookup_cache  # noqa: SLF001  # see above

    @classmethod
    def of(cls, client: Any) -> Self | None:
        """Those of *client*; ``None`` where they cannot be looked at, or its calls are watched."""
        is_watched = all_are_watched() or "_make_api_call" in vars(client)
        emitter = getattr(client.meta.events, "_emitter", None)
        handlers = getattr(emitter, "_handlers", None)
        if (
            is_watched
            or not hasattr(emitter, "_lookup_cache")
            or not hasattr(handlers, "prefix_search")
        ):
            return None
        return cls(emitter)

    def have_changed(self) -> bool:
        """Whether any was added or taken away since this was asked last."""
        seen = self._emitter._lookup_cache  # noqa: SLF001  # made anew with each change
        if seen is self._seen:
            return False
        self._seen = seen
        return True

    def stranger(self, operation: str) -> str:
        """The module of a handler that is called for *operation*, and is not botocore's or ours.

        Empty if there is none; aiobotocore's count as botocore's.
        """
        for event in _EVENTS:
            for handler in self._emitter._handlers.prefix_search(f"{event}.s3.{operation}"):  # noqa: SLF001
                module = getattr(handler, "__module__", None) or type(handler).__module__
                if module.partition(".")[0] not in _OURS:
                    return str(module)
        return ""


def all_are_watched() -> bool:
    """Whether somebody has wrapped the method through which the calls of all clients go."""
    return not inspect.isfunction(vars(AioBaseClient).get("_make_api_call"))
