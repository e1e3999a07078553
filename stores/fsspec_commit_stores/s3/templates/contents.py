"""Contents of objects, which are read when somebody wants them, as botocore hands them out."""

import zlib
from base64 import b64encode
from typing import Any

import aiobotocore.response
import aiohttp
from botocore.exceptions import FlexibleChecksumError

CHECKSUM = "x-amz-checksum-"
_CRC32 = "x-amz-checksum-crc32"
_TYPE = "x-amz-checksum-type"
# By both its names.
_STREAM: Any = getattr(
    aiobotocore.response,
    "AioStreamingBody",
    getattr(aiobotocore.response, "StreamingBody", None),
)


class Content:
    """The content of one object."""

    def __init__(self, stream: Any, crc32: str | None) -> None:
        self._stream = stream
        self._crc32 = crc32

    async def read(self) -> bytes:
        """All of it.

        Raises:
            Exception: What aiobotocore's own stream raises; it is not the announced content.
        """
        data: bytes = await self._stream.read()
        if self._crc32 is not None:
            found = b64encode(zlib.crc32(data).to_bytes(4)).decode()
            if found != self._crc32:
                told = f"Expected checksum {self._crc32} did not match calculated checksum: {found}"
                raise FlexibleChecksumError(error_msg=told)
        return data

    def close(self) -> None:
        """Read no more of it."""
        self._stream.close()


def content_of(
    answer: aiohttp.ClientResponse, told: dict[str, Any], *, is_compared: bool
) -> Content | None:
    """The content of *answer*; ``None`` where only botocore may know how to check it.

    Args:
        answer: The answer.
        told: What its headers say.
        is_compared: Whether a checksum was asked for.
    """
    headers = told["ResponseMetadata"]["HTTPHeaders"]
    sums = {name for name in headers if name.startswith(CHECKSUM) and name != _TYPE}
    if _STREAM is None or (is_compared and not sums <= {_CRC32}):
        return None
    # If there were several parts, it is that of their checksums, which nobody can compare.
    crc32 = headers.get(_CRC32, "-")
    is_whole = is_compared and "-" not in crc32
    stream = _STREAM(answer, headers.get("content-length"))
    return Content(stream, crc32 if is_whole else None)
