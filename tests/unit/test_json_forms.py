"""Many threads decode one kind of record for the first time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FORKS = 60
# With `msgspec.json.decode` itself one child in five is ended by SIGSEGV.
PROGRAM = f"""
import os, sys, threading
from datetime import datetime
from typing import Literal
import msgspec
from fsspec_commit.store.json_forms import decode_json

class Inner(msgspec.Struct, frozen=True, kw_only=True):
    a: int
    b: str
    c: list[str] | None = None
    d: dict[str, int] = {{}}
    e: Literal["x", "y"] = "x"
    f: datetime | None = None
    g: tuple[str, ...] = ()
    h: int = 0

class Form(Inner, frozen=True, kw_only=True):
    inner: Inner | None = None
    others: tuple[Inner, ...] = ()

DATA = b'{{"a": 1, "b": "2", "c": ["x"], "d": {{"q": 1}}, "e": "y", "f": null, "g": ["1"], "h": 3}}'

def decode():
    together.wait()
    for _ in range(3):
        decode_json(DATA, Form)

sys.setswitchinterval(1e-6)
for _ in range({FORKS}):
    child = os.fork()
    if child == 0:
        together = threading.Barrier(4)
        threads = [threading.Thread(target=decode) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_the_first_of_a_kind_is_decoded_on_many_threads() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=True
    )
    assert set(done.stdout.split()) == {"0"}
    assert len(done.stdout.split()) == FORKS


@pytest.mark.checkout
def test_nothing_is_decoded_in_another_way() -> None:
    """Decoders that are made when a module is imported are looked at by one thread only."""
    places = [
        path.relative_to(ROOT).as_posix()
        for folder in ("fsspec_commit", "stores")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"\bjson\.decode\(.*type=", path.read_text("utf-8"))
    ]
    assert places == []
