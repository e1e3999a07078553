"""``certify``: both contracts, run against somebody's own account or server."""

import io
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from datetime import UTC, datetime
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from inspect import cleandoc
from pathlib import Path
from typing import TypeAlias, cast

import pytest

from fsspec_commit.errors import UnsafeStoreError
from fsspec_commit.options import check_choice
from fsspec_commit.selection import Request
from fsspec_commit.testing.certificate import Certificate, Finding, Verdict
from fsspec_commit.testing.proving_ground import GROUND_GIVEN, ProvingGround, counted_calls

Watch: TypeAlias = Callable[[int, int, str], object]
"""Called with how many tests have ended, of how many, and what the last one promises."""

_TESTS = "fsspec_commit.testing.certified"
_REASON_MAX = 2_000
_PACKAGES = (
    *("fsspec-commit", "fsspec", "msgspec", "pytest", "s3fs", "aiobotocore", "gcsfs", "adlfs"),
    *("aiohttp", "hdfs-native", "requests"),
)


def certify(
    destination: str,
    *,
    storage_options: Mapping[str, object] | None = None,
    committer: Request = "auto",
    quick: bool = False,
    watch: Watch = lambda _done, _of, _promise: None,
) -> Certificate:
    """Try the store at *destination*, and whole jobs on it, and say what was found.

    It makes about 10,000 calls to the store if *quick*, and 100,000 otherwise, many of them writes,
    all below a fresh directory of *destination*, which is removed at the end, even after Ctrl-C.
    Old versions of objects stay where a bucket keeps them.

    Args:
        destination: An empty directory, or one that is not there yet.
        storage_options: fsspec's options for it.
        committer: The committer that jobs use, the best of the safe ones by default.
        quick: Try one case of each test, and a fault at one store call of each.
        watch: Called before the first test, and each time a test has ended.

    Returns:
        What was found; a store on which no committer is safe is tried all the same.

    Raises:
        RequestError: Something stands at *destination*.
        UnsafeStoreError: The committer is not safe there.
        StoreError: The store does not answer, or nothing can be written there.
        RuntimeError: The tests could not be run.
    """
    check_choice("committer", committer)
    started, began = datetime.now(UTC), time.monotonic()
    seed = random.SystemRandom().randrange(1_000_000)
    with counted_calls() as calls:
        ground = ProvingGround.lay_out(destination, storage_options, committer=committer)
        recorder = _Recorder(ground, watch)
        removed = False
        try:
            chosen = _chosen(ground)
            _run_tests(recorder, quick=quick, seed=seed)
            not_removed = ground.remove()
            removed = True
        except BaseException as error:
            if not removed:
                _remove_after(error, ground)
            raise
    facts = ground.probe.capabilities
    return Certificate(
        place=ground.place,
        started=started,
        duration_s=time.monotonic() - began,
        quick=quick,
        seed=seed,
        versions=_versions(),
        declared=_plain(ground.declared.facts()),
        capabilities=_plain(facts.facts()),
        evidence=dict(facts.evidence),
        differences=ground.probe.differences,
        committers={
            name: "" if found.committer else found.reasons[-1]
            for name, found in ground.selections.items()
            if name != "auto"
        },
        committer=chosen,
        findings=tuple(recorder.findings),
        cases=(recorder.cases_tried, recorder.cases),
        calls=dict(calls.most_common()),
        not_removed=tuple(not_removed),
    )


def _chosen(ground: ProvingGround) -> str | None:
    """The committer that is tried, if there is one.

    Raises:
        UnsafeStoreError: The one that was asked for is not safe there.
    """
    selection = ground.selections[ground.committer]
    if selection.committer is None and ground.committer != "auto":
        raise UnsafeStoreError(selection.reasons[-1], path=ground.place)
    return selection.committer


def _remove_after(error: BaseException, ground: ProvingGround) -> None:
    """Remove everything after a failed run; a note on the error raised says what may be left."""
    try:
        if not ground.remove():
            return
    except BaseException as second:
        second.add_note(f"files may be left below {ground.url}: remove them by hand")
        raise
    error.add_note(f"files are left below {ground.url}: remove them by hand")


