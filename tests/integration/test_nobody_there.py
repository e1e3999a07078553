"""Where nobody listens, or nobody answers: one sentence that says what to check, and soon."""

from __future__ import annotations

import re
import socket
import threading
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from tests.integration.users import asked, say, soon, told_by_the_command, work
from tests.scenes.remotes import on

if TYPE_CHECKING:
    from tests.scenes.remotes import Remote

KEY = b64encode(b"of no account").decode()


@contextmanager
def nobody() -> Iterator[tuple[str, list[socket.socket]]]:
    """An endpoint that takes connections and says nothing, and the connections."""
    taken: list[socket.socket] = []

    def take() -> None:
        while True:
            try:
                taken.append(listener.accept()[0])
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", taken
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()
    for connection in taken:
        connection.close()


def closed() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


@dataclass(frozen=True)
class Account:
    """Options for a store of which there is only an address.

    Attributes:
        url: A destination there.
        options: What its client is given, with the address for ``{}``.
        impatient: An option by which the client waits a moment only.
        named: How the address is shown, behind the endpoint.
        check: What a user is told to check where nothing listens.
    """

    url: str
    options: Mapping[str, str]
    impatient: Mapping[str, Any]
    named: str
    check: str

    def at(self, endpoint: str) -> dict[str, Any]:
        return {name: value.format(endpoint) for name, value in self.options.items()}


ACCOUNTS = {
    "s3": Account(
        "s3://bucket/out",
        {"key": "K", "secret": "S", "endpoint_url": "{}"},
        {"config_kwargs": {"read_timeout": 0.3}},
        named="",
        check="endpoint_url=, the network",
    ),
    "gcs": Account(
        "gs://bucket/out",
        {"token": "anon", "endpoint_url": "{}"},
        {"requests_timeout": 0.3},
        named="",
        check="endpoint_url=",
    ),
    "azure": Account(
        "abfs://data/out",
        {"connection_string": f"AccountName=account;AccountKey={KEY};BlobEndpoint={{}}/account"},
        {"read_timeout": 0.3},
        named="/account",
        check="the account",
    ),
}


@pytest.mark.usefixtures("s3_environment", "gcs_environment", "azure_environment")
@pytest.mark.parametrize("account", ACCOUNTS.values(), ids=ACCOUNTS)
class TestNobodyThere:
    def test_a_closed_port(self, account: Account) -> None:
        endpoint = closed()
        says = f"{endpoint}{account.named} cannot be reached; check {account.check}"
        say((says,), *asked(account.url, account.at(endpoint)))

    def test_a_closed_port_by_the_command(self, account: Account) -> None:
        endpoint = closed()
        line = told_by_the_command("jobs", account.url, options=account.at(endpoint))
        assert f"{endpoint}{account.named} cannot be reached; check {account.check}" in line

    def test_a_port_that_never_answers(self, account: Account) -> None:
        """One wait, whatever was to be done: nobody waits for a second one."""
        with nobody() as (endpoint, connections):
            options = {**account.at(endpoint), **account.impatient}
            says = f"{endpoint}{account.named} did not answer in time; check it"
            for count, call in enumerate(asked(account.url, options), 1):
                say((says,), call)
                assert len(connections) == count


@on("ministack")
def test_a_worker_whom_nobody_answers(remote: Remote) -> None:
    job = fc.Job(remote.url, storage_options=remote.options).start()
    account = ACCOUNTS["s3"]
    with nobody() as (endpoint, connections):
        options = {**account.at(endpoint), **account.impatient}
        says = f"{endpoint} did not answer in time; check it"
        with pytest.raises(fc.CommitError, match=re.escape(says)):
            soon(lambda: work(job.spec, options))
        assert len(connections) == 1
    job.abort()


@pytest.mark.slow
@pytest.mark.usefixtures("s3_environment")
def test_a_port_that_never_answers_as_users_of_s3_have_it() -> None:
    """s3fs waits 15 seconds for an answer."""
    account = ACCOUNTS["s3"]
    with nobody() as (endpoint, connections):
        line = told_by_the_command("jobs", account.url, options=account.at(endpoint))
        assert f"{endpoint} did not answer in time; check it" in line
        assert len(connections) == 1
