"""Compression of files: fsspec's codecs, and Arrow's zstd and lz4 if fsspec has none."""

from collections.abc import Callable
from typing import Any, TypeAlias

from fsspec_commit.errors import RequestError

Compressor: TypeAlias = Callable[[Any], Any]
"""Wraps a binary file in one that compresses."""

_OF_ARROW = {"zstd": ".zst", "lz4": ".lz4"}


def compressor(name: str, compression: str | None) -> Compressor | None:
    """The compressor of the file *name*, if it is to be compressed.

    Args:
        name: The name of the file; its extension decides if *compression* is ``"infer"``.
        compression: The compression, as the caller gave it.

    Raises:
        RequestError: The compression is unknown, or needs a package that is not installed.
    """
    if compression is None:
        return None
    from fsspec.compression import compr  # noqa: PLC0415  # loads what is installed

    method: object = _inferred(name) if compression == "infer" else compression
    if method is None:
        return None
    if isinstance(method, str):
        if method in compr:
            codec = compr[method]
            return lambda raw: codec(raw, mode="wb")
        if method in _OF_ARROW:
            return _of_arrow(method)
    known = ", ".join(sorted({*filter(None, compr), *_OF_ARROW}))
    message = f"compression={method!r} is none of {known}"
    raise RequestError(message, kind="invalid_option", path=name)


def _inferred(name: str) -> str | None:
    from fsspec.utils import infer_compression  # noqa: PLC0415  # fsspec is slow to load

    found: str | None = infer_compression(name)
    by_arrow = (method for method, end in _OF_ARROW.items() if name.lower().endswith(end))
    return found or next(by_arrow, None)


def _of_arrow(method: str) -> Compressor:
    try:
        import pyarrow as pa  # noqa: PLC0415  # not everybody has it
    except ImportError:
        message = (
            f"compression={method!r} needs a package that is not installed: "
            "pip install 'fsspec-commit[arrow]'"
        )
        raise RequestError(message, kind="missing_package") from None
    return lambda raw: pa.CompressedOutputStream(pa.PythonFile(raw, mode="w"), method)
