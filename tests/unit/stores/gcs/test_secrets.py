"""No secret reaches an exception, a log, a repr or a pickle, whatever the server sends back."""

from __future__ import annotations

import pickle
import traceback
from typing import TYPE_CHECKING

import pytest

from tests.unit.stores.gcs.answers import error, said
from tests.unit.stores.gcs.verbs import CHUNK_BYTES, PATH, ROOT, VERBS, failure_of, write
from tests.unit.stores.s3.responder import CLOSED, Answer, Received, Responder

if TYPE_CHECKING:
    import asyncio

    from fsspec_commit.errors import StoreError
    from tests.unit.stores.gcs.conftest import Opening

TOKEN, ADDRESS = "planted-token", "planted-upload-id"
SECRETS = (TOKEN, ADDRESS)


def shown(caught: StoreError) -> str:
    """All that can be seen of an exception and of what led to it."""
    text = "".join(traceback.format_exception(caught)) + repr(caught) + str(vars(caught))
    text += repr(pickle.loads(pickle.dumps(caught))) + pickle.dumps(caught).decode("latin-1")
    chain: BaseException | None = caught
    while chain is not None:
        text += repr(chain) + str(vars(chain))
        chain = chain.__cause__ or chain.__context__
    return text


@pytest.mark.parametrize("verb", VERBS)
def test_no_secret_is_ever_told(
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    verb: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not even by a server that sends back all it was sent."""
    caplog.set_level("DEBUG", "fsspec_commit")
    store = opening()

    def echo(request: Received) -> Answer:
        told = " ".join([*SECRETS, request.target, *map(str, request.headers.items())])
        return error(403, "forbidden", {"X-GUploader-UploadID": ADDRESS}, message=told)

    def echo_as_reason(_: Received) -> Answer:
        return error(400, f"bad {TOKEN}" + "!" * 80)

    for answering in (echo, echo_as_reason, lambda _: CLOSED):
        responder.answering = answering
        caught = runner.run(failure_of(VERBS[verb][0](store)))
        for secret in SECRETS:
            assert secret not in shown(caught)
            assert secret not in caplog.text
    for secret in SECRETS:
        assert secret not in repr(store)


@pytest.mark.parametrize(
    "answer",
    [error(503, "backendError", message=ADDRESS), error(404, "notFound", message=ADDRESS), CLOSED],
    ids=["unavailable", "gone", "closed"],
)
def test_the_address_of_an_upload_is_a_secret(
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    answer: Answer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whoever has it may write the object."""
    caplog.set_level("DEBUG", "fsspec_commit")
    store = opening()
    location = f"{responder.url}/upload/storage/v1/b/bucket/o?upload_id={ADDRESS}"
    responder.script(Answer(200, headers={"Location": location}), answer)
    caught = runner.run(failure_of(write(store, bytes(CHUNK_BYTES + 1))))
    assert ADDRESS in responder.received[1].target
    assert ADDRESS not in shown(caught)
    assert ADDRESS not in caplog.text


def test_a_writer_shows_no_address(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    responder.script(
        Answer(200, headers={"Location": f"{responder.url}/upload?upload_id={ADDRESS}"}),
        Answer(308, headers={"Range": f"bytes=0-{CHUNK_BYTES - 1}"}),
        said({}),
    )
    writer = opening().writer(PATH, within=ROOT)
    runner.run(writer.write(bytes(CHUNK_BYTES + 1)))
    assert ADDRESS not in repr(writer) + repr(vars(writer))
    runner.run(writer.discard())
