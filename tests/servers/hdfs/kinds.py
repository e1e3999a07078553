"""The processes of a cluster: a NameNode and its DataNodes, each a JVM, all on 127.0.0.1."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.hadoop.jars import MavenJars
from tests.servers.installation import _run
from tests.servers.kinds import Launch, Place, ServerKind
from tests.servers.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Mapping

_HERE = Path(__file__).parent
_CLASS = "HdfsProcess"
_SOURCES = (f"{_CLASS}.java", "log4j.properties")
# Small, quick to start, and in no hurry: a cluster of three takes half a gigabyte.
_JAVA = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
COUNTED_EVERY_MS = 20
"""How old what the NameNode says of itself may be."""
LISTED_AT_ONCE = 100
"""Names on a page of a listing: more than one page without thousands of files."""


@dataclass(frozen=True, kw_only=True)
class HdfsProcesses(MavenJars):
    """Hadoop's jars, a program of ours that runs one process of a cluster, and an archive.

    The archive, of loaded classes, halves what a start costs, and so does what is done to the jars:
    before a process serves a page Jetty and Jersey read through all of the largest, three times.
    """

    def _install(self) -> None:
        self._fetch()
        classes, library = self.folder / "classes", self.folder / "lib"
        paths = ("-cp", f"{library}/*", "-d", str(classes))
        _run("javac", "--release", "17", *paths, str(_HERE / f"{_CLASS}.java"))
        log = ("-C", str(_HERE), "log4j.properties")
        jar = str(library / "hdfs-process.jar")
        _run("jar", "--create", "--file", jar, "-C", str(classes), ".", *log)
        for path in library.glob("*.jar"):
            _inflate(path)
        class_path = ":".join(map(str, sorted(library.glob("*.jar"))))
        archive = self.folder / "classes.jsa"
        with tempfile.TemporaryDirectory() as home:
            name_node, http, *data_node = free_ports(5)
            settings = {
                **_name_node_settings(Path(home), name_node, http),
                **_data_node_settings(Path(home), name_node, *data_node),
            }
            site = _write(Path(home) / "site.xml", settings)
            run = ("java", *_JAVA, f"-XX:ArchiveClassesAtExit={archive}", "-cp", class_path, _CLASS)
            _run(*run, "warm", str(site))
        launcher = self.folder / "bin" / self.command
        started = " ".join(_JAVA)
        launcher.write_text(
            f"#!/bin/sh\nexec java {started} -XX:SharedArchiveFile='{archive}' "
            f"-cp '{class_path}' {_CLASS} \"$@\"\n",
            "utf-8",
        )
        launcher.chmod(0o755)

    @property
    def _fingerprint(self) -> str:
        sources = b"".join((_HERE / name).read_bytes() for name in _SOURCES)
        told = f"{super()._fingerprint} {_JAVA}"
        return hashlib.sha256(told.encode() + sources).hexdigest()


def _inflate(path: Path) -> None:
    """Write a jar anew, in the same order, with nothing in it compressed."""
    plain = path.with_suffix(".plain")
    with zipfile.ZipFile(path) as jar, zipfile.ZipFile(plain, "w") as written:
        for one in jar.infolist():
            written.writestr(zipfile.ZipInfo(one.filename, one.date_time), jar.read(one))
    plain.replace(path)


HDFS = HdfsProcesses(name="hdfs", version="3.5.0", command="hdfs", pom="servers/hdfs/pom.xml")


def _launch_name_node(place: Place) -> Launch:
    # Its own counts, which it else takes anew every ten seconds only.
    metrics = f"*.periodMillis={COUNTED_EVERY_MS}\n"
    (place.home / "hadoop-metrics2.properties").write_text(metrics, "utf-8")
    settings = _name_node_settings(place.home, place.ports["rpc"], place.ports["http"])
    return Launch(["namenode", str(_write(place.home / "site.xml", settings))])


def _launch_data_node(place: Place, *, name_node: int, reports_every_ms: int) -> Launch:
    ports = (place.ports["data"], place.ports["ipc"], place.ports["http"])
    settings = _data_node_settings(place.home, name_node, *ports)
    settings["dfs.blockreport.incremental.intervalMsec"] = reports_every_ms
    return Launch(["datanode", str(_write(place.home / "site.xml", settings))])


NAME_NODE = ServerKind(HDFS, _launch_name_node, ports=("rpc", "http"))


def data_node(name_node: int, *, reports_every_ms: int = 0) -> ServerKind:
    """A DataNode of the NameNode at a port, which it tells of new blocks so often at most."""
    launch = partial(_launch_data_node, name_node=name_node, reports_every_ms=reports_every_ms)
    return ServerKind(HDFS, launch, ports=("data", "ipc", "http"))


def _name_node_settings(home: Path, rpc: int, http: int) -> dict[str, object]:
    return {
        "fs.defaultFS": f"hdfs://127.0.0.1:{rpc}",
        "dfs.namenode.rpc-address": f"127.0.0.1:{rpc}",
        "dfs.namenode.http-address": f"127.0.0.1:{http}",
        "dfs.namenode.name.dir": f"file://{home}/name",
        # What clients are told, who have no settings of their own. A block that is being written
        # reserves its full length on the disk, which is memory here.
        "dfs.blocksize": 1 << 20,
        "dfs.replication": 2,
        "dfs.namenode.redundancy.considerLoad": "false",
        # It looks for blocks to be removed so often, else a hundred times a second.
        "dfs.namenode.block.deletion.unlock.interval.ms": 500,
        # Without these one small file in three seconds is closed.
        "dfs.namenode.file.close.num-committed-allowed": 1,
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": 5,
        # A NameNode that comes back is ready as soon as it knows where the blocks are, and one
        # that lost a DataNode knows it soon.
        "dfs.namenode.safemode.extension": 0,
        "dfs.namenode.heartbeat.recheck-interval": 500,
        "dfs.heartbeat.interval": 1,
        # Listings of more than one page without thousands of files.
        "dfs.ls.limit": LISTED_AT_ONCE,
        "dfs.namenode.fs-limits.max-component-length": 255,
    }


def _data_node_settings(
    home: Path, name_node: int, data: int, ipc: int, http: int
) -> dict[str, object]:
    return {
        "fs.defaultFS": f"hdfs://127.0.0.1:{name_node}",
        "dfs.namenode.rpc-address": f"127.0.0.1:{name_node}",
        "dfs.datanode.data.dir": f"file://{home}/data",
        "dfs.datanode.hostname": "127.0.0.1",
        "dfs.datanode.address": f"127.0.0.1:{data}",
        "dfs.datanode.ipc.address": f"127.0.0.1:{ipc}",
        "dfs.datanode.http.address": f"127.0.0.1:{http}",
        "dfs.heartbeat.interval": 1,
        # It writes for clients of WebHDFS, and there are only two.
        "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": 5,
        # Until its NameNode is there, or is back.
        "ipc.client.connect.retry.interval": 100,
        "ipc.client.connect.max.retries": 600,
    }


def _write(site: Path, settings: Mapping[str, object]) -> Path:
    properties = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>\n"
        for name, value in settings.items()
    )
    site.write_text(f"<configuration>\n{properties}</configuration>\n", "utf-8")
    return site
