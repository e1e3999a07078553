"""May I delete? Every permit, and that none covers a path outside the destination."""

from __future__ import annotations

import posixpath
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsspec_commit.effects import deletion
from fsspec_commit.effects.deletion import LATE_DELETES_END, PermitExpiredError
from fsspec_commit.errors import CommitError, RecordError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Claim, Decision, FileIdentity, Published, ReplacedFile
from fsspec_commit.store import Entry, PendingUpload, Token

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsspec_commit.effects.deletion import Permit

NONCE = Nonce("0123456789abcdef" * 2)
MOMENT = datetime(2026, 11, 20, 14, tzinfo=UTC)
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


SIGN = LAYOUT.sign_of_life(NONCE)
LATE = DESTINATION.deleted(MOMENT, NONCE)
TAKEN = LAYOUT.taken(NONCE)
VOID = deletion.of_void_area(LAYOUT)


def upload(path: str, upload_id: str = "u") -> PendingUpload:
    return PendingUpload(path=StorePath(path), upload_id=upload_id, nonce=NONCE)


MARKERS = [upload(f"{ROOT}/_SUCCESS"), upload(f"{ROOT}/_SUCCESS", "v")]
FILES = [upload(f"{ROOT}/a"), upload(f"{ROOT}/day=1/b")]
OF_PROBE = [upload(f"{DESTINATION.probe(NONCE)}/{name}") for name in "ab"]
COVERS: dict[str, tuple[Callable[[], Permit | None], tuple[str, ...], set[str]]] = {
    "aborted": (PERMITS["aborted"], (LAYOUT.area,), set()),
    "published": (PERMITS["published"], (LAYOUT.area,), set()),
    "stale success": (PERMITS["stale success"], (), {f"{ROOT}/_SUCCESS"}),
    "replaced": (PERMITS["replaced"], (), {f"{ROOT}/day=1/a"}),
    "epochs": (PERMITS["epochs"], (), {DESTINATION.epoch(NONCE)}),
    "own attempt": (
        PERMITS["own attempt"],
        (ATTEMPT.working_directory, ATTEMPT.committed_directory),
        {ATTEMPT.manifest},
    ),
    "own claim": (PERMITS["own claim"], (), {LAYOUT.claim(NONCE)}),
    "own decision": (PERMITS["own decision"], (), {LAYOUT.decision}),
    "void area": (PERMITS["void area"], (LAYOUT.area,), set()),
    "gone": (PERMITS["remains"], (DESTINATION.gone(NONCE),), set()),
    "of a probe": (
        lambda: deletion.of_remains(DESTINATION, DESTINATION.probe(NONCE)),
        (DESTINATION.probe(NONCE),),
        set(),
    ),
    "retired": (PERMITS["retired"], (DESTINATION.gone(NONCE),), set()),
    "late deletes": (
        lambda: deletion.of_late_deletes(DESTINATION, LATE, MOMENT + LATE_DELETES_END),
        (LATE,),
        set(),
    ),
    "own records": (lambda: deletion.of_own_upload_records(ATTEMPT), (ATTEMPT.uploads,), set()),
    "magic": (
        lambda: deletion.of_magic_directory(LAYOUT, VOID),
        (LAYOUT.magic_directory,),
        set(),
    ),
    "sign of life": (lambda: deletion.of_own_sign_of_life(LAYOUT, SIGN), (), {SIGN}),
    "taken": (lambda: deletion.of_taken(LAYOUT, TAKEN), (TAKEN,), set()),
    "unusable": (lambda: deletion.of_unusable_area(LAYOUT), (LAYOUT.area,), set()),
    "given up": (lambda: deletion.of_given_up(LAYOUT, "in doubt"), (LAYOUT.area,), set()),
}


@pytest.mark.parametrize("what", COVERS)
def test_a_permit_covers_this_and_nothing_else(what: str) -> None:
    """Of a directory what is in it as well; of a file nothing that is called as if below it."""
    make, trees, files = COVERS[what]
    permit = make()
    assert permit is not None
    assert permit.because
    assert (permit.trees, permit.files) == (trees, frozenset(files))
    assert (permit.uploads, permit.expires) == (frozenset(), None)
    for tree in trees:
        assert permits(permit, StorePath(f"{tree}/a/b"))
        for odd in ("", "/", "//a", "/.", "/..", "/a/../b", "/a//b", "a"):
            assert permits(permit, StorePath(f"{tree}{odd}")) is (odd == "")
    for file in files:
        assert not permits(permit, StorePath(f"{file}/a"))
        assert not permits(permit, StorePath(file.rpartition("/")[0])) or trees


