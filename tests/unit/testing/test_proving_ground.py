"""Where a store is certified: what is read past the adapter is the file that was meant."""

from __future__ import annotations

import pytest
from fsspec import get_filesystem_class

from fsspec_commit.testing.proving_ground import is_misread, misreads
from fsspec_commit.testing.store_contract.names import ODD_NAMES, label

CLIENTS = ("file", "memory", "s3", "gs", "abfs", "hdfs", "webhdfs")


@pytest.mark.parametrize("name", ODD_NAMES, ids=label)
@pytest.mark.parametrize("protocol", CLIENTS, ids=lambda name: name.replace("hdfs", "dfs"))
def test_no_client_is_asked_for_a_name_that_it_misreads(protocol: str, name: str) -> None:
    """Else its own gap would be called the store's."""
    path = f"/top/{name}/{name}" if protocol in {"file", "memory"} else f"top/{name}/{name}"
    if protocol.endswith("hdfs"):
        path = f"/{path}"
    assert is_misread(path) or not misreads(get_filesystem_class(protocol), path)
