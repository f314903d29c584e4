"""What what-ifs take from a stored run: the variation of its programs, and its noise."""

from __future__ import annotations

import pytest

from assay.questions.common.question import Measured
from assay.questions.usage.queue.walltimes import asked, steadiness_of
from assay.questions.usage.queue.whatif import WhatIfContext, parse_what_if
from assay.stats.cells.summarise import summarise_cells
from assay.usage.scheduler.machine import EqualNodes, Machine
from variation_builder import normal, npb, run_of


def test_programs_of_a_run() -> None:
    run = run_of(
        [(npb("ft"), normal(1, 60, 0.06)), (npb("lu"), normal(2, 60, 0.01)),
         (npb("ep"), normal(3, 4, 0.3))],
    )  # fmt: skip
    found = steadiness_of(Measured(run, summarise_cells(run)))
    assert [each.name.split(" ")[0] for each in found.programs] == ["npb.ft", "npb.lu"]
    worst = found.programs[0]
    assert worst.cov == pytest.approx(0.06, rel=0.2)
    assert worst.times.size == 60
    assert found.noise is None
    context = WhatIfContext(Machine(nodes=(EqualNodes(count=8),)), found)
    what_if = parse_what_if("cov=npb.ft:1%", context)
    assert what_if.request is not None
    excess = (asked(worst.times) - 1) * 0.01 / (worst.times.std(ddof=1) / worst.times.mean())
    assert 1 + what_if.request == pytest.approx((1 + excess) / asked(worst.times), rel=1e-6)
    assert parse_what_if("cov=run:1%", context).request == what_if.request
