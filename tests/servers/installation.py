"""How a server gets onto this machine: one pinned version, in a folder in the user's cache.

All checkouts share it; `FSSPEC_COMMIT_SERVERS` names another place. A folder is called by the
version and by all that it was made of. With the stamp `installed`, which comes last and in one
step, it is finished, and no run touches it any more: a second run does nothing, a changed pin or
constraint installs beside what older checkouts use, and what broke off is made anew.

None is made elsewhere and then renamed: a virtual environment names its place in every script, and
a cluster of HDFS in its archive of classes.
"""

from __future__ import annotations

import fcntl
import hashlib
import inspect
import os
import platform
import shutil
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def place_of_servers() -> Path:
    """Where installed servers are kept: beside the caches of pip and Go, not in a checkout."""
    named = os.environ.get("FSSPEC_COMMIT_SERVERS")
    if named:
        return Path(named).absolute()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "")
    # By its specification a path that is not absolute is none.
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "fsspec-commit" / "servers"


SERVERS = place_of_servers()
CONSTRAINTS = Path(__file__).resolve().with_name("constraints")


class ServerUnavailableError(Exception):
    """A server cannot run here, and why."""


class InstallationError(Exception):
    """Installing failed although every tool for it is there."""


@dataclass(frozen=True, kw_only=True)
class Installation(ABC):
    """One pinned version of one server."""

    name: str
    version: str
    # What starts it, in `bin`.
    command: str

    @property
    @abstractmethod
    def toolchain(self) -> str | None:
        """The command that this machine must have; None: Python is enough."""

    @abstractmethod
    def _install(self) -> None: ...

    @property
    def folder(self) -> Path:
        return SERVERS / f"{self.name}-{self.version}-{self._fingerprint[:12]}"

    @property
    def program(self) -> Path:
        """Raises: ServerUnavailableError: it is not installed, or not as it should be now."""
        if not self._is_there():
            raise ServerUnavailableError(f"{self.name} {self.version} is not installed")
        return self.folder / "bin" / self.command

    def ensure(self) -> str:
        """Install if need be; answers in a few words what was done.

        Raises:
            ServerUnavailableError: the toolchain is missing.
            InstallationError: the toolchain failed; the end of what it wrote is in the message.
        """
        if self._is_there():
            return "is there"
        if self.toolchain is not None and shutil.which(self.toolchain) is None:
            raise ServerUnavailableError(f"it is built with {self.toolchain}, which is not here")
        began = time.monotonic()
        with _one_at_a_time(self.folder):
            if self._is_there():
                return "was installed by another run just now"
            if self.folder.exists():
                shutil.rmtree(self.folder)
            (self.folder / "bin").mkdir(parents=True)
            self._install()
            stamp = self.folder / "stamp"
            stamp.write_text(self._fingerprint, "utf-8")
            stamp.rename(self._stamp)
        return f"installed in {time.monotonic() - began:.0f} s"

    @property
    def _constraints(self) -> Path:
        return CONSTRAINTS / f"{self.name}.txt"

    @property
    def _made_with(self) -> str:
        """What it needs of this machine for as long as it is used."""
        return platform.machine()

    @property
    def _fingerprint(self) -> str:
        pins = self._constraints.read_bytes() if self._constraints.exists() else b""
        recipe = inspect.getsource(type(self)._install)
        # The place, too: what is moved or copied still names the old one.
        made_of = "\n".join((repr(self), recipe, self._made_with, str(SERVERS)))
        return hashlib.sha256(made_of.encode() + pins).hexdigest()

    @property
    def _stamp(self) -> Path:
        return self.folder / "installed"

    def _is_there(self) -> bool:
        """Finished, as it should be now, and not fallen to pieces since."""
        if not (self.folder / "bin" / self.command).exists():
            return False
        return self._stamp.exists() and self._stamp.read_text("utf-8") == self._fingerprint


