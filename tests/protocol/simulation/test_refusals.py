"""A driver that is refused for good is told what is true, and its job can be settled by others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from fsspec_commit.testing.simulation import FAMILIES, FaultAt, run, settling
from fsspec_commit.testing.simulation.told import Told
from tests.protocol.simulation.scenes import plan_of

FOR_GOOD_S = 9_000.0


@pytest.mark.parametrize("family", FAMILIES, ids=lambda name: name.replace("hdfs", "dfs"))
def test_p7_p8_who_is_refused_for_good_is_told_what_is_true(family: str) -> None:
    """From each of its calls on: it has committed whole, or nothing at all, and says which."""
    plan = plan_of("folded" if FAMILIES[family].folds_names else "overwrite", family)
    assert plan is not None
    plan = replace(plan, jobs=(replace(plan.jobs[0], then="leave"),))
    well = run(plan)
    whole, nothing = well.visible, run(replace(plan, jobs=())).visible
    assert whole != nothing
    told = Counter[str]()
    for call in range(1, well.calls["a.driver"] + 1):
        found = run(replace(plan, faults=(FaultAt("a.driver", call, "refused", FOR_GOOD_S),)))
        assert not found.violations, found
        answers = {text for text in found.told if text.startswith("commit ")}
        assert len(answers) <= 1, found
        told.update(answers)
        if answers & {"commit returned", "commit partial", "commit committed"}:
            assert found.visible == whole, found
        elif answers != {"commit unknown"}:
            assert found.visible == nothing, found
        assert found.visible in {whole, nothing}, found
    assert told.keys() >= {"commit not_committed", "commit partial", "commit returned"}


def test_p7_only_who_may_not_look_may_be_vague(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver finds that another one has decided, and may not read what."""
    plan = plan_of("two drivers", "disk")
    assert plan is not None
    faults = (
        FaultAt("a.driver", call, "refused", 0.0)
        for call in range(1, run(plan).calls["a.driver"] + 1)
    )
    plans = [replace(plan, faults=(fault,)) for fault in faults]
    vague = [one for one in plans if run(one).told["commit unknown"]]
    assert vague
    assert not any(run(one).violations for one in vague)
    monkeypatch.setattr(settling, "Told", lambda *told: replace(Told(*told), was_denied=False))
    assert any("P7" in text for one in vague for text in run(one).violations)
