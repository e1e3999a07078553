"""A quota holds what runs within, and is gone afterwards; without one nothing is promised."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.benchmarks import cpu_quota
from tests.benchmarks.cpu_quota import QuotaUnavailableError, part_of_a_core

GROUPS = Path("/proc/self/cgroup")


def groups_of(command: tuple[str, ...]) -> str:
    """Those of a process of this command, as the kernel names them."""
    code = f"print(open({str(GROUPS)!r}).read())"
    ran = subprocess.run([*command, sys.executable, "-c", code], capture_output=True, check=True)
    return ran.stdout.decode()


def test_what_runs_within_is_in_a_group_of_its_own() -> None:
    try:
        with part_of_a_core(0.5) as quota:
            within = groups_of(quota.command)
            assert within.split() != GROUPS.read_text().split()
            assert 0 < quota.computed <= 0.6
    except QuotaUnavailableError as error:
        pytest.skip(str(error))
    if quota.how != "systemd":
        group = Path(quota.command[-1]).parent
        assert group.name in within
        assert not group.exists()


def test_who_cannot_be_held_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: float) -> nullcontext[tuple[str, ...]]:
        raise PermissionError("not yours")

    ways = {"one": refused, "another": lambda _: nullcontext(())}
    monkeypatch.setattr(cpu_quota, "_WAYS", ways)
    with (
        pytest.raises(QuotaUnavailableError, match=r"one: not yours; another: programs got"),
        part_of_a_core(0.05),
    ):
        pytest.fail("there is no quota")


def test_a_command_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = (sys.executable, "-c", "raise SystemExit('no bus')")
    monkeypatch.setattr(cpu_quota, "_WAYS", {"one": lambda _: nullcontext(failing)})
    with pytest.raises(QuotaUnavailableError, match="one: no bus"), part_of_a_core(0.5):
        pytest.fail("there is no quota")
