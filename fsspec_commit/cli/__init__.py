"""The command ``fsspec-commit``: the public API for people at a terminal and for scripts.

``main`` is the entry point. Everything it needs is imported when it runs, so that importing this
package loads no terminal library and ``fsspec-commit --help`` no Arrow. The commands call the
public API and nothing deeper.
"""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and leave the process with its exit status.

    Args:
        arguments: What follows the program's name; the process's own by default.

    Raises:
        SystemExit: Always: 0 done, 1 not committed, 2 refused, 3 partial or unknown.
    """
    _open_closed_streams()
    try:
        from fsspec_commit.cli.application import run
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted; nothing was changed\n")
        sys.exit(1)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "typer":
            raise
        sys.stderr.write(
            "error: the command needs typer, which is not installed;"
            " install it with: pip install 'fsspec-commit[cli]'\n"
        )
        sys.exit(2)
    if arguments is None:
        sys.exit(run(sys.argv[1:]))
    if threading.current_thread() is not threading.main_thread():
        sys.exit(run(arguments))  # No signal comes here, and none is changed.
    # The caller's process goes on, and wants its Ctrl-C back.
    from fsspec_commit.cli.interrupts import SIGNALS

    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        status = run(arguments)
    finally:
        for number, handler in handlers.items():
            if handler is not None:  # None is another language's own, which was left alone.
                signal.signal(number, handler)
    sys.exit(status)


def _open_closed_streams() -> None:
    """Give the process the standard streams that it was started without.

    Otherwise the next files that are opened get their numbers, and what a library in C writes to
    the standard error lands in the data.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nowhere, "r" if name == "stdin" else "w", closefd=False))
