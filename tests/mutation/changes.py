"""Small changes of code that ought to be noticed: what can be put in the place of a node.

Not changed are strings, the words of errors, how long things took and what is said of types; nor is
a call left without an ``await``, which Python itself complains of.
"""

from __future__ import annotations

import ast
import copy
from functools import singledispatch
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
    Instead: TypeAlias = Iterator[tuple[str, ast.AST | list[ast.stmt]]]

OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
BY_ONE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
OTHER: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}
OTHER_CALL = {"min": "max", "max": "min", "any": "all", "all": "any"}
LOGGING = {"debug", "info", "warning", "add_note", "took"}
WORDS_OF_ERRORS = {"job_id", "path", "stage", "task_id", "remaining"}
"""What an error says of where it came from; its ``kind`` and ``outcome`` are acted on."""
ASSERTED = "strict"
"""The keyword by which ``zip`` asserts what is true."""
EMPTY = {"()", "[]", "{}", "set()", "frozenset()", "list()", "tuple()", "dict()"}
"""What is the same, wherever one of them is meant."""


class Change(NamedTuple):
    """One node, and what is put in its place.

    Attributes:
        kind: What kind of change it is, in a word.
        node: The node, in the tree that ``make`` changes.
        was: Its text.
        becomes: The text of what takes its place.
        make: Puts it there.
    """

    kind: str
    node: ast.AST
    was: str
    becomes: str
    make: Callable[[], None]


def changes(function: Function) -> Iterator[Change]:
    """Every change of the body of a function, in the order of its source."""
    for node, field, place in _places(function):
        child = _child(node, field, place)
        for kind, new in _instead_of(child, function, node, field):
            for one in new if isinstance(new, list) else [new]:
                if not hasattr(one, "lineno"):
                    ast.fix_missing_locations(ast.copy_location(one, child))
            put = _Putting(node, field, place, new)
            yield Change(kind, child, _text(child), _text(new), put.do)


def _instead_of(child: ast.AST, function: Function, node: ast.AST, field: str) -> Instead:
    if isinstance(child, ast.stmt) and _is_removable(child, function):
        yield "removed", ast.Pass()
    if isinstance(child, ast.ExceptHandler) and isinstance(node, ast.Try):
        yield "except", []
    yield from instead(child)
    if isinstance(child, ast.expr) and field in {"test", "ifs"} and not _has_an_opposite(child):
        yield "negated", ast.UnaryOp(ast.Not(), child)


class _Putting(NamedTuple):
    node: ast.AST
    field: str
    place: int | None
    new: ast.AST | list[ast.stmt]

    def do(self) -> None:
        if self.place is None:
            setattr(self.node, self.field, self.new)
        else:
            new = self.new if isinstance(self.new, list) else [self.new]
            getattr(self.node, self.field)[self.place : self.place + 1] = new
        if isinstance(self.node, ast.Try) and not self.node.handlers:
            self.node.body += self.node.orelse  # which only stands after handlers
            self.node.orelse = []
        if isinstance(self.node, ast.Try) and not self.node.handlers and not self.node.finalbody:
            self.node.finalbody = [ast.fix_missing_locations(ast.Pass(lineno=1, col_offset=0))]


