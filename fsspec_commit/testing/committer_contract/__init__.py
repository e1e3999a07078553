"""The conformance suite for a store with the committer that is bound to it: whole jobs."""

import pytest

from fsspec_commit.testing.committer_contract.adoption import (
    AdoptionContract,
    AdoptionFaultsContract,
)
from fsspec_commit.testing.committer_contract.attempts import AttemptsContract
from fsspec_commit.testing.committer_contract.crashes import CrashesContract
from fsspec_commit.testing.committer_contract.damaged import DamagedContract
from fsspec_commit.testing.committer_contract.drivers import DriversContract
from fsspec_commit.testing.committer_contract.given import Place
from fsspec_commit.testing.committer_contract.lifecycle import LifecycleContract
from fsspec_commit.testing.committer_contract.lost_replies import LostRepliesContract
from fsspec_commit.testing.committer_contract.modes import ModesContract
from fsspec_commit.testing.committer_contract.names import NamesContract
from fsspec_commit.testing.committer_contract.neighbours import NeighboursContract
from fsspec_commit.testing.committer_contract.partitions import PartitionsContract
from fsspec_commit.testing.committer_contract.rewrites import RewritesContract
from fsspec_commit.testing.committer_contract.superseded import SupersededContract


@pytest.mark.committer_contract
@pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")
class CommitterContract(
    LifecycleContract,
    AttemptsContract,
    AdoptionContract,
    RewritesContract,
    DriversContract,
    SupersededContract,
    DamagedContract,
    ModesContract,
    PartitionsContract,
    NamesContract,
    NeighboursContract,
    CrashesContract,
    LostRepliesContract,
    AdoptionFaultsContract,
):
    """What this package promises its users, tried with whole jobs on a live store.

    Subclass it and give one fixture, `destination`. Give `storage_options` as well if fsspec needs
    options for the store, and `committer` to try another than the best of the safe ones::

        class TestMyStoreCommits(CommitterContract):
            @pytest.fixture
            def destination(self):
                return f"my://bucket/{uuid4().hex}"
    """


__all__ = ["CommitterContract", "Place"]
