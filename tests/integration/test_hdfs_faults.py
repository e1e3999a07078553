"""What goes wrong between a job and its cluster: replies lost, and each of its processes killed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore
from tests.protocol.invariants import check_settled, job_ids, visible
from tests.scenes.attempts import attempt, clean, recover
from tests.scenes.hdfs_places import HdfsPlace
from tests.scenes.remotes import on
from tests.scenes.scene import PARTITIONED, SCENES, Scene
from tests.scenes.wire import At, Wire, wire_to
from tests.servers.faults import (
    AnswerAfterwards,
    AnswerInstead,
    Fault,
    LoseReply,
    ResetReply,
)
from tests.servers.hdfs.plugin import PROTOCOLS, HdfsDirectory
from tests.servers.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store
    from tests.scenes.places import RemotePlace
    from tests.scenes.remotes import Remote
    from tests.servers.hdfs.cluster import HdfsCluster, HdfsProcess
    from tests.servers.proxy import FaultProxy

T = TypeVar("T")

SCENE = Scene({**SCENES["overwrite, in place"].options, "idempotency_key": "k"}, PARTITIONED)
given_up = pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")


# In the order in which a job sends them. What is renamed says which record it becomes.
TARGETS = (
    At("MKDIRS", "_commit"),
    At("CREATE", ".tmp"),
    At("RENAME", "job.json"),
    At("CREATE", ".tmp", nth=2),
    At("RENAME", ".pending"),
    At("RENAME", "/tasks/", nth=3),
    At("RENAME", "/committed/"),
    At("RENAME", "/manifests/"),
    At("RENAME", "/claim-"),
    At("RENAME", "/replaced-"),
    At("RENAME", "/decision"),
    At("RENAME", ".txt.pending", nth=8),
    At("RENAME", "/published"),
    At("RENAME", "/trash/"),
    At("RENAME", "_SUCCESS"),
    At("CREATE", "/done/"),
    At("CREATE", "/epoch-"),
    At("RENAME", "/gone-"),
    At("DELETE", "/gone-"),
    At("GETFILESTATUS", "/job.json"),
    At("OPEN", "/job.json"),
    At("LISTSTATUS_BATCH", "_commit"),
)
FAULTS: dict[str, Fault] = {
    "reply lost": LoseReply(),
    "500, and it happened": AnswerAfterwards(500),
    "503": AnswerInstead(503),
    "standby": AnswerInstead(403),
    "it is starting": AnswerInstead(404),
    "reset in the reply": ResetReply(after_bytes=10),
}
IN_EVERY_RUN = {"reply lost"}
STEP = 3
"""So many requests of a job are tried in one test."""
BY_DAY = {4 * STEP}
every_fault = pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, id=name, marks=() if name in IN_EVERY_RUN else pytest.mark.slow)
        for name, fault in FAULTS.items()
    ],
)


@pytest.fixture
def wire(remote: Remote, proxy: FaultProxy) -> Wire:
    return wire_to(remote, proxy, SCENE)


@on("webhdfs")
@every_fault
@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=() if first in BY_DAY else pytest.mark.slow)
        for first in range(0, len(TARGETS), STEP)
    ],
)
def test_a_fault_at_each_kind_of_request(wire: Wire, fault: Fault, first: int) -> None:
    """Whatever the caller is told is true, and what is left can be settled."""
    for number, target in enumerate(TARGETS[first : first + STEP]):
        rule = target.rule(fault)
        told, message = attempt(SCENE, wire.ready(number, rule))
        assert rule.met, f"{target} never came"
        wire.proxy.clear()
        try:
            recover(SCENE, wire.direct(number), told)
        except BaseException as error:
            error.add_note(f"{target}: {told}, {message}")
            raise


@on("webhdfs")
def test_a_task_that_comes_late_leaves_what_means_nothing(wire: Wire) -> None:
    """The job is settled between the look at its area and the directory that is made in it."""
    ended: list[None] = []

    def settle() -> None:
        place = wire.direct(0)
        ended.extend(
            fc.abort(place.url, job_id, **place.how) for job_id in job_ids(place.snapshot())
        )

    late = At("MKDIRS", "/tasks/", nth=1).rule(None, before=settle)
    told, message = attempt(SCENE, wire.ready(0, late))
    assert ended == [None]
    assert told == "unknown", message
    place = wire.direct(0)
    assert visible(place.snapshot()) == SCENE.old
    assert "_commit" in place.directories()
    clean(place)
    check_settled(place.snapshot(), place.directories(), expected=SCENE.old, marker=True)


class Killing:
    """Does something to the cluster around one store call of a job."""

    def __init__(self, verb: str, part: str, when: str, kill: Callable[[], None]) -> None:
        self.met = False
        self._verb, self._part, self._when, self._kill = verb, part, when, kill

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        meets = not self.met and verb == self._verb and self._part in path
        self.met |= meets
        if meets and self._when == "before":
            self._kill()
        answer = await call()
        if meets and self._when == "after":
            self._kill()
        return answer

    def wrap(self, store: Store) -> Store:
        return WrappedStore(store, self.carry)


WHO = ["NameNode", "DataNode", "both DataNodes"]
WHEN = {
    "writing a file": ("write", "other", "after"),
    "before the decision": ("create", "/decision", "before"),
    "after the decision": ("create", "/decision", "after"),
    "publishing": ("rename", ".txt", "after"),
    "before the end": ("rename_directory", "", "before"),
}
IN_SHORT = {
    ("hdfs", "NameNode", "publishing"),
    ("webhdfs", "NameNode", "publishing"),
    # This client writes to DataNodes itself; for the other one a DataNode does.
    ("hdfs", "DataNode", "writing a file"),
}


def _bounce(cluster: HdfsCluster, who: str) -> None:
    bounced: list[HdfsProcess] = [cluster.name_node]
    if who != "NameNode":
        bounced = [*cluster.data_nodes[: 1 if who == "DataNode" else 2]]
    for process in bounced:
        process.kill()
    for process in bounced:
        process.restart()


def told_by_a_job(place: RemotePlace, when: str, kill: Callable[[], None]) -> str:
    """What its driver says of a job, around one of whose calls something is killed."""
    place.put(SCENE.laid_out)
    killing = Killing(*WHEN[when], kill)
    with wrapping(killing.wrap):
        told, _ = attempt(SCENE, place)
    assert killing.met
    return told


@pytest.mark.parametrize(
    ("remote", "who", "when"),
    [
        pytest.param(*case, marks=() if case in IN_SHORT else pytest.mark.slow)
        for case in product(PROTOCOLS, WHO, WHEN)
    ],
    indirect=["remote"],
)
@given_up
def test_a_process_of_the_cluster_is_killed_and_comes_back(
    remote: Remote, who: str, when: str
) -> None:
    """During a job: whatever its driver makes of it is true, and the job can be finished."""
    place = remote.place()
    told = told_by_a_job(place, when, lambda: _bounce(remote.bucket.cluster, who))
    recover(SCENE, place, told)


@pytest.mark.slow
@on(*PROTOCOLS)
@given_up
def test_a_data_node_is_killed_and_stays_away(remote: Remote) -> None:
    """The other one is enough; nothing half written is ever taken for output."""
    place, cluster = remote.place(), remote.bucket.cluster
    told = told_by_a_job(place, "writing a file", cluster.data_nodes[0].kill)
    cluster.heal()
    recover(SCENE, place, told)


@dataclass(frozen=True)
class Nowhere(HdfsPlace):
    """Where no NameNode is: killed and started again, one would cost each test seconds."""

    port: int

    @property
    def url(self) -> str:
        return f"{self.above.protocol}://127.0.0.1:{self.port}{self.root}"


def test_a_cluster_that_is_not_there_is_named(hdfs_directory: HdfsDirectory) -> None:
    """Soon, and without a job left open anywhere."""
    [port] = free_ports(1)
    told, message = attempt(SCENE, Nowhere(hdfs_directory, "out", port))
    assert told == "not_committed"
    assert "127.0.0.1" in message
    assert "cannot be reached" in message
