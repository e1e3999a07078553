"""The state of each name of an attempt: a whole file, one that is being written, or spoiled.

Opening a name again gives up its content, on every store: disks replace a file when it is opened,
other stores when it is closed, and what is committed must not depend on that. So the name is
*spoiled* from then on, until it is written whole or removed, and a task with a spoiled name does
not commit: neither content is what its writer meant.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Literal, NoReturn

from fsspec_commit.errors import RequestError
from fsspec_commit.names import Target

Spoiled = Literal["rewritten", "not finished", "abandoned"]


class AttemptNames:
    """The names that an attempt has opened; safe to use from many threads.

    No method waits for a lock: an abandoned file reports itself when it is garbage-collected, which
    may be in the middle of any other call. Each step is a single operation of a dictionary instead.
    """

    def __init__(self, task_id: int) -> None:
        self._task_id = task_id
        self._writing: dict[str, object] = {}
        self._whole: dict[str, Target] = {}
        self._spoiled: dict[str, Spoiled] = {}
        self._removing: dict[object, str] = {}

    def begin(self, name: Target, check: Callable[[], None], *, exclusive: bool = False) -> None:
        """Note that a file of that name is opened.

        Args:
            name: The name.
            check: Raises an error if it is too late, as when the task commits meanwhile; called
                when :meth:`refuse_unfinished` sees the file, and before anything else changes.
            exclusive: Whether a name that the attempt has written, or is writing, is refused.

        Raises:
            RequestError: A file of that name is open already.
            FileExistsError: It is there, and *exclusive*.
        """
        writer = object()
        if self._writing.setdefault(name, writer) is not writer:
            if exclusive:
                _refuse_another(name)
            self._refuse_open(name)
        try:
            check()
            if exclusive and name in self._whole:
                _refuse_another(name)
        except BaseException:
            self.discard(name)
            raise
        if name in self._whole:
            self._spoiled[name] = "rewritten"
            self._whole.pop(name, None)  # Another thread may lose it just now.

    def finish(self, name: str, final: Target) -> None:
        """Note that the file was closed and is whole; it will be published as *final*."""
        self._whole[name] = final
        self._spoiled.pop(name, None)
        self._writing.pop(name, None)

    def discard(self, name: str) -> None:
        """Note that the writer has given up the file, and knows it."""
        self._writing.pop(name, None)

    def fail(self, name: str) -> None:
        """Note that the file could not be written or closed, which a library may hide."""
        self._spoiled[name] = "not finished"
        self._writing.pop(name, None)

    def lose(self, name: str) -> None:
        """Note that a closed file could not be stored, unless its name was opened again since."""
        if self._whole.pop(name, None) is not None:
            self._spoiled.setdefault(name, "not finished")

    def abandon(self, name: str) -> None:
        """Note that nobody can close the file any more; the garbage collector calls this."""
        self._spoiled[name] = "abandoned"
        self._writing.pop(name, None)

    def spoil(self, name: str) -> None:
        """Note that the file is about to be removed and must not be committed.

        Raises:
            RequestError: The file is being written.
        """
        if name in self._writing:
            self._refuse_open(name)
        self._spoiled.setdefault(name, "rewritten")
        self._whole.pop(name, None)

    @contextmanager
    def removing(self, name: str, check: Callable[[], None]) -> Iterator[None]:
        """Spoil a name whose file is removed in the block; until its end nothing is committed.

        Args:
            name: The name.
            check: Raises an error if it is too late, as for :meth:`begin`.

        Raises:
            RequestError: The file is being written.
        """
        removal = object()
        try:
            self._removing[removal] = name
            check()
            self.spoil(name)
            yield
        finally:
            self._removing.pop(removal, None)

    def forget(self, name: str) -> None:
        """Note that the file was removed: it is as if it had never been opened."""
        self._spoiled.pop(name, None)

    def leave_to_parent(self) -> None:
        """Forget all names: in a forked child, they belong to the parent."""
        for names in (self._writing, self._whole, self._spoiled, self._removing):
            names.clear()

    def exists(self, name: str) -> bool:
        """Whether a file of that name is whole, or being written."""
        return name in self._whole or name in self._writing

    def whole(self) -> dict[str, Target]:
        """The names of finished files, with the names they will be published under."""
        return dict(self._whole)

    def removable(self) -> Collection[str]:
        """The names that can be removed: those of whole files, and the spoiled ones."""
        return {**self._whole, **self._spoiled}

    def is_open(self, name: str) -> bool:
        """Whether a file of that name is being written."""
        return name in self._writing

    def is_spoiled(self, name: str) -> bool:
        """Whether the task cannot commit before that name is written whole, or removed."""
        return name in self._spoiled

    def refuse_unfinished(self) -> None:
        """Refuse to commit an attempt of which a part may be missing (P1).

        Raises:
            RequestError: A file is open or being removed, or a name is spoiled.
        """
        writing, spoiled = list(self._writing), dict(self._spoiled)
        removing = list(self._removing.values())
        if writing:
            name = min(writing)
            message = (
                f"task {self._task_id} has an open file {name!r}; close it before the task ends, "
                'or write it inside "with task.open(...)"'
            )
            raise RequestError(message, kind="file_open", task_id=self._task_id, path=name)
        if removing:
            name = min(removing)
            message = f"task {self._task_id} is removing {name!r} in another thread; wait for that"
            raise RequestError(message, kind="file_open", task_id=self._task_id, path=name)
        if spoiled:
            name, how = min(spoiled.items())
            raise self._refusal(name, how)

    def _refusal(self, name: str, how: Spoiled) -> RequestError:
        again = f"write it again, or remove it: task.filesystem.rm({name!r})"
        if how == "abandoned":
            message = (
                f"task {self._task_id} opened {name!r} and never closed it, so it was dropped; "
                'write it inside "with task.open(...)", or close it yourself where a library '
                "leaves that to you (polars: contextlib.ExitStack)"
            )
            return RequestError(message, kind="file_abandoned", task_id=self._task_id, path=name)
        if how == "rewritten":
            message = (
                f"task {self._task_id} opened {name!r} a second time and did not finish it, so "
                f"neither what it held nor what was to replace it is there; {again}"
            )
        else:
            message = f"task {self._task_id} could not finish {name!r}, so it is not whole; {again}"
        return RequestError(message, kind="file_discarded", task_id=self._task_id, path=name)

    def _refuse_open(self, name: str) -> None:
        message = f"{name!r} is open already in task {self._task_id}; close it first"
        raise RequestError(message, kind="file_open", task_id=self._task_id, path=name)


def _refuse_another(name: str) -> NoReturn:
    raise FileExistsError(f"this attempt has written {name!r} already")
