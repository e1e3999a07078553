"""Google's Hadoop driver and Hadoop's manifest committer on a server of the tests."""

from __future__ import annotations

from tests.servers.hadoop.jars import MavenJars

HADOOP_ON_GCS = MavenJars(
    name="hadoop-gcs-jars",
    version="2.2.22",
    command="java",
    pom="servers/hadoop/on_gcs.pom.xml",
)
MANIFEST_FACTORY = (
    "org.apache.hadoop.mapreduce.lib.output.committer.manifest.ManifestCommitterFactory"
)
_MEBIBYTE = 1 << 20


def settings_of(endpoint_url: str) -> dict[str, str]:
    """Hadoop's settings for this address, without an account."""
    return {
        **connection_of(endpoint_url),
        "mapreduce.outputcommitter.factory.scheme.gs": MANIFEST_FACTORY,
    }


def connection_of(endpoint_url: str) -> dict[str, str]:
    """Those that say where the server is; no word of committers.

    The sizes are the driver's own, in the numbers that it wants: Hadoop 3.5 hands it its words,
    such as "64m", which it cannot read.
    """
    return {
        "fs.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
        "fs.gs.project.id": "tests",
        "fs.gs.auth.null.enable": "true",
        "fs.gs.auth.service.account.enable": "false",
        "fs.gs.storage.root.url": endpoint_url,
        "fs.gs.rewrite.max.chunk.size": str(512 * _MEBIBYTE),
        "fs.gs.block.size": str(64 * _MEBIBYTE),
        "fs.gs.outputstream.buffer.size": str(8 * _MEBIBYTE),
        "fs.gs.inputstream.inplace.seek.limit": str(8 * _MEBIBYTE),
        "fs.gs.inputstream.min.range.request.size": str(2 * _MEBIBYTE),
    }
