"""What a message says of where an answer pointed: the host, and nothing that may be secret."""

from __future__ import annotations

import pytest

from fsspec_commit_stores.http.redirections import is_redirection, origin_of, why_redirected


@pytest.mark.parametrize(
    ("location", "origin"),
    [
        ("https://login.corp/sso?to=planted", "https://login.corp"),
        ("http://me:planted@Host:8080/planted#planted", "http://host:8080"),
        ("http://[::1]:9000/planted", "http://[::1]:9000"),
        ("/planted?planted", ""),
        ("//host/planted", ""),
        ("ftp://host/planted", ""),
        ("http://host:planted/", ""),
        ("http://[planted/", ""),
        ("http://pl\x1b[31manted/", ""),
        ("", ""),
    ],
)
def test_it_is_the_host_alone(location: str, origin: str) -> None:
    assert origin_of(location) == origin


def test_in_words() -> None:
    assert why_redirected(307, "https://h") == (
        "it was answered by a redirection to https://h (HTTP 307), which is not followed"
    )
    assert "redirection (HTTP 302)" in why_redirected(302, "")
    assert [status for status in (200, 299, 300, 399, 400) if is_redirection(status)] == [300, 399]
