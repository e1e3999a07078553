"""The driver process of a JVM, as far as it can be tried without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fsspec.config
import s3fs

from fsspec_commit.engines.spark.driver_process.__main__ import forget_fsspecs_own_settings

if TYPE_CHECKING:
    import pytest


def test_a_key_in_the_settings_of_fsspec_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fsspec.config.conf, "s3", {"key": "of another", "secret": "s"})
    made = [s3fs.S3FileSystem(skip_instance_cache=True).key]
    forget_fsspecs_own_settings()
    made.append(s3fs.S3FileSystem(skip_instance_cache=True).key)
    assert made == ["of another", None]
