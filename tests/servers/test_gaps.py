"""The table of known gaps finds its tests, and notices when one is gone."""

from __future__ import annotations

from tests.servers.azure.kinds import AZURE_KINDS
from tests.servers.gaps import GAPS, Gap, stale
from tests.servers.kinds import KINDS

GAP = Gap("minio", "tests/a.py::Suite::test_it", "says no", parameters=("put",))


def test_a_gap_covers_its_test_only() -> None:
    assert GAP.covers("minio", "tests/a.py::Suite::test_it", "minio-put")
    assert not GAP.covers("moto", "tests/a.py::Suite::test_it", "moto-put")
    assert not GAP.covers("minio", "tests/a.py::test_it", "minio-put")
    assert not GAP.covers("minio", "tests/a.py::Suite::test_it", "minio-delete")


def test_a_gap_whose_test_is_gone_is_stale_where_its_file_was_read() -> None:
    assert stale((GAP,), found=set(), files={"tests/a.py"}) == [GAP]
    assert stale((GAP,), found={GAP}, files={"tests/a.py"}) == []
    assert stale((GAP,), found=set(), files={"tests/b.py"}) == []


def test_every_gap_names_a_server_and_says_why() -> None:
    assert all(gap.server in {*KINDS, *AZURE_KINDS} and gap.reason for gap in GAPS)
