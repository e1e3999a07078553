"""What an enemy makes of a record: other bytes, other values, another record, or none."""

from __future__ import annotations

import json
import operator
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping, Sequence
    from random import Random

Json: TypeAlias = Any

NAMES = (
    "..",
    ".",
    "",
    "/",
    "../x",
    "../../kept.txt",
    "../out2/kept.txt",
    "a/../../x",
    "/etc/passwd",
    "//host/x",
    "s3://other/x",
    "file:///x",
    "C:\\x",
    "..\\x",
    "a\\..\\..\\x",
    "%2e%2e/x",
    "%2E%2E%2Fx",
    "..%2fx",
    "a//b",
    "a/./b",
    "a/",
    "_commit",
    "_COMMIT/x",
    "_commit/x",
    "x/_commit/y",
    "_commit/../../x",
    "_SUCCESS",
    "_success/x",
    "_SUCCE\u017fS",
    "a\0b",
    "\0",
    "a\nb",
    "a\r\nb",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x9b31m",
    "a\x7fb",
    "evil\u202egnp.txt",
    "\u2066x",
    "\ufeffx",
    "a\u0301",
    "\u00e1",
    "A.TXT",
    "a.txt",
    "CON",
    "NUL.txt",
    "a.",
    "a ",
    "a:b",
    "a*?b",
    "x" * 256,
    "\u00e9" * 128,
    "d/" * 600 + "x",
    "\u0301" * 1000,
    "*",
    "{a,b}",
    "~",
    "~root",
    "$HOME",
    "`id`",
    "; rm -rf ~",
    "-rf",
    "--delete",
    "a'b",
    'a"b',
    "<script>alert(1)</script>",
    "magic",
    "manifest",
    "v1",
    "append",
    "overwrite",
    "committed",
    "aborted",
    "none",
)
"""Texts that mean something else to somebody."""

NUMBERS = (
    0,
    1,
    -1,
    2,
    7,
    1 << 31,
    (1 << 31) - 1,
    (1 << 63) - 1,
    1 << 63,
    1 << 64,
    10**30,
    -(1 << 63),
    1.0,
    0.5,
    -0.0,
    1e308,
)
RAW = (
    b"NaN",
    b"Infinity",
    b"-0",
    b"01",
    b"1e999",
    b"+1",
    b"0x10",
    b"1" * 400,
    b"1" * 5000,
    b'"\\ud800"',
    b'"\\u0000"',
    b'"\xff"',
    b'"\xed\xa0\x80"',
    b"[" * 3000,
    b'{"a":' * 3000,
    b"[" * 1500 + b"]" * 1500,
    b"null",
    b"true",
    b"{}",
    b"[]",
    b'""',
    b"[[]]",
    b'{"":0}',
    b"'",
)
"""What no encoder of ours writes."""
_HOLE = "a-hole-for-raw-bytes"


def changed_bytes(random: Random, data: bytes) -> bytes:
    """Some other bytes here or there."""
    return random.choice(_EDITS)(random, data)


def _cut(random: Random, data: bytes) -> tuple[bytes, bytes, bytes]:
    at = random.randrange(len(data) + 1)
    end = at + random.choice((1, 1, 2, 8, 64))
    return data[:at], data[at:end], data[end:]


def _flipped(random: Random, data: bytes) -> bytes:
    before, here, after = _cut(random, data)
    return before + bytes(one ^ 1 << random.randrange(8) for one in here[:1]) + here[1:] + after


def _inserted(random: Random, data: bytes) -> bytes:
    before, _, after = _cut(random, data)
    return before + random.choice((*RAW, random.randbytes(3), random.randbytes(16))) + after


def _twice(random: Random, data: bytes) -> bytes:
    before, here, after = _cut(random, data)
    return before + here * 2 + after


def _recoded(random: Random, data: bytes) -> bytes:
    codec = random.choice(("utf-16", "utf-32", "utf-8-sig"))
    return data.decode("utf-8", "replace").encode(codec)


_EDITS: tuple[Callable[[Random, bytes], bytes], ...] = (
    _flipped,
    _inserted,
    _twice,
    _recoded,
    lambda random, data: _cut(random, data)[0],
    lambda random, data: b"".join(_cut(random, data)[::2]),
    lambda random, data: data + random.choice((b"\n", b" ", b"\0", data, b"{}", b"\xff\xfe")),
    lambda random, _: random.choice((b"", b"\n", b"\0" * 99, random.randbytes(200), b"[" * 30_000)),
)


