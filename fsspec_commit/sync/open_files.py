"""The files that an attempt has open, and the writers of those that were garbage-collected."""

import threading
import weakref
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from fsspec_commit.errors import CommitError
from fsspec_commit.sync.attempt_file import AttemptFile

if TYPE_CHECKING:
    from fsspec_commit.committers import NewFile
    from fsspec_commit.store import DirectWriter


class OpenFiles:
    """The open files of an attempt; any thread may add to them while another drops the attempt.

    No method waits for a lock, which an interrupt could leave locked.
    """

    def __init__(self) -> None:
        # Weakly: a file that nobody holds any more leaves its writer to the task.
        self._files: weakref.WeakValueDictionary[int, AttemptFile] = weakref.WeakValueDictionary()
        self._left: deque[DirectWriter[NewFile]] = deque()

    def add(self, file: AttemptFile) -> None:
        """Keep a weak reference to *file*."""
        self._files[id(file)] = file

    def leave(self, writer: "DirectWriter[NewFile]") -> None:
        """Take over the writer of a file that is garbage-collected."""
        self._left.append(writer)

    def living(self) -> list[AttemptFile]:
        """The files that are still referenced.

        Copied in one step, since iterating over a weak collection fails if it grows meanwhile.
        """
        return [file for found in self._files.valuerefs() if (file := found()) is not None]

    def discard_own(self) -> None:
        """Discard the files that this thread has open, as far as that can be done."""
        for file in self.living():
            if file.thread_id == threading.get_ident():
                with suppress(CommitError, OSError):  # It was removed with the attempt.
                    file.discard()

    def discard_left(self) -> None:
        """Discard what the writers of garbage-collected files have written."""
        while self._left:
            # What cannot be discarded now is in no list, and is removed with the attempt.
            with suppress(CommitError, OSError, IndexError):
                self._left.popleft().discard()
