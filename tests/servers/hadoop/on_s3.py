"""Hadoop's own S3 driver and magic committer on a server of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def settings_of(storage_options: Mapping[str, str]) -> dict[str, str]:
    """Hadoop's settings for the server that s3fs reaches with these options."""
    return {
        "mapreduce.outputcommitter.factory.scheme.s3a": (
            "org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory"
        ),
        "fs.s3a.committer.name": "magic",
        **connection_of(storage_options),
    }


def connection_of(storage_options: Mapping[str, str]) -> dict[str, str]:
    """Those that say where the server is, and whose; no word of committers."""
    return {
        "fs.s3a.endpoint": storage_options["endpoint_url"],
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.access.key": storage_options["key"],
        "fs.s3a.secret.key": storage_options["secret"],
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.create.checksum.generation": "false",
    }
