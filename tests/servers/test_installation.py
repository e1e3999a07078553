"""Installing: once for each pin, again when something has changed, with words when it cannot be."""

from __future__ import annotations

import dataclasses
import os
import platform
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers import __main__, installation
from tests.servers.hadoop.jars import HADOOP
from tests.servers.hdfs.kinds import HDFS
from tests.servers.installation import (
    Installation,
    InstallationError,
    PythonPackage,
    ServerUnavailableError,
)
from tests.servers.kinds import KINDS, MINISTACK

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Script(Installation):
    """A server that is one line of shell."""

    line: str = "exit 0"
    needs: str = "sh"

    @property
    def toolchain(self) -> str:
        return self.needs

    def _install(self) -> None:
        installation._run("sh", "-c", self.line)
        self.made.write_text("#!/bin/sh\n", "utf-8")

    @property
    def made(self) -> Path:
        return self.folder / "bin" / self.command


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "servers"
    monkeypatch.setattr(installation, "SERVERS", folder)
    monkeypatch.setattr(installation, "CONSTRAINTS", tmp_path)
    return folder


def test_a_second_run_does_nothing(folder: Path) -> None:
    script = Script(name="one", version="1", command="one")
    with pytest.raises(ServerUnavailableError, match="one 1 is not installed"):
        _ = script.program
    assert script.ensure().startswith("installed in")
    assert script.program.exists()
    script.made.write_text("kept", "utf-8")
    assert script.ensure() == "is there"
    assert script.program.read_text("utf-8") == "kept"


def installed(folder: Path) -> list[str]:
    """By name and version, as often as they are there."""
    stamps = folder.glob("*/installed")
    return sorted(stamp.parent.name.rpartition("-")[0] for stamp in stamps)


def test_another_version_is_installed_beside_the_first(folder: Path) -> None:
    older = Script(name="one", version="1", command="one")
    older.ensure()
    Script(name="one", version="2", command="one").ensure()
    Script(name="one-more", version="1", command="one").ensure()
    assert installed(folder) == ["one-1", "one-2", "one-more-1"]
    assert older.ensure() == "is there"


def test_a_changed_constraint_leaves_an_older_checkout_what_it_uses(
    folder: Path, tmp_path: Path
) -> None:
    script = Script(name="one", version="1", command="one")
    script.ensure()
    before = script.program
    (tmp_path / "one.txt").write_text("six==1.17.0\n", "utf-8")
    assert script.ensure().startswith("installed in")
    assert script.program != before
    assert before.exists()
    assert installed(folder) == ["one-1", "one-1"]


def test_what_was_made_for_another_machine_or_place_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(name="one", version="1", command="one")
    script.ensure()
    folder.rename(moved := folder.with_name("moved"))
    monkeypatch.setattr(installation, "SERVERS", moved)
    assert script.ensure().startswith("installed in")
    monkeypatch.setattr(platform, "machine", lambda: "another")
    assert script.ensure().startswith("installed in")
    assert len(installed(moved)) == 3


def test_what_fell_to_pieces_is_made_anew(folder: Path) -> None:
    script = Script(name="one", version="1", command="one")
    script.ensure()
    script.program.unlink()
    assert script.ensure().startswith("installed in")
    assert script.program.exists()


def test_what_broke_off_is_made_anew(folder: Path) -> None:
    with pytest.raises(InstallationError, match="sh failed with 3:\nno network"):
        Script(name="one", version="1", command="one", line="echo no network; exit 3").ensure()
    assert Script(name="one", version="1", command="one").ensure().startswith("installed in")


def ensure_elsewhere(folder: Path, script: Script) -> subprocess.Popen[bytes]:
    """Another run of `make`, by a checkout that keeps its servers in the same place."""
    program = (
        "from tests.servers.test_installation import Script\n"
        f"Script(name={script.name!r}, version={script.version!r}, command={script.command!r}, "
        f"line={script.line!r}).ensure()\n"
    )
    env = {**os.environ, "FSSPEC_COMMIT_SERVERS": str(folder)}
    return subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, env=env)


def test_an_installation_that_was_killed_is_made_anew(folder: Path, tmp_path: Path) -> None:
    line = f"test -e {tmp_path}/again || kill -9 $PPID"
    script = Script(name="one", version="1", command="one", line=line)
    assert ensure_elsewhere(folder, script).wait() == -signal.SIGKILL
    assert script.folder.exists()
    with pytest.raises(ServerUnavailableError, match="one 1 is not installed"):
        _ = script.program
    (tmp_path / "again").touch()
    assert script.ensure().startswith("installed in")
    assert script.program.exists()


