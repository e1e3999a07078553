"""A fork at every store call of a job reaches no store, and its parent commits or aborts whole.

Only the guards in ``fsspec_commit.sync`` see to that, so all that a child can call is tried: see
`forking_at_calls.py`, and what would happen without them in ``tests/protocol/simulation``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration import forking_at_calls
from tests.sweeps import some_by_day

if TYPE_CHECKING:
    from fsspec_commit.testing.sweeps import Sweep

ROOT = Path(__file__).parents[2]
CALLS = {
    "disk": {"create", "rename_directory", "rename", "delete_tree"},
    "versioned": {"create", "start", "put_part", "complete", "delete"},
    "gcs": {"create", "write", "finish", "rename", "delete"},
}
"""Some of those at which a job that commits is forked."""
OF_COMMITS = {"complete", "rename"}


@pytest.mark.parametrize("where", CALLS)
@pytest.mark.parametrize("what", ["commits", "aborts"])
@some_by_day(len(forking_at_calls.WAYS))
def test_p1_p2_p5_a_child_that_is_forked_at_any_call_reaches_no_store(
    what: str, where: str, sweep: Sweep, tmp_path: Path
) -> None:
    program = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-m"]
    for turn in sweep(range(len(forking_at_calls.WAYS))):
        place = str(tmp_path / f"out-{turn}") if where == "disk" else where
        done = subprocess.run(
            [*program, forking_at_calls.__name__, what, place, str(turn)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'stores'}"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        forked = json.loads(done.stdout)
        if what == "commits":
            assert forked.keys() >= CALLS[where]
            assert sum(forked.values()) > 15, forked
        else:
            assert not forked.keys() & OF_COMMITS
            assert sum(forked.values()) > 5, forked
