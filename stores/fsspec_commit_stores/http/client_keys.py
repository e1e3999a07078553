"""By what a client is known: another key wherever anything differs that it was made from."""

import os
import stat
from collections.abc import Iterable, Mapping
from hashlib import blake2b

_SECRET = os.urandom(32)
"""Of this process: without it nobody finds out what a key was made from, also by trying."""
_PLAIN = (bool, bytes, float, int, str, type(None))
_PATH_BYTES_MAX = 4096


def key_of(
    *made_from: object, options: Mapping[str, object], files: Iterable[str] = ()
) -> bytes | None:
    """The key of a client; ``None`` where it cannot be known whether another would be the same.

    Every variable of the environment counts, and the state of each file that is named by one of
    them, by an option, or in *files*: any of them may say who asks. What the key is made from
    cannot be told from it.

    Args:
        made_from: Which client it is, in plain values.
        options: The user's options. Of what is not plain, such as a session of his own, nobody
            knows whether it is still the same.
        files: Where the client looks by itself.
    """
    text = _text([*made_from, options])
    if text is None:
        return None
    environment = sorted(os.environ.items())
    named = {*files, *_texts(options), *(text for _, text in environment if text.startswith("/"))}
    states = [state for path in sorted(named) if (state := _state(path)) is not None]
    whole = repr((text, environment, states)).encode("utf-8", "surrogateescape")
    return blake2b(whole, key=_SECRET).digest()


def _text(value: object) -> str | None:
    """A text that no other value has; ``None`` of one that is not plain."""
    if type(value) in _PLAIN:
        return repr(value)
    if isinstance(value, Mapping):
        pairs = sorted(value.items(), key=lambda pair: repr(pair[0]))
        texts, kind = [_text([name, held]) for name, held in pairs], "mapping"
    elif isinstance(value, list | tuple):
        texts, kind = [_text(one) for one in value], type(value).__name__
    else:
        return None
    known = [text for text in texts if text is not None]
    return f"{kind}({', '.join(known)})" if len(known) == len(texts) else None


def _texts(value: object) -> Iterable[str]:
    """Every text in *value* that could be a path."""
    if isinstance(value, str):
        if 0 < len(value) < _PATH_BYTES_MAX:
            yield value
    elif isinstance(value, Mapping):
        for held in value.values():
            yield from _texts(held)
    elif isinstance(value, list | tuple):
        for held in value:
            yield from _texts(held)


def _state(path: str) -> tuple[str, int, int, int] | None:
    """Which content stands at *path*, if that is a file."""
    try:
        status = os.stat(os.path.expanduser(path))  # noqa: PTH111, PTH116  # text in, text out
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return path, status.st_ino, status.st_mtime_ns, status.st_size
