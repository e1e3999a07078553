"""``certify``: what a store keeps is certified, what it breaks is shown, and nothing is left."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.canaries import SECRET

if TYPE_CHECKING:
    from tests.servers.azure.plugin import AzureContainer

CERTIFY = "from fsspec_commit.cli import main; main()"
# A disk that is read without a limit, which harms no job of a test.
LYING = """
import fsspec_commit as fc
from fsspec_commit_stores.local import LocalStore

class ReadsAnything(LocalStore):
    async def read(self, path, *, limit_bytes):
        return await super().read(path, limit_bytes=1 << 40)

fc.register("file", ReadsAnything)
"""
# Where a certificate is written does not depend on what it says.
AT_ONCE = """
from fsspec_commit.testing import certification
certification._run_tests = lambda *_, **__: None
"""
WHOLE_S = 1_200
WITHOUT_PYTEST = "import sys; sys.modules['pytest'] = None\n"


def certify(*arguments: object, before: str = "", **more: Any) -> subprocess.CompletedProcess[str]:
    """Not in a fork of a process that has imported pytest: what it asserts would say nothing."""
    command = [sys.executable, "-c", before + CERTIFY, "certify", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, text=True, **more)


@dataclass(frozen=True)
class Certified:
    """What a run at `place` ended with."""

    place: Path
    ran: subprocess.CompletedProcess[str]

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.place / "certificate.json").read_text())
        return found


@pytest.fixture(
    params=[pytest.param("", id="honest", marks=pytest.mark.slow), pytest.param(LYING, id="lying")],
)
def certified(request: pytest.FixtureRequest, tmp_path: Path) -> Certified:
    """A disk, quickly: by day the one of which more is to be said."""
    to_file = "--output", tmp_path / "certificate.json"
    secret = f"--storage-option=token={SECRET}"
    ran = certify(tmp_path / "out", "--quick", *to_file, secret, before=request.param)
    return Certified(tmp_path, ran)


def test_a_certificate(certified: Certified, request: pytest.FixtureRequest) -> None:
    """One test, as each worker that has a part of it would certify anew."""
    shows_what_is_broken(certified, lies="lying" in request.node.name)
    shows_what_is_kept(certified.document)
    written = (certified.place / "certificate.json").read_text()
    assert SECRET not in certified.ran.stdout + certified.ran.stderr + written
    assert [path.name for path in certified.place.iterdir()] == ["certificate.json"]


@pytest.mark.slow
def test_a_whole_certificate(fast: Path) -> None:
    """Of a disk, in a minute of CPU: every case of each test, and each fault at each store call."""
    # In place of pytest's own, which on a machine that has more to do comes too soon.
    faulthandler.dump_traceback_later(WHOLE_S, exit=True, file=2)
    ran = certify(fast / "out", "--output", fast / "certificate.json")
    whole = Certified(fast, ran)
    shows_what_is_broken(whole, lies=False)
    document = whole.document
    assert document["quick"] is False
    assert document["committer"] == "v1"
    assert set(document["guarantees"].values()) == {"kept"}
    assert document["faults"]["tried"] == document["faults"]["of"] > 1_000
    assert document["tests"]["kept"] == len(document["kept"]) > 300
    assert document["not_removed"] == []
    assert [path.name for path in fast.iterdir()] == ["certificate.json"]


def shows_what_is_broken(certified: Certified, *, lies: bool) -> None:
    assert certified.ran.returncode == (1 if lies else 0), certified.ran
    assert certified.ran.stderr == ""
    assert certified.document["ok"] is not lies
    broken = certified.document["broken"]
    assert [found["test"] for found in broken] == ["test_reading_is_limited"] * lies
    assert ("broken\ttest_reading_is_limited\t" in certified.ran.stdout) is lies
    for found in broken:
        assert "DID NOT RAISE" in found["reason"]


def shows_what_is_kept(document: dict[str, Any]) -> None:
    assert document["committer"] == "v1"
    assert set(document["committers"]) == {"v1", "manifest", "magic"}
    assert document["committers"]["magic"], "no reason why it is refused"
    assert set(document["guarantees"].values()) == {"kept"}
    assert document["capabilities"]["exclusive_create"] == {
        "declared": True,
        "found": True,
        "evidence": "probed",
    }
    assert document["tests"]["kept"] == len(document["kept"]) > 100
    assert all(found["promise"] for found in document["kept"])
    assert {found["contract"] for found in document["kept"]} == {"store", "committer"}
    assert "this store does not declare multipart" in document["skipped"]
    assert 0 < document["faults"]["tried"] < document["faults"]["of"]
    assert document["calls"]["create"] > 0
    assert {"python", "fsspec-commit", "pytest"} <= set(document["versions"])


def test_a_place_that_holds_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    ran = certify(tmp_path)
    assert ran.returncode == 2
    assert "already holds data ('mine.txt')" in ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_unsafe_committer_is_refused(tmp_path: Path) -> None:
    ran = certify(tmp_path / "out", "--committer", "magic")
    assert ran.returncode == 2
    assert "'magic' is not safe here" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_certificate_that_cannot_be_written_begins_nothing(tmp_path: Path) -> None:
    ran = certify(tmp_path / "out", "--output", tmp_path / "missing" / "certificate.json")
    assert ran.returncode == 1
    named = repr(str(tmp_path / "missing" / "certificate.json"))
    assert ran.stderr.startswith(f"error: no such file or directory: {named};")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("output", "what"),
    [
        ("there", "is a directory"),
        ("", "is a directory"),
        ("out/certificate.json", "lies in the destination, which must be empty"),
    ],
)
def test_what_can_be_no_certificate_begins_nothing(tmp_path: Path, output: str, what: str) -> None:
    (tmp_path / "there").mkdir()
    ran = certify("out", "--output", output, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert what in ran.stderr
    assert ran.stderr.startswith("error: --output names the file of the certificate, and ")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_a_link_leads_to_the_certificate(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("certificate.json")
    ran = certify("out", "--quick", "-o", "link", before=AT_ONCE, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "link").is_symlink()
    assert Certified(tmp_path, ran).document["quick"] is True
    assert sorted(path.name for path in tmp_path.iterdir()) == ["certificate.json", "link"]


def test_a_pipe_without_a_name_is_written_to(tmp_path: Path) -> None:
    """As of a shell's `| jq`: what stands in `/dev/stdout` is a link to no path."""
    ran = certify("out", "--quick", "-o", "/dev/stdout", before=AT_ONCE, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.JSONDecoder().raw_decode(ran.stdout)[0]["quick"] is True
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """As `/dev/stdout` is, and not replaced by a file, which root could do to a device."""
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, cwd=tmp_path) as reading:
        ran = certify("out", "--quick", "-o", "pipe", before=AT_ONCE, cwd=tmp_path)
        assert (ran.returncode, ran.stderr) == (0, "")
        document, _ = reading.communicate(timeout=60)
    assert json.loads(document)["quick"] is True
    assert (tmp_path / "pipe").is_fifo()


