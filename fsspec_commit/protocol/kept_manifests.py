"""The manifests that a driver has at hand, so that it need not read them."""

from fsspec_commit.records.job import TaskCommit

_BYTES_MAX = 4 << 20


class KeptManifests:
    """Manifests by their names and digests, as messages give them: the first 4 MiB of them.

    A driver keeps those that tasks of its own process have created. It goes by them whatever has
    become of the copies on the store since: the digest in the message says that they are what the
    task has written, and if the job is settled meanwhile, the driver learns that when it decides.
    Whoever resumes the job reads the copies, and says so if one is gone or damaged. None is
    pickled, and in a process that was forked neither the job nor its tasks can be used.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], bytes] = {}
        self._bytes = 0

    def keep(self, message: TaskCommit, data: bytes) -> None:
        """Keep *data*, the manifest that *message* names, if there is room."""
        key = message.manifest, message.digest
        if key not in self._kept and self._bytes + len(data) <= _BYTES_MAX:
            self._bytes += len(data)
            self._kept[key] = data

    def get(self, message: TaskCommit) -> bytes | None:
        """The manifest that *message* names; ``None`` if it is not kept."""
        return self._kept.get((message.manifest, message.digest))

    def copy(self) -> "KeptManifests":
        """The same manifests, to which others may be added."""
        copied = KeptManifests()
        copied._kept, copied._bytes = dict(self._kept), self._bytes
        return copied

    def clear(self) -> None:
        """Drop all manifests that are kept."""
        self._kept.clear()
        self._bytes = 0
