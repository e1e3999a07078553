"""A server of ours as a kind among the others: a package of the tests, run in a process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tests.servers.installation import OwnServer
from tests.servers.kinds import Launch, Place, ServerKind

_ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class _OwnLaunch:
    module: str
    env: Callable[[Place], Mapping[str, str]]
    is_kept: bool

    def __call__(self, place: Place) -> Launch:
        data = ("--data", str(place.data)) if self.is_kept else ()
        arguments = ["-m", self.module, "--port", str(place.port), *data]
        return Launch(arguments, {"PYTHONPATH": str(_ROOT), **self.env(place)})


def own_kind(
    name: str,
    module: str,
    *,
    is_kept: bool = True,
    env: Callable[[Place], Mapping[str, str]] = lambda _: {},
) -> ServerKind:
    """The server that *module* runs, with `serving.main`.

    Args:
        name: Of the kind.
        module: The package.
        is_kept: Whether what it has acknowledged is there after any end.
        env: What else it is told.
    """
    return ServerKind(
        OwnServer(name=name, version="of this checkout", command="python"),
        _OwnLaunch(module, env, is_kept),
        ports=("http",),
        keeps=frozenset({"objects", "uploads"}) if is_kept else frozenset(),
    )


def in_memory(kind: ServerKind) -> ServerKind:
    """A server of ours as benchmarks want it: without what it keeps on a disk."""
    assert isinstance(kind.launch, _OwnLaunch)
    return replace(kind, launch=replace(kind.launch, is_kept=False), keeps=frozenset())
