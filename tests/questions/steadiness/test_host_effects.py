"""Host effects: a planted slow host is named by its sets; without one none is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.steadiness.host_effects.answer import part as part_of
from assay.questions.steadiness.host_effects.findings import find
from assay.stats.repeats.repeats import Repeats


def repeats(slow: float) -> Repeats:
    rng = np.random.default_rng(6)
    sets = [f"n[{a}-{a + 1}],n{b}" for a in range(1, 6) for b in (7, 8, 9)]
    hosts = [text for text in sets for _ in range(3)]
    effect = np.array([slow * ("n8" in text) for text in hosts])
    values = np.exp(effect + 0.005 * rng.standard_normal(len(hosts)))
    names = tuple(str(i) for i in range(len(hosts)))
    cell = Cell("network.barrier", {}, Placement(nodes=3, ppn=1), "embedded")
    return Repeats(cell, "time", "s", "less", values, np.arange(45.0), names, names, tuple(hosts))


def test_a_host_that_slows_its_sets_is_in_the_part() -> None:
    found = find([repeats(0.08)])
    assert found is not None
    (slow,) = found.slow
    assert (slow.hosts, slow.sets, slow.of_sets, found.sets) == (("n8",), 5, 15, 15)
    assert slow.ci95[0] < np.exp(0.08) < slow.ci95[1]
    part = part_of(found)
    assert "sets with n8 take 8" in part.remark
    assert "(5 of 15 sets" in part.remark
    assert part.advice == ["Measure n8 individually: `assay run --per-node`."]
    assert part.evidence[0].value == pytest.approx(1.083, abs=0.01)


def test_without_a_slow_host_none_is_named() -> None:
    found = find([repeats(0.0)])
    assert found is not None
    quiet = part_of(found)
    assert quiet.evidence == []
    assert quiet.remark == "no effect of single hosts found in 15 sets of hosts"


def test_few_sets_and_sets_without_a_common_host_give_no_result() -> None:
    assert find([repeats(0.0).take(np.arange(9))]) is None
    alone = replace(repeats(0.0), hosts=tuple(f"n{k // 3}" for k in range(45)))
    assert find([alone]) is None
