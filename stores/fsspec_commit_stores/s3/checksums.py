"""Checksums of what is sent, which the store compares and keeps."""

import zlib
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

CRC32 = "CRC32"

_BYTES_MAX = 8 << 20
_ENCRYPTED_BYTES_MAX = 1 << 20


def calculated_bytes_max(endpoint: str) -> int:
    """The length up to which a body's CRC-32 is calculated here, for requests to *endpoint*.

    Where it is, botocore signs the body as well; a body that it sends encrypted, with its own
    checksum at the end, it does not sign. To sign a megabyte costs half a millisecond, or two where
    the processor has nothing for SHA-256, and all else that is saved here is not much more.
    """
    return _ENCRYPTED_BYTES_MAX if endpoint.startswith("https:") else _BYTES_MAX


def with_crc32(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """*parameters* with the CRC-32 of their body, instead of the request to have one calculated.

    One that botocore calculates differs from request to request, unseen by `templates`.
    """
    told = dict(parameters)
    told.pop("ChecksumAlgorithm", None)
    told["ChecksumCRC32"] = b64encode(zlib.crc32(told["Body"]).to_bytes(4)).decode()
    return told
