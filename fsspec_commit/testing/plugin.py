"""Registers the suites' markers with pytest, which finds this module by entry point.

It imports nothing of the package: pytest loads it before coverage measures, and in every run of
everybody who has the package installed.
"""

import pytest

_SUITES = ("store_contract", "committer_contract")


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known, so that ``--strict-markers`` can stay on."""
    for suite, promises in zip(_SUITES, ("a store", "a committed job"), strict=True):
        config.addinivalue_line(
            "markers", f"{suite}: what fsspec-commit's contract promises of {promises}"
        )
    config.addinivalue_line(
        "markers", "guarantees(*ids): the promises P1 to P11 of fsspec-commit that a test is for"
    )


pytest.register_assert_rewrite(
    *(f"fsspec_commit.testing.{suite}" for suite in _SUITES), "fsspec_commit.testing.assertions"
)
