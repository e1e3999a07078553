"""Test suites for stores and committers, and fault injection for programs that use this package.

Names are imported on first use: pytest loads :mod:`fsspec_commit.testing.plugin`, a submodule, in
every run, and that must cost nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsspec_commit.testing.assertions import assert_committed, assert_no_leftovers
    from fsspec_commit.testing.certificate import Certificate, Finding
    from fsspec_commit.testing.certification import certify
    from fsspec_commit.testing.committer_contract import CommitterContract
    from fsspec_commit.testing.faults import Crash, Fault, FaultyStore, crash_points, inject
    from fsspec_commit.testing.recording import RecordingStore
    from fsspec_commit.testing.store_contract import StoreContract

_HOMES = {
    "Certificate": "certificate",
    "CommitterContract": "committer_contract",
    "Crash": "faults",
    "Fault": "faults",
    "FaultyStore": "faults",
    "Finding": "certificate",
    "RecordingStore": "recording",
    "StoreContract": "store_contract",
    "assert_committed": "assertions",
    "assert_no_leftovers": "assertions",
    "certify": "certification",
    "crash_points": "faults",
    "inject": "faults",
}

__all__ = [
    "Certificate",
    "CommitterContract",
    "Crash",
    "Fault",
    "FaultyStore",
    "Finding",
    "RecordingStore",
    "StoreContract",
    "assert_committed",
    "assert_no_leftovers",
    "certify",
    "crash_points",
    "inject",
]


if not TYPE_CHECKING:
    # Hidden from type checkers, which would otherwise believe that every name exists.
    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            home = import_module(f"{__name__}.{_HOMES[name]}")
        except ModuleNotFoundError as error:
            if error.name != "pytest":
                raise
            raise ImportError(
                f"{__name__}.{name} needs pytest, which is not installed;"
                " install it with: pip install 'fsspec-commit[testing]'",
                name=error.name,
            ) from error
        return getattr(home, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
