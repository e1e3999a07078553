"""Answers with long documents, such as pages of listings, read once and not twice by botocore.

botocore parses each answer to see whether a success is an error in disguise, parses it again, and
looks up each field: two thirds of the CPU that a page of a thousand files takes. For an answer that
is plainly a page, all three are spared. botocore makes and sends the request all the same, does
afterwards what it does after reading an answer itself, and still reads what is not plainly a page.

Its event ``before-parse`` is for that: what a handler of it has read is part of the answer, and of
an empty document botocore reads nothing.
"""

import logging
from http import HTTPStatus
from typing import Any

from fsspec_commit_stores.http.documents import xml_root
from fsspec_commit_stores.s3.documents import Structure, UndescribedError, name_of
from fsspec_commit_stores.s3.operations import OPERATIONS
from fsspec_commit_stores.s3.provenance import note_form
from fsspec_commit_stores.s3.templates.handlers import Handlers

LONG = ("list_multipart_uploads", "list_object_versions", "list_objects_v2", "list_parts")
"""Methods that are answered with up to a thousand of something."""
# A handler for any service is called before those for S3, one of which parses the body.
_EVENT = "before-parse.*"
_ENCODING = "utf-8"
_log = logging.getLogger("fsspec_commit")


class LongAnswers:
    """Reads the long answers to one client."""

    def __init__(self, model: Any, handlers: Handlers) -> None:
        """Read what *model*, the service's own description, describes.

        Args:
            model: botocore's.
            handlers: Of the client: where others want to be told of an answer, botocore reads it.
        """
        self._handlers = handlers
        self._watched: dict[str, bool] = {}
        self._documents: dict[str, tuple[tuple[str, ...], Structure]] = {}
        for method in LONG:
            operation = OPERATIONS[method]
            try:
                structure = Structure(model.operation_model(operation.name).output_shape)
            except UndescribedError as error:
                _declined(operation.name, str(error))
            else:
                self._documents[operation.name] = operation.documents, structure

    def note(
        self,
        operation_model: Any,
        response_dict: dict[str, Any],
        customized_response_dict: dict[str, Any],
        **_: Any,
    ) -> None:
        """Read an answer in botocore's place if it is plainly a success.

        For its event ``before-parse``.
        """
        found = self._documents.get(operation_model.name)
        if found is None or response_dict["status_code"] != HTTPStatus.OK:
            return
        if self._are_watched(operation_model.name):
            return
        try:
            told = _read(response_dict["body"], *found)
        except Exception as error:  # noqa: BLE001  # of any class: botocore will say it again
            _declined(operation_model.name, f"one is not as described ({type(error).__name__})")
            return
        if told is None:
            _declined(operation_model.name, "one is no document of theirs")
            return
        note_form(response_dict, customized_response_dict)
        customized_response_dict.update(told)
        response_dict["body"] = b""

    def _are_watched(self, operation: str) -> bool:
        """Whether others want to be told of answers to *operation*, or change them."""
        if self._handlers.have_changed():
            self._watched.clear()
        if operation not in self._watched:
            stranger = self._handlers.stranger(operation)
            if stranger:
                _declined(operation, f"a handler of {stranger} is called for them")
            self._watched[operation] = bool(stranger)
        return self._watched[operation]


def read_long_answers(client: Any, *, by_template: bool) -> None:
    """Have long answers to *client* read here.

    Args:
        client: aiobotocore's.
        by_template: Whether the user lets anything be done in botocore's place.
    """
    handlers = Handlers.of(client)
    if not by_template:
        _declined("all", "request_templates=False")
    elif handlers is None:
        _declined("all", "calls of the client are watched, or nobody can know whether they are")
    else:
        answers = LongAnswers(client.meta.service_model, handlers)
        client.meta.events.register_first(_EVENT, answers.note)


def _read(body: bytes, documents: tuple[str, ...], structure: Structure) -> dict[str, Any] | None:
    """What *body* says; ``None`` where it is none of the *documents*."""
    root = xml_root(body, encoding=_ENCODING)
    return None if root is None or name_of(root.tag) not in documents else structure.read(root)


def _declined(operation: str, why: str) -> None:
    _log.debug("S3: long answers to %s are read by botocore: %s", operation, why)
