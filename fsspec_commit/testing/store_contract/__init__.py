"""The conformance suite for stores: what is declared is observed, what is not is absent."""

import pytest

from fsspec_commit.testing.store_contract.abilities import AbilitiesContract
from fsspec_commit.testing.store_contract.answered_for import (
    FOREIGN_ANSWERS,
    AnsweredFor,
    AnsweredForContract,
    ForeignAnswer,
)
from fsspec_commit.testing.store_contract.bulk import BulkContract
from fsspec_commit.testing.store_contract.bulk_deletion import BulkDeletionContract
from fsspec_commit.testing.store_contract.directories import DirectoriesContract
from fsspec_commit.testing.store_contract.directory_creation import DirectoryCreationContract
from fsspec_commit.testing.store_contract.files import FilesContract
from fsspec_commit.testing.store_contract.given import At, OpenAgain, ReadRaw, WriteRaw
from fsspec_commit.testing.store_contract.listings import ListingsContract
from fsspec_commit.testing.store_contract.names import NamesContract
from fsspec_commit.testing.store_contract.puts import PutsContract
from fsspec_commit.testing.store_contract.renames import RenamesContract
from fsspec_commit.testing.store_contract.uploads import UploadsContract
from fsspec_commit.testing.store_contract.writers import WritersContract


@pytest.mark.store_contract
class StoreContract(
    AbilitiesContract,
    FilesContract,
    PutsContract,
    NamesContract,
    ListingsContract,
    WritersContract,
    RenamesContract,
    BulkContract,
    BulkDeletionContract,
    DirectoriesContract,
    DirectoryCreationContract,
    UploadsContract,
    AnsweredForContract,
):
    """What the protocol relies on, tried on a live store; subclass it and give three fixtures.

    Differences between stores come from ``store.capabilities`` alone: a test is skipped only for
    an ability that the store does not declare. `read_raw` and `write_raw` bypass the adapter, so
    that it is not checked against itself::

        class TestMyStore(StoreContract):
            @pytest.fixture
            def store(self, runner):
                store = runner.run(MyStore.open(f"my://bucket/{uuid4().hex}", OpenOptions()))
                yield store
                runner.run(store.close())

            @pytest.fixture
            def read_raw(self):
                return lambda path: my_sdk.get(path) if my_sdk.exists(path) else None

            @pytest.fixture
            def write_raw(self):
                return my_sdk.put

    A fixture `open_again`, which opens the same destination once more, lets races run in threads
    of their own; without it they run as tasks on one loop. With a fixture `answered_for` each
    request is answered by somebody else once, as a proxy or a login page would.
    """


__all__ = [
    "FOREIGN_ANSWERS",
    "AnsweredFor",
    "At",
    "ForeignAnswer",
    "OpenAgain",
    "ReadRaw",
    "StoreContract",
    "WriteRaw",
]
