"""What a job sends over the wire to each store, counted by the proxy.

What only one of them has is beside it: `test_s3_requests.py`, `test_gcs_requests.py`; what a job
costs a NameNode by its own count, in `test_hdfs_requests.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.scenes.attempts import learn
from tests.scenes.costs import ONE_FILE, directories_of, exchanged, requests_of, shapes
from tests.sweeps import some_tests_by_day

if TYPE_CHECKING:
    from tests.scenes.places import RemotePlace
    from tests.scenes.remotes import Remote
    from tests.servers.proxy import FaultProxy


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a job asks of a store.

    Its commit asks once for each file, and for each directory where there are such, as often for
    each task, and so many times besides; the whole job the same.

    Attributes:
        publishes: The requests of which there is one for each file, and one for the marker.
        lists: What asks for names.
        has_directories: Whether they are made, each once.
    """

    publishes: tuple[str, ...]
    lists: frozenset[str]
    has_directories: bool = False
    commit_per_task: int = 2
    commit_besides: int = 18
    per_file: int = 3
    per_task: int
    besides: int = 22


S3 = Cost(
    publishes=("CompleteMultipartUpload",),
    lists=frozenset({"ListObjectsV2", "ListObjects", "ListObjectVersions"}),
    per_task=3,
)
GCS = Cost(publishes=("objects.move",), lists=frozenset({"objects.list"}), per_file=2, per_task=4)
GEN2 = Cost(
    publishes=("path.rename",),
    lists=frozenset({"blob.list", "path.list"}),
    has_directories=True,
    per_file=2,
    per_task=4,
)
AZURITE = Cost(
    publishes=("blocklist.put", "block.put"),
    lists=GEN2.lists,
    commit_per_task=3,
    commit_besides=24,
    per_file=2,
    per_task=5,
    besides=32,
)
BY_DAY = {"ministack": S3, "strict-gcs": GCS, "gen2": GEN2, "azurite": AZURITE}
BY_NIGHT = {"seaweedfs": S3, "versitygw": S3}
"""What a job asks is its own; what else a server lets it ask is found by night."""
SHAPES = shapes()
on_each = pytest.mark.parametrize(
    ("remote", "cost"),
    [
        *(pytest.param(*one, id=one[0]) for one in BY_DAY.items()),
        *(pytest.param(*one, id=one[0], marks=pytest.mark.slow) for one in BY_NIGHT.items()),
    ],
    indirect=["remote"],
)


@pytest.fixture
def place(remote: Remote, proxy: FaultProxy) -> RemotePlace:
    """A destination by the proxy, once it is known what the server does."""
    place = remote.place(proxy=proxy)
    learn(place, remote.committer)
    proxy.clear()
    return place


@some_tests_by_day(2, everywhere=True)
@on_each
@pytest.mark.parametrize("tasks", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("others", [0, 2], ids=["first", "after others"])
def test_a_job(
    place: RemotePlace, proxy: FaultProxy, cost: Cost, tasks: list[list[str]], others: int
) -> None:
    for _ in range(others):
        requests_of(place, proxy, ONE_FILE)
    writing, commit = requests_of(place, proxy, tasks)
    exchanges = writing + commit
    files = sum(map(len, tasks))
    directories = directories_of(tasks) if cost.has_directories else 0
    for operation in cost.publishes:
        assert proxy.operations()[operation] == files + 1  # the marker
    assert len([one for one in commit if one.operation == cost.publishes[0]]) == files + 1
    made = [one.path for one in exchanges if one.operation == "path.create"]
    assert len(made) == len(set(made)) == directories
    commit_most = files + directories + cost.commit_per_task * len(tasks) + cost.commit_besides
    assert len(commit) <= commit_most, exchanged(commit)
    most = cost.per_file * files + directories + cost.per_task * len(tasks) + cost.besides
    assert len(exchanges) <= most, exchanged(exchanges)


@some_tests_by_day(2, everywhere=True)
@on_each
def test_an_append_of_unique_names_lists_no_files(
    place: RemotePlace, proxy: FaultProxy, cost: Cost
) -> None:
    """Only work areas are listed.

    Whether a marker stands is asked of its name: where none does, also of a name below it.
    """
    names = [f"day={day}/part.txt" for day in range(20)]
    root = place.url.partition("://")[2].partition("/")[2]
    for _ in range(2):
        requests_of(place, proxy, [names, names])
        listings = [one for one in proxy.exchanges if one.operation in cost.lists]
        assert listings
        listed = [one.query.get("prefix") or one.query.get("directory", "") for one in listings]
        elsewhere = [name for name in listed if not name.startswith(f"{root}/_commit")]
        assert set(elsewhere) <= {f"{root}/_SUCCESS/"}, elsewhere


OF_LONG_FILES = frozenset({"uploads.start", "uploads.put", "block.put", "blocklist.put"})


@pytest.mark.parametrize(
    ("remote", "sent"),
    [
        pytest.param("strict-gcs", {"uploads.start": 1, "uploads.put": 3}, id="strict-gcs"),
        pytest.param("gen2", {"block.put": 3, "blocklist.put": 1}, id="gen2"),
    ],
    indirect=["remote"],
)
def test_a_long_file_of_a_store_that_renames(
    place: RemotePlace, proxy: FaultProxy, sent: dict[str, int]
) -> None:
    """However small the pieces are that it is written in: of 8 MiB each, and the rest."""
    piece = bytes(range(256)) * 4096
    with fc.Job(place.url, mode="append", names="exact", **place.how) as job, job.task() as task:
        with task.open("long.bin", "wb") as file:
            for _ in range(20):
                file.write(piece)
            file.write(b"end")
        with task.open("short.bin", "wb") as file:
            file.write(piece)
    asked = {name: n for name, n in proxy.operations().items() if name in OF_LONG_FILES}
    assert asked == sent
    assert place.snapshot()["long.bin"] == piece * 20 + b"end"