def _places(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Where a node stands, for each that may be changed."""
    for field, value in ast.iter_fields(node):
        if field in _LEFT_ALONE.get(type(node), ()):
            continue
        for place, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if isinstance(child, ast.AST) and not (_is_words(child) or _is_told(node, child)):
                yield node, field, place
                yield from _places(child)


_LEFT_ALONE: dict[type[ast.AST], tuple[str, ...]] = {
    ast.FunctionDef: ("args", "decorator_list", "returns"),
    ast.AsyncFunctionDef: ("args", "decorator_list", "returns"),
    ast.Lambda: ("args",),
    ast.AnnAssign: ("annotation", "target"),
    ast.Assign: ("targets",),
    ast.Raise: ("cause",),  # It is shown with a traceback.
}


def _is_words(node: ast.AST) -> bool:
    """Whether it only makes text, or a line of a log."""
    if isinstance(node, ast.Expr):
        node = node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in LOGGING
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _is_told(node: ast.AST, child: ast.AST) -> bool:
    """Whether it only says where an error came from."""
    if not isinstance(node, ast.Call) or not isinstance(child, ast.keyword):
        return False
    is_error = isinstance(node.func, ast.Name) and node.func.id.endswith("Error")
    return is_error and child.arg in WORDS_OF_ERRORS


def _child(node: ast.AST, field: str, place: int | None) -> ast.AST:
    value = getattr(node, field)
    found = value if place is None else value[place]
    assert isinstance(found, ast.AST)
    return found


def _text(node: ast.AST | list[ast.stmt]) -> str:
    if isinstance(node, list):
        return "; ".join(map(_text, node)) or "nothing"
    if isinstance(node, ast.ExceptHandler):
        return f"except {_text(node.type) if node.type else ''}"
    if isinstance(node, ast.Pass):
        return "nothing"
    return ast.unparse(node).partition("\n")[0]


def _is_removable(one: ast.stmt, function: Function) -> bool:
    if isinstance(one, ast.Return):
        return one not in _at_the_end(function.body)  # There it is the same as to return nothing.
    if isinstance(one, ast.Expr):
        return isinstance(one.value, ast.Call | ast.Await) and not _asks_above(one)
    if isinstance(one, ast.Assign):
        return _can_do_without(one, function)
    return isinstance(one, ast.Raise | ast.AugAssign | ast.Delete | ast.Assert | ast.Continue)


def _at_the_end(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements after which nothing comes."""
    last = body[-1]
    yield last
    if isinstance(last, ast.If | ast.With | ast.AsyncWith):
        yield from _at_the_end(last.body)
    if isinstance(last, ast.If) and last.orelse:
        yield from _at_the_end(last.orelse)
    if isinstance(last, ast.Try) and not last.finalbody:
        for branch in (last.orelse or last.body, *(one.body for one in last.handlers)):
            yield from _at_the_end(branch)


def _asks_above(one: ast.Expr) -> bool:
    """Whether it names the class that it is in, which compiles to another kind of function."""
    return any(isinstance(node, ast.Name) and node.id == "super" for node in ast.walk(one))


def _can_do_without(one: ast.Assign, function: Function) -> bool:
    """Whether what is assigned to may have a value before."""
    if not all(isinstance(target, ast.Name) for target in one.targets):
        return not any(isinstance(target, ast.Tuple) for target in one.targets)
    names = {target.id for target in one.targets if isinstance(target, ast.Name)}
    if names & _bound_once_for_inner_functions(function) and one not in _inner_nodes(function):
        return False
    stored = [
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in names
    ]
    given = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    return len(stored) > len(names) or names <= given


def _bound_once_for_inner_functions(function: Function) -> set[str]:
    """Names that inner functions declare as ``nonlocal``: without a binding none compiles."""
    inner = _inner_nodes(function)
    bound = [
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in inner
    ]
    shared = {name for node in inner if isinstance(node, ast.Nonlocal) for name in node.names}
    return {name for name in shared if bound.count(name) == 1}


def _inner_nodes(function: Function) -> set[ast.AST]:
    inner = (node for node in ast.walk(function) if node is not function)
    defined = (node for node in inner if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {node for one in defined for node in ast.walk(one)}


def _has_an_opposite(one: ast.expr) -> bool:
    if isinstance(one, ast.UnaryOp):
        return isinstance(one.op, ast.Not)
    if isinstance(one, ast.Constant):
        return True
    return isinstance(one, ast.Compare) and len(one.ops) == 1 and type(one.ops[0]) in OPPOSITE


@singledispatch
def instead(one: ast.AST) -> Instead:
    """What else could stand in the place of a node, and what kind of change that is."""
    del one
    yield from ()


@instead.register(ast.Return)
def _(one: ast.Return) -> Instead:
    value = one.value
    if value is None or isinstance(value, ast.Constant):
        return  # A constant is changed as such.
    decides = isinstance(value, ast.Compare | ast.BoolOp) or (
        isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    )
    for constant in (True, False) if decides else (None,):
        yield "returned", ast.Return(ast.Constant(constant))


@instead.register(ast.Break)
def _(_: ast.Break) -> Instead:
    yield "loop", ast.Continue()


@instead.register(ast.Continue)
def _(_: ast.Continue) -> Instead:
    yield "loop", ast.Break()


@instead.register(ast.With)
@instead.register(ast.AsyncWith)
def _(one: ast.With | ast.AsyncWith) -> Instead:
    if not any(item.optional_vars for item in one.items):
        yield "removed", one.body


@instead.register(ast.Try)
def _(one: ast.Try) -> Instead:
    if one.finalbody:
        kept = copy.copy(one)
        kept.finalbody = [ast.Pass()]
        yield "finally", kept


@instead.register(ast.For)
@instead.register(ast.AsyncFor)
def _(one: ast.For | ast.AsyncFor) -> Instead:
    if isinstance(one.body[-1], ast.Return | ast.Raise | ast.Break):
        return  # It is never done twice.
    once = copy.copy(one)
    once.body = [*one.body, ast.Break()]
    yield "once", once


@instead.register(ast.BoolOp)
def _(one: ast.BoolOp) -> Instead:
    yield "and or", ast.BoolOp(ast.Or() if isinstance(one.op, ast.And) else ast.And(), one.values)
    for place in range(len(one.values)):
        rest = [*one.values[:place], *one.values[place + 1 :]]
        yield "dropped", ast.BoolOp(one.op, rest) if len(rest) > 1 else copy.copy(rest[0])


@instead.register(ast.UnaryOp)
def _(one: ast.UnaryOp) -> Instead:
    if isinstance(one.op, ast.Not):
        yield "negated", copy.copy(one.operand)


@instead.register(ast.Compare)
def _(one: ast.Compare) -> Instead:
    for place, operator in enumerate(one.ops):
        found = OPPOSITE.get(type(operator)) or BY_ONE[type(operator)]
        ops = [*one.ops[:place], found(), *one.ops[place + 1 :]]
        yield "compared", ast.Compare(one.left, ops, one.comparators)


@instead.register(ast.BinOp)
def _(one: ast.BinOp) -> Instead:
    if isinstance(one.op, ast.BitOr | ast.BitAnd):
        yield "dropped", copy.copy(one.left)
        yield "dropped", copy.copy(one.right)
    elif type(one.op) in OTHER:
        yield "computed", ast.BinOp(one.left, OTHER[type(one.op)](), one.right)


@instead.register(ast.Constant)
def _(one: ast.Constant) -> Instead:
    if isinstance(one.value, bool):
        yield "constant", ast.Constant(not one.value)
    elif isinstance(one.value, int | float):
        yield "constant", ast.Constant(one.value + 1)


@instead.register(ast.Call)
def _(one: ast.Call) -> Instead:
    name = one.func.id if isinstance(one.func, ast.Name) else ""
    if name in OTHER_CALL:
        yield "computed", ast.Call(ast.Name(OTHER_CALL[name], ast.Load()), one.args, one.keywords)
    first, *others = [ast.unparse(arg) for arg in one.args[:2]] or [""]
    is_other = others != [first] and not {first, *others} <= EMPTY
    if len(one.args) > 1 and is_other and name not in {"isinstance", "min", "max"}:
        yield "swapped", ast.Call(one.func, [one.args[1], one.args[0], *one.args[2:]], one.keywords)
    for place, keyword in enumerate(one.keywords):
        if _is_told(one, keyword):
            continue
        if keyword.arg not in {None, ASSERTED}:
            rest = [*one.keywords[:place], *one.keywords[place + 1 :]]
            yield f"without {keyword.arg}", ast.Call(one.func, one.args, rest)
