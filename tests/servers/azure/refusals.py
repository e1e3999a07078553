"""What tests ask of an account through the SDK: which refusal, and what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from azure.core.exceptions import HttpResponseError

if TYPE_CHECKING:
    from tests.servers.azure.plugin import AzureContainer


def code_of(failed: HttpResponseError) -> str:
    code = getattr(failed, "error_code", None)
    return str(getattr(code, "value", code))


def refusal(call: Any, *arguments: Any, **options: Any) -> tuple[int | None, str]:
    """Status and code of what the call is answered."""
    with pytest.raises(HttpResponseError) as caught:
        call(*arguments, **options)
    return caught.value.status_code, code_of(caught.value)


def refused(status: int, code: str, call: Any, *arguments: Any, **options: Any) -> None:
    assert refusal(call, *arguments, **options) == (status, code)


def names(container: AzureContainer, path: str | None = None, **options: Any) -> list[str]:
    return [found.name for found in container.dfs_client.get_paths(path, **options)]
