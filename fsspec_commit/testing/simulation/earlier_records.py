"""What the records of earlier versions of this library say, written down once more.

None of the library's code writes them: what it writes may change, and these must be read for ever.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from hashlib import sha256
from typing import Any, Literal

from fsspec_commit.records.job import Names
from fsspec_commit.store import Capabilities, PendingUpload

_DATE = "2025-11-30T10:11:12+00:00"
_CREATED_MS = 1_764_497_472_000
_HADOOP = "org.apache.hadoop.mapreduce.lib.output.committer.manifest.files"


@dataclass(frozen=True)
class EarlierRecords:
    """The records of one job.

    Args:
        job_id: Its id.
        mode: Its mode.
        names: Whether its names are unique or exact.
        success: Its marker.
    """

    job_id: str
    mode: str
    names: Names = "unique"
    success: Literal["marker", "none"] = "none"

    def nonce(self, what: str) -> str:
        """A nonce, random as far as anybody can tell: a claim's does not say what it claims."""
        return sha256(f"{self.job_id} {what}".encode()).hexdigest()[:32]

    def job(self, url: str, committer: str, capabilities: Capabilities) -> bytes:
        """``job.json``."""
        facts = {
            name: fact.value if isinstance(fact, Enum) else fact
            for name, fact in asdict(capabilities).items()
        }
        return self._record(
            "Job",
            destination=url,
            committer=committer,
            capabilities=facts,
            mode=self.mode,
            partitions=[],
            names=self.names,
            tasks=None,
            collect="messages",
            key_digest=None,
            success=self.success,
            allow_empty=False,
            durability="none",
            single_writer=False,
            delete_by_name=False,
            host="recorder",
        )

    def claim(self, partitions: Sequence[str]) -> bytes:
        """``claim-…``; a job that replaces everything claims all partitions."""
        return self._record(
            "Claim",
            mode=self.mode,
            names=self.names,
            partitions=list(partitions) if self.mode == "append" else None,
            reusable_names=self.names == "exact",
            key_digest=None,
        )

    def aborted(self) -> bytes:
        """The decision that the job never happens."""
        return self._decision(state="aborted", claim=None, chosen=[], replaced=None)

    def committed(
        self,
        claim: bytes,
        tasks: Iterable[tuple[str, Sequence[int], bytes]],
        replaced: bytes,
        *,
        marker: str | None,
        stale: str | None,
    ) -> bytes:
        """The decision that it happens.

        Args:
            claim: Its claim.
            tasks: For each task the chosen attempt, the sizes of its files, and its manifest.
            replaced: The list of old files, or nothing.
            marker: The token of its marker, which is empty, if it leaves one.
            stale: The token of the marker that it has found, if there was one.
        """
        chosen = [
            {
                "task_id": task,
                "attempt_id": attempt_id,
                "file_count": len(sizes),
                "bytes": sum(sizes),
                "manifest": f"{self.job_id}/manifests/{task}/{attempt_id}",
                "digest": sha256(manifest).hexdigest(),
                "chosen": None,
            }
            for task, (attempt_id, sizes, manifest) in enumerate(tasks)
        ]
        listed = {"count": len(replaced.splitlines()), "digest": sha256(replaced).hexdigest()}
        return self._decision(
            state="committed",
            claim=json.loads(claim),
            chosen=chosen,
            replaced=listed if self.mode == "overwrite" else None,
            success=None if marker is None else {"size": 0, "token": marker},
            stale_success=None if stale is None else {"size": 0, "token": stale},
        )

    def published(self) -> bytes:
        """``published``."""
        return self._record("Published", decision=self.nonce("Decision"), lost=0)

    def upload(self, name: str, upload_id: str) -> bytes:
        """The record of an upload whose name does not say whose it is, or which nobody lists."""
        nonce = self.nonce(f"Upload {name}")
        return self._record("Upload", nonce=nonce, name=name, upload_id=upload_id)

    def manifest(
        self, task: int, attempt_id: str, directory: str, files: Mapping[str, tuple[int, str]]
    ) -> bytes:
        """The manifest of an attempt whose files, with sizes and tokens, are in a *directory*."""
        made = sorted({name.rpartition("/")[0] for name in files} - {""})
        return _json(
            {
                "extraData": {"nonce": self.nonce(f"manifest {task}"), "rows": ""},
                "type": f"{_HADOOP}.TaskManifest/1",
                "version": 1,
                "jobId": self.job_id,
                "jobAttemptNumber": 0,
                "taskID": str(task),
                "taskAttemptID": attempt_id,
                "taskAttemptDir": directory,
                "files": [
                    {"s": f"{name}.pending", "d": name, "z": size_bytes, "e": token}
                    for name, (size_bytes, token) in sorted(files.items())
                ],
                "directories": [{"d": name, "t": 0, "l": 1} for name in made],
            }
        )

    def pending_set(self, task: int, attempt_id: str, uploads: Sequence[PendingUpload]) -> bytes:
        """The manifest of an attempt whose files are uploads of one part."""
        extra = {
            "task.attempt.id": attempt_id,
            "nonce": self.nonce(f"manifest {task}"),
            "created": str(_CREATED_MS),
            "rows": "",
        }
        return _json(
            {
                "version": 3,
                "jobId": self.job_id,
                "commits": [self._pending(task, upload) for upload in uploads],
                "extraData": extra,
                "iostatistics": {},
            }
        )

    def _pending(self, task: int, upload: PendingUpload) -> dict[str, Any]:
        (part,) = upload.parts
        bucket, _, key = upload.path.partition("/")
        return {
            "version": 2,
            "filename": "",
            "uri": f"s3a://{upload.path}",
            "uploadId": upload.upload_id,
            "bucket": bucket,
            "destinationKey": key,
            "created": _CREATED_MS,
            "saved": _CREATED_MS,
            "date": _DATE,
            "jobId": self.job_id,
            "taskId": str(task),
            "text": "",
            "etags": [{"etag": part.token, "checksumAlgorithm": None, "checksum": None}],
            "extraData": {"nonce": upload.nonce, "part_sizes": str(part.size_bytes)},
            "length": part.size_bytes,
            "iostatistics": {},
        }

    def _decision(
        self,
        *,
        state: str,
        claim: object,
        chosen: object,
        replaced: object,
        success: object = None,
        stale_success: object = None,
    ) -> bytes:
        return self._record(
            "Decision",
            state=state,
            by="recorder",
            claim=claim,
            chosen=chosen,
            chosen_list=None,
            replaced=replaced,
            success=success,
            stale_success=stale_success,
        )

    def _record(self, kind: str, **said: object) -> bytes:
        head = {"format": f"fsspec_commit.{kind}", "version": 1, "nonce": self.nonce(kind)}
        return _json({**head, "job_id": self.job_id, **said})


def marker_token(upload: PendingUpload) -> str:
    """What a decision calls the token of a marker that is an upload of one part."""
    (part,) = upload.parts
    return _json([upload.upload_id, upload.nonce, part.token]).decode()


def replaced_line(name: str, size_bytes: int, token: str) -> bytes:
    """A line of the list of old files, for one that no new file of its name replaces."""
    return _json([name, size_bytes, token, False]) + b"\n"


def _json(said: object) -> bytes:
    return json.dumps(said, separators=(",", ":")).encode()
