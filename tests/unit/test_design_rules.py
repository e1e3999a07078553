"""Section 2 of the design, as far as the source itself shows it: who may do what, and where."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.store import Capabilities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.checkout

PACKAGE = Path(__file__).resolve().parents[2] / "fsspec_commit"
ABILITIES = {
    "CompletesUploads",
    "DeletesInBulk",
    "MakesDirectories",
    "RemovesEmptyDirectories",
    "RenamesDirectories",
    "RenamesFiles",
    "RenamesInBulk",
    "WritesDirectly",
}


@cache
def everything() -> dict[str, ast.Module]:
    """Parsed when a test asks for it, not by every worker that collects."""
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@cache
def core() -> dict[str, ast.Module]:
    """Public suites and terminal output are no core code."""
    return {
        name: tree
        for name, tree in everything().items()
        if not name.startswith(("testing/", "cli/"))
    }


def where(
    matches: Callable[[ast.AST], bool], among: Callable[[], dict[str, ast.Module]] = core
) -> set[str]:
    """The modules in which a node matches."""
    return {name for name, tree in among().items() if any(map(matches, _nodes(tree)))}


@cache
def _nodes(tree: ast.Module) -> list[ast.AST]:
    """Each test looks at every node."""
    return list(ast.walk(tree))


def names_in(node: ast.AST | None) -> set[str]:
    """Every name and attribute in an expression."""
    return set(_names_in(node)) if node is not None else set()


def _names_in(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            yield one.attr


def imports(name: str) -> Callable[[ast.AST], bool]:
    return lambda node: (
        isinstance(node, ast.ImportFrom | ast.Import)
        and any(alias.name == name for alias in node.names)
    )


def calls(*names: str) -> Callable[[ast.AST], bool]:
    """A call of a function or method by one of these names."""
    return lambda node: (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name | ast.Attribute)
        and (node.func.id if isinstance(node.func, ast.Name) else node.func.attr) in names
    )


def catches(*names: str) -> Callable[[ast.AST], bool]:
    """An ``except`` clause, or a ``suppress()``, that names one of these."""

    def match(node: ast.AST) -> bool:
        if isinstance(node, ast.ExceptHandler):
            return not names_in(node.type).isdisjoint(names)
        return calls("suppress")(node) and not names_in(node).isdisjoint(names)

    return match


def test_there_is_core_code_to_check() -> None:
    assert {"protocol/commit.py", "effects/confirm.py", "sync/job.py"} <= set(core())


class TestRule1Confirmed:
    def test_core_code_holds_no_raw_store(self) -> None:
        outside = {name for name in where(imports("Store")) if not name.startswith("store/")}
        settled = {
            "effects/confirmed/counted.py",
            "effects/confirmed/store.py",
            "effects/confirmed/directories.py",
            "effects/confirmed/files.py",
            "effects/confirmed/uploads.py",
        }
        assert outside == {*settled, "destination.py"}  # which wires, and has it probed
        assert where(calls("open_store")) == {"destination.py"}

    def test_a_store_error_is_caught_where_outcomes_are_confirmed(self) -> None:
        assert where(catches("StoreError")) == {
            "effects/confirm.py",
            "effects/confirmed/counted.py",  # counts it, and raises it again
            "effects/confirmed/reads.py",  # tells a refusal from a failure
            "effects/confirmed/store.py",  # leaves what need not be deleted
            "effects/confirmed/files.py",  # counts it, and raises it again
            "effects/confirmed/uploads.py",  # the same, and leaves what means nothing
            "protocol/retire.py",  # the job is committed: what is left of it is warned of
            "store/probe.py",  # works on the raw store, by rule 1
            "store/trial_ground.py",  # the same
            "store/trials.py",  # the same
        }

    def test_the_protocol_catches_nothing_so_broad_that_a_store_error_is_in_it(self) -> None:
        broad = where(catches("Exception", "OSError", "BaseException"))
        simulated = {name for name in broad if name.startswith(("committers/", "store/"))}
        assert simulated <= {"store/probe.py", "store/trial_ground.py", "store/trials.py"}

    @pytest.mark.parametrize("layer", ["protocol", "committers", "effects"])
    def test_what_is_caught_broadly_is_raised_again(self, layer: str) -> None:
        for name, tree in core().items():
            if not name.startswith(f"{layer}/"):
                continue
            for node in ast.walk(tree):
                if catches("Exception", "OSError", "BaseException")(node):
                    assert any(isinstance(inner, ast.Raise) for inner in ast.walk(node)), name


class TestRule3Outcomes:
    def test_only_one_kind_of_error_is_told_its_outcome(self) -> None:
        """What a job settled by somebody else became is known where that is read, nowhere else."""
        told = {
            (name, *names_in(node.func))
            for name, tree in core().items()
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and any(keyword.arg == "outcome" for keyword in node.keywords)
        }
        assert {error for _, error in told} == {"JobNotActiveError"}

    def test_phases_are_phases_of_the_protocol(self) -> None:
        used = where(calls("failing_as", "unforeseen_as"))
        assert used
        assert {name.partition("/")[0] for name in used} == {"protocol"}


class TestRule4Deletion:
    def test_a_permit_is_made_in_one_module(self) -> None:
        assert where(calls("Permit"), everything) == {"effects/deletion.py"}

    def test_a_proof_is_made_in_one_module(self) -> None:
        assert where(calls("Standing"), everything) == {"effects/stored_records.py"}

    def test_every_deletion_of_core_code_hands_over_a_permit(self) -> None:
        raw = {"effects/confirmed/store.py", "store/probe.py"}
        deletions = calls(
            *("delete_tree", "delete_tree_or_leave", "delete_listed"),
            *("delete_if_same", "delete_or_leave"),
        )
        for name, tree in core().items():
            if name in raw or name.startswith("store/"):
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and deletions(node):
                    assert len(node.args) == 2, f"{name}:{node.lineno}"

    def test_the_permit_is_checked_before_anything_is_deleted(self) -> None:
        checked = set[str]()
        for node in ast.walk(core()["effects/confirmed/store.py"]):
            if isinstance(node, ast.AsyncFunctionDef) and node.name.startswith("delete"):
                checked.add(node.name)
                first = ast.unparse(node.body[1])
                assert "permit" in first, f"{node.name}: {first}"
        assert checked == {
            *("delete", "delete_or_leave", "delete_if_same"),
            *("delete_tree", "delete_tree_or_leave", "delete_listed"),
            *("delete_empty", "delete_empty_or_leave"),
        }


class TestRule5Abilities:
    def test_nobody_asks_what_an_object_can_do(self) -> None:
        def asks(node: ast.AST) -> bool:
            return calls("isinstance", "issubclass", "hasattr", "cast")(node) and not names_in(
                node
            ).isdisjoint(ABILITIES)

        assert where(asks) == set()
        assert where(imports("cast")) == set()

    def test_selection_alone_branches_on_capabilities(self) -> None:
        facts = set(Capabilities().facts())

        def reads(node: ast.AST) -> bool:
            return isinstance(node, ast.Attribute) and node.attr in facts

        outside = {name for name in where(reads) if not name.startswith("store/")}
        assert outside == {"selection.py"}


class TestRule6Bridge:
    def test_loops_and_threads_are_made_in_one_module(self) -> None:
        made = calls(
            *("Thread", "ThreadPoolExecutor", "new_event_loop", "run_forever"),
            *("run_coroutine_threadsafe", "run_until_complete", "Runner", "call_soon_threadsafe"),
        )
        assert {name for name in where(made) if not name.startswith("engines/")} == {
            "sync/bridge.py"
        }

    def test_nobody_uses_fsspecs_own_bridge(self) -> None:
        def uses(node: ast.AST) -> bool:
            return isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "fsspec.asyn"
            )

        assert where(uses, everything) == set()
        assert where(imports("fsspec.asyn"), everything) == set()


class TestRule7Simulated:
    def test_randomness_is_made_in_one_module(self) -> None:
        sources = [where(imports(name)) for name in ("random", "secrets", "uuid")]
        assert set.union(*sources) == {"ids.py"}

    def test_the_clock_of_the_wall_is_read_in_one_module(self) -> None:
        def reads(node: ast.AST) -> bool:
            return (
                calls("now", "utcnow", "today")(node)
                and isinstance(node, ast.Call)
                and "datetime" in names_in(node.func)
            )

        assert where(reads) == {"ids.py"}


class TestRecords:
    def test_what_is_written_down_is_data(self) -> None:
        for name in ("marshal", "shelve", "yaml", "cloudpickle", "dill"):
            assert where(imports(name)) == set()
        # From a driver to workers that run whatever they are sent; nobody writes it down.
        assert where(imports("pickle")) == {"engines/dask/publisher.py"}

    def test_nothing_is_evaluated(self) -> None:
        def evaluates(node: ast.AST) -> bool:
            return (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in {"eval", "exec", "compile", "__import__"}
            )

        assert where(evaluates, everything) == set()


class TestPaths:
    def test_paths_are_joined_in_one_module(self) -> None:
        """Elsewhere a path below a path of the layout is named, never one from a caller's text."""
        joins = {name for name in where(calls("StorePath")) if not name.startswith("store/")}
        assert joins == {"layout.py"}
