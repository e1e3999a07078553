"""``_SUCCESS`` as Hadoop's tools read it; jobs write it and never read it."""

from msgspec import Struct, field, json


class IOStatistics(Struct, frozen=True, kw_only=True):
    """Hadoop's ``IOStatisticsSnapshot``: numbers by name."""

    counters: dict[str, int]
    gauges: dict[str, int] = field(default_factory=dict)
    minimums: dict[str, int] = field(default_factory=dict)
    maximums: dict[str, int] = field(default_factory=dict)
    meanstatistics: dict[str, int] = field(default_factory=dict)


class SuccessData(Struct, frozen=True, kw_only=True):
    """Hadoop's ``SuccessData/1``, field by field, as its own ``ManifestSuccessData`` reads it."""

    name: str = "org.apache.hadoop.fs.s3a.commit.files.SuccessData/1"
    timestamp: int
    success: bool = True
    date: str
    hostname: str
    committer: str
    job_id: str = field(name="jobId")
    job_id_source: str = field(name="jobIdSource", default="fsspec_commit")
    metrics: dict[str, int] = field(default_factory=dict)
    diagnostics: dict[str, str]
    filenames: list[str]
    iostatistics: IOStatistics

    def encode(self) -> bytes:
        """The marker's content."""
        return json.encode(self)