UPLOADS: dict[str, tuple[Callable[[], Permit], list[PendingUpload]]] = {
    "own": (lambda: deletion.of_own_uploads(ATTEMPT, FILES), FILES),
    "own marker": (lambda: deletion.of_own_marker(LAYOUT, MARKERS[0]), MARKERS[:1]),
    "leftover": (lambda: deletion.of_leftover_uploads(LAYOUT, VOID, FILES), FILES),
    "of probes": (lambda: deletion.of_probe_uploads(DESTINATION, OF_PROBE), OF_PROBE),
    "markers": (lambda: deletion.of_marker_uploads(DESTINATION, MARKERS), MARKERS),
}


@pytest.mark.parametrize("what", UPLOADS)
def test_a_permit_covers_these_uploads_and_no_file(what: str) -> None:
    make, uploads = UPLOADS[what]
    permit = make()
    assert permit.because
    assert (permit.trees, permit.files, permit.expires) == ((), frozenset(), None)
    for one in uploads:
        permit.check_upload(one)
        for other in (upload(one.path, "other"), upload(f"{one.path}0", one.upload_id)):
            with pytest.raises(AssertionError, match="no permit to abort"):
                permit.check_upload(other)
        assert not permits(permit, one.path)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: deletion.of_own_marker(LAYOUT, FILES[0]),
        lambda: deletion.of_leftover_uploads(LAYOUT, deletion.of_own_decision(LAYOUT), FILES),
        lambda: deletion.of_leftover_uploads(LAYOUT, VOID, [*FILES, upload("/data/other/a")]),
        lambda: deletion.of_leftover_uploads(LAYOUT, VOID, [upload("/data/outer/a"), *FILES]),
        lambda: deletion.of_magic_directory(LAYOUT, deletion.of_own_decision(LAYOUT)),
        lambda: deletion.of_probe_uploads(DESTINATION, [*OF_PROBE, *FILES]),
        lambda: deletion.of_probe_uploads(DESTINATION, [*FILES, *OF_PROBE]),
        lambda: deletion.of_marker_uploads(DESTINATION, [*MARKERS, *FILES]),
        lambda: deletion.of_marker_uploads(DESTINATION, [*FILES, *MARKERS]),
        lambda: deletion.of_own_sign_of_life(LAYOUT, LAYOUT.decision),
        lambda: deletion.of_own_sign_of_life(DESTINATION.job(OTHER_JOB), SIGN),
        lambda: deletion.of_taken(DESTINATION.job(OTHER_JOB), TAKEN),
        lambda: deletion.of_taken(LAYOUT, LAYOUT.area),
        lambda: deletion.of_epochs(
            DESTINATION, published(), [entry(DESTINATION.epoch(NONCE)), entry(f"{ROOT}/a")]
        ),
    ],
    ids=[
        *("a file is no marker", "a decision is no area", "beside the destination, last"),
        *("beside it, first", "magic, by a decision", "not of a probe, last"),
        *("not of a probe, first", "no marker, last", "no marker, first"),
        *("a decision is no sign", "another job's sign", "another job's area"),
        *("not taken", "not each is an epoch"),
    ],
)
def test_what_is_anothers_is_not_permitted(wrong: Callable[[], object]) -> None:
    with pytest.raises(AssertionError):
        wrong()


def test_all_that_is_listed_is_replaced_but_what_is_in_its_place() -> None:
    listed = [ReplacedFile(name, size, name, name == "b") for size, name in enumerate("abcd")]
    permit, entries = deletion.of_replaced(LAYOUT, published(), listed)
    assert [(one.path[-1], one.size_bytes, one.token) for one in entries] == [
        ("a", 0, "a"),
        ("c", 2, "c"),
        ("d", 3, "d"),
    ]
    assert permit.files == {one.path for one in entries}


def test_a_record_of_late_deletions_counts_until_none_can_come() -> None:
    second = timedelta(seconds=1)
    permit_of = deletion.of_late_deletes
    assert permit_of(DESTINATION, LATE, MOMENT + LATE_DELETES_END - second) is None
    assert permit_of(DESTINATION, LATE, MOMENT + 9 * LATE_DELETES_END) is not None
    assert permit_of(DESTINATION, LAYOUT.area, MOMENT + LATE_DELETES_END) is None


def test_a_permit_expires_at_its_moment() -> None:
    permit, second = VOID.until(MOMENT), timedelta(seconds=1)
    assert (permit.trees, permit.because) == (VOID.trees, VOID.because)
    permit.check_time(MOMENT - second)
    for late in (MOMENT, MOMENT + second):
        assert permit.is_over(late)
        with pytest.raises(PermitExpiredError):
            permit.check_time(late)
        assert not VOID.is_over(late)
        VOID.check_time(late)