def changed_values(random: Random, data: bytes, strange: Sequence[Json]) -> bytes:
    """Another value, key, type, number or order in a JSON record, or in a line of a list."""
    lines = data.split(b"\n")
    number = random.randrange(len(lines))
    try:
        tree: Json = json.loads(lines[number])
    except (ValueError, RecursionError):
        return changed_bytes(random, data)
    raw = b""
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        places: list[tuple[Json, Json]] = []
        _walk(tree, places)
        if not places:
            return changed_bytes(random, data)
        holder, key = random.choice(places)
        raw = _change(random, holder, key, strange) or raw
    lines[number] = compact(tree).replace(f'"{_HOLE}"'.encode(), raw)
    return b"\n".join(lines)


def compact(tree: Json) -> bytes:
    """As records are written."""
    text = json.dumps(tree, separators=(",", ":"), ensure_ascii=False)
    return text.encode(errors="surrogatepass")


def _walk(tree: Json, places: list[tuple[Json, Json]]) -> None:
    if isinstance(tree, dict | list):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            places.append((tree, key))
            _walk(tree[key], places)


def _change(random: Random, holder: Json, key: Json, strange: Sequence[Json]) -> bytes:
    """Change one thing; return the raw bytes for a hole, if one was left."""
    if random.randrange(12) == 0:
        holder[key] = _HOLE
        return random.choice(RAW)
    random.choice(_CHANGES)(random, holder, key, strange)
    return b""


def _counted(random: Random, holder: Json, key: Json, _: Sequence[Json]) -> None:
    if isinstance(holder[key], int):
        holder[key] += random.choice((-1, 1, 1 << 40))
    else:
        holder[key] = random.choice(NUMBERS)


def _retyped(random: Random, holder: Json, key: Json, _: Sequence[Json]) -> None:
    value = holder[key]
    holder[key] = random.choice((None, True, False, [], {}, [value], {"a": value}, str(value)))


def _renamed(random: Random, holder: Json, key: Json, _: Sequence[Json]) -> None:
    if isinstance(holder, dict):
        holder[random.choice((*NAMES, "extra", key.upper(), key + "\n"))] = holder.pop(key)
    else:
        holder.append(holder[key])


def _respelt(random: Random, holder: Json, key: Json, _: Sequence[Json]) -> None:
    text = str(holder[key])
    holder[key] = random.choice((f"{text}\n", text.upper(), text[1:], text * 2, f" {text}"))


def _reordered(random: Random, holder: Json, _key: Json, _: Sequence[Json]) -> None:
    if isinstance(holder, dict):
        items = random.sample([*holder.items()], len(holder))
        holder.clear()
        holder.update(items)
    else:
        random.shuffle(holder)


def _dated(random: Random, holder: Json, key: Json, _: Sequence[Json]) -> None:
    later = {"version": 2, "format": "fsspec_commit.Later", "type": "x.TaskManifest/2"}
    named = [one for one in later if one in holder] if isinstance(holder, dict) else []
    one = random.choice(named) if named else key
    holder[one] = random.choice((0, 99, later.get(str(one))))


_CHANGES: tuple[Callable[[Random, Json, Json, Sequence[Json]], object], ...] = (
    *(_counted, _retyped, _renamed, _respelt, _reordered, _dated),
    lambda _random, holder, key, _: holder.pop(key),
    lambda random, holder, key, _: operator.setitem(holder, key, random.choice(NUMBERS)),
    lambda random, holder, key, _: operator.setitem(holder, key, random.choice(NAMES)),
    lambda random, holder, key, _: operator.setitem(holder, key, random.choice(NAMES)),
    lambda random, holder, key, more: operator.setitem(holder, key, random.choice(more)),
)


def sealed(
    read: Callable[[str], bytes],
    write: Callable[[str, bytes], None],
    paths: Sequence[str],
    changed: str,
    data: bytes,
) -> dict[str, str]:
    """Write *data* to *changed*, and its digest wherever the old one is, as a clever enemy would.

    Returns:
        The new digests, by the old ones.
    """
    digests: dict[str, str] = {}
    waiting: MutableMapping[str, bytes] = {changed: data}
    for _ in range(len(paths) + 1):
        if not waiting:
            break
        path, new = waiting.popitem()
        before, after = (sha256(one).hexdigest() for one in (read(path), new))
        write(path, new)
        digests[before] = after
        for other in paths:
            there = read(other)
            if before.encode() in there and other != path:
                waiting[other] = there.replace(before.encode(), after.encode())
    return digests
