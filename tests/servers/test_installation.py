"""Installing: once for each pin, again when something has changed, with words when it cannot be."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.servers import __main__, installation
from tests.servers.installation import (
    Installation,
    InstallationError,
    PythonPackage,
    ServerUnavailableError,
)
from tests.servers.kinds import KINDS, MINISTACK

if TYPE_CHECKING:
    from pathlib import Path


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


def test_another_version_takes_the_place(folder: Path) -> None:
    Script(name="one", version="1", command="one").ensure()
    Script(name="other", version="1", command="other").ensure()
    Script(name="one", version="2", command="one").ensure()
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == ["one-2", "other-1"]


def test_a_changed_constraint_installs_again(folder: Path, tmp_path: Path) -> None:
    script = Script(name="one", version="1", command="one")
    script.ensure()
    (tmp_path / "one.txt").write_text("six==1.17.0\n", "utf-8")
    assert script.ensure().startswith("installed in")


def test_what_broke_off_is_made_anew(folder: Path) -> None:
    with pytest.raises(InstallationError, match="sh failed with 3:\nno network"):
        Script(name="one", version="1", command="one", line="echo no network; exit 3").ensure()
    assert Script(name="one", version="1", command="one").ensure().startswith("installed in")


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


def test_python_packages_with_dependencies_are_pinned() -> None:
    alone = {"seaweedfs"}
    for kind in KINDS.values():
        if isinstance(kind.installation, PythonPackage):
            pinned = installation.CONSTRAINTS / f"{kind.name}.txt"
            assert pinned.exists() == (kind.name not in alone)
