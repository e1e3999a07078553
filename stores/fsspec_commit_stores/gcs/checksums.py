"""Checksums of what is sent, in the form in which the service reports those of what it keeps.

CRC32C, which every object has, by the library that google-cloud-storage, and so gcsfs, brings; and
MD5 where that library has not been compiled, and would be slower than any network.

https://cloud.google.com/storage/docs/data-validation
"""

import base64
import hashlib
from functools import partial
from typing import Any

import google_crc32c

from fsspec_commit_stores.http.pieces import Pieces

_IS_COMPILED = google_crc32c.implementation != "python"

CHECKSUM = "crc32c" if _IS_COMPILED else "md5Hash"
"""The field of an object's resource that holds its checksum."""


_md5 = partial(hashlib.md5, usedforsecurity=False)


class Checksum:
    """The checksum of a content that comes piece by piece."""

    def __init__(self) -> None:
        new: Any = google_crc32c.Checksum if _IS_COMPILED else _md5
        self._sum = new()

    def update(self, data: bytes | Pieces) -> None:
        """Add the bytes that follow."""
        _add(self._sum, data)

    def with_rest(self, rest: bytes | Pieces) -> str:
        """The checksum of everything added and *rest*, in the service's form."""
        whole = self._sum.copy()
        _add(whole, rest)
        return base64.b64encode(whole.digest()).decode()


def _add(to: Any, data: bytes | Pieces) -> None:
    for piece in data if isinstance(data, Pieces) else (data,):
        to.update(bytes(piece))  # Does not copy what is bytes; the library takes nothing else.


def checksum_of(data: bytes | Pieces) -> str:
    """The checksum of a whole content, as the service writes it."""
    return Checksum().with_rest(data)