def _run_tests(recorder: "_Recorder", *, quick: bool, seed: int) -> None:
    """Run the contracts, with this library's pytest plugin and no other.

    Raises:
        KeyboardInterrupt: The run was interrupted.
        RuntimeError: pytest did not run them.
    """
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as directory, _own_environment(), redirect_stdout(said):
        settings = Path(directory, "pytest.ini")
        settings.write_text("[pytest]\n")
        status = pytest.main(
            [
                *("--disable-plugin-autoload", "-p", "fsspec_commit.testing.plugin"),
                *("-p", "no:cacheprovider", "--noconftest", "--import-mode=importlib"),
                *("-c", str(settings), "--rootdir", directory, "--capture=sys", "--tb=short"),
                # If the program has imported the contracts before, their asserts stay plain ones.
                *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
                *("--basetemp", str(Path(directory, "temporary"))),
                *("--sweep-seed", str(seed), *(["--certify-quick"] if quick else [])),
                *("--pyargs", _TESTS),
            ],
            plugins=[recorder],
        )
    if status is pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if status not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
        raise RuntimeError(f"the tests could not be run: {said.getvalue()[-_REASON_MAX:]}")


@contextmanager
def _own_environment() -> Iterator[None]:
    """Hide the variables with which a shell, or a run around this one, configures pytest."""
    names = [name for name in os.environ if name.startswith("PYTEST_")]
    hidden = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        for name in [name for name in os.environ if name.startswith("PYTEST_")]:
            del os.environ[name]
        os.environ.update(hidden)


class _Recorder:
    """A plugin of pytest that keeps what each test found."""

    def __init__(self, ground: ProvingGround, watch: Watch) -> None:
        self.findings: list[Finding] = []
        self.cases_tried = self.cases = 0
        self._ground = ground
        self._watch = watch
        self._items: dict[str, pytest.Item] = {}
        self._reports: dict[str, list[pytest.TestReport]] = {}

    def pytest_configure(self, config: pytest.Config) -> None:
        """Let the tests find the directory that was laid out."""
        config.pluginmanager.register(_Given(self._ground), GROUND_GIVEN)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Report how many tests there will be."""
        self._items = {item.nodeid: item for item in session.items}
        self._watch(0, len(self._items), "")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of a test has ended; the last is its teardown."""
        reports = self._reports.setdefault(report.nodeid, [])
        reports.append(report)
        if report.when != "teardown":
            return
        for name, value in report.user_properties:
            if name == "sweep":
                _, tried, seen = cast("tuple[int, int, int]", value)
                self.cases_tried += tried
                self.cases += seen
        finding = _finding(self._items[report.nodeid], self._reports.pop(report.nodeid))
        self.findings.append(finding)
        self._watch(len(self.findings), len(self._items), finding.promise)


class _Given:
    """A plugin that does nothing but hold what the fixture `ground` asks for."""

    def __init__(self, ground: ProvingGround) -> None:
        self.ground = ground


def _finding(item: pytest.Item, reports: list[pytest.TestReport]) -> Finding:
    verdict: Verdict = "kept"
    reason = ""
    for report in reports:
        if report.failed:
            verdict, reason = "broken", _why(report)
            break
        if report.skipped:
            verdict, reason = "skipped", _why(report).removeprefix("Skipped: ")
    marks = item.iter_markers("guarantees")
    named = {name for mark in marks for name in mark.args}
    doc = cleandoc(getattr(getattr(item, "function", None), "__doc__", None) or "")
    return Finding(
        contract="store" if item.get_closest_marker("store_contract") else "committer",
        test=item.name,
        promise=doc.partition("\n\n")[0].replace("\n", " "),
        guarantees=tuple(sorted(named, key=lambda name: int(name[1:]))),
        verdict=verdict,
        reason=reason[:_REASON_MAX],
        duration_s=sum(report.duration for report in reports),
    )


def _why(report: pytest.TestReport) -> str:
    """Why a test did not pass, in its own words and without the lines of its source."""
    told = report.longrepr
    if isinstance(told, tuple):
        return str(told[2])
    crash = getattr(told, "reprcrash", None)
    return str(told if crash is None else crash.message)


def _plain(facts: Mapping[str, object]) -> dict[str, object]:
    return {name: fact.value if isinstance(fact, Enum) else fact for name, fact in facts.items()}


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
