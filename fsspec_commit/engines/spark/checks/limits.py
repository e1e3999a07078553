"""What the committer of a session does by design, however it is set up."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fsspec_commit.engines.spark.checks.committers import DIRECT, OURS
from fsspec_commit.engines.spark.checks.problems import OVERWRITE_MODE, what_dynamic_does
from fsspec_commit.engines.spark.checks.session import is_true
from fsspec_commit.engines.spark.hadoop_names import S3A_ABORTS_UPLOADS, S3A_IN_MEMORY

if TYPE_CHECKING:
    from fsspec_commit.engines.spark.checks.committers import Committers
    from fsspec_commit.engines.spark.checks.session import Session

_AT_ONCE: Final = "jobs that write to one destination at the same time share"
_CONCURRENT: Final = {
    "v1": (
        f"{_AT_ONCE} _temporary/0: the first to commit publishes what tasks of the others have "
        "committed, and removes what they are writing"
    ),
    "v2": f"{_AT_ONCE} _temporary/0: the first to commit removes what the others are writing",
    "manifest": (
        f"{_AT_ONCE} _temporary: the first to commit removes what tasks of the others have "
        "committed, so that they fail, or end well with rows missing"
    ),
    "magic": (
        "a job that commits aborts every pending upload below its destination, those of other jobs "
        f"included, which then fail: {S3A_ABORTS_UPLOADS}=false leaves them alone"
    ),
}


def limits_of(session: "Session", found: "Committers") -> Iterator[str]:
    """The limits of the committers that were found, and what cannot be known."""
    if found.names != {OURS}:
        yield (
            "an overwrite of the whole destination deletes the old rows before the job runs: if it "
            "fails, they are gone"
        )
    for name in sorted(found.names):
        aborts = (session.hadoop_setting(S3A_ABORTS_UPLOADS) or "").lower()
        if name == "magic" and aborts == "false":
            continue
        if name in _CONCURRENT:
            yield _CONCURRENT[name]
    if found.names - {OURS, DIRECT}:
        yield "a driver that ends while it commits leaves a part of the files; nothing resumes it"
    happens = what_dynamic_does(found)
    if happens and (session.setting(OVERWRITE_MODE) or "").lower() != "dynamic":
        yield f"with partitionOverwriteMode=dynamic, as an option of a write too, {happens}"
    if "magic" in found.names and is_true(session.hadoop_setting(S3A_IN_MEMORY)):
        yield (
            "S3A keeps a task's uploads in memory: an executor that dies leaves them pending, and "
            "nothing but a lifecycle rule of the bucket removes them"
        )
    if not session.knows_classes:
        yield (
            "by Spark Connect neither the server's class path nor its core-site.xml can be asked: "
            "what is said here follows from the session's settings and Hadoop's defaults"
        )
