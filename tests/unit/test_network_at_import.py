"""Importing any module opens no socket: what an import did nobody could refuse or watch (S17)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES = ("fsspec_commit", "fsspec_commit_stores")
PROGRAM = """
import importlib, json, pkgutil, sys

opened, at = [], ""

def watch(event, _):
    # Where it is done, in C as well; whoever catches the error has been seen all the same.
    if event.startswith("socket."):
        frame = sys._getframe(1)
        while frame.f_globals["__name__"] == "socket":
            frame = frame.f_back
        opened.append([at, event, frame.f_globals["__name__"]])
        raise RuntimeError(f"{at}: {event}")

sys.addaudithook(watch)
imported, failed = [], {}

def import_all(name):
    global at
    at = name
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        failed[name] = str(error)
        return
    imported.append(name)
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if found.name != "__main__":
            import_all(f"{name}.{found.name}")

for name in sys.argv[1:]:
    import_all(name)
print(json.dumps({"imported": imported, "failed": failed, "opened": opened}))
"""


LOOKS_WHETHER_THERE_IS_IPV6 = "urllib3.util.connection"
"""What requests sends with: it makes a socket of that kind when it is imported, and sends nothing.

It may not bind it here either, so that nothing more than this can be hidden by it.
"""


def importing(*names: str, path: str = "") -> dict[str, Any]:
    """What comes of importing packages, with all that is in them, in a new interpreter."""
    known = os.environ.get("PYTHONPATH", "")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [path, known]))}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, *names],
        capture_output=True,
        check=False,
        text=True,
        env=environment,
    )
    assert ran.returncode == 0, ran.stderr
    answer: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return answer


def test_no_module_opens_a_socket() -> None:
    found = importing(*PACKAGES)
    others = [one for one in found["opened"] if one[2] != LOOKS_WHETHER_THERE_IS_IPV6]
    assert others == []
    assert len(found["opened"]) <= 1
    assert found["failed"] == {}
    known = {name.rpartition(".")[0] for name in found["imported"]}
    adapters = {f"fsspec_commit_stores.{one}" for one in ("azure", "gcs", "hdfs", "local", "s3")}
    assert known >= {"fsspec_commit.protocol", "fsspec_commit.engines.spark", *adapters}


@pytest.mark.parametrize(
    "does",
    [
        "socket.socket()",
        "socket.getaddrinfo('localhost', 80)",
        "_socket.socket()",
        "socket.create_connection(('127.0.0.1', 9), 0.1)",
        "asyncio.new_event_loop()",
    ],
)
def test_one_that_did_would_be_noticed(tmp_path: Path, does: str) -> None:
    """Also where it catches what comes of that."""
    package = tmp_path / "planted_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    text = f"import _socket, asyncio, socket\ntry:\n    {does}\nexcept Exception:\n    pass\n"
    (package / "inner.py").write_text(text)
    found = importing("planted_package", path=str(tmp_path))
    assert {name for name, *_ in found["opened"]} == {"planted_package.inner"}
