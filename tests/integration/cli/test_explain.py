"""``explain`` and ``probe``: what would be done, and what the store really does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.integration.cli.command import command, files_of

if TYPE_CHECKING:
    from pathlib import Path


def test_explain_says_what_would_be_done_and_why(destination: Path) -> None:
    ran = command("explain", destination)
    assert ran.status == 0
    assert ran.rows[0] == ["committer", "v1", ""]
    assert ran.rows[1][0] == "reason"
    assert ["atomic_rename", "directory", "declared"] in ran.rows
    assert not destination.exists()


def test_explain_for_programs(destination: Path) -> None:
    document = command("explain", destination, "--json").document
    assert (document["destination"], document["committer"]) == (str(destination), "v1")
    assert document["reasons"]
    facts = {fact["name"]: fact for fact in document["capabilities"]}
    assert facts["exclusive_create"] == {
        "name": "exclusive_create",
        "value": True,
        "evidence": "declared",
    }


def test_explain_of_an_unsafe_choice_is_a_refusal(destination: Path) -> None:
    ran = command("explain", destination, "--committer", "magic", "--json")
    assert ran.status == 1
    assert ran.document["committer"] is None


def test_probe_tries_the_store_and_leaves_nothing(destination: Path) -> None:
    ran = command("probe", destination, "--json")
    assert ran.status == 0
    assert (ran.document["ok"], ran.document["differences"]) == (True, [])
    assert files_of(destination) == []
