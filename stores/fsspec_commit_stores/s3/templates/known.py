"""The templates of one client, by the shapes of its requests: each is learnt when it is wanted."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from fsspec_commit_stores.s3.operations import OPERATIONS
from fsspec_commit_stores.s3.rehearsals import Rehearsals, UncaughtError
from fsspec_commit_stores.s3.templates.handlers import Handlers
from fsspec_commit_stores.s3.templates.learning import DeclinedError, check, template_of
from fsspec_commit_stores.s3.templates.samples import Shape, samples_of
from fsspec_commit_stores.s3.templates.template import Template

SHAPES_MAX = 32
"""A store needs a dozen. If there are more than this, the later ones are left to botocore."""

_TRIES_MAX = 3
_log = logging.getLogger("fsspec_commit")


class Templates:
    """What is known of each shape: its template, or that botocore makes its requests."""

    def __init__(self, rehearsals: Rehearsals, handlers: Handlers) -> None:
        self._rehearsals = rehearsals
        self._handlers = handlers
        self._known: dict[Shape, Template | None] = {}
        self._failures: dict[Shape, int] = {}
        self._learning = asyncio.Lock()
        self._are_caught: bool | None = None

    def are_declined(self, shape: Shape) -> bool:
        """Whether it is known that there is no template for *shape*."""
        if self._handlers.have_changed():
            self._known.clear()
            self._failures.clear()
        try:
            return self._known.get(shape, self) is None
        except TypeError:  # A parameter of the user's cannot be hashed.
            return True

    async def get(self, shape: Shape, credentials: Any) -> Template | None:
        """The template for requests of *shape* that are signed by *credentials*, if there is one.

        A caller that wants one that is being learnt waits for that.
        """
        template = self._known.get(shape)
        if template is not None and template.has_token is bool(credentials.token):
            return template
        async with self._learning:
            template = self._known.get(shape)
            if template is not None and template.has_token is not bool(credentials.token):
                del self._known[shape]
            if shape not in self._known and len(self._known) < SHAPES_MAX:
                await self._learn(shape, credentials)
            return self._known.get(shape)

    async def _learn(self, shape: Shape, credentials: Any) -> None:
        try:
            self._known[shape] = await self._learnt(shape, credentials)
        except DeclinedError as declined:
            why = str(declined)
        except Exception as error:  # noqa: BLE001  # of any class: botocore will say it again
            failures = self._failures[shape] = self._failures.get(shape, 0) + 1
            if failures < _TRIES_MAX:
                return
            why = f"the client fails to make a sample ({type(error).__name__})"
        else:
            return
        self._known[shape] = None
        _log.debug("S3: requests of the shape %r are left to botocore: %s", shape, why)

    async def _learnt(self, shape: Shape, credentials: Any) -> Template:
        stranger = self._handlers.stranger(OPERATIONS[shape.method].name)
        if stranger:
            raise DeclinedError(f"a handler of {stranger} is called for them")
        marked, awkward = samples_of(shape)
        if not await self._is_caught(marked):
            raise DeclinedError("what the client sends is not caught")
        template = template_of(await self._rehearsals.catch(shape.method, marked), marked)
        check(template, await self._rehearsals.catch(shape.method, awkward), awkward, credentials)
        return template

    async def _is_caught(self, marked: Mapping[str, Any]) -> bool:
        """Whether nothing of a sample is sent: tried by a look, which would change nothing."""
        if self._are_caught is None:
            try:
                look = {name: marked[name] for name in ("Bucket", "Key")}
                await self._rehearsals.catch("head_object", look)
            except UncaughtError:
                self._are_caught = False
            else:
                self._are_caught = True
        return self._are_caught
