"""Decoding of JSON into classes, on any number of threads."""

import os
from threading import Lock
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_making = Lock()
# A child that is forked while another thread makes a decoder must be able to make its own.
os.register_at_fork(
    before=_making.acquire, after_in_parent=_making.release, after_in_child=_making.release
)


def decode_json(data: bytes | bytearray | memoryview, form: type[T]) -> T:
    """Decode *data* into *form*.

    msgspec inspects a class on its first use, and that is not thread-safe: two threads that first
    decode a class at the same time can crash the process (msgspec 0.22, one time in five with four
    threads). So classes are inspected one after the other.

    Raises:
        msgspec.MsgspecError: *data* is not JSON, or does not fit *form*.
        UnicodeDecodeError: *data* is not UTF-8.
        RecursionError: *data* is nested too deeply.
    """
    decoder = _decoders.get(form)
    if decoder is None:
        with _making:
            decoder = _decoders.setdefault(form, msgspec.json.Decoder(form))
    decoded: T = decoder.decode(data)
    return decoded
