"""Progress of a commit for a caller's fsspec ``Callback``: limited in rate, and never fatal."""

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsspec.callbacks import Callback

    from fsspec_commit.protocol.result import CommitResult

_log = logging.getLogger("fsspec_commit")
_INTERVAL_S = 0.1


class ProgressReport:
    """Calls a callback as files are published, at most ten times a second, from one thread."""

    def __init__(self, callback: "Callback | None") -> None:
        self._callback = callback
        self._untold = 0
        self._told_at = 0.0
        self._exit: BaseException | None = None

    def announce(self, files: int) -> None:
        """Set how many files there will be, now that this is decided."""
        if self._callback is not None:
            self._tell(lambda callback: callback.set_size(files))

    def advance(self, files: int) -> None:
        """Count published files, and call the callback if it is due."""
        if self._callback is None:
            return
        self._untold += files
        now = time.monotonic()
        if now - self._told_at >= _INTERVAL_S:
            self._told_at = now
            self.finish()

    def finish(self) -> None:
        """Call the callback with the files that are not reported yet."""
        untold, self._untold = self._untold, 0
        if untold:
            self._tell(lambda callback: callback.relative_update(untold))

    def raise_exit(self, result: "CommitResult") -> None:
        """Raise an exit that the callback has raised, which had to wait for *result*."""
        exit_, self._exit = self._exit, None
        if exit_ is not None:
            exit_.add_note(f"{result.state}: {result!r}")
            raise exit_

    def _tell(self, what: Callable[["Callback"], object]) -> None:
        if self._callback is None:
            return
        try:
            what(self._callback)
        except Exception:  # noqa: BLE001  # a progress bar must not decide the fate of a job
            _log.warning("the progress callback failed", exc_info=True)
        except BaseException as exit_:  # noqa: BLE001  # nor one with a button to end the program
            self._exit = self._exit or exit_
