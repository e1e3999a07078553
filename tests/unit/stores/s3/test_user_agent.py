"""Who a request says that it comes from."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.stores.s3.verbs import CHANGES, failure_of

if TYPE_CHECKING:
    import asyncio

    from tests.unit.stores.s3.conftest import Opening
    from tests.unit.stores.s3.responder import Responder


@pytest.fixture
def sender(runner: asyncio.Runner, responder: Responder, opening: Opening) -> Any:
    """What the header says when a store is opened with options."""

    def of(**options: Any) -> str:
        runner.run(failure_of(CHANGES["put"][0](opening(**options))))
        said: str = responder.received[-1].headers["user-agent"]
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
