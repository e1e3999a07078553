"""Packages that only some ways to write from Spark need."""

from typing import Any

from fsspec_commit.errors import RequestError


def pyarrow() -> Any:
    """The module ``pyarrow``.

    Raises:
        RequestError: It is not installed.
    """
    try:
        import pyarrow as pa
    except ModuleNotFoundError as error:
        message = (
            "writing from Spark without the jar needs pyarrow, here and on every executor: "
            "pip install 'fsspec-commit[spark]'"
        )
        raise RequestError(message, kind="missing_package") from error
    return pa
