"""Checksums of what is sent, which the store compares and keeps."""

import zlib
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

CRC32 = "CRC32"

_BYTES_MAX = 8 << 20
_ENCRYPTED_BYTES_MAX = 1 << 20


def calculated_bytes_max(endpoint: str) -> int:
    """Up to which length a body's CRC-32 is calculated here, for requests to *endpoint*.

    Where it is, botocore signs the body as well; of one that it sends encrypted, with a checksum of
    its own in the end, it does not. For a megabyte that costs half a millisecond, or two where the
    processor knows nothing of SHA-256, and all else that is saved here is not much more.
    """
    return _ENCRYPTED_BYTES_MAX if endpoint.startswith("https:") else _BYTES_MAX


def with_crc32(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """*parameters* with the CRC-32 of their body, instead of the wish to have one calculated.

    What botocore calculates differs from request to request unseen (see `templates`).
    """
    told = dict(parameters)
    told.pop("ChecksumAlgorithm", None)
    told["ChecksumCRC32"] = b64encode(zlib.crc32(told["Body"]).to_bytes(4)).decode()
    return told
