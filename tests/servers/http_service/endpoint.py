"""What is behind the connections of one server; each of ours has its own."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from tests.servers.http_service.load import Load
from tests.servers.http_service.messages import Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.servers.http_service.messages import Received


class Endpoint(ABC):
    def __init__(self) -> None:
        self.load = Load()

    @abstractmethod
    def answer(self, received: Received) -> Reply:
        """Do what is asked, or say why not; the load begins with it."""

    @abstractmethod
    def unreadable(self, why: str) -> Reply:
        """Answer what is no request."""

    @abstractmethod
    def forget(self) -> None:
        """Drop all that the server holds."""

    def set(self, what: str, said: Mapping[str, Any]) -> None:
        """Behave from now on as a test says.

        Raises:
            LookupError: this server cannot be told such a thing.
        """
        raise LookupError(what)

    def control(self, method: str, what: str, body: bytes) -> Reply:
        """Answer what a test asks of the server itself (`control.py`), which is no load."""
        match method, what:
            case "GET", "statistics":
                return Reply(pieces=(json.dumps(self.load.statistics()).encode(),))
            case "DELETE", "everything":
                self.forget()
            case "PUT", "load":
                self.load.set(**json.loads(body))
            case _:
                try:
                    self.set(what, json.loads(body))
                except LookupError:
                    return Reply(HTTPStatus.NOT_FOUND)
        return Reply(HTTPStatus.NO_CONTENT)
