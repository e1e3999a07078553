"""A proxy between a client and a real server, on which a test says what goes wrong and when.

Requests pass through byte for byte, the Host header included: the client has signed it, and the
servers check signatures against the Host that they are sent, so they accept it. Nothing of the code
under test is replaced: it meets the faults of `faults.py` where a network and a busy server would
let it meet them.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from tests.servers.http_messages import Request
from tests.servers.proxied_connection import HEAD_LIMIT_BYTES, ProxiedConnection

if TYPE_CHECKING:
    from tests.servers.faults import Rule
    from tests.servers.proxied_connection import Exchange


class FaultProxy:
    """Listens on 127.0.0.1, in a thread of its own, until it is closed.

    `request_type` names a store's operations and failures: S3's unless said otherwise.

    Attributes:
        connections: How many clients have made.
    """

    def __init__(self, server_url: str, request_type: type[Request] = Request) -> None:
        self._request_type = request_type
        address = urlsplit(server_url)
        assert address.hostname is not None
        assert address.port is not None
        self._server = (address.hostname, address.port)
        self._lock = threading.Lock()
        self._rules: list[Rule] = []
        self._exchanges: list[Exchange] = []
        self._failures: list[Exception] = []
        self.connections = 0
        self._open = set[asyncio.Task[None]]()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.endpoint_url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="fault proxy", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, rule: Rule) -> Rule:
        """From now on. Of several that match, each counts the request, and the first one acts."""
        with self._lock:
            self._rules.append(rule)
        return rule

    def clear(self) -> None:
        """Forget the rules and the requests so far."""
        with self._lock:
            self._rules.clear()
            self._exchanges.clear()

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """In the order in which clients were answered; each is here before its client hears."""
        with self._lock:
            return tuple(self._exchanges)

    def operations(self) -> Counter[str]:
        """How many requests of each action there were, refused ones included."""
        return Counter(exchange.operation for exchange in self.exchanges)

    def drop(self) -> None:
        """Reset every connection, as a server does with those that are idle."""

        async def dropped() -> None:
            for task in self._open:
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(dropped(), self._loop).result()

    def close(self) -> None:
        """Reset every connection and end the thread.

        Raises:
            ExceptionGroup: a rule's `before`, `after` or `where` has failed, or the proxy itself.
        """
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join()
        if self._failures:
            raise ExceptionGroup("in the fault proxy", self._failures)

    def _rule_for(self, request: Request) -> Rule | None:
        with self._lock:
            met = [rule for rule in self._rules if rule.meets(request)]
        return met[0] if met else None

    def _record(self, exchange: Exchange) -> None:
        with self._lock:
            self._exchanges.append(exchange)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._open.add(task)
            self.connections += 1
            connection = ProxiedConnection(
                reader,
                writer,
                server=self._server,
                request_type=self._request_type,
                rule_for=self._rule_for,
                record=self._record,
            )
            try:
                await connection.serve()
            except asyncio.CancelledError:
                return  # We are closing; asyncio would report it.
            except Exception as error:  # noqa: BLE001  shown when the proxy is closed
                self._failures.append(error)
            finally:
                self._open.discard(task)

        server = await asyncio.start_server(accepted, sock=self._listener, limit=HEAD_LIMIT_BYTES)
        await self._closing.wait()
        server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
