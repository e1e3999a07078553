"""Preconditions: https://cloud.google.com/storage/docs/request-preconditions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.servers.gcs.strict.failures import condition_not_met, not_modified

if TYPE_CHECKING:
    from tests.servers.gcs.strict.messages import Call
    from tests.servers.gcs.strict.state import Stored

_KINDS = ("GenerationMatch", "GenerationNotMatch")
# The parameters of every method that has preconditions, and those of their source.
CONDITIONS = frozenset(f"if{kind}" for kind in _KINDS)
SOURCE_CONDITIONS = frozenset(f"ifSource{kind}" for kind in _KINDS)


def check(call: Call, live: Stored | None, *, of: str = "if", reads: bool = False) -> None:
    """Whether what is there is as the client believes.

    A generation of 0 stands for no live object. "If no live object exists, the precondition fails"
    for all others, those with Not included.

    Args:
        of: "if", or "ifSource": what the parameters' names begin with.
        reads: the call changes nothing, so that an unwanted match is answered 304, not 412.

    Raises:
        Failure: it is not: 412, or 304.
    """
    generation = 0 if live is None else live.generation
    wanted = call.number(f"{of}GenerationMatch")
    if wanted is not None and wanted != generation:
        raise condition_not_met()
    unwanted = call.number(f"{of}GenerationNotMatch")
    if unwanted is not None and (live is None or unwanted == generation):
        raise not_modified() if reads and live is not None else condition_not_met()
