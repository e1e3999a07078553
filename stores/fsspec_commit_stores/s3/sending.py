"""Whether a request has left for the network: what fails before that has certainly not happened.

A client can fail early, while it signs or fetches credentials, with exceptions of any class.
"""

from contextvars import ContextVar, Token
from typing import Any, Self


class Sending:
    """One call of the client, from its beginning to its end.

    Attributes:
        has_left: Whether the request was handed to the network. A request that the client sends
            beforehand, such as for a session's credentials, does not count.
    """

    def __init__(self, operation: str) -> None:
        self.has_left = False
        self._event = f".{operation}"
        self._before: Token[Sending | None] | None = None

    def __enter__(self) -> Self:
        self._before = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            _current.reset(self._before)

    def note(self, event_name: str, request: Any) -> Any:
        """Take notice of an event of the client.

        Args:
            event_name: Which.
            request: What is to be sent.

        Returns:
            What takes the place of an answer, and may be awaited: then nothing is sent.
        """
        is_own = event_name.endswith(self._event)
        self.has_left |= is_own
        return self.instead(request) if is_own else None

    def instead(self, request: Any) -> Any:  # noqa: ARG002  # it is sent
        """What takes the place of an answer; nothing, where *request* is to be sent."""
        return None


_current: ContextVar[Sending | None] = ContextVar("sending", default=None)


def note_sending(event_name: str, request: Any = None, **_: Any) -> Any:
    """Tell the call under way what it sends; a handler of botocore's event ``before-send``."""
    sending = _current.get()
    return None if sending is None else sending.note(event_name, request)
