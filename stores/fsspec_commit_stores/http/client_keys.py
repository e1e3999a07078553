"""The key by which a client is known: another one wherever anything it was made from differs."""

import os
import re
import stat
from collections.abc import Iterable, Mapping
from hashlib import blake2b

_SECRET = os.urandom(32)
"""Of this process: without it nobody finds out what a key was made from, even by trying."""
_PLAIN = (bool, bytes, float, int, str, type(None))
_SEQUENCES = (list, tuple)
_PATH_BYTES_MAX = 4096
_PATH = re.compile(
    r"(?:/|\.\.?/|~/|\$\w+/|\$\{\w+\}/).*"
    r"|.*\.(?:cert?|cfg|conf|crt|ini|json|key|p12|pem|pfx|toml|txt|ya?ml)",
    re.DOTALL,
)
_NAMES_OF_PATHS = ("BUNDLE", "CERT", "CONFIG", "CREDENTIALS", "FILE", "PATH")


def key_of(
    *made_from: object, options: Mapping[str, object], files: Iterable[str] = ()
) -> bytes | None:
    """The key of a client; ``None`` where it cannot be known whether another would be the same.

    Every variable of the environment counts, and the state of each file that is named by one of
    them, by an option, or in *files*: any of them may decide on the credentials. A path is read as
    SDKs read it: from the working directory, with `~` and variables in it. The key does not reveal
    what it is made from, and no file is looked up by a text that is not a path.

    Args:
        made_from: Which client it is, in plain values.
        options: The user's options. Whether a value that is not plain, such as the user's own
            session, is still the same cannot be known.
        files: Where the client looks by itself; for a directory, all files directly in it.
    """
    text = _text([*made_from, options])
    if text is None:
        return None
    # Not `items()`, which fails where another thread takes away a variable meanwhile.
    environment = sorted((name, os.environ.get(name, "")) for name in list(os.environ))
    named = {*_paths("", options), *_paths("", dict(environment))}
    states = [_state(path) for path in sorted(named)] + [_states(path) for path in files]
    whole = repr((text, environment, states)).encode("utf-8", "surrogateescape")
    return blake2b(whole, key=_SECRET).digest()


def own(options: Mapping[str, object]) -> dict[str, object]:
    """A copy of *options*, for which there is a key, that nobody else changes."""
    return {name: _own(value) for name, value in options.items()}


def _own(value: object) -> object:
    if isinstance(value, Mapping):
        return own(value)
    if isinstance(value, list | tuple):
        return type(value)(_own(one) for one in value)
    return value


def _text(value: object) -> str | None:
    """A text that no other value has; ``None`` for a value that is not plain."""
    if type(value) in _PLAIN:
        return repr(value)
    if isinstance(value, Mapping):
        pairs = sorted(value.items(), key=lambda pair: repr(pair[0]))
        texts, kind = [_text([name, held]) for name, held in pairs], "mapping"
    elif isinstance(value, list | tuple) and type(value) in _SEQUENCES:
        texts, kind = [_text(one) for one in value], type(value).__name__
    else:
        return None
    known = [text for text in texts if text is not None]
    return f"{kind}({', '.join(known)})" if len(known) == len(texts) else None


def _paths(name: str, value: object) -> Iterable[str]:
    """Every text in *value*, which is called *name*, that says that it is a path.

    Any other may be a secret: the working directory may be on a server, which would be asked for
    a file of that name, and somebody may watch which missing files are asked for.
    """
    if isinstance(value, str):
        says_so = _PATH.fullmatch(value) or name.upper().endswith(_NAMES_OF_PATHS)
        if says_so and 0 < len(value) < _PATH_BYTES_MAX:
            yield value
    elif isinstance(value, Mapping):
        for called, held in value.items():
            yield from _paths(str(called), held)
    elif isinstance(value, list | tuple):
        for held in value:
            yield from _paths(name, held)


def _states(path: str) -> list[tuple[object, ...] | None]:
    """The state of *path* and, if that is a directory, of all that stands directly in it."""
    path = _expanded(path)
    try:
        within = sorted(os.listdir(path))  # noqa: PTH208  # text in, text out
    except (OSError, ValueError):
        within = []
    return [_state(one) for one in (path, *(f"{path}/{name}" for name in within))]


def _state(path: str) -> tuple[object, ...] | None:
    """Which content stands at *path*, if that is a file."""
    try:
        status = os.stat(_expanded(path))  # noqa: PTH116  # text in, text out
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    # Only the ctime shows that a file was written anew where somebody has set back its mtime.
    times = status.st_mtime_ns, status.st_ctime_ns
    return path, status.st_dev, status.st_ino, status.st_size, *times


def _expanded(path: str) -> str:
    return os.path.expanduser(os.path.expandvars(path))  # noqa: PTH111  # text in, text out
