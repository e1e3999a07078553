"""Canaries: secrets that are planted in options, and must be heard of nowhere else."""

from __future__ import annotations

import copy
import logging
import pickle
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import fsspec_commit as fc

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

SECRET = "canary-sings-4242"


class Ears:
    """All that was said to anybody.

    Attributes:
        canaries: What must not be among it.
        logger: Whose messages are listened to, at all levels.
    """

    def __init__(self, caplog: pytest.LogCaptureFixture, *canaries: str, logger: str = "") -> None:
        caplog.set_level(logging.DEBUG, logger)
        self.canaries = canaries
        self.logger = logger
        self._caplog = caplog
        self._said: list[tuple[str, str]] = []

    def heard(self, what: str, *things: object) -> None:
        for thing in things:
            text = thing if isinstance(thing, str) else f"{thing!r} {thing}"
            self._said.append((what, text))

    def pickled(self, what: str, thing: object) -> None:
        self.heard(f"{what}, pickled", repr(pickle.dumps(thing)))

    def failed(self, what: str, error: BaseException | None) -> None:
        """An error, and whatever can be reached from it."""
        met: list[BaseException] = []
        while error is not None:
            assert error not in met, "an error is its own cause"
            met.append(error)
            self.heard(what, "".join(traceback.format_exception(error)), vars(error), error.args)
            self.heard(what, str(getattr(error, "response", "")), str(getattr(error, "kwargs", "")))
            with suppress(TypeError):  # Some are not ours, and cannot be.
                self.pickled(what, error)
            error = error.__cause__ or error.__context__

    def job(self, job: fc.Job, options: Mapping[str, Any]) -> None:
        """A whole job: whatever it shows, sends to its tasks, and is told by them."""
        self.heard("job", job)
        with job:
            self.heard("selection", job.selection)
            for spec in (job.spec, copy.copy(job.spec), fc.JobSpec.from_json(job.spec.to_json())):
                self.heard("spec", spec, spec.to_json())
                self.pickled("spec", spec)
            with fc.Task.from_spec(job.spec, 0, **options) as task, task.open("a", "w") as file:
                self.heard("task", task, file, task.filesystem)
                file.write("1\n")
            self.heard("message", task.message)
            self.pickled("message", task.message)
            assert task.message is not None
            job.commit([task.message])
        self.heard("result", job.result, job)
        self.pickled("result", job.result)

    def check(self, files: Mapping[str, bytes]) -> None:
        """Nothing of it holds a canary, nor does a log or one of *files*."""
        for record in self._caplog.records:
            if record.name.startswith(self.logger):
                self.heard("log", record.getMessage(), vars(record))
        for name, data in files.items():
            self.heard(f"file {name}", name, repr(data))
        assert any(what == "log" for what, _ in self._said) or not self.logger
        leaks = {what for what, text in self._said for canary in self.canaries if canary in text}
        assert leaks == set()
