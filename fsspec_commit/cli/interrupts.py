"""Ctrl-C while a command runs, and the signals that are treated like it.

A scheduler ends a process by SIGTERM; a terminal that is closed, or a connection that is lost, by
SIGHUP. Both settle the job as well.

The first signal settles the job; the second stops settling it. Finding out what to say then takes
a few steps, and a third signal between them could make the command say "nothing was committed" of
a job that is decided. So presses in quick succession count as one, and after the second the
command has time to say what stands.
"""

import signal
import threading
import time
from types import FrameType

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""The signals that settle a job."""

# A key that is held down repeats itself some thirty times a second.
_ONE_PRESS_S = 0.2
# Enough to say what stands, and not for ever: a plugin may hang.
_STOPPING_S = 2.0


class _Interrupts:
    """A signal handler that raises ``KeyboardInterrupt``, but not twice in quick succession."""

    def __init__(self) -> None:
        self._deaf_until = 0.0
        self._count = 0

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if now < self._deaf_until:
            return
        self._count += 1
        self._deaf_until = now + (_ONE_PRESS_S if self._count == 1 else _STOPPING_S)
        raise KeyboardInterrupt


def catch_interrupts() -> None:
    """Install the handler for Ctrl-C, SIGTERM and SIGHUP.

    Signals that the process already ignores, as nohup makes it, or handles are left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    handler = _Interrupts()
    for number in SIGNALS:
        # A tuple and not a set: a handler need not be hashable.
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, handler)


def ignore_interrupts() -> None:
    """Ignore the signals from now on: nothing is left to stop, and they would hide the status.

    A handler that was not installed from Python is left alone: it could not be restored.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    for number in SIGNALS:
        if signal.getsignal(number) is not None:
            signal.signal(number, signal.SIG_IGN)
