"""The pytest plugin: cheap for everybody, and the suites work in somebody else's project."""

from __future__ import annotations

import inspect
import json
import runpy
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

import fsspec_commit.testing.plugin
from fsspec_commit.testing import CommitterContract, StoreContract

if TYPE_CHECKING:
    from pathlib import Path

PLUGIN = "fsspec_commit.testing.plugin"


def test_the_plugin_loads_no_suite_and_no_engine() -> None:
    program = f"import json, sys, pytest; import {PLUGIN}; print(json.dumps(sorted(sys.modules)))"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    loaded = json.loads(ran.stdout)
    ours = [name for name in loaded if name.startswith("fsspec_commit.testing")]
    assert ours == ["fsspec_commit.testing", PLUGIN]
    assert not {"pyarrow", "pyspark", "rich", "typer", "hypothesis"} & set(loaded)


def test_every_public_name_is_there() -> None:
    for name in fsspec_commit.testing.__all__:
        assert getattr(fsspec_commit.testing, name).__name__ == name
        assert name in dir(fsspec_commit.testing)
    with pytest.raises(AttributeError, match="no attribute 'Falut'"):
        _ = fsspec_commit.testing.Falut  # type: ignore[attr-defined]


@pytest.mark.parametrize("suite", [StoreContract, CommitterContract])
def test_no_test_of_a_suite_hides_another(suite: type) -> None:
    """The groups of a suite are mixed into one class, where equal names would shadow."""
    names = Counter(
        name for group in suite.__mro__ for name in vars(group) if name.startswith("test_")
    )
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("suite", [StoreContract, CommitterContract])
def test_every_test_of_a_suite_says_what_it_promises(suite: type) -> None:
    tests = inspect.getmembers(suite, inspect.isfunction)
    assert [name for name, test in tests if name.startswith("test_") and not test.__doc__] == []


THIRD_PARTY = """
import uuid

import fsspec
import pytest

from fsspec_commit.store import OpenOptions
from fsspec_commit.testing import CommitterContract, StoreContract
from fsspec_commit_stores.memory import MemoryStore as MyStore


class TestMyStore(StoreContract):
    @pytest.fixture
    def store(self, runner):
        store = runner.run(MyStore.open(f"memory://mine-{uuid.uuid4().hex}", OpenOptions()))
        yield store
        runner.run(store.close())

    @pytest.fixture
    def read_raw(self):
        plain = fsspec.filesystem("memory")
        return lambda path: plain.cat_file(path) if plain.exists(path) else None

    @pytest.fixture
    def write_raw(self):
        return fsspec.filesystem("memory").pipe_file


class TestMyCommits(CommitterContract):
    @pytest.fixture
    def destination(self):
        return f"memory://mine-{uuid.uuid4().hex}"
"""


def run_pytest(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (directory / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    command = [sys.executable, "-m", "pytest", "--strict-markers", "-q", *arguments]
    # Runs that tidy up after each other in pytest's own folder stumble over one another.
    command += ["--basetemp", str(directory / "temporary")]
    if "fsspec_commit" not in _plugins_by_entry_point():
        command += ["-p", PLUGIN]
    return subprocess.run(command, capture_output=True, check=False, cwd=directory, text=True)


def _plugins_by_entry_point() -> set[str]:
    from importlib.metadata import entry_points

    return {point.name for point in entry_points(group="pytest11")}


@pytest.mark.parametrize(
    ("workers", "chosen"),
    [
        pytest.param(
            "0", "TestMyStore or lifecycle or appends", id="whole", marks=pytest.mark.slow
        ),
        # By day a few of each group: the same suites run whole in `tests/contract/test_memory.py`.
        pytest.param("0", "whole or once or lifecycle or appends", id="0"),
        # Whether workers find the same tests, and run them: which ones is all the same.
        pytest.param("2", "root or lifecycle or appends", id="2"),
    ],
)
def test_a_stranger_tests_a_store_in_twenty_lines(
    tmp_path: Path, workers: str, chosen: str
) -> None:
    (tmp_path / "test_mine.py").write_text(THIRD_PARTY)
    ran = run_pytest(tmp_path, "-p", "no:randomly", "-n", workers, "-k", chosen)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "failed" not in ran.stdout


def test_a_forgotten_fixture_is_named(tmp_path: Path) -> None:
    program = "from fsspec_commit.testing import *\nclass TestMine(StoreContract): pass\n"
    (tmp_path / "test_mine.py").write_text(program)
    ran = run_pytest(tmp_path, "-x", "-k", "root")
    assert "give a fixture 'store': an opened Store on a fresh destination" in ran.stdout


def test_a_failing_promise_is_explained(tmp_path: Path) -> None:
    """Assertions of the suites are rewritten, as those of a test file are."""
    (tmp_path / "test_mine.py").write_text(
        THIRD_PARTY.replace(
            "plain.cat_file(path) if plain.exists(path) else None", 'b"something else"'
        )
    )
    ran = run_pytest(tmp_path, "-k", "TestMyStore and a_put_file_is_there")
    assert ran.returncode == 1
    assert "assert b'something else' == " in ran.stdout


def test_a_failing_promise_shows_no_storage_option(tmp_path: Path) -> None:
    """As pytest shows what each test was given."""
    broken = """
    @pytest.fixture
    def storage_options(self):
        return {"token": "SECRET-OF-A-STRANGER"}

    def test_given(self, place):
        assert place.url == "broken"
"""
    (tmp_path / "test_mine.py").write_text(THIRD_PARTY + broken)
    ran = run_pytest(tmp_path, "-k", "test_given", "--tb=long")
    assert "place = Place(url='memory://mine-" in ran.stdout
    assert "SECRET-OF-A-STRANGER" not in ran.stdout.replace(broken, "")


@pytest.mark.parametrize(
    ("url", "options", "said"),
    [
        ("", "{}", "--certify= does not say where"),
        (None, '{"token": "SECRET"}', "--certify= does not say where"),
        ("s3://bucket/x", '{"token": "SECRET",}', "is no JSON object"),
        ("s3://bucket/x", '["SECRET"]', "is no JSON object"),
    ],
)
def test_a_place_that_is_none_is_refused(url: str | None, options: str, said: str) -> None:
    with pytest.raises(pytest.UsageError, match=said) as caught:
        fsspec_commit.testing.plugin._refuse_wrong_place(url, options)
    assert "SECRET" not in str(caught.value)


def test_the_markers_select_the_suites(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(THIRD_PARTY)
    ran = run_pytest(tmp_path, "--collect-only", "-m", "store_contract")
    assert "TestMyStore" in ran.stdout
    assert "TestMyCommits" not in ran.stdout


def test_an_older_pytest_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """It loads the plugin, whoever has the package installed, and has fewer names."""
    older = SimpleNamespace(hookimpl=pytest.hookimpl, register_assert_rewrite=lambda *_: None)
    monkeypatch.setitem(sys.modules, "pytest", older)
    assert "pytest_terminal_summary" in runpy.run_path(fsspec_commit.testing.plugin.__file__)
