"""No secret reaches an exception, a log, a repr or a pickle, whatever the server sends back."""

from __future__ import annotations

import copyreg
from typing import TYPE_CHECKING, Any

import pytest
from tblib import pickling_support  # type: ignore[import-untyped]  # has no types

from tests.unit.stores.clouds import every_verb
from tests.unit.stores.responder import CLOSED
from tests.unit.stores.scripted import all_that_shows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.unit.stores.scripted import Scripted
    from tests.unit.stores.verbs import Verb


@pytest.fixture(params=["plain pickles", "pickles of Dask"])
def _how_exceptions_are_pickled(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whoever imports Dask has all exceptions pickled with their contexts from then on."""
    before = dict(copyreg.dispatch_table)
    if request.param == "pickles of Dask":
        pickling_support.install()
    yield
    copyreg.dispatch_table.clear()
    copyreg.dispatch_table.update(before)


@pytest.mark.usefixtures("_how_exceptions_are_pickled")
@every_verb
def test_no_secret_is_ever_told(
    cloud: Scripted[Any], verb: Verb, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even by a server that sends back all it was sent."""
    caplog.set_level("DEBUG", cloud.logger)
    for options in cloud.secret_options():
        store = cloud.open(**options)
        for answering in (
            lambda request: cloud.indiscreet(request)[0],
            lambda request: cloud.indiscreet(request)[1],
            lambda _: CLOSED,
        ):
            cloud.answering = answering
            caught = cloud.failure_of(verb.call(store))
            assert caught.__cause__ is None
            assert caught.__context__ is None or caught.__suppress_context__
            for secret in cloud.secrets:
                assert secret not in all_that_shows(caught)
                assert secret not in caplog.text
        for secret in cloud.secrets:
            assert secret not in repr(store)
