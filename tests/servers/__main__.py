"""``python -m tests.servers install [--nightly]`` and ``remove``: the servers, for the Makefile."""

from __future__ import annotations

import argparse
import os
import sys

from tests.servers import installation
from tests.servers.azure.kinds import AZURITE
from tests.servers.gcs.kinds import FAKE_GCS_SERVER
from tests.servers.hadoop.bare_disk import BARE_DISK
from tests.servers.hadoop.jars import HADOOP
from tests.servers.hadoop.on_gcs import HADOOP_ON_GCS
from tests.servers.hadoop.on_spark import HADOOP_ON_SPARK
from tests.servers.hdfs.kinds import HDFS
from tests.servers.installation import (
    InstallationError,
    ServerUnavailableError,
    remove_all,
)
from tests.servers.kinds import EVERY_RUN, NIGHTLY
from tests.servers.library_versions import OLDEST_LIBRARIES
from tests.servers.pyspark_versions import PYSPARK_VERSIONS
from tests.servers.tlc import TLC

# Programs of others that are no servers.
PEERS = (HADOOP, HADOOP_ON_SPARK, TLC)
# Beside S3's: what is ours needs no installing.
OTHER_STORES = (AZURITE.installation, FAKE_GCS_SERVER.installation, HDFS)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.servers")
    commands = parser.add_subparsers(required=True, dest="command")
    install = commands.add_parser("install")
    install.add_argument("--nightly", action="store_true", help="the probe's further servers too")
    commands.add_parser("remove", help="those of other checkouts, too")
    asked = parser.parse_args(arguments)
    if asked.command == "remove":
        print(f"removed from {installation.SERVERS}: {', '.join(remove_all()) or 'nothing'}")
        return 0
    return _install(nightly=asked.nightly)


def _install(*, nightly: bool) -> int:
    print(f"servers are kept in {installation.SERVERS}", flush=True)
    missing = False
    needed = [*(kind.installation for kind in EVERY_RUN), *OTHER_STORES, *PEERS]
    peers = (HADOOP_ON_GCS, BARE_DISK, OLDEST_LIBRARIES, *PYSPARK_VERSIONS)
    by_night = [*(kind.installation for kind in NIGHTLY), *peers]
    further = by_night if nightly else []
    for one in (*needed, *further):
        what = f"{one.name} {one.version}"
        try:
            print(f"{what} {one.ensure()}", flush=True)
        except ServerUnavailableError as error:
            # By night what is there is tested; of those of every run, none may be missing in CI.
            missing |= one in needed
            print(f"{what} left out: {error}; its tests are skipped", flush=True)
        except InstallationError as error:
            print(f"{what}: {error}", file=sys.stderr)
            return 1
    return 1 if missing and os.environ.get("CI") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
