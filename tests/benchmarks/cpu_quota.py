"""A part of one core for a process and all that it starts, where this machine can give one.

By a control group of our own, of either version, where we may make one: as root, as a rule. Else by
systemd, which makes one for a user. Nobody is measured as if he were held to a quota that nobody
keeps: programs that do nothing but compute are tried out first, and the kernel must have stopped
them.

    python -m tests.benchmarks.cpu_quota   is what starts them
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PERIOD_US = 100_000
"""After which what was left of the quota is lost: the kernel's own, and that of containers."""
# In those of a process in no group, so that on a busy machine it gets its quota, and not less.
_WEIGHT = 16
_TRIED_FOR_S = 1.0
_COMPUTING = 4
# Of what is promised: the last period may have just begun.
_EXCESS_MAX = 1.2
_ROOT = Path(__file__).parents[2]
# Joins the group, then becomes the command: nothing of it runs outside.
_JOIN = 'echo $$ > "$0" && exec "$@"'
_NAME = "fsspec-commit-benchmark-"
_EMPTY_WITHIN_S = 5.0


class QuotaUnavailableError(RuntimeError):
    """This machine gives no quota of its CPU, or not to us."""


@dataclass(frozen=True)
class Quota:
    """A part of one core.

    Attributes:
        share: How much of it.
        how: Who holds a process to it.
        command: What is put before a command, so that it runs within.
        computed: How much of a core programs got together that did nothing but compute.
    """

    share: float
    how: str
    command: tuple[str, ...]
    computed: float


@contextmanager
def part_of_a_core(share: float) -> Iterator[Quota]:
    """A quota; its processes must have ended before it does.

    Raises:
        QuotaUnavailableError: Nobody here can hold a process to it.
    """
    reasons = []
    with ExitStack() as stack:
        for how, way in _WAYS.items():
            try:
                command = stack.enter_context(way(share))
                quota = Quota(share, how, command, _computed(command, share))
            except (OSError, QuotaUnavailableError) as error:
                reasons.append(f"{how}: {error}")
                stack.close()
            else:
                yield quota
                return
    raise QuotaUnavailableError("; ".join(reasons))


def _computed(command: tuple[str, ...], share: float) -> float:
    """How much of a core programs get within, which the kernel has stopped."""
    ran = subprocess.run(
        [*command, sys.executable, "-m", "tests.benchmarks.cpu_quota"],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise QuotaUnavailableError(ran.stderr.strip() or f"status {ran.returncode}")
    told = json.loads(ran.stdout)
    if not told["stopped"]:
        why = f"programs got {told['computed']:.2f} of a core, and were never stopped"
        raise QuotaUnavailableError(f"{why}; is this machine too busy?")
    if told["computed"] > share * _EXCESS_MAX:
        raise QuotaUnavailableError(f"programs got {told['computed']:.2f} of a core")
    return float(told["computed"])


def _compute() -> None:
    """Print how much of a core this group gets, and how often it has been stopped.

    By several processes, so that it would get more than the quota on a busy machine as well.
    """
    began_s = time.perf_counter()
    children = []
    for _ in range(_COMPUTING):
        child = os.fork()
        if not child:
            while time.perf_counter() - began_s < _TRIED_FOR_S:
                pass
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    times, took_s = os.times(), time.perf_counter() - began_s
    used_s = times.children_user + times.children_system
    print(json.dumps({"computed": used_s / took_s, "stopped": _times_stopped()}))


def _times_stopped() -> int:
    for kind, controller in (("cgroup", "cpu"), ("cgroup2", "")):
        with suppress(QuotaUnavailableError, OSError):
            group = _mounted(kind, controller) / _own_group(controller)
            for line in (group / "cpu.stat").read_text("utf-8").splitlines():
                name, _, count = line.partition(" ")
                if name == "nr_throttled" and int(count):
                    return int(count)
    return 0


@contextmanager
def _by_group_v1(share: float) -> Iterator[tuple[str, ...]]:
    with _new_group(_mounted("cgroup", "cpu") / _own_group("cpu")) as group:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US), "utf-8")
        (group / "cpu.shares").write_text(str(_WEIGHT * 1_024), "utf-8")
        (group / "cpu.cfs_quota_us").write_text(str(int(share * PERIOD_US)), "utf-8")
        yield _joining(group)


@contextmanager
def _by_group_v2(share: float) -> Iterator[tuple[str, ...]]:
    mount, own = _mounted("cgroup2"), _own_group("")
    # A group with processes of its own gives no controller to those below it, but for the root.
    above = [mount / own, *(mount / one for one in own.parents)]
    giving = [
        one for one in above if "cpu" in (one / "cgroup.subtree_control").read_text("utf-8").split()
    ]
    if not giving:
        raise QuotaUnavailableError("no group above us gives its CPU to groups below it")
    with _new_group(giving[0]) as group:
        (group / "cpu.weight").write_text(str(_WEIGHT * 100), "utf-8")
        (group / "cpu.max").write_text(f"{int(share * PERIOD_US)} {PERIOD_US}", "utf-8")
        yield _joining(group)


@contextmanager
def _by_systemd(share: float) -> Iterator[tuple[str, ...]]:
    program = shutil.which("systemd-run")
    if program is None:
        raise QuotaUnavailableError("it is not installed")
    whose = () if os.geteuid() == 0 else ("--user",)
    yield (
        program,
        *whose,
        "--scope",
        "--quiet",
        "-p",
        f"CPUQuota={share:.0%}",
        "-p",
        f"CPUWeight={_WEIGHT * 100}",
    )


def _joining(group: Path) -> tuple[str, ...]:
    return ("sh", "-c", _JOIN, str(group / "cgroup.procs"))


def _mounted(kind: str, controller: str = "") -> Path:
    """Where groups of this kind are."""
    for line in Path("/proc/mounts").read_text("utf-8").splitlines():
        _, where, found, options, *_ = line.split(" ")
        if found == kind and (not controller or controller in options.split(",")):
            return Path(where)
    raise QuotaUnavailableError("there are no such groups")


def _own_group(controller: str) -> Path:
    """Ours, below where they are; of the second version where no controller is said."""
    for line in Path("/proc/self/cgroup").read_text("utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return Path(path.lstrip("/"))
    raise QuotaUnavailableError("we are in no such group")


def _remove_left(above: Path) -> None:
    """Remove the groups of those who were killed."""
    for group in above.glob(f"{_NAME}*"):
        pid = group.name.removeprefix(_NAME).partition("-")[0]
        if not Path("/proc", pid).exists():
            with suppress(OSError):
                group.rmdir()


@contextmanager
def _new_group(above: Path) -> Iterator[Path]:
    """A group that is removed in the end, as soon as its last process has ended."""
    _remove_left(above)
    group = above / f"{_NAME}{os.getpid()}-{token_hex(4)}"
    group.mkdir()
    try:
        yield group
    finally:
        ends = time.monotonic() + _EMPTY_WITHIN_S
        while True:
            try:
                group.rmdir()
                break
            except OSError:
                if time.monotonic() > ends:
                    raise
                time.sleep(0.05)


_WAYS: dict[str, Callable[[float], AbstractContextManager[tuple[str, ...]]]] = {
    "a control group": _by_group_v1,
    "a control group of version 2": _by_group_v2,
    "systemd": _by_systemd,
}


if __name__ == "__main__":
    _compute()