@dataclass(frozen=True, kw_only=True)
class PythonPackage(Installation):
    """In an environment of its own: servers pin what the tests need in other versions.

    Its dependencies, if any, are in ``constraints/<name>.txt``.
    """

    requirement: str

    @property
    def toolchain(self) -> None:
        return None

    @property
    def _made_with(self) -> str:
        return f"{super()._made_with} {os.path.realpath(sys.executable)}"

    def _install(self) -> None:
        python = str(self.folder / "bin" / "python")
        _run(sys.executable, "-m", "venv", "--without-pip", str(self.folder))
        pins = ("--constraint", str(self._constraints)) if self._constraints.exists() else ()
        pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *pins)
        _run(*pip, f"{self.requirement}=={self.version}")


@dataclass(frozen=True, kw_only=True)
class PinnedEnvironment(Installation):
    """All that is in ``constraints/<name>.txt``, and nothing else; nothing of ours either."""

    @property
    def toolchain(self) -> None:
        return None

    @property
    def _made_with(self) -> str:
        return f"{super()._made_with} {os.path.realpath(sys.executable)}"

    def _install(self) -> None:
        python = str(self.folder / "bin" / "python")
        _run(sys.executable, "-m", "venv", "--without-pip", str(self.folder))
        pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
        _run(*pip, "--no-deps", "--requirement", str(self._constraints))


@dataclass(frozen=True, kw_only=True)
class OwnServer(Installation):
    """A package of the tests, run with `-m` by the Python that runs them: nothing is installed."""

    @property
    def toolchain(self) -> None:
        return None

    @property
    def program(self) -> Path:
        return Path(sys.executable)

    def ensure(self) -> str:
        return "is ours"

    def _install(self) -> None:
        raise AssertionError("there is nothing to install")


@dataclass(frozen=True, kw_only=True)
class GoCommand(Installation):
    package: str

    @property
    def toolchain(self) -> str:
        return "go"

    def _install(self) -> None:
        # Go's sums pin the dependencies. Without C, no C compiler is needed.
        place = {"GOBIN": str(self.folder / "bin"), "CGO_ENABLED": "0"}
        _run("go", "install", f"{self.package}@{self.version}", env={**os.environ, **place})


@dataclass(frozen=True, kw_only=True)
class CargoCommand(Installation):
    features: str

    @property
    def toolchain(self) -> str:
        return "cargo"

    def _install(self) -> None:
        what = ("--version", self.version, "--features", self.features, self.name)
        _run("cargo", "install", "--quiet", "--locked", "--root", str(self.folder), *what)


@dataclass(frozen=True, kw_only=True)
class NpmPackage(Installation):
    """With what it depends on as it was on a day: it has no lock file of its own."""

    day: str

    @property
    def toolchain(self) -> str:
        return "npm"

    def _install(self) -> None:
        # Node itself is only warned about: what an older one cannot run, its tests say.
        quiet = ("--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts", "--omit=dev")
        place = ("--prefix", str(self.folder), f"--before={self.day}")
        _run("npm", "install", *quiet, *place, f"{self.name}@{self.version}")
        program = Path("..", "node_modules", ".bin", self.command)
        (self.folder / "bin" / self.command).symlink_to(program)


def _run(*command: str, env: Mapping[str, str] | None = None) -> None:
    ran = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=env
    )
    if ran.returncode:
        last = "\n".join(ran.stdout.strip().splitlines()[-15:])
        raise InstallationError(f"{command[0]} failed with {ran.returncode}:\n{last}")


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Two runs of `make` at once: the second finds what the first has installed."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = _lock_of(folder).open("w")
    except OSError as error:
        raise InstallationError(
            f"nothing can be written in {folder.parent}: {error}. Servers are kept there between "
            "runs; FSSPEC_COMMIT_SERVERS=/another/place names another"
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def remove_all() -> list[str]:
    """Remove what any checkout has installed; what has no lock of ours is somebody else's.

    Returns:
        The names of the folders.
    """
    removed = []
    for lock in sorted(SERVERS.glob("*.lock")):
        folder = lock.with_suffix("")
        with _one_at_a_time(folder):
            if folder.exists():
                shutil.rmtree(folder)
                removed.append(folder.name)
    return removed
