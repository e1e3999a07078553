"""Registers the suites' markers and options with pytest, which finds this module by entry point.

It imports nothing of the package: pytest loads it before coverage starts, and in every run where
the package is installed.
"""

import json
import random
from typing import Any

import pytest

# Annotations are strings here: a release of pytest that lacks one of the types would not start.
_SUITES = ("store_contract", "committer_contract")


def pytest_addoption(parser: "pytest.Parser") -> None:
    """Add the options of sweeps, see :mod:`fsspec_commit.testing.sweeps`, and of ``--certify``."""
    group = parser.getgroup("fsspec-commit")
    group.addoption(
        "--sweep-seed",
        type=int,
        help="choose the same store calls for faults as a run that named this number",
    )
    group.addoption(
        "--sweep-whole",
        action="store_true",
        help="leave no case out of a sweep, however long it takes",
    )
    group.addoption(
        "--certify",
        metavar="URL",
        help="with --pyargs fsspec_commit.testing.certified: the empty place to try the store at",
    )
    group.addoption(
        "--certify-options",
        metavar="JSON",
        default="{}",
        help="what fsspec needs to open it, as a JSON object",
    )
    group.addoption(
        "--certify-quick",
        action="store_true",
        help="try one case of each test, and a fault at one store call of each",
    )


def pytest_configure(config: "pytest.Config") -> None:
    """Register the markers, so that ``--strict-markers`` can stay on, and draw a seed."""
    _refuse_wrong_place(config.option.certify, config.option.certify_options)
    if config.option.sweep_seed is None:
        drawn = random.SystemRandom().randrange(1_000_000)
        config.option.sweep_seed = getattr(config, "workerinput", {}).get("sweep_seed", drawn)
    for suite, promises in zip(_SUITES, ("a store", "a committed job"), strict=True):
        config.addinivalue_line(
            "markers", f"{suite}: what fsspec-commit's contract promises of {promises}"
        )
    config.addinivalue_line(
        "markers", "guarantees(*ids): the promises P1 to P11 of fsspec-commit that a test is for"
    )


def _refuse_wrong_place(url: str | None, options: str) -> None:
    """Report once what would end every test, and never show the options: they hold secrets.

    Raises:
        UsageError: The command line names no place, or options that cannot be read.
    """
    try:
        given = json.loads(options)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise pytest.UsageError(
            """--certify-options is no JSON object, such as '{"endpoint_url": "http://host:9000"}'"""
            "; it is not shown here, as it may hold a secret"
        )
    if url == "" or (url is None and given):
        raise pytest.UsageError(
            "--certify= does not say where: give an empty directory of the store, such as"
            " s3://bucket/empty-place"
        )


def pytest_collection_modifyitems(config: "pytest.Config", items: "list[pytest.Item]") -> None:
    """Keep only one case of each test with ``--certify-quick``."""
    if not config.option.certify_quick:
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    chance = random.Random(config.option.sweep_seed)
    kept = {chance.choice(some).nodeid for some in cases.values()}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
    items[:] = [item for item in items if item.nodeid in kept]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Send the seed to a worker of a parallel run."""
    node.workerinput["sweep_seed"] = node.config.option.sweep_seed


def pytest_terminal_summary(
    terminalreporter: "pytest.TerminalReporter",
    config: "pytest.Config",
) -> None:
    """Report how many cases of the sweeps ran, and how to run the same ones again."""
    found: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "teardown":
                for name, value in report.user_properties:
                    if name == "sweep":
                        every, *cases = value
                        found[every == 1].append(tuple(cases))
    for is_whole, cases in found.items():
        if cases:
            ran, seen = (sum(each) for each in zip(*cases, strict=True))
            how = "whole" if is_whole else f"chosen by --sweep-seed={config.option.sweep_seed}"
            terminalreporter.write_line(
                f"sweeps, {how}: {ran:,} of {seen:,} cases in {len(cases):,} tests"
            )


pytest.register_assert_rewrite(
    *(f"fsspec_commit.testing.{suite}" for suite in _SUITES), "fsspec_commit.testing.assertions"
)
