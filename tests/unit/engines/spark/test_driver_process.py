"""The driver process of a JVM, as far as it can be tried without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fsspec.config
import pytest
import s3fs

from fsspec_commit.engines.spark.driver_process.__main__ import forget_fsspecs_own_settings
from fsspec_commit.engines.spark.driver_process.channel import Channel
from fsspec_commit.engines.spark.driver_process.serving import Serving

if TYPE_CHECKING:
    from pathlib import Path


def test_a_key_in_the_settings_of_fsspec_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fsspec.config.conf, "s3", {"key": "of another", "secret": "s"})
    made = [s3fs.S3FileSystem(skip_instance_cache=True).key]
    forget_fsspecs_own_settings()
    made.append(s3fs.S3FileSystem(skip_instance_cache=True).key)
    assert made == ["of another", None]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff\xfe",
        b'{"do":"\xff"}',
        b'{"id":7,"do":"abort","job":"\xff"}',
        b"[" * 100_000,
        b'{"id":7,"x":' + b"[" * 100_000,
        b'{"id":7,"do":"start","options":' + b'{"a":' * 100_000,
        b'{"id":NaN}',
        b'{"id":' + b"9" * 5_000 + b"}",
        b'{"id":7,"do":"adopt","job":"x","adopted":{"task":0,"attempt":"","files":[[]]}}',
        b'{"id":8,"do":"commit","job":"../x","chosen":[]}',
    ],
    ids=range(11),
)
def test_no_line_ends_the_process(line: bytes, tmp_path: Path) -> None:
    """One that was nested deeply, or was no UTF-8, ended it, and all of its jobs."""
    after = b'{"id":9,"do":"abort","job":"none"}'
    with (tmp_path / "said").open("wb") as out:
        Serving(Channel(out)).serve([line, after])
        assert not out.closed
    assert b'"id": 9' in (tmp_path / "said").read_bytes()
