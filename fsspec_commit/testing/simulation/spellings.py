"""How the names of directories are spelled, on a store that may take several for one."""

from collections.abc import Callable, Iterable
from urllib.parse import unquote


class Spellings:
    """What directories mean to readers, which decode percent-escapes and fold nothing.

    A store that folds names keeps the name of a directory that stands. So ``Day=1`` is ``day=1``
    there, and ``Day=%31`` another directory, with a value of another column.
    """

    def __init__(self, fold: Callable[[str], str]) -> None:
        self._fold = fold
        self._standing: dict[str, str] = {}
        self._written: dict[str, dict[str, set[str]]] = {}

    def stands(self, name: str) -> None:
        """The file *name* stands, and so does its directory, by that name."""
        directory = name.rpartition("/")[0]
        self._standing[self._fold(directory)] = directory

    def writes(self, job_id: str, names: Iterable[str]) -> None:
        """A job writes files of these *names*."""
        written = self._written.setdefault(job_id, {})
        for directory in {name.rpartition("/")[0] for name in names}:
            written.setdefault(self._fold(directory), set()).add(directory)

    def are_alike(self, job_id: str, new: str, old: str) -> bool:
        """Whether *new*, a directory that a job writes to, has the value of *old*; both folded."""
        value = unquote(self._standing.get(old, old))
        written = self._written.get(job_id, {}).get(new, {new})
        return any(unquote(directory) == value for directory in written)
