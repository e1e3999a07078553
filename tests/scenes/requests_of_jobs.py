"""What a job asks of each store over the wire, and how the store says what goes wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from tests.scenes.scene import PARTITIONED, SCENES, Scene, named
from tests.scenes.wire import At
from tests.servers.faults import (
    AnswerAfterwards,
    AnswerInstead,
    DelayReply,
    Fault,
    LoseReply,
    ResetReply,
    ResetRequest,
)

EXACT = Scene({**SCENES["overwrite, in place"].options, "idempotency_key": "k"}, PARTITIONED)
UNIQUE = Scene({**named("overwrite").options, "idempotency_key": "k"}, PARTITIONED)
FAULTS_OF_ANY: dict[str, Fault] = {
    "reply lost": LoseReply(),
    "reset in the body": ResetRequest(after_bytes=10),
    "reset in the reply": ResetReply(after_bytes=10),
}
Moment: TypeAlias = tuple[At, str]


def moments(*, decide: At, publish: At, published: At, over: At) -> dict[str, Moment]:
    """When a server is killed while a job commits."""
    second = replace(publish, nth=2)
    return {
        "before the decision": (decide, "before"),
        "after the decision": (decide, "after"),
        "before the second file": (second, "before"),
        "after the second file": (second, "after"),
        "after all is published": (published, "after"),
        "after the job is over": (over, "after"),
    }


@dataclass(frozen=True, kw_only=True)
class Requests:
    """A job's requests to one store.

    Attributes:
        committer: What publishes its files.
        scene: The job.
        changes: What changes something, in the order in which a job sends it.
        questions: What changes nothing: by now the job has changed something, or is about to.
        faults: What may happen to each of them.
        expired: The answer to credentials that have expired.
        says_expired: What the error says of them.
        moments: When the server is killed.
        busy: The answer of a server that wants to be left alone, and to what it gives it.
        parts: Which requests that send a part of a long file fail: options of a rule.
    """

    committer: str
    scene: Scene
    changes: tuple[At, ...]
    questions: tuple[At, ...]
    faults: Mapping[str, Fault]
    expired: Fault
    says_expired: str
    moments: Mapping[str, Moment]
    busy: tuple[Fault, tuple[str, ...]] = (AnswerInstead(503), ())
    parts: tuple[Mapping[str, Any], ...] = ()

    @property
    def operations(self) -> set[str]:
        """The names of all that it asks."""
        return {one.operation for one in (*self.changes, *self.questions)}

    @property
    def decision(self) -> At:
        return self.moments["after the decision"][0]

    @property
    def published(self) -> At:
        return self.moments["after all is published"][0]


S3 = Requests(
    committer="magic",
    scene=EXACT,
    changes=(
        At("PutObject", "/job.json"),
        At("CreateMultipartUpload", "/same"),
        At("CreateMultipartUpload", "/other"),
        At("PutObject", "/uploads/"),
        At("UploadPart", "/same"),
        At("AbortMultipartUpload", "/other"),
        At("PutObject", "/manifests/0/"),
        At("PutObject", "/claim-"),
        At("PutObject", "/replaced-"),
        At("CreateMultipartUpload", "_SUCCESS"),
        At("UploadPart", "_SUCCESS"),
        At("PutObject", "/decision"),
        At("CompleteMultipartUpload", ".txt"),
        At("CompleteMultipartUpload", ".txt", nth=3),
        At("PutObject", "/published"),
        At("DeleteObject", "/old"),
        At("CompleteMultipartUpload", "_SUCCESS"),
        At("PutObject", "/done/"),
        At("PutObject", "/epoch-"),
        At("DeleteObject", "/job.json"),
        At("DeleteObjects", ""),
    ),
    questions=(
        At("ListObjectsV2", ""),
        At("ListObjectsV2", "", nth=2),
        At("ListObjectVersions", ""),
        At("HeadObject", "/job.json"),
        At("HeadObject", "_SUCCESS"),
        At("GetObject", "/done/"),
        At("GetObject", "/job.json"),
        At("ListMultipartUploads", ""),
    ),
    faults={
        **FAULTS_OF_ANY,
        "500, and it happened": AnswerAfterwards(500, "InternalError"),
        "500, and it did not": AnswerInstead(500, "InternalError"),
        "502 of a proxy, and it happened": AnswerAfterwards(502, "BadGateway"),
        "503": AnswerInstead(503, "SlowDown"),
        "409, try again": AnswerInstead(409, "ConditionalRequestConflict"),
        "slow": DelayReply(0.1),
    },
    expired=AnswerInstead(400, "ExpiredToken"),
    says_expired="expired",
    moments=moments(
        decide=At("PutObject", "/decision"),
        publish=At("CompleteMultipartUpload", ".txt"),
        published=At("PutObject", "/published"),
        over=At("DeleteObject", "/job.json"),
    ),
    busy=(
        AnswerInstead(503, "SlowDown", retry_after_s=1),
        ("PutObject", "CompleteMultipartUpload", "UploadPart"),
    ),
    parts=tuple({"operation": "UploadPart", "query": {"partNumber": n}} for n in ("1", "2")),
)
S3_UNVERSIONED = replace(
    S3,
    scene=UNIQUE,
    # An upload is recorded where a file's name does not say whose it is.
    changes=tuple(one for one in S3.changes if one.name != "/uploads/"),
    questions=tuple(one for one in S3.questions if one.operation != "ListObjectVersions"),
)
GCS = Requests(
    committer="manifest",
    scene=EXACT,
    changes=(
        At("objects.insert", "/job.json"),
        At("objects.insert", "/tasks/0/"),
        At("objects.insert", "/tasks/1/"),
        At("objects.insert", "/manifests/0/"),
        At("objects.insert", "/claim-"),
        At("objects.insert", "/replaced-"),
        At("objects.insert", "/decision"),
        At("objects.delete", "out/_SUCCESS"),
        At("objects.move", ".txt"),
        At("objects.move", ".txt", nth=3),
        At("objects.insert", "/published"),
        At("objects.delete", "/old"),
        At("objects.move", "_SUCCESS"),
        At("objects.insert", "/done/"),
        At("objects.insert", "/epoch-"),
        At("objects.delete", "/job.json"),
        At("objects.delete", "/decision"),
        At("objects.delete", "/manifests/"),
    ),
    questions=(
        At("buckets.get", ""),
        At("objects.list", ""),
        At("objects.list", "", nth=2),
        At("objects.get", "/job.json"),
        At("objects.download", "/done/"),
        At("objects.download", "/job.json"),
    ),
    faults={
        **FAULTS_OF_ANY,
        "500, and it happened": AnswerAfterwards(500),
        "500, and it did not": AnswerInstead(500),
        "502 of a proxy, and it happened": AnswerAfterwards(502),
        "503": AnswerInstead(503),
        "429": AnswerInstead(429),
        "slow": DelayReply(0.1),
    },
    expired=AnswerInstead(401),
    says_expired="have expired",
    moments=moments(
        decide=At("objects.insert", "/decision"),
        publish=At("objects.move", ".txt"),
        published=At("objects.insert", "/published"),
        over=At("objects.delete", "/job.json"),
    ),
    busy=(
        AnswerInstead(429, retry_after_s=1),
        ("objects.insert", "objects.move", "objects.delete"),
    ),
    parts=(
        {"operation": "uploads.put", "nth": 1},
        {"operation": "uploads.put", "nth": 3},
        {"operation": "uploads.start"},
    ),
)
GEN2 = Requests(
    committer="manifest",
    scene=UNIQUE,
    changes=(
        At("blob.put", "/job.json"),
        At("blob.put", ".pending"),
        At("blob.put", "/manifests/0/"),
        At("blob.put", "/claim-"),
        At("blob.put", "/replaced-"),
        At("blob.put", "/decision"),
        At("path.create", ""),
        At("path.rename", ".txt"),
        At("path.rename", ".txt", nth=3),
        At("blob.put", "/published"),
        At("blob.delete", "/old"),
        At("path.rename", "_SUCCESS"),
        At("blob.put", "/done/"),
        At("blob.put", "/epoch-"),
        At("blob.delete", "/job.json"),
        At("blob.delete", "/decision"),
        At("path.delete", "/_commit/"),
    ),
    questions=(
        At("path.list", ""),
        At("blob.properties", "/job.json"),
        At("blob.properties", "_SUCCESS"),
        At("blob.get", "/done/"),
    ),
    faults={
        **FAULTS_OF_ANY,
        "500, and it happened": AnswerAfterwards(500, "InternalError"),
        "500, and it did not": AnswerInstead(500, "OperationTimedOut"),
        "503": AnswerInstead(503, "ServerBusy"),
        "429": AnswerInstead(429, "TooManyRequests"),
    },
    expired=AnswerInstead(401, "InvalidAuthenticationInfo"),
    says_expired="the access token has expired",
    moments=moments(
        decide=At("blob.put", "/decision"),
        publish=At("path.rename", ".txt"),
        published=At("blob.put", "/published"),
        over=At("path.delete", "/_commit/"),
    ),
    busy=(
        AnswerInstead(503, "ServerBusy", retry_after_s=1),
        ("blob.put", "path.rename", "blob.delete"),
    ),
    parts=(
        {"operation": "block.put", "nth": 1},
        {"operation": "block.put", "nth": 2},
        {"operation": "blocklist.put"},
    ),
)
AZURITE = replace(
    GEN2,
    committer="magic",
    changes=(
        At("blob.put", "/job.json"),
        At("block.put", ".txt"),
        At("block.put", "_SUCCESS"),
        At("blob.put", "/manifests/0/"),
        At("blob.put", "/claim-"),
        At("blob.put", "/replaced-"),
        At("blob.put", "/decision"),
        At("blocklist.put", ".txt"),
        At("blocklist.put", ".txt", nth=3),
        At("blob.put", "/published"),
        At("blob.delete", "/old"),
        At("blocklist.put", "_SUCCESS"),
        At("blob.put", "/done/"),
        At("blob.put", "/epoch-"),
        At("blob.delete", "/job.json"),
        At("blob.delete", "/manifests/"),
    ),
    questions=(
        At("blob.list", ""),
        At("blob.properties", "/job.json"),
        At("blocklist.get", "_SUCCESS"),
        At("blob.get", "/done/"),
    ),
)
