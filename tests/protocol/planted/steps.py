"""The steps of ``protocol/commit.py``, each left out or swapped with the next: from its source.

A step is a call of a function of another module that is awaited, alone or at once with another, or
that stands as a statement of its own. Where something goes on with what a step returns, it gets
what a step returns that finds nothing and does nothing. A new step has its bugs by itself, once it
is said what that would be. The end of a block that is left by awaiting is a step as well. A call of
a function of the module itself is none: what that does is.
"""

from __future__ import annotations

import ast
import copy
from itertools import pairwise
from math import inf
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from fsspec_commit.errors import JobNotActiveError
from fsspec_commit.protocol import commit, driver, recovery
from fsspec_commit.protocol.chosen import by_batches, list_chosen
from fsspec_commit.protocol.claim import HeldClaim, claim_of
from fsspec_commit.protocol.looks import OldFiles, SeenMarker
from fsspec_commit.protocol.manifests import ChosenManifests, check_new_files
from fsspec_commit.protocol.messages import collect_messages
from fsspec_commit.protocol.old_partitions import FilesOutside
from fsspec_commit.protocol.replaced import ReplacedFiles
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Published

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pytest


async def _unchecked(job: Any, messages: Sequence[Any]) -> Any:
    if job.record.collect == "store":
        batches = collect_messages(job, job.record.tasks)
    else:
        batches = by_batches(iter(sorted(messages, key=lambda one: one.task_id)))
    return await check_new_files(job, ChosenManifests(job, await list_chosen(job, batches)))


async def _unclaimed(job: Any, partitions: Any, *, reusable_names: bool, **_: Any) -> HeldClaim:
    nonce = job.store.ids.nonce()
    claim = claim_of(job.record, partitions, nonce, reusable_names=reusable_names)
    return HeldClaim(claim, (), was_alone=True)


async def _unverified(job: Any, decision: Any, *_: Any) -> ReplacedFiles:
    return ReplacedFiles(job, decision.record)


async def _unsaid(job: Any, decision: Any, lost: int) -> Standing[Published]:
    nonce, job_id = job.store.ids.nonce(), job.record.job_id
    return Standing(
        Published(nonce=nonce, job_id=job_id, decision=decision.record.nonce, lost=lost)
    )


async def _undecided(store: Any, layout: Any, wanted: Any) -> Any:
    return Standing(wanted)


async def _unlisted(claim: Any, *_: Any) -> Any:
    return claim, None


async def _overtaken(job: Any, _: Any) -> JobNotActiveError:
    job_id = job.record.job_id
    return JobNotActiveError("it is over", job_id=job_id, outcome="unknown", stage="finish")


async def _whenever(_: Any, seen: Any) -> Any:
    return seen.identity


def _answering(answer: object) -> Callable[..., Any]:
    async def step(*_: object, **__: object) -> object:
        return answer

    return step


INSTEAD: dict[str, Callable[..., Any]] = {
    "check_output": _unchecked,
    "left_out": _answering(()),
    "take_claim": _unclaimed,
    "looks.is_done": _answering(False),
    "may_write": _answering(True),
    "decide": _undecided,
    "settled_by_another": _answering(None),
    "is_over": _answering(False),
    "over_after_deciding": _overtaken,
    "recall_replaced": _unverified,
    "standing_published": _answering(None),
    "remove_stale_success": _answering(None),
    "make_directories": _answering(None),
    "say_published": _unsaid,
    "look_early": _answering(None),
    "delete_replaced": _answering(()),
    "publish_success": _answering(()),
    "mark_done": _answering(None),
    "begin_epoch": _answering(None),
    "job.store.list_usable": _answering(()),
    "forget_epochs": _answering(None),
    "retire_job": _answering([]),
    "looks.old_files": _answering(OldFiles(None, FilesOutside(), None)),
    "ahead.finish": _unlisted,
    "ahead.withdraw": _answering(None),
    "looks.stale": _answering(SeenMarker(None, inf)),
    "still_stands": _whenever,
    "marker.prepared": _answering(None),
}
"""What stands for a step with whose result something is done, or beside which another one is."""
TOGETHER = {"both", "failure_or"}
"""What runs the steps that it is given."""
_TREE = ast.parse(Path(commit.__file__).read_text())
_OWN = {one.name for one in _TREE.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}


class _Unended:
    """A context that is entered, and never left."""

    def __init__(self, context: Any) -> None:
        self._context = context

    async def __aenter__(self) -> Any:
        return await self._context.__aenter__()

    async def __aexit__(self, *_: object) -> None:
        """Leave everything as it is."""


class Step(NamedTuple):
    """A step: in which function, in which block and which statement of it, and which call."""

    function: str
    block: list[ast.stmt]
    place: int
    call: ast.Call

    @property
    def name(self) -> str:
        """What is called."""
        return ast.unparse(self.call.func)


