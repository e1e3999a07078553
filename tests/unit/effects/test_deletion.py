"""May I delete? Every permit, and that none covers a path outside the destination."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsspec_commit.effects import deletion
from fsspec_commit.errors import CommitError, RecordError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Claim, Decision, FileIdentity, Published, ReplacedFile
from fsspec_commit.store import Entry, Token

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsspec_commit.effects.deletion import Permit

NONCE = Nonce("0123456789abcdef" * 2)
JOB = "20261120T140355-9c1e5f00a1b2c3d4"
OTHER_JOB = "20261120T140355-ffffffffffffffff"
ROOT = "/data/out"
DESTINATION = DestinationLayout(StorePath(ROOT))
LAYOUT = DESTINATION.job(JOB)
ATTEMPT = LAYOUT.attempt(3, "0123456789abcdef")


def decision(state: Any = "committed", job_id: str = JOB) -> Standing[Decision]:
    stale = FileIdentity(size=0, token="old")
    return Standing(Decision(nonce=NONCE, job_id=job_id, state=state, stale_success=stale))


def published(job_id: str = JOB, lost: int = 0) -> Standing[Published]:
    return Standing(Published(nonce=NONCE, job_id=job_id, decision=NONCE, lost=lost))


def entry(path: str, token: str = "t") -> Entry:
    return Entry(path=StorePath(path), size_bytes=1, token=Token(token))


def stale_success() -> Permit:
    permitted = deletion.of_stale_success(LAYOUT, decision())
    assert permitted is not None
    return permitted[0]


CLAIM = Claim(nonce=NONCE, job_id=JOB, mode="append", names="unique", partitions=None)
PERMITS: dict[str, Callable[[], Permit]] = {
    "aborted": lambda: deletion.of_aborted(LAYOUT, decision("aborted")),
    "published": lambda: deletion.of_published(LAYOUT, published()),
    "stale success": stale_success,
    "replaced": lambda: deletion.of_replaced(
        LAYOUT, published(), [ReplacedFile("day=1/a", 1, "t", False)]
    )[0],
    "epochs": lambda: deletion.of_epochs(
        DESTINATION, published(), [entry(DESTINATION.epoch(NONCE))]
    ),
    "own attempt": lambda: deletion.of_own_attempt(ATTEMPT),
    "own claim": lambda: deletion.of_own_claim(LAYOUT, CLAIM),
    "own decision": lambda: deletion.of_own_decision(LAYOUT),
    "void area": lambda: deletion.of_void_area(LAYOUT),
    "remains": lambda: deletion.of_remains(DESTINATION, DESTINATION.gone(NONCE)),
    "retired": lambda: deletion.of_retired(
        LAYOUT, deletion.of_void_area(LAYOUT), DESTINATION.gone(NONCE)
    ),
}
every_permit = pytest.mark.parametrize("what", PERMITS)

PIECES = st.sampled_from(
    [
        *("", ".", "..", "/", ROOT, f"{ROOT}/_commit", LAYOUT.area, DESTINATION.gone(NONCE)),
        *("a", "day=1/a", "_SUCCESS", "tasks", "tasks/3", "job.json", "_commit", JOB, "~", "\0"),
        *(ATTEMPT.working_directory, ATTEMPT.committed_directory, f"gone-{NONCE}", OTHER_JOB),
    ]
)
PATHS = (
    st.lists(PIECES, max_size=5).map("/".join) | st.lists(PIECES, max_size=5).map("".join)
).map(StorePath)


def permits(permit: Permit, path: StorePath) -> bool:
    try:
        permit.check(path)
    except AssertionError:
        return False
    return True


@every_permit
def test_a_permit_says_why(what: str) -> None:
    permit = PERMITS[what]()
    assert permit.because
    assert permit.trees or permit.files
    for path in (*permit.trees, *permit.files):
        permit.check(path)
    with pytest.raises(AssertionError, match="no permit to delete"):
        permit.check(StorePath(ROOT))


@every_permit
@given(path=PATHS)
def test_no_permit_covers_a_path_outside_the_destination(what: str, path: StorePath) -> None:
    if not permits(PERMITS[what](), path):
        return
    assert posixpath.normpath(path) == path
    assert path.startswith(f"{ROOT}/")
    if what not in {"replaced", "stale success"}:
        assert path.startswith(f"{ROOT}/_commit/")
        if what not in {"epochs", "remains", "retired"}:
            assert path.startswith(LAYOUT.area)
            assert path[len(LAYOUT.area) :][:1] in {"", "/"}


@pytest.mark.parametrize("path", [f"{ROOT}/_commit/{JOB}0", f"{ROOT}/_commit/{OTHER_JOB}"])
def test_a_neighbours_area_is_not_covered(path: str) -> None:
    assert not permits(deletion.of_void_area(LAYOUT), StorePath(path))


@pytest.mark.parametrize(
    "name",
    [
        *("../a", "/etc/passwd", "a/../../b", "", ".", "_commit/x", "a/_commit/b", "_COMMIT/a"),
        *(f"_commit/{OTHER_JOB}/job.json", "s3://elsewhere", "a//b", "a\0"),
    ],
)
def test_a_replaced_list_names_data_of_the_destination_only(name: str) -> None:
    with pytest.raises(CommitError):
        deletion.of_replaced(LAYOUT, published(), [ReplacedFile(name, 1, "t", False)])


@pytest.mark.parametrize(
    "name",
    ["a", "day=1/a.parquet", "_metadata", ".hidden", "/".join(["x" * 200] * 15), "a b/é\n", "a:b"],
)
def test_whatever_stands_in_the_destination_can_be_replaced(name: str) -> None:
    listed = [ReplacedFile(name, 1, "t", False), ReplacedFile("kept", 1, "t", True)]
    permit, entries = deletion.of_replaced(LAYOUT, published(), listed)
    assert [(one.path, one.token) for one in entries] == [(f"{ROOT}/{name}", "t")]
    assert permit.files == {StorePath(f"{ROOT}/{name}")}
    assert permit.trees == ()


def test_the_stale_marker_is_named_with_its_token() -> None:
    permitted = deletion.of_stale_success(LAYOUT, decision())
    assert permitted is not None
    assert (permitted[1].path, permitted[1].token) == (f"{ROOT}/_SUCCESS", "old")
    none = Standing(Decision(nonce=NONCE, job_id=JOB, state="committed"))
    assert deletion.of_stale_success(LAYOUT, none) is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: deletion.of_aborted(LAYOUT, decision("committed")),
        lambda: deletion.of_aborted(LAYOUT, decision("aborted", OTHER_JOB)),
        lambda: deletion.of_published(LAYOUT, published(OTHER_JOB)),
        lambda: deletion.of_stale_success(LAYOUT, decision("aborted")),
        lambda: deletion.of_stale_success(LAYOUT, decision(job_id=OTHER_JOB)),
        lambda: deletion.of_replaced(LAYOUT, published(OTHER_JOB), []),
        lambda: deletion.of_replaced(LAYOUT, published(lost=1), []),
        lambda: deletion.of_epochs(DESTINATION, published(), [entry(f"{ROOT}/a")]),
        lambda: deletion.of_epochs(DESTINATION, published(), [entry(LAYOUT.spec)]),
        lambda: deletion.of_remains(DESTINATION, LAYOUT.area),
        lambda: deletion.of_remains(DESTINATION, StorePath(f"/b/_commit/gone-{NONCE}")),
        lambda: deletion.of_remains(DESTINATION, StorePath(f"{ROOT}/_commit/gone-x/../../..")),
        lambda: deletion.of_retired(
            LAYOUT, deletion.of_own_claim(LAYOUT, CLAIM), DESTINATION.gone(NONCE)
        ),
    ],
    ids=[
        *("committed is not aborted", "another job's abort", "another job's publication"),
        *("marker before an abort", "marker of another job", "old files of another job"),
        *("old files beside lost ones", "data is no epoch", "a record is no epoch"),
        *("an area is no remains", "another destination's remains", "above the destination"),
        "a claim is no area",
    ],
)
def test_what_is_not_proved_is_not_permitted(wrong: Callable[[], object]) -> None:
    with pytest.raises((AssertionError, RecordError)):
        wrong()
