"""What became of a worker that died in a parallel run: how it ended, and where it stood.

pytest-xdist says in which test a worker was, and no more. Native code that crashes in a thread of
its own says where on standard error only, somewhere among the thousands of lines of a run, and who
is ended by the system for want of memory says nothing. Here the run tells both at its end.
"""

from __future__ import annotations

import faulthandler
import signal
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

_STACKS = "stacks_path"
_WAITED_S = 10


class LostWorkers:
    """Of one run: where its workers write their stacks, and what is said of those that died."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.said: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_STACKS] = str(self.directory / node.gateway.id)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        if error and error != "keyboard-interrupt":  # That one has ended its session as it should.
            stacks = self.directory / node.gateway.id
            text = stacks.read_text("utf-8", errors="replace") if stacks.exists() else ""
            self.said.append(f"{node.gateway.id} {_how_it_ended(node)}\n{text}".rstrip())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self.said:
            terminalreporter.write_line(line)


def _how_it_ended(node: Any) -> str:
    process = getattr(getattr(node.gateway, "_io", None), "popen", None)  # Of execnet, not public.
    if process is None:
        return "ended"
    try:
        status = process.wait(timeout=_WAITED_S)
    except subprocess.TimeoutExpired:
        return "does not answer, and has not ended"
    if status >= 0:
        return f"exited with {status}"
    known = {one.value: one.name for one in signal.Signals}
    return f"was ended by {known.get(-status, f'signal {-status}')}"


@pytest.hookimpl(trylast=True)  # After pytest's own, which has stacks written to standard error.
def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        stacks = Path(config.workerinput[_STACKS]).open("wb")  # noqa: SIM115  # until the run ends
        config.add_cleanup(stacks.close)
        config.add_cleanup(faulthandler.disable)  # Before that, whoever else has done so.
        faulthandler.enable(stacks)
    elif config.getoption("dist", "no") != "no":
        directory = TemporaryDirectory(prefix="stacks-")
        config.add_cleanup(directory.cleanup)
        config.pluginmanager.register(LostWorkers(Path(directory.name)))