def test_without_pytest_it_says_what_to_install(tmp_path: Path) -> None:
    ran = certify(tmp_path / "out", before=WITHOUT_PYTEST)
    assert ran.returncode == 2
    assert "pip install 'fsspec-commit[testing]'" in ran.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_an_interrupted_run_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", CERTIFY, "certify", str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        # Beside what the probe writes at first, a destination of a test.
        while not list(tmp_path.glob("out/*/[0-9]*")):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 1
    assert told == "error: interrupted; what had been written there was removed\n"
    assert list(tmp_path.iterdir()) == []


def test_pytest_runs_the_same(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--pyargs", "fsspec_commit.testing.certified"]
    command += ["-p", "no:randomly", "-p", "no:cacheprovider", "-k", "root or lifecycle"]
    command += [f"--certify={tmp_path / 'out'}"]
    ran = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, text=True)
    assert ran.returncode == 0, ran.stdout
    assert " passed" in ran.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("azure_server", ["gen2"], indirect=True)
def test_a_page_may_be_longer_than_most_stores_have_it(
    azure_container: AzureContainer, tmp_path: Path
) -> None:
    """Azure's has 5,000 names. A certificate called that broken."""
    command = [sys.executable, "-m", "pytest", "-q", "--pyargs", "fsspec_commit.testing.certified"]
    command += ["-p", "no:cacheprovider", "-k", "listed_at_once"]
    command += [f"--certify={azure_container.url}/out"]
    command += [f"--certify-options={json.dumps(azure_container.storage_options)}"]
    ran = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, text=True)
    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--certify=data"], "already holds data ('mine.txt')"),
        (
            ["--certify=data/out", f'--certify-options={{"token": "{SECRET}",}}'],
            "is no JSON object",
        ),
        (["--certify-quick"], "--certify-quick does not say where: give --certify=URL"),
    ],
)
def test_pytest_says_once_why_it_cannot(tmp_path: Path, arguments: list[str], said: str) -> None:
    """And not in a traceback for each of hundreds of tests, with the options in it."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mine.txt").write_text("mine")
    command = [sys.executable, "-m", "pytest", "--pyargs", "fsspec_commit.testing.certified"]
    command += ["-p", "no:cacheprovider", *arguments]
    ran = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, text=True)
    told = ran.stdout + ran.stderr
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR, told
    assert told.count(said) == 1
    assert SECRET not in told
    assert len(told.splitlines()) < 20
    assert [path.name for path in tmp_path.rglob("*")] == ["data", "mine.txt"]


def test_a_worker_of_pytest_says_it_for_each_test(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "--pyargs", "fsspec_commit.testing.certified"]
    command += [
        "-p",
        "no:cacheprovider",
        "-n1",
        "-k",
        "abort_leaves_nothing",
        "--certify=nobody://x",
    ]
    ran = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, text=True)
    assert ran.returncode == 1
    assert "no adapter serves 'nobody' URLs" in ran.stdout
    assert "Traceback" not in ran.stdout
