"""Every precondition of insert, move and delete, in any order, beside a plain reading of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.servers.gcs.strict.failures import Failure
from tests.servers.gcs.strict.messages import Call
from tests.servers.gcs.strict.methods import answer
from tests.servers.gcs.strict.service import Service
from tests.servers.gcs.strict.state import State

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

# What is there by name: its number in the order of writing, and its content.
Known = dict[str, tuple[int, bytes]]
NAMES = ("a", "b", "c")


def conditions(of: str) -> SearchStrategy[dict[str, int]]:
    """By parameter the number of a generation in the order of writing; 0 is none."""
    keys = st.sampled_from([f"{of}GenerationMatch", f"{of}GenerationNotMatch"])
    return st.dictionaries(keys, st.integers(0, 6), max_size=2)


class Step(NamedTuple):
    kind: str
    name: str
    to: str
    on: dict[str, int]
    source: dict[str, int]


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["insert", "move", "delete"]),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
        conditions("if"),
        conditions("ifSource"),
    ),
    max_size=15,
)


def holds(wanted: dict[str, int], known: Known, name: str, of: str) -> bool:
    number = known[name][0] if name in known else 0
    match, other = wanted.get(f"{of}GenerationMatch"), wanted.get(f"{of}GenerationNotMatch")
    return match in {None, number} and (other is None or (number not in (0, other)))


def expected(known: Known, step: Step) -> int:
    if step.kind == "move" and step.name == step.to:
        return 400
    if step.kind != "insert" and step.name not in known:
        return 404
    if step.kind == "move" and not holds(step.source, known, step.name, "ifSource"):
        return 412
    if not holds(step.on, known, goal_of(step), "if"):
        return 412
    return 204 if step.kind == "delete" else 200


def goal_of(step: Step) -> str:
    return step.to if step.kind == "move" else step.name


@given(STEPS)
def test_preconditions_decide(steps: list[Step]) -> None:
    service = Service(State())
    service.state.commit(
        ("bucket", {"name": "b", "locationType": "region", "storageClass": "STANDARD"})
    )
    known: Known = {}
    # The generations so far; number 0 is none, and those to come are no one's.
    written = [0]
    for step in steps:
        status = expected(known, step)
        content = b"%d" % len(written)
        assert told(service, step, written, content) == status
        objects = service.state.bucket("b").objects
        if status == 200:
            kept = known[step.name][1] if step.kind == "move" else content
            known[goal_of(step)] = (len(written), kept)
            written.append(objects[goal_of(step)].generation)
        if status in {200, 204} and step.kind != "insert":
            del known[step.name]
        assert {one: objects[one].content for one in objects} == {
            one: content for one, (_, content) in known.items()
        }
        assert written == sorted(set(written))


def told(service: Service, step: Step, written: list[int], content: bytes) -> int:
    asked = {**step.on, **(step.source if step.kind == "move" else {})}
    query = {
        parameter: str(written[number] if number < len(written) else number)
        for parameter, number in asked.items()
    }
    path = {"bucket": "b", "object": step.name, "destination": step.to}
    if step.kind == "insert":
        query |= {"uploadType": "media", "name": step.name}
    call = Call(f"objects.{step.kind}", path, query, {}, content, "http://host", None)
    try:
        return answer(service, call).status
    except Failure as failure:
        return failure.status
