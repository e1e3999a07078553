"""What a job makes below a directory with a default ACL can be used by those whom it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fsspec_commit as fc

if TYPE_CHECKING:
    from tests.servers.hdfs.plugin import HdfsDirectory

GROUP = "analysts"


def test_a_default_acl_stays_effective(hdfs_directory: HdfsDirectory) -> None:
    """Through `webhdfs://` as it is; through `hdfs://` where the umask leaves it room."""
    from hdfs_native import AclEntry

    client = hdfs_directory.cluster.client
    root = f"{hdfs_directory.path}/out"
    client.mkdirs(root, 0o755, create_parent=True)
    client.modify_acl_entries(root, [AclEntry("group", "default", "rwx", GROUP)])
    is_web = hdfs_directory.protocol == "webhdfs"
    options = {} if is_web else {"fs.permissions.umask-mode": "002"}
    url = f"{hdfs_directory.url}/out"
    given = {**hdfs_directory.storage_options, **options}
    job = fc.Job(url, mode="append", storage_options=given)
    with job, job.task() as task, task.open("day=1/part.txt", "w") as file:
        file.write("1")
    result = job.result
    assert result is not None
    (part,) = [f"{root}/{name}" for name in result.files]
    for path in (f"{root}/day=1", part):
        status = client.get_acl_status(path)
        named = [entry for entry in status.entries if entry.name == GROUP]
        assert {entry.permissions for entry in named} == {"rwx"}
        # Of a path with an ACL the bits of the group are its mask: what is effective.
        assert status.permission & 0o060 == 0o060, oct(status.permission)