def test_of_several_checkouts_at_once_one_installs(folder: Path, tmp_path: Path) -> None:
    line = f"echo once >> {tmp_path}/log; sleep 0.2"
    script = Script(name="one", version="1", command="one", line=line)
    runs = [ensure_elsewhere(folder, script) for _ in range(3)]
    assert [run.wait() for run in runs] == [0, 0, 0]
    assert script.ensure() == "is there"
    assert (tmp_path / "log").read_text("utf-8") == "once\n"


@pytest.mark.parametrize(
    ("env", "place"),
    [
        ({}, "/home/me/.cache/fsspec-commit/servers"),
        ({"XDG_CACHE_HOME": "/var/cache/me"}, "/var/cache/me/fsspec-commit/servers"),
        ({"XDG_CACHE_HOME": "not/absolute"}, "/home/me/.cache/fsspec-commit/servers"),
        ({"XDG_CACHE_HOME": "/var/cache/me", "FSSPEC_COMMIT_SERVERS": "/srv"}, "/srv"),
        ({"FSSPEC_COMMIT_SERVERS": ".servers"}, str(Path.cwd() / ".servers")),
    ],
)
def test_where_servers_are_kept(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str], place: str
) -> None:
    for name in ("XDG_CACHE_HOME", "FSSPEC_COMMIT_SERVERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert str(installation.place_of_servers()) == place


def test_where_nothing_can_be_written_another_place_is_asked_for(folder: Path) -> None:
    folder.write_text("in the way", "utf-8")
    with pytest.raises(InstallationError, match=r"nothing can be written .* FSSPEC_COMMIT_SERVERS"):
        Script(name="one", version="1", command="one").ensure()


def test_what_was_installed_can_be_removed_and_nothing_else(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Script(name="one", version="1.0", command="one").ensure()
    with pytest.raises(InstallationError):
        Script(name="two", version="2", command="two", line="exit 1").ensure()
    (folder / "somebody-else's").mkdir()
    assert __main__.main(["remove"]) == 0
    assert [path.name for path in folder.iterdir() if path.is_dir()] == ["somebody-else's"]
    said = capsys.readouterr().out
    assert "one-1.0-" in said
    assert "two-2-" in said


def test_a_missing_toolchain_is_named(folder: Path) -> None:
    script = Script(name="one", version="1", command="one", needs="no-such-tool")
    with pytest.raises(ServerUnavailableError, match="no-such-tool"):
        script.ensure()


def test_what_is_there_needs_no_toolchain(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = Script(name="one", version="1", command="one")
    script.ensure()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert script.ensure() == "is there"


@pytest.mark.parametrize(("ci", "status"), [("", 0), ("true", 1)])
def test_the_command_leaves_out_what_it_cannot_build(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ci: str,
    status: int,
) -> None:
    one = Script(name="one", version="1", command="one")
    two = Script(name="two", version="2", command="two", needs="no-such-tool")
    kinds = tuple(dataclasses.replace(MINISTACK, installation=each) for each in (one, two))
    monkeypatch.setattr(__main__, "EVERY_RUN", kinds)
    monkeypatch.setattr(__main__, "PEERS", ())
    monkeypatch.setattr(__main__, "OTHER_STORES", ())
    monkeypatch.setenv("CI", ci)
    assert __main__.main(["install"]) == status
    said = capsys.readouterr().out
    assert "one 1 installed in" in said
    assert "two 2 left out: it is built with no-such-tool" in said


def test_every_checkout_finds_what_another_has_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installations = [kind.installation for kind in KINDS.values()]
    folders = [one.folder for one in [*installations, HDFS, HADOOP]]
    monkeypatch.chdir(tmp_path)
    assert [one.folder for one in [*installations, HDFS, HADOOP]] == folders


def test_python_packages_with_dependencies_are_pinned() -> None:
    alone = {"seaweedfs"}
    for kind in KINDS.values():
        if isinstance(kind.installation, PythonPackage):
            pinned = installation.CONSTRAINTS / f"{kind.name}.txt"
            assert pinned.exists() == (kind.name not in alone)
