"""The contracts, at a URL that is named on the command line: what ``fsspec-commit certify`` runs.

To run them with pytest itself, and its own options and reports::

    python -m pytest --pyargs fsspec_commit.testing.certified --certify=s3://bucket/empty-place
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import NoReturn

import pytest

from fsspec_commit.errors import CommitError
from fsspec_commit.selection import Request
from fsspec_commit.store import Store
from fsspec_commit.testing.committer_contract import CommitterContract
from fsspec_commit.testing.proving_ground import GROUND_GIVEN, ProvingGround
from fsspec_commit.testing.store_contract import OpenAgain, ReadRaw, StoreContract, WriteRaw
from fsspec_commit.testing.store_contract.names import ODD_NAMES

QUICK_EVERY = 101


@pytest.fixture(scope="session")
def ground(request: pytest.FixtureRequest) -> Iterator[ProvingGround]:
    """The directory of this run, which is removed at the end, however the run ends.

    Where it cannot be laid out, the run ends with one line, and not each test with a traceback.
    """
    given = request.config.pluginmanager.get_plugin(GROUND_GIVEN)
    if given is not None:
        yield given.ground
        return
    url = request.config.getoption("certify")
    if url is None:
        if request.config.getoption("certify_quick"):
            _end(request.config, "--certify-quick does not say where: give --certify=URL")
        pytest.skip("--certify=URL does not say where")
    options = json.loads(request.config.getoption("certify_options"))
    try:
        ground = ProvingGround.lay_out(url, options)
    except (CommitError, ImportError) as error:
        _end(request.config, "\n".join([str(error), *getattr(error, "__notes__", ())]))
    yield ground
    left = ground.remove()
    assert not left, f"could not be removed: {left}"


def _end(config: pytest.Config, why: str) -> NoReturn:
    """End the run with one line; in a worker of a parallel run, end each test with it instead."""
    if hasattr(config, "workerinput"):
        pytest.fail(why, pytrace=False)
    pytest.exit(f"error: {why}", pytest.ExitCode.USAGE_ERROR)


class TestStore(StoreContract):
    """One call at a time, and races of the same call."""

    knows_pages = False

    @pytest.fixture
    def url(self, ground: ProvingGround) -> str:
        """A directory of odd letters."""
        return f"{ground.destination()}/some where/out=1"

    @pytest.fixture
    def store(self, runner: asyncio.Runner, ground: ProvingGround, url: str) -> Iterator[Store]:
        """With the capabilities that jobs go by."""
        store = runner.run(ground.open_store(url))
        yield store
        runner.run(store.close())

    @pytest.fixture
    def read_raw(self, ground: ProvingGround) -> ReadRaw:
        """By plain fsspec."""
        return ground.read_raw

    @pytest.fixture
    def write_raw(self, ground: ProvingGround) -> WriteRaw:
        """By plain fsspec."""
        return ground.write_raw

    @pytest.fixture
    def open_again(self, ground: ProvingGround, url: str) -> OpenAgain | None:
        """On a network it is the server that decides races, and tasks are enough."""
        return (lambda: ground.open_store(url)) if ground.races_in_threads else None


class TestCommits(CommitterContract):
    """Whole jobs."""

    @pytest.fixture(autouse=True)
    def can_be_looked_at(self, request: pytest.FixtureRequest, ground: ProvingGround) -> None:
        """Skip a name that plain fsspec, which reads what a job has left, takes for another."""
        callspec = getattr(request.node, "callspec", None)
        name = None if callspec is None else callspec.params.get("name")
        if name in ODD_NAMES and not ground.looks_past_the_adapter_at(name):
            pytest.skip("fsspec's client takes the name for another, so no job's file is seen")

    @pytest.fixture
    def destination(self, ground: ProvingGround) -> str:
        """A fresh destination; skips the test if no committer is safe there."""
        if ground.selections[ground.committer].committer is None:
            pytest.skip(ground.selections[ground.committer].reasons[-1])
        return ground.destination()

    @pytest.fixture
    def storage_options(self, ground: ProvingGround) -> Mapping[str, object]:
        """Those of the command line."""
        return ground.storage_options

    @pytest.fixture
    def committer(self, ground: ProvingGround) -> Request:
        """The best, unless another was asked for."""
        return ground.committer

    @pytest.fixture
    def every(self, request: pytest.FixtureRequest) -> int:
        """A fault at each call, or at one of each test."""
        return QUICK_EVERY if request.config.getoption("certify_quick") else 1