def left_out() -> dict[str, ast.Module]:
    """The module without one of its steps, for each of them by name."""
    found: dict[str, ast.Module] = {}
    for number in range(len(_steps(_TREE))):
        tree = copy.deepcopy(_TREE)
        step = _steps(tree)[number]
        name = step.name
        if name in INSTEAD:
            step.call.func = ast.Name(_instead(name), ast.Load())
        else:
            is_alone = isinstance(step.block[step.place], ast.Expr)
            assert is_alone, f"what does {step.function}() go on with, without {name}()?"
            step.block[step.place] = ast.Pass()
        found[_unused(f"{step.function} without {name}", found)] = ast.fix_missing_locations(tree)
    for number in range(len(_contexts(_TREE))):
        tree = copy.deepcopy(_TREE)
        function, item = _contexts(tree)[number]
        call = item.context_expr
        assert isinstance(call, ast.Call)
        name = f"{function} without the end of {ast.unparse(call.func)}"
        item.context_expr = ast.Call(ast.Name(_Unended.__name__, ast.Load()), [call], [])
        found[_unused(name, found)] = ast.fix_missing_locations(tree)
    return found


def swapped() -> dict[str, ast.Module]:
    """The module with two neighbouring steps in the wrong order, where neither needs the other."""
    found: dict[str, ast.Module] = {}
    for number, (function, block) in enumerate(_blocks(_TREE)):
        named = [(index, _first_step(one)) for index, one in enumerate(block)]
        steps = [(index, name) for index, name in named if name is not None]
        for (one, before), (other, after) in pairwise(steps):
            if _may_swap(block[one : other + 1]):
                tree = copy.deepcopy(_TREE)
                _, wrong = _blocks(tree)[number]
                wrong[one], wrong[other] = wrong[other], wrong[one]
                name = _unused(f"{function} with {after} before {before}", found)
                found[name] = ast.fix_missing_locations(tree)
    return found


def plant(tree: ast.Module) -> Callable[[pytest.MonkeyPatch], None]:
    """What makes drivers and resumers run *tree* instead of ``commit.py``."""

    def patch_it(patch: pytest.MonkeyPatch) -> None:
        module = ModuleType(commit.__name__)
        vars(module).update({_instead(name): step for name, step in INSTEAD.items()})
        vars(module)[_Unended.__name__] = _Unended
        exec(compile(tree, str(commit.__file__), "exec"), vars(module))
        patch.setattr(driver, "commit_job", module.commit_job)
        patch.setattr(recovery, "finish_job", module.finish_job)

    return patch_it


def _steps(tree: ast.Module) -> list[Step]:
    return [
        Step(function, block, index, call)
        for function, block in _blocks(tree)
        for index, statement in enumerate(block)
        for call in _calls(statement)
    ]


def _blocks(tree: ast.Module) -> list[tuple[str, list[ast.stmt]]]:
    """Every list of statements in the functions of a module, with the name of the function."""
    return [
        (function.name, block)
        for function in tree.body
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        for _, block in ast.iter_fields(node)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt)
    ]


def _contexts(tree: ast.Module) -> list[tuple[str, ast.withitem]]:
    """What is left by awaiting, with the name of the function."""
    return [
        (function.name, item)
        for function in tree.body
        if isinstance(function, ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.AsyncWith)
        for item in node.items
    ]


def _calls(statement: ast.stmt) -> Iterator[ast.Call]:
    """The steps of a statement, but for those in the blocks within it."""
    alone = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(alone, ast.Call) and isinstance(alone.func, ast.Name) and _is_step(alone):
        yield alone
    looking: list[ast.AST] = [statement]
    while looking:
        node = looking.pop(0)
        for awaited in _awaited(node):
            if _is_step(awaited):
                yield awaited
        within = (ast.stmt, ast.ExceptHandler)
        looking += [one for one in ast.iter_child_nodes(node) if not isinstance(one, within)]


def _awaited(node: ast.AST) -> list[ast.Call]:
    """The calls that a node awaits: one, or those that run at once."""
    call = node.value if isinstance(node, ast.Await) else None
    return _at_once(call) if isinstance(call, ast.Call) else []


def _at_once(call: ast.Call) -> list[ast.Call]:
    """A call, or those that it runs at once, which may be two that run at once themselves."""
    if ast.unparse(call.func) not in TOGETHER:
        return [call]
    return [one for given in call.args if isinstance(given, ast.Call) for one in _at_once(given)]


def _is_step(call: ast.Call) -> bool:
    return ast.unparse(call.func) not in _OWN


def _first_step(statement: ast.stmt) -> str | None:
    """The first step in a statement, the blocks within it included."""
    inner = (one for one in ast.walk(statement) if isinstance(one, ast.stmt))
    return next((ast.unparse(call.func) for one in inner for call in _calls(one)), None)


def _may_swap(statements: Sequence[ast.stmt]) -> bool:
    """Whether the first and the last need nothing that others of them make, nor the reverse."""
    made = [_names(one, ast.Store) for one in statements]
    needed = [_names(one, ast.Load) for one in statements]
    return not any(
        made[one] & (made[other] | needed[other]) or needed[one] & made[other]
        for one in (0, -1)
        for other in range(one + 1, len(statements) + one)
    )


def _names(statement: ast.stmt, kind: type[ast.Load | ast.Store]) -> set[str]:
    found = {
        one.id
        for one in ast.walk(statement)
        if isinstance(one, ast.Name) and isinstance(one.ctx, kind)
    }
    return found - {"warnings"}  # Their order does not matter.


def _instead(name: str) -> str:
    return f"_without_{name.replace('.', '_')}"


def _unused(name: str, taken: dict[str, ast.Module]) -> str:
    found, number = name, 2
    while found in taken:
        found, number = f"{name} ({number})", number + 1
    return found
