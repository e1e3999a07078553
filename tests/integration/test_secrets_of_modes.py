"""A canary in every option that may hold a secret, and jobs of all modes on all kinds of stores.

However a job ends, and whoever is then asked about it, or settles it, says none of them.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import fsspec_commit as fc
from fsspec_commit.effects import pacing
from fsspec_commit.layout import StorePath
from fsspec_commit.records.job import MODES
from fsspec_commit.store import Expect, registry
from fsspec_commit.testing import Crash
from fsspec_commit.testing.committer_contract.superseded import before
from fsspec_commit.testing.simulation.families import FAMILIES
from tests.flat.bucket import Bucket, remove_bucket
from tests.integration.canaries import Ears
from tests.integration.telling import tell
from tests.protocol.hostile.worlds import HOSTILE, HostileStore, make_bucket_of
from tests.sweeps import some_by_day

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsspec_commit.testing.sweeps import Sweep

pytestmark = pytest.mark.filterwarnings("ignore:job .* was neither committed:ResourceWarning")
BIRDS = ("key", "secret", "token", "sas", "account", "password", "userinfo", "header", "string")
CANARIES = {bird: f"canary-{bird}-sings-4242" for bird in BIRDS}
OPTIONS: dict[str, Any] = {
    "key": CANARIES["key"],
    "secret": CANARIES["secret"],
    "token": CANARIES["token"],
    "sas_token": f"sv=2026&sig={CANARIES['sas']}",
    "account_key": CANARIES["account"],
    "connection_string": f"AccountName=a;AccountKey={CANARIES['string']}",
    "endpoint_url": f"https://user:{CANARIES['userinfo']}@host.example",
    "client_kwargs": {
        "password": CANARIES["password"],
        "headers": {"Authorization": f"Bearer {CANARIES['header']}"},
    },
}
HOW: dict[str, Any] = {"storage_options": OPTIONS}
STORES = {
    "disk": "v1",
    "disk-folding": "v1",
    "hdfs": "v1",
    "memory": "v1",
    "gen2": "manifest",
    "gcs": "manifest",
    "s3": "magic",
    "s3-versioned": "magic",
    "s3-by-path": "magic",
    "minio": "magic",
    "s3-express": "manifest",
    "azure-flat": "magic",
}
ENDS: dict[str, Callable[[fc.Job, list[fc.TaskCommit]], object]] = {
    "committed": lambda job, messages: job.commit(messages),
    "aborted": lambda job, _: job.abort(),
    "left open": lambda _job, _messages: None,
    "decided": lambda job, messages: dies(job, messages, "/decision"),
    "published": lambda job, messages: dies(job, messages, "/published"),
}
OLD_FILE = "p=0/old-6a0d9b8e-5c0f-4a55-9f0e-0123456789ab.txt"


class Kind(NamedTuple):
    """A kind of store, which committer a job gets there, and with which names."""

    bucket: Bucket
    committer: str
    names: tuple[str, ...]


@pytest.fixture(params=STORES)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kind]:
    monkeypatch.setattr(pacing, "BACKOFF_S", 0.0001)
    monkeypatch.setitem(registry._registered, HOSTILE, HostileStore)
    bucket = make_bucket_of(request.param)
    # Where uploads are kept by path, jobs with exact names are refused.
    is_by_path = not FAMILIES[request.param].keeps_names_apart
    names = ("unique",) if is_by_path else ("unique", "exact")
    yield Kind(bucket, STORES[request.param], names)
    remove_bucket(bucket)


@pytest.fixture
def ears(caplog: pytest.LogCaptureFixture) -> Ears:
    return Ears(caplog, *CANARIES.values(), logger="fsspec_commit")


def dies(job: fc.Job, messages: list[fc.TaskCommit], path: str) -> None:
    """The driver, right after it has created that record."""
    with before("create", path, lambda: None, dies=True):
        driver = fc.Job.from_spec(job.spec, **HOW)
    with pytest.raises(Crash):
        driver.commit(messages)


def live(url: str, end: str, ears: Ears, **options: Any) -> str:
    """A job until its end; returns which committer it had."""
    job = fc.Job(url, success="json", wait_s=0, **options, **HOW).start()
    job._begun_here = False  # Who dies is not warned of what it leaves.
    ears.heard("job", job, job.spec, job.spec.to_json(), job.selection)
    ears.pickled("spec", job.spec)
    messages: list[fc.TaskCommit] = []
    for number in range(2):
        with (
            fc.Task.from_spec(job.spec, number, **HOW) as task,
            task.open(f"p={number}/a.txt", "w") as file,
        ):
            file.write("a")
            ears.heard("task", task, file, task.filesystem)
        ears.heard("message", task.message)
        ears.pickled("message", task.message)
        assert task.message is not None
        messages.append(task.message)
    ears.heard("result", ENDS[end](job, messages))
    return str(job.selection.committer)


def test_every_kind_of_store_is_tried() -> None:
    """On those whose listings are whole a job moves directories, and on no other."""
    assert STORES.keys() == FAMILIES.keys()
    whole = {name for name in FAMILIES if not FAMILIES[name].capabilities.paged_listing}
    assert whole == {name for name, committer in STORES.items() if committer == "v1"}


@some_by_day(5)
@pytest.mark.parametrize("mode", MODES)
def test_no_job_of_any_mode_tells_a_secret(
    mode: fc.Mode, kind: Kind, sweep: Sweep, ears: Ears, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket = kind.bucket
    for number, (end, names) in enumerate(sweep(product(ENDS, kind.names))):
        root = f"{bucket.name}/out{number}"
        if mode not in {"error", "ignore"}:
            bucket.put(StorePath(f"{root}/{OLD_FILE}"), b"old", None, Expect.ANYTHING)
        url = f"{HOSTILE}://{root}"
        how: dict[str, Any] = {"names": names, "idempotency_key": "once"}
        assert live(url, end, ears, mode=mode, **how) == kind.committer
        try:
            live(url, "committed", ears, mode="overwrite", names=names)
        except fc.CommitError as error:
            ears.failed("refused", error)
        tell(url, OPTIONS, ears, capsys)
        ears.check({path: one.data for path, one in bucket.objects.items()})
