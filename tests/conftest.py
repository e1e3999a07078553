"""What every test shares: how long Hypothesis searches, that Ctrl-C is heard, the real servers."""

from __future__ import annotations

import atexit
import faulthandler
import gc
import os
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from fsspec_commit import client_pool
from fsspec_commit.sync import afterwards, bridge
from fsspec_commit.testing.garbage import only_what_comes

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

pytest_plugins = [
    "tests.guarantees",
    "tests.lost_workers",
    "tests.nights",
    "tests.sharing",
    "tests.sweeps",
    "tests.unforeseen",
    "tests.servers.plugin",
    "tests.servers.azure.plugin",
    "tests.servers.gcs.plugin",
    "tests.servers.hdfs.plugin",
    "tests.scenes.remotes",
]

# Else gcsfs asks Google by gRPC what kind of bucket it has, and waits a minute for each. It looks
# when it is imported, in this process and in those of the tests.
os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")

# At a desk: new examples each time, quickly. In CI: always the same ones, so that a failure is the
# change's own. At night: many, and their failures come with the blob that repeats them.
settings.register_profile("dev", deadline=None, max_examples=50)
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=100,
    print_blob=True,
    # A busy machine is slow at drawing data: that says nothing about the code.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "nightly",
    deadline=None,
    max_examples=2_000,
    stateful_step_count=100,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")
)

# A run that was started in the background is deaf to SIGINT, and so would be every process of it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Make all tests without looking for garbage: of 13 s of CPU that took 3, in each worker."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.unfreeze()  # All of it is old now: what looks at the young does not begin with it.
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hear of what the last tests left; pytest then looks at all that stands twice more, for it."""
    if session.testscollected:
        gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)  # Else libraries complain of what was not freed.


@pytest.fixture(autouse=True)
def no_client_is_kept() -> Iterator[None]:
    """What a test opened is closed when it ends, and not at some time in another one."""
    yield
    if client_pool.kept():
        bridge.run(client_pool.close_idle())


@pytest.fixture(scope="session", autouse=True)
def commits_wait() -> Iterator[None]:
    """What a test finds does not hang on how far the rest of an area is removed.

    What goes on when a commit has returned is tried by tests that ask for `goes_on`, by the
    simulator, and by each program that a test begins.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bridge, "wait_at_exit", lambda *_: False)
        yield


@pytest.fixture
def goes_on(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The rest of an area is removed when its commit has returned."""
    monkeypatch.setattr(bridge, "wait_at_exit", lambda *_: True)
    yield
    bridge.run(afterwards.all_quiet())


@pytest.fixture(autouse=True)
def collections_are_quick() -> Iterator[None]:
    """Tests that give jobs up collect them: of what was made in them, not of all that stands."""
    with only_what_comes():
        yield


@pytest.fixture
def own_limit() -> None:
    """For a test that takes longer, on a busy machine, than one may before it is ended as hung."""
    faulthandler.cancel_dump_traceback_later()
