"""Ctrl-C while a command runs: how often it is heard, and what is taken for it.

A scheduler ends a process by SIGTERM, and a terminal that is closed, or a connection that is lost,
by SIGHUP: both settle the job as well.

The first one settles the job, the second stops in the middle of that, and what the command says
then is found out by a few steps that a third could divide: "nothing was committed" of a job that
is decided. So presses that come too fast are taken for one, and after the second the command has
time to say what stands.
"""

import signal
import threading
import time
from types import FrameType

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""What settles a job."""

# A key that is held down repeats itself some thirty times a second.
_ONE_PRESS_S = 0.2
# Enough to say what stands, and not for ever: a plugin may hang.
_STOPPING_S = 2.0


class _Interrupts:
    """A signal handler that raises ``KeyboardInterrupt``, and not again at once."""

    def __init__(self) -> None:
        self._deaf_until = 0.0
        self._heard = 0

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if now < self._deaf_until:
            return
        self._heard += 1
        self._deaf_until = now + (_ONE_PRESS_S if self._heard == 1 else _STOPPING_S)
        raise KeyboardInterrupt


def hear_interrupts() -> None:
    """Hear Ctrl-C in this way and take SIGTERM and SIGHUP for it.

    Signals that whoever has started the process wants ignored, as nohup does, or handles, stay as
    they are.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    heard = _Interrupts()
    for number in SIGNALS:
        # Not by a set: a handler need not be hashable.
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, heard)


def ignore_interrupts() -> None:
    """Ignore them from now on: nothing is left to stop, and they would hide the status.

    But not what another language handles, in whose process Python runs: nobody could give it back.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    for number in SIGNALS:
        if signal.getsignal(number) is not None:
            signal.signal(number, signal.SIG_IGN)
