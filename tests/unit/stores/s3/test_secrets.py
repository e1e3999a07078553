"""What an error of the options shows of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import RequestError

if TYPE_CHECKING:
    from tests.unit.stores.s3.scripted import ScriptedS3

SECRET = "planted-secret"


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("aws_access_key_id", "key="),
        ("AWS_ENDPOINT_URL", "endpoint_url="),
        ("secret_key", "secret="),
    ],
)
def test_an_option_of_another_library_is_translated(s3: ScriptedS3, name: str, own: str) -> None:
    """And its value, a key maybe, is not repeated."""
    options: dict[str, Any] = {name: SECRET}
    says = f"not one of s3fs's .*{name}'; {name} is {own} there"
    with pytest.raises(RequestError, match=says) as caught:
        s3.open(**options)
    assert SECRET not in str(caught.value)
