"""JSON of a form that a class describes, decoded on any number of threads."""

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

    msgspec looks at a class when it is first asked for, and other threads find it half looked at:
    two that decode a class for the first time at one moment crash the process (msgspec 0.22, one
    time in five with four threads). So classes are looked at one after the other.

    Raises:
        msgspec.MsgspecError: It is not JSON, or not of this form.
        UnicodeDecodeError: It is not UTF-8.
        RecursionError: It is too deep.
    """
    decoder = _decoders.get(form)
    if decoder is None:
        with _making:
            decoder = _decoders.setdefault(form, msgspec.json.Decoder(form))
    decoded: T = decoder.decode(data)
    return decoded
