"""What gcsfs does, on both servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gcsfs
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.gcs.plugin import GcsBucket

CHUNK_SIZE_BYTES = 256 * 1024


@pytest.fixture
def fs(gcs_bucket: GcsBucket) -> Any:
    return gcsfs.GCSFileSystem(**gcs_bucket.storage_options, skip_instance_cache=True)


def test_it_is_the_plain_filesystem() -> None:
    assert gcsfs.GCSFileSystem.__module__ == "gcsfs.core"


def test_an_object_comes_back(gcs_bucket: GcsBucket, fs: Any) -> None:
    path = f"{gcs_bucket.name}/a b/c=d é#?%2F.txt"
    fs.pipe_file(path, b"one", metadata={"nonce": "n1"})
    assert fs.cat_file(path) == b"one"
    assert fs.cat_file(path, start=1, end=2) == b"n"
    info = fs.info(path)
    assert info["size"] == 3
    assert info["metadata"] == {"nonce": "n1"}
    assert fs.find(gcs_bucket.name) == [path]


def test_a_content_with_line_ends_comes_back(gcs_bucket: GcsBucket, fs: Any) -> None:
    content = b"\r\n--==0==x\n\r\n\r\n\n"
    fs.pipe_file(f"{gcs_bucket.name}/a", content)
    assert fs.cat_file(f"{gcs_bucket.name}/a") == content


@pytest.mark.parametrize("size_bytes", [0, 1, CHUNK_SIZE_BYTES, 3 * CHUNK_SIZE_BYTES + 7])
def test_a_file_is_written_in_chunks(gcs_bucket: GcsBucket, fs: Any, size_bytes: int) -> None:
    content = b"0123456789" * (size_bytes // 10 + 1)
    with fs.open(f"{gcs_bucket.name}/big", "wb", block_size=CHUNK_SIZE_BYTES) as file:
        file.write(content[:size_bytes])
    assert fs.cat_file(f"{gcs_bucket.name}/big") == content[:size_bytes]


def test_a_file_is_there_when_it_is_committed(gcs_bucket: GcsBucket, fs: Any) -> None:
    path = f"{gcs_bucket.name}/late"
    with fs.open(path, "wb", autocommit=False, block_size=CHUNK_SIZE_BYTES) as file:
        file.write(b"x" * (CHUNK_SIZE_BYTES + 3))
    fs.invalidate_cache()
    assert fs.find(gcs_bucket.name) == []
    file.commit()
    fs.invalidate_cache()
    assert fs.size(path) == CHUNK_SIZE_BYTES + 3


def test_a_discarded_file_never_was(gcs_bucket: GcsBucket, fs: Any) -> None:
    with fs.open(f"{gcs_bucket.name}/never", "wb", autocommit=False) as file:
        file.write(b"x" * CHUNK_SIZE_BYTES)
        file.flush(force=True)
        file.discard()
    assert fs.find(gcs_bucket.name) == []


def test_create_does_not_replace(gcs_bucket: GcsBucket, fs: Any) -> None:
    path = f"{gcs_bucket.name}/once"
    fs.pipe_file(path, b"1", mode="create")
    with pytest.raises(FileExistsError):
        fs.pipe_file(path, b"2", mode="create")
    assert fs.cat_file(path) == b"1"


def test_create_in_chunks_does_not_replace(gcs_bucket: GcsBucket, fs: Any) -> None:
    path = f"{gcs_bucket.name}/once"
    fs.pipe_file(path, b"1")
    file = fs.open(path, "xb", block_size=CHUNK_SIZE_BYTES)
    file.write(b"2" * (CHUNK_SIZE_BYTES + 1))
    with pytest.raises(FileExistsError):
        file.close()
    assert fs.cat_file(path) == b"1"


def test_files_are_copied_moved_and_removed(gcs_bucket: GcsBucket, fs: Any, tmp_path: Path) -> None:
    root = gcs_bucket.name
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(name.encode())
    fs.put(str(tmp_path), f"{root}/put", recursive=True)
    fs.cp(f"{root}/put", f"{root}/copied", recursive=True)
    fs.mv(f"{root}/put/a", f"{root}/moved")
    fs.invalidate_cache()
    assert fs.find(root) == [f"{root}/{one}" for one in ("copied/a", "copied/b", "moved", "put/b")]
    assert fs.cat_file(f"{root}/moved") == b"a"
    fs.rm(f"{root}/copied", recursive=True)
    fs.rm_file(f"{root}/moved")
    assert fs.find(root) == [f"{root}/put/b"]
    with pytest.raises(FileNotFoundError):
        fs.cat_file(f"{root}/moved")


def test_directories_are_listed(gcs_bucket: GcsBucket, fs: Any) -> None:
    root = gcs_bucket.name
    for name in ("t/1", "t/2", "t0", "t/deep/3", "t.bak/4"):
        fs.pipe_file(f"{root}/{name}", b"")
    assert sorted(fs.ls(root)) == [f"{root}/{one}" for one in ("t", "t.bak", "t0")]
    assert sorted(fs.ls(f"{root}/t")) == [f"{root}/t/{one}" for one in ("1", "2", "deep")]


@pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)
def test_many_are_removed_in_a_batch(gcs_bucket: GcsBucket, fs: Any) -> None:
    """Which gcsfs does on Google's hosts only."""
    from fsspec.asyn import sync

    paths = [f"{gcs_bucket.name}/d i r/{number}" for number in range(5)]
    fs.pipe(dict.fromkeys(paths, b""))
    answers = sync(fs.loop, fs._rm_files, [*paths, f"{gcs_bucket.name}/none"])
    assert answers[:5] == paths
    assert "No such object" in str(answers[5])
    assert fs.find(gcs_bucket.name) == []
    assert gcs_bucket.server.control.statistics().requests["batch"] >= 1
