"""What fake-gcs-server gets wrong, test by test: see `tests/servers/gaps.py`."""

from __future__ import annotations

from tests.servers.gaps import Gap

_SERVER = "fake-gcs-server"
_MOVE = "objects.move is answered 400: https://github.com/fsouza/fake-gcs-server/issues/2095"

GCS_GAPS: tuple[Gap, ...] = (
    Gap(
        _SERVER,
        "tests/contract/test_gcs.py::TestGcsStore::test_a_stale_token_does_not_delete",
        "a deletion's ifGenerationMatch is not looked at",
    ),
    Gap(
        _SERVER,
        "tests/servers/gcs/test_google_client.py::test_a_move_keeps_what_was_written",
        _MOVE,
    ),
    Gap(
        _SERVER,
        "tests/servers/gcs/test_google_client.py::test_a_move_does_not_replace",
        _MOVE,
    ),
    Gap(
        _SERVER,
        "tests/servers/gcs/test_google_client.py::test_a_move_of_another_generation_fails",
        _MOVE,
    ),
    Gap(
        _SERVER,
        "tests/servers/gcs/test_google_client.py::test_a_rewrite_does_not_replace",
        "preconditions of rewrites are ignored",
    ),
    Gap(
        _SERVER,
        "tests/servers/gcs/test_google_client.py::test_a_precondition_decides_a_deletion",
        "preconditions of deletions are ignored: https://github.com/fsouza/fake-gcs-server/issues/1282",
    ),
    Gap(
        _SERVER,
        "tests/servers/gcs/test_google_client.py::test_calls_in_a_batch_are_answered_each",
        "a batch of google-cloud-storage is not answered as one",
    ),
)
