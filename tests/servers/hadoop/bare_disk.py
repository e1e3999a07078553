"""A driver of disks for Hadoop that starts no programs, for machines without its native library.

There Hadoop's own sets the permissions of every file, and of its checksums, by a `chmod` each.
"""

from __future__ import annotations

from tests.servers.hadoop.jars import MavenJars

BARE_DISK = MavenJars(
    name="hadoop-bare-disk",
    version="0.1.0",
    command="java",
    pom="servers/hadoop/bare_disk.pom.xml",
)
BARE_DISK_CLASS = "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"
