"""The address of an upload, which whoever has it may write to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.stores.gcs.answers import error, said
from tests.unit.stores.gcs.verbs import CHUNK_BYTES, write
from tests.unit.stores.responder import CLOSED, Answer
from tests.unit.stores.scripted import all_that_shows
from tests.unit.stores.verbs import PATH, ROOT

if TYPE_CHECKING:
    from tests.unit.stores.gcs.scripted import ScriptedGcs


ADDRESS = "planted-upload-id"


@pytest.mark.parametrize(
    "answer",
    [error(503, "backendError", message=ADDRESS), error(404, "notFound", message=ADDRESS), CLOSED],
    ids=["unavailable", "gone", "closed"],
)
def test_the_address_of_an_upload_is_a_secret(
    gcs: ScriptedGcs, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever has it may write the object."""
    caplog.set_level("DEBUG", "fsspec_commit")
    store = gcs.open()
    location = f"{gcs.url}/upload/storage/v1/b/bucket/o?upload_id={ADDRESS}"
    gcs.script(Answer(200, headers={"Location": location}), answer)
    caught = gcs.failure_of(write(store, bytes(CHUNK_BYTES + 1)))
    assert ADDRESS in gcs.received[1].target
    assert caught.__context__ is None
    assert ADDRESS not in all_that_shows(caught)
    assert ADDRESS not in caplog.text


def test_a_writer_shows_no_address(gcs: ScriptedGcs) -> None:
    gcs.script(
        Answer(200, headers={"Location": f"{gcs.url}/upload?upload_id={ADDRESS}"}),
        Answer(308, headers={"Range": f"bytes=0-{CHUNK_BYTES - 1}"}),
        said({}),
    )
    writer = gcs.open().writer(PATH, within=ROOT)
    gcs.run(writer.write(bytes(CHUNK_BYTES + 1)))
    assert ADDRESS not in repr(writer) + repr(vars(writer))
    gcs.run(writer.discard())
