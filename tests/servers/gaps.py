"""What the servers get wrong, test by test: each row is a strict xfail with its reason.

A row whose test is collected and passes, or is not there any more, fails the run: the table says
neither more nor less than is so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


@dataclass(frozen=True)
class Gap:
    """One server fails one test.

    Attributes:
        server: its name in `kinds.py`.
        test: the test's path, class and name, from `tests/` on, without parameters.
        reason: what the server does that it should not, with its issue where there is one.
        parameters: further words that must all stand in the test's parameters.
    """

    server: str
    test: str
    reason: str
    parameters: tuple[str, ...] = ()

    def covers(self, server: str, test: str, parameters: str) -> bool:
        # Asked of every row for each of thousands of tests: the cheap questions come first.
        if test != self.test or server != self.server:
            return False
        # pytest escapes the ids of an inherited test once for each class that has it.
        words = re.sub(r"\\+", r"\\", parameters).split("-")
        return all(word in words for word in self.parameters)


def stale(gaps: Iterable[Gap], *, found: Collection[Gap], files: Collection[str]) -> list[Gap]:
    """Rows that cover no test although the file that they name was collected."""
    return [gap for gap in gaps if gap not in found and gap.test.partition("::")[0] in files]


MARKERS = (
    "where versions are kept, it refuses to create what was deleted: jobs are refused in such a "
    "bucket"
)
S3_STORES = ("TestS3Store", "TestS3StoreByBotocore")
GAPS: tuple[Gap, ...] = (
    Gap(
        "ministack",
        "tests/servers/test_servers.py::test_a_kill_loses_no_upload",
        "it holds uploads and their parts in memory only, so a restart loses them",
    ),
    *(
        Gap(
            "seaweedfs",
            f"tests/contract/test_s3.py::{contract}::test_an_odd_name_is_kept_or_refused",
            "it takes a backslash in a key for a slash",
            (r"back\slash",),
        )
        for contract in S3_STORES
    ),
    Gap(
        "seaweedfs",
        "tests/integration/test_adoption.py"
        "::test_p2_what_a_program_uploads_after_its_files_were_adopted_is_never_shown",
        "it completes an upload with a part that has another etag than the request names",
    ),
    Gap(
        "seaweedfs",
        "tests/integration/test_s3_encrypted_parts.py"
        "::test_p8_a_part_under_another_etag_loses_no_file",
        "it lists parts without the checksums that they were sent with",
    ),
    *(
        Gap(
            "versitygw",
            f"tests/contract/test_s3.py::{contract}::test_a_stale_token_does_not_delete",
            "DELETE with If-Match of a key that is missing is answered 204, not 404 or 412",
        )
        for contract in S3_STORES
    ),
    *(
        Gap(
            "versitygw",
            f"tests/contract/test_s3.py::{contract}::test_one_of_many_deletes_a_content",
            "DELETE with If-Match of a key that is missing is answered 204, not 404 or 412",
        )
        for contract in S3_STORES
    ),
    Gap(
        "versitygw",
        "tests/contract/test_s3.py::TestS3VersionsInTheWay::test_p8_a_deleted_name_is_created_again",
        MARKERS,
    ),
    Gap(
        "versitygw",
        "tests/contract/test_s3.py::TestS3VersionsInTheWay::test_p8_an_upload_takes_a_deleted_name",
        MARKERS,
    ),
    Gap(
        "seaweedfs",
        "tests/contract/test_committers.py::TestS3CommitsInFull"
        "::test_an_odd_name_is_committed_or_refused",
        "it takes a backslash in a key for a slash",
        (r"back\slash",),
    ),
    Gap(
        "seaweedfs",
        "tests/contract/test_committers.py::TestS3VersionedCommitsInFull"
        "::test_an_odd_name_is_committed_or_refused",
        "it takes a backslash in a key for a slash",
        (r"back\slash",),
    ),
    *(
        Gap(
            "seaweedfs",
            f"tests/contract/test_committers.py::{contract}"
            "::test_an_emptied_directory_in_the_way_is_refused",
            "an emptied directory stands on, is not listed, and refuses a file of its name (412)",
            parameters,
        )
        for contract, parameters in (
            ("TestS3CommitsInFull", ("append", "1")),
            ("TestS3CommitsInFull", ("overwrite",)),
            ("TestS3CommitsInFull", ("overwrite_partitions",)),
            ("TestS3VersionedCommitsInFull", ()),
        )
    ),
    Gap(
        "azurite",
        "tests/servers/azure/test_accounts.py::test_a_blob_drops_blocks_that_wait",
        "a Put Blob leaves the blocks that were staged under its name",
    ),
)
