"""What a planted bug is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from fsspec_commit.testing.simulation import Plan


@dataclass(frozen=True)
class Bug:
    """One bug.

    Attributes:
        plant: Patches the product.
        breaks: The promises of which at least one must be found broken; empty for any.
        family: The kind of store on which it is looked for; `None` for any.
        plan: What is run instead, where only one run of some thousand finds the bug.
        sliced: Whether it is looked for where other processes run slices of jobs.
        verified: Whether it is looked for where somebody asks ``verify`` besides.
    """

    plant: Callable[[pytest.MonkeyPatch], None]
    breaks: tuple[str, ...] = ()
    family: str | None = None
    plan: Plan | None = None
    sliced: bool = False
    verified: bool = False
