"""Text in a destination that should have been replaced before, by a shell or another system.

fsspec takes everything literally and would make a directory called ``$HOME`` or ``*`` in the
working directory. That is never meant; but such a path is accepted if it exists.
"""

import os
import os.path
import re

from fsspec_commit.errors import RequestError

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_OF_WINDOWS = re.compile(r"[A-Za-z]:[\\/]")
_OWN_DIRECTORIES = frozenset({"", ".", "..", "~"})


def refuse_unexpanded(url: str, path: str) -> None:
    """Refuse text that cannot be meant as a path on a disk of this machine.

    Args:
        url: The destination as the caller gave it.
        path: *url* without its protocol; ``~`` stands for the user's home.

    Raises:
        RequestError: *path* names another machine, a variable, the home of an unknown user, or a
            drive.
    """
    first = path.partition("/")[0]
    if path != url and first not in _OWN_DIRECTORIES:
        raise _refusal(
            url,
            f"a file URL names a host before the path, and {first!r} is not this machine: write "
            "file:///… for an absolute path, or a relative one without file://",
        )
    missing = _missing_part(path)
    if missing == path and first.startswith("~") and os.path.expanduser(path) == path:  # noqa: PTH111  # text in
        raise _refusal(url, f"no user is called {first[1:]!r}; write ./{first} for a directory")
    variable = _VARIABLE.search(missing)
    if variable is not None and (variable[1] or variable[2]) in os.environ:
        name = variable[1] or variable[2]
        raise _refusal(
            url,
            f"{variable[0]!r} is a variable that nobody has expanded: Python takes it literally, "
            f"and so does a shell in single quotes; use os.environ[{name!r}] or double quotes",
        )
    if missing == path and _OF_WINDOWS.match(path):
        raise _refusal(
            url,
            "it is a path of Windows, and this machine has no drives: write it as it is called "
            f"here, or './{path[:2]}…' for a directory of that name",
        )


def refuse_pattern(url: str, path: str) -> None:
    """Refuse a pattern: readers list what it matches, but a writer needs one directory.

    Raises:
        RequestError: There is a star in it, and not in the part that exists on a disk.
    """
    if "*" in _missing_part(path):
        raise _refusal(url, "it is a pattern, and a destination is one directory: name that")


def _missing_part(path: str) -> str:
    """The part of *path* that does not exist yet; existing directories may have any name."""
    existing = path
    while existing and not os.path.lexists(existing):
        existing = os.path.dirname(existing) if existing.strip("/") else ""  # noqa: PTH120
    return path[len(existing) :].lstrip("/") if existing else path


def _refusal(url: str, why: str) -> RequestError:
    return RequestError(f"cannot open {url!r}: {why}", kind="invalid_url", path=url)
