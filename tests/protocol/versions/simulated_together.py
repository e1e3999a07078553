"""Simulated runs whose actors are of this version or of the first release, each its own code.

They share the loop, the store's state and the model of this version's simulation. Actors of the
first release are those that it was simulated with. What passes between the two are values of the
store and errors: each side is given those of its own classes.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import fields
from enum import Enum
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast
from unittest.mock import patch

from fsspec_commit.errors import StoreError
from fsspec_commit.testing.simulation import actors, running
from fsspec_commit.testing.simulation.bucket import ParentMissingError
from fsspec_commit.testing.simulation.plan import HERE
from fsspec_commit.testing.simulation.told import Told
from tests.protocol.versions.first_release import PREFIX

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterator

    from fsspec_commit.testing.simulation.plan import CleanerPlan, HelperPlan
    from fsspec_commit.testing.simulation.process import Process
    from fsspec_commit.testing.simulation.world import World
    from tests.protocol.versions.first_release import FirstRelease

T = TypeVar("T")


def to_first(value: Any) -> Any:
    """A value of this version as the first release has it."""
    return _translated(value, to_first)


def to_this(value: Any) -> Any:
    """A value of the first release as this version has it."""
    return _translated(value, to_this)


def _translated(value: Any, side: Callable[[Any], Any]) -> Any:
    """A value, or the like of it: what the other side has no field for is left out."""
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(map(side, value))
    if not _is_of_the_other(type(value), side):
        return value
    twin = _twin(type(value).__module__, type(value).__name__)
    if isinstance(value, Enum):
        return twin[value.name]
    if isinstance(value, Exception):
        return _error(value, twin, side)
    known = {one.name for one in fields(twin)}
    names = [one.name for one in fields(value) if one.init and one.name in known]
    return twin(**{name: side(getattr(value, name)) for name in names})


def _is_of_the_other(found: type, side: Callable[[Any], Any]) -> bool:
    return found.__module__.startswith("fsspec_commit" if side is to_first else PREFIX)


def _twin(module: str, name: str) -> Any:
    """The class of that name in the other version, as it is loaded now: it may be loaded again."""
    other = module.removeprefix(PREFIX) if module.startswith(PREFIX) else PREFIX + module
    return getattr(import_module(other), name)


def _error(error: Any, twin: Any, side: Callable[[Any], Any]) -> Exception:
    if error.__class__.__name__ != "StoreError":
        made: Exception = twin(*error.args)
        return made
    like = twin(
        error.args[0],
        reply=side(error.reply),
        retry_after_s=error.retry_after_s,
        can_go_on=error.can_go_on,
    )
    like.errno, like.path = error.errno, error.path
    return like  # type: ignore[no-any-return]  # an exception of the first release


class FirstBucket:
    """The state of the store, as the first release sees it."""

    def __init__(self, bucket: Any) -> None:
        self._bucket = bucket

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._bucket, name)
        if not callable(found):
            return to_first(found)
        return lambda *given, **named: to_first(found(*map(to_this, given), **named))


class FirstProcess:
    """A process of the first release, whose requests travel, and fail, as those of this one."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def __getattr__(self, name: str) -> Any:
        return getattr(self._process, name)

    @property
    def interrupt(self) -> Callable[[bool], None]:
        return self._process.interrupt

    @interrupt.setter
    def interrupt(self, interrupt: Callable[[bool], None]) -> None:
        self._process.interrupt = interrupt

    async def request(
        self, verb: str, path: str, apply: Callable[[], T], *, is_later_page: bool = False
    ) -> T:
        """Send one request."""

        def carry_out() -> T:
            try:
                return apply()
            except OSError as error:
                raise to_this(error) from None

        try:
            return await self._process.request(verb, path, carry_out, is_later_page=is_later_page)
        except (StoreError, ParentMissingError) as error:
            raise to_first(error) from None


class FirstModel:
    """What must be true, as the first release's actors tell it of what they do."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._model, name)
        if not callable(found):
            return found
        return lambda *given: found(*map(to_this, given))

    def hear(self, told: Any) -> None:
        """A caller was told something; of a result the first release's actors say nothing more."""
        self._model.hear(Told(**vars(told), report=None))


class FirstWorld:
    """The world, as the first release's actors are given it."""

    def __init__(self, world: World, first: FirstRelease) -> None:
        self._world = world
        self._loop = world._loop
        simulation = "fsspec_commit.testing.simulation"
        self._opening = first.module(f"{simulation}.world").World.open
        self.family = first.module(f"{simulation}.families").FAMILIES[world.plan.family]
        self.bucket = FirstBucket(world.bucket)
        self.models = {at: FirstModel(model) for at, model in world.models.items()}
        self.model = self.models[HERE]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def process(self, name: str, at: str = HERE) -> FirstProcess:
        """A new process of the first release."""
        return FirstProcess(self._world.process(name, at))

    def open(self, process: FirstProcess, *, skew_s: float = 0.0) -> Any:
        """The destination as the first release opens it."""
        return self._opening(self, process, skew_s=skew_s)


class _Sides:
    """Actors of both versions, in the place of those of this one.

    Args:
        first: The first release.
        theirs: Whose code is the first release's: jobs, by their names, with their drivers and
            attempts; helpers, cleaners and operators, by theirs.
    """

    SharedJob = actors.SharedJob

    def __init__(self, first: FirstRelease, theirs: Collection[str]) -> None:
        self._first = first
        self._theirs = theirs
        self.HELPERS = {kind: partial(self._help, kind) for kind in actors.HELPERS}

    def drive(self, world: World, shared: actors.SharedJob) -> Awaitable[None]:
        """What it is for the driver of a job of either."""
        of, seen = self._of("actors", shared.plan.name, world)
        return cast("Awaitable[None]", of.drive(seen, shared))

    def attempt(self, world: World, shared: actors.SharedJob, number: int) -> Awaitable[None]:
        """The same for an attempt, which is of its driver's version."""
        of, seen = self._of("actors", shared.plan.name, world)
        return cast("Awaitable[None]", of.attempt(seen, shared, number))

    def clean_up(self, world: World, actor: str, plan: CleanerPlan) -> Awaitable[None]:
        """The same for a cleaner."""
        of, seen = self._of("actors", actor, world)
        return cast("Awaitable[None]", of.clean_up(seen, actor, plan))

    def settle_all(self, world: World, actor: str) -> Awaitable[None]:
        """The same for an operator."""
        of, seen = self._of("settling", actor, world)
        return cast("Awaitable[None]", of.settle_all(seen, actor))

    def _help(
        self, kind: str, world: World, actor: str, shared: actors.SharedJob, plan: HelperPlan
    ) -> Awaitable[None]:
        of, seen = self._of("actors", actor, world)
        return cast("Awaitable[None]", of.HELPERS[kind](seen, actor, shared, plan))

    def _of(self, module: str, name: str, world: World) -> tuple[Any, Any]:
        """The module of one's version, and the world as that is given it."""
        where = f"fsspec_commit.testing.simulation.{module}"
        if name in self._theirs:
            return self._first.module(where), FirstWorld(world, self._first)
        return import_module(where), world


@contextmanager
def together(first: FirstRelease, theirs: Collection[str]) -> Iterator[None]:
    """Runs of plans, in which *theirs* are of the first release."""
    sides = _Sides(first, theirs)
    with (
        patch.object(running, "actors", sides),
        patch.object(running, "settle_all", sides.settle_all),
    ):
        yield
