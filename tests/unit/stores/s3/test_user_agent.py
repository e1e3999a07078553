"""Who a request says that it comes from."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit_stores.s3 import user_agent
from tests.unit.stores.verbs import put

if TYPE_CHECKING:
    from tests.unit.stores.s3.scripted import ScriptedS3


@pytest.fixture
def sender(s3: ScriptedS3) -> Any:
    """What the header says when a store is opened with options."""

    def of(**options: Any) -> str:
        s3.failure_of(put(s3.open(**options)))
        said: str = s3.received[-1].headers["user-agent"]
        return said

    return of


def test_every_request_names_the_package_and_its_sdk_once(
    sender: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EXECUTION_ENV", "AWS_ECS_FARGATE")
    first, *rest = sender().split()
    assert first == f"fsspec-commit/{version('fsspec-commit')}"
    assert {
        f"aiobotocore/{version('aiobotocore')}",
        f"botocore/{version('botocore')}",
        "exec-env/AWS_ECS_FARGATE",
    } <= set(rest)
    assert len(rest) == len(set(rest))


def test_what_no_header_holds_is_left_out(sender: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line break in the environment made every request fail before it was sent."""
    monkeypatch.setenv("AWS_EXECUTION_ENV", "B\u00fcro\n1")
    assert " exec-env/B-ro-1 " in f"{sender()} "


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"user_agent": "mine/1"}, "mine/1 botocore/"),
        ({"user_agent_extra": "extra/1"}, " extra/1"),
        ({"user_agent_appid": "my-app"}, " app/my-app"),
    ],
    ids=str,
)
def test_the_users_own_words_are_said(sender: Any, config: dict[str, str], says: str) -> None:
    assert says in sender(config_kwargs=config)


def test_an_application_that_the_environment_names_is_said(
    sender: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SDK_UA_APP_ID", "my-app")
    assert " app/my-app" in sender()


def test_a_copy_that_was_not_installed_is_named_without_its_version(
    sender: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As what is sent to a cluster; no store could be opened, as if for its credentials."""

    def of(_: str) -> str:
        raise PackageNotFoundError

    monkeypatch.setattr(user_agent, "version", of)
    user_agent._ourselves.cache_clear()
    try:
        assert sender().startswith("fsspec-commit aiobotocore/")
    finally:
        user_agent._ourselves.cache_clear()
