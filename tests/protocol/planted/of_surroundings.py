"""Planted bugs: around the core, in what callers, operators, terminals and networks are given.

The simulator runs none of this: another test fails with each of them.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import aiohttp
from msgspec import structs

from fsspec_commit import destination, errors
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.protocol import recovery
from fsspec_commit.protocol.commit import finish_job
from fsspec_commit.store import destination_text
from fsspec_commit.sync import bridge, operations
from fsspec_commit_stores.local import deletion
from tests.protocol.planted.bug import Bug

if TYPE_CHECKING:
    import pytest


def resumes_without_durability(patch: pytest.MonkeyPatch) -> None:
    """Its marker stands over data that is nowhere but in memory."""
    real = operations._record

    async def record(*what: Any) -> Any:
        return structs.replace(await real(*what), durability="none")

    patch.setattr(operations, "_record", record)


def leaves_a_call_running_behind_an_interrupt(patch: pytest.MonkeyPatch) -> None:
    """Its caller goes on, and aborts, say, what is being committed; `fsspec.asyn.sync` does so."""

    def run(call: Any, *, may_interrupt: Any = lambda: True) -> Any:
        running = bridge._Running(call, bridge.loop())
        try:
            running.start()
            running.wait()
        except BaseException:
            running.stop(may_interrupt)
            raise
        return running.result(None)

    patch.setattr(bridge, "run", run)


def takes_a_lock_to_find_the_loop(patch: pytest.MonkeyPatch) -> None:
    """Which the thread may hold that the collector, or a signal, interrupts: it waits for ever."""
    real = bridge.loop

    def loop() -> Any:
        real()
        with bridge._lock:
            return real()

    patch.setattr(bridge, "loop", loop)


def accepts_no_loss(patch: pytest.MonkeyPatch) -> None:
    """A job whose sources are gone for good cannot be settled by anybody."""

    async def finish(*what: Any, accept_loss: bool, **how: Any) -> Any:
        del accept_loss
        return await finish_job(*what, accept_loss=False, **how)

    patch.setattr(recovery, "finish_job", finish)


def repeats_what_steers_a_terminal(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(errors, "_printable", lambda message: message)


def names_the_place_that_its_record_says(patch: pytest.MonkeyPatch) -> None:
    """A destination may have been moved, and a record may say anything."""
    patch.setattr(destination, "structs", SimpleNamespace(replace=lambda record, **_: record))


def takes_secrets_in_urls(patch: pytest.MonkeyPatch) -> None:
    """Which are written down, and logged."""
    patch.setattr(destination_text, "_secret_in", lambda _: None)


def follows_redirections(patch: pytest.MonkeyPatch) -> None:
    """With content, session token and key, to a host that nobody has named."""
    real = aiohttp.ClientSession._request

    async def request(self: Any, *what: Any, **how: Any) -> Any:
        return await real(self, *what, **{**how, "allow_redirects": True})

    patch.setattr(aiohttp.ClientSession, "_request", request)


def calls_itself_for_each_directory(patch: pytest.MonkeyPatch) -> None:
    """Somebody's directories, thousands in one another, keep `clean` from ever ending."""
    patch.setattr(deletion, "_LEVELS_MAX", 1 << 30)


def sends_one_request_at_a_time(patch: pytest.MonkeyPatch) -> None:
    """MAPREDUCE-4815, MAPREDUCE-7465: a commit takes as long as all its files one by one."""
    real = ConfirmedStore.__init__

    def make(self: Any, *what: Any, **how: Any) -> None:
        real(self, *what, **{**how, "in_flight_max": 1})

    patch.setattr(ConfirmedStore, "__init__", make)


def deletes_one_file_a_request(patch: pytest.MonkeyPatch) -> None:
    """HADOOP-18568: what a job has left goes file by file, which takes minutes."""
    real = ConfirmedStore.__init__

    def make(self: Any, *what: Any, **how: Any) -> None:
        real(self, *what, **how)
        self.deleted_at_once_max = 0

    patch.setattr(ConfirmedStore, "__init__", make)


BUGS = {
    "resumes without durability": Bug(resumes_without_durability),
    "leaves a call running behind an interrupt": Bug(leaves_a_call_running_behind_an_interrupt),
    "takes a lock to find the loop": Bug(takes_a_lock_to_find_the_loop),
    "accepts no loss": Bug(accepts_no_loss),
    "repeats what steers a terminal": Bug(repeats_what_steers_a_terminal),
    "names the place that its record says": Bug(names_the_place_that_its_record_says),
    "takes secrets in URLs": Bug(takes_secrets_in_urls),
    "follows redirections": Bug(follows_redirections),
    "calls itself for each directory": Bug(calls_itself_for_each_directory),
    "sends one request at a time": Bug(sends_one_request_at_a_time),
    "deletes one file a request": Bug(deletes_one_file_a_request),
}
_HERE = "tests/protocol/planted/test_above_the_core.py::"
HELD_BY = {
    "resumes without durability": (
        "tests/integration/test_durability.py::test_a_resumer_flushes_what_the_driver_would_have"
    ),
    "leaves a call running behind an interrupt": (
        f"{_HERE}test_a_call_that_is_interrupted_has_ended_when_its_caller_goes_on"
    ),
    "takes a lock to find the loop": (
        "tests/unit/test_bridge.py::test_a_call_waits_for_no_lock_that_it_may_be_interrupting"
    ),
    "accepts no loss": (
        "tests/integration/test_accept_loss.py::test_what_is_left_is_published_and_nothing_deleted"
    ),
    "repeats what steers a terminal": (
        "tests/unit/test_errors.py"
        "::test_a_message_never_steers_a_terminal_or_forges_a_line_of_a_log"
    ),
    "names the place that its record says": (
        "tests/integration/test_moved.py::test_a_command_names_the_place_that_was_opened"
    ),
    "takes secrets in URLs": (
        "tests/integration/test_secrets_in_urls.py"
        "::test_a_secret_in_a_url_is_refused_and_not_repeated"
    ),
    "follows redirections": (
        "tests/unit/stores/test_redirections.py::test_no_verb_follows_one[s3-read]"
    ),
    "calls itself for each directory": f"{_HERE}test_a_deep_tree_in_the_area_of_a_job_goes_with_it",
    "sends one request at a time": "tests/protocol/test_round_trips.py::test_a_job_takes_few",
    "deletes one file a request": (
        "tests/integration/test_store_calls_in_buckets.py"
        "::test_a_job[versioned-after others-one file]"
    ),
}
