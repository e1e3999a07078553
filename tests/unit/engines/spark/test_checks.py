"""What is said of settings that no session of the tests can have: classes that are not here."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from fsspec_commit.engines.spark.checks.committers import committers_of
from fsspec_commit.engines.spark.checks.limits import limits_of
from fsspec_commit.engines.spark.checks.problems import problems_of

PROTOCOL = "spark.sql.sources.commitProtocolClass"
PARQUET = "spark.sql.parquet.output.committer.class"
OURS = "io.github.fsspec_commit.spark.FsspecCommitProtocol"
PATH_PROTOCOL = "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol"
HADOOP = "org.apache.hadoop.mapreduce.lib.output."
FILE = f"{HADOOP}FileOutputCommitterFactory"
MANIFEST = f"{HADOOP}committer.manifest.ManifestCommitterFactory"
S3A = "org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory"
ALGORITHM = "mapreduce.fileoutputcommitter.algorithm.version"
IN_MEMORY = "fs.s3a.committer.magic.track.commits.in.memory.enabled"


@dataclass
class OtherSession:
    """A session of some platform, by its settings and what is on its class path."""

    settings: dict[str, str]
    missing: set[str] = field(default_factory=set)
    knows_classes: bool = True

    def setting(self, name: str) -> str | None:
        return self.settings.get(name)

    def hadoop_setting(self, name: str) -> str | None:
        return {ALGORITHM: "1", **self.settings}.get(name)

    def url(self, destination: str) -> str:
        return destination

    def was_set_late(self, name: str) -> bool:
        return False

    def is_loadable(self, name: str) -> bool:
        return name not in self.missing

    def factory(self, url: str, scheme: str) -> str:
        raise NotImplementedError


def asked(
    session: OtherSession, factory: str = FILE, url: str = "s3a://bucket/out"
) -> tuple[str, list[str], list[str]]:
    """The committer, its problems and its limits."""
    found = committers_of(session, factory)
    scheme = url.partition(":")[0]
    problems = list(problems_of(session, found, url=url, scheme=scheme))
    return str(found), problems, list(limits_of(session, found))


@pytest.mark.parametrize(
    ("name", "whose"),
    [
        ("com.databricks.sql.transaction.directory.DirectoryAtomicCommitProtocol", "Databricks"),
        ("com.databricks.io.CommitProtocol", "Databricks"),
        ("org.apache.spark.sql.execution.datasources.SQLEmrOptimizedCommitProtocol", "EMR"),
    ],
)
def test_commit_protocols_of_others(name: str, whose: str) -> None:
    """What they do is said by their own pages: research/hadoop-committers.md, section 4."""
    committer, [problem], _ = asked(OtherSession({PROTOCOL: name}))
    assert committer == "unknown"
    assert whose in problem
    assert f"set {PROTOCOL}={OURS}" in problem


def test_parquet_s_committer_of_emr_is_not_known() -> None:
    emr = "com.amazon.emr.committer.EmrOptimizedSparkSqlParquetOutputCommitter"
    committer, problems, _ = asked(OtherSession({PARQUET: emr}))
    assert committer == "unknown for Parquet, v1 for other formats"
    assert any(emr in problem for problem in problems)


@pytest.mark.parametrize(
    ("name", "artifact"),
    [(PATH_PROTOCOL, "spark-hadoop-cloud_2.13"), (OURS, "fsspec_commit.spark.jar()")],
)
def test_a_commit_protocol_without_its_jar(name: str, artifact: str) -> None:
    session = OtherSession({PROTOCOL: name}, missing={name})
    _, problems, _ = asked(session, MANIFEST, "abfs://c@a.dfs.core.windows.net/out")
    assert f"{name} is not on the class path: add" in problems[0]
    assert artifact in problems[0]


def test_two_attempts_where_either_may_leave_its_files() -> None:
    """By version 2 both files of a task that ran twice stay: the research, 1.12, E1."""
    speculation = {"spark.speculation": "true"}
    assert asked(OtherSession(speculation), url="file:/out")[1] == []
    for unsafe in ({ALGORITHM: "2"}, {f"spark.{ALGORITHM}": "x"}):
        factory = FILE if ALGORITHM in unsafe else MANIFEST
        problems = asked(OtherSession(speculation | unsafe), factory, "file:/out")[1]
        assert any("set spark.speculation=false" in problem for problem in problems)


@pytest.mark.parametrize(
    ("factory", "committer"),
    [
        ("org.apache.hadoop.fs.s3a.commit.magic.MagicS3GuardCommitterFactory", "magic"),
        ("org.apache.hadoop.fs.s3a.commit.staging.DirectoryStagingCommitterFactory", "directory"),
        (f"{HADOOP}NamedCommitterFactory", "manifest"),
        (FILE, "v1"),
        ("org.example.Factory", "unknown"),
    ],
)
def test_factories_by_name(factory: str, committer: str) -> None:
    named = {
        "mapreduce.outputcommitter.named.classname": (
            f"{HADOOP}committer.manifest.ManifestCommitter"
        )
    }
    assert asked(OtherSession({PROTOCOL: PATH_PROTOCOL} | named), factory)[0] == committer


def test_a_committer_that_is_set_for_all_formats() -> None:
    ours = {"spark.sql.sources.outputCommitterClass": f"{HADOOP}FileOutputCommitter"}
    assert asked(OtherSession(ours), MANIFEST, "file:/out")[0] == "v1"
    ours = {"spark.sql.sources.outputCommitterClass": "org.example.Direct"}
    assert asked(OtherSession(ours), MANIFEST, "file:/out")[0] == (
        "v1 for Parquet, unknown for other formats"
    )


def test_uploads_that_are_kept_in_memory() -> None:
    """The pending set is in no store, so that no other process can complete or abort it."""
    in_memory = {IN_MEMORY: "true", "fs.s3a.committer.name": "magic"}
    _, refused, _ = asked(OtherSession({PROTOCOL: OURS, **in_memory}), S3A)
    [problem] = refused
    assert f"{IN_MEMORY} is true" in problem
    assert "set it to false" in problem
    committer, problems, limits = asked(OtherSession({PROTOCOL: PATH_PROTOCOL, **in_memory}), S3A)
    assert (committer, problems) == ("magic", [])
    assert any("in memory" in limit for limit in limits)


def test_uploads_of_other_jobs_are_aborted_unless_it_is_set() -> None:
    magic = {PROTOCOL: PATH_PROTOCOL, "fs.s3a.committer.name": "magic"}
    off = {"fs.s3a.committer.abort.pending.uploads": "false"}
    assert any(
        "aborts every pending upload" in limit for limit in asked(OtherSession(magic), S3A)[2]
    )
    assert not any("aborts every" in limit for limit in asked(OtherSession(magic | off), S3A)[2])


def test_ours_has_none_of_the_limits() -> None:
    assert asked(OtherSession({PROTOCOL: OURS}), S3A) == ("fsspec-commit", [], [])


def test_native_writers_beside_ours() -> None:
    comet = {"spark.comet.parquet.write.enabled": "true"}
    _, [problem], _ = asked(OtherSession({PROTOCOL: OURS} | comet), url="file:/out")
    assert "which fsspec-commit does not see" in problem


def test_gluten_writes_unless_it_is_told_not_to() -> None:
    plugin = {"spark.plugins": "org.apache.gluten.GlutenPlugin"}
    off = {"spark.gluten.sql.native.writer.enabled": "false"}
    [problem] = asked(OtherSession(plugin), url="file:/out")[1]
    assert "set spark.gluten.sql.native.writer.enabled=false" in problem
    assert asked(OtherSession(plugin | off), url="file:/out")[1] == []
