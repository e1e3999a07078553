"""The process that forks drivers forks no thread: its locks would stay locked in the fork.

A driver once hung, in a fork of a process in which a thread with a TLS context had just been
joined: on its way out such a thread takes a lock of OpenSSL's. Of a thousand forks at that moment
ten hang; with the wait that is tried here, of eight thousand none did.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SLOW_END = """
import ctypes, threading
from pathlib import Path
from tests.integration.crashing_driver import await_threads

system = ctypes.CDLL(None)
key = ctypes.c_uint()
# When the thread ends the system calls usleep(200000), as it calls what OpenSSL has asked for.
assert system.pthread_key_create(ctypes.byref(key), system.usleep) == 0

def end_slowly():
    assert system.pthread_setspecific(key, ctypes.c_void_p(200_000)) == 0

def count():
    return len(list(Path("/proc/self/task").iterdir()))

ending = threading.Thread(target=end_slowly)
ending.start()
ending.join()
print(threading.active_count(), count())
await_threads()
print(threading.active_count(), count())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted in /proc")
def test_a_thread_that_is_joined_and_not_over_is_waited_for() -> None:
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", SLOW_END], capture_output=True, check=False, cwd=root, text=True
    )
    assert ran.stderr == ""
    # For Python it is over each time.
    assert ran.stdout.splitlines() == ["1 2", "1 1"]
