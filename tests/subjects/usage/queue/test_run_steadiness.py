"""What what-ifs take from a stored run: the variation of its programs, and its noise."""

from __future__ import annotations

import numpy as np
import pytest

from assay.questions.common.question import Measured
from assay.stats.cells.summarise import summarise_cells
from assay.subjects.usage.queue.steadiness import steadiness_of
from assay.usage.queue.walltimes import RunSteadiness, VariedProgram, asked, request_change
from assay.usage.queue.whatif import WhatIfContext, parse_what_if
from assay.usage.scheduler.machine import EqualNodes, Machine
from variation_builder import normal, npb, run_of


def test_programs_of_a_run() -> None:
    run = run_of(
        [(npb("ft"), normal(1, 60, 0.06)), (npb("lu"), normal(2, 60, 0.01)),
         (npb("ep"), normal(3, 4, 0.3))],
    )  # fmt: skip
    found = steadiness_of(Measured(run, summarise_cells(run)))
    assert [each.kernel for each in found.programs] == ["npb.ft", "npb.lu"]
    worst = found.programs[0]
    assert worst.cov == pytest.approx(0.06, rel=0.2)
    assert worst.times.size == 60
    assert found.noise is None
    # 60 runs don't show the distribution: that of the same CoV is assumed, and it is said.
    context = WhatIfContext(Machine(nodes=(EqualNodes(count=8),)), found)
    what_if = parse_what_if("cov=npb.ft:1%", context)
    assert what_if.request == pytest.approx(request_change(worst.cov, 0.01) - 1)
    assert "60 runs of FT" in what_if.words and "lognormal" in what_if.words
    assert what_if.lead.startswith("Bringing FT's CoV from ")
    assert parse_what_if("cov=run:1%", context).request == what_if.request


def test_many_runs_keep_the_shape_of_their_distribution() -> None:
    run = run_of([(npb("ft"), normal(1, 400, 0.06))])
    found = steadiness_of(Measured(run, summarise_cells(run)))
    worst = found.programs[0]
    what_if = parse_what_if(
        "cov=npb.ft:1%", WhatIfContext(Machine(nodes=(EqualNodes(count=8),)), found)
    )
    assert what_if.request is not None and "lognormal" not in what_if.words
    excess = (asked(worst.times) - 1) * 0.01 / (worst.times.std(ddof=1) / worst.times.mean())
    assert 1 + what_if.request == pytest.approx((1 + excess) / asked(worst.times), rel=1e-6)


def test_one_late_run_of_few_does_not_multiply_requests() -> None:
    """The tail model's bound would be some hundred times the median here."""
    times = [1.0] * 20 + [5.0]
    program = VariedProgram("FT", np.array(times), 0.7, "npb.ft")
    context = WhatIfContext(Machine(nodes=(EqualNodes(count=8),)), RunSteadiness((program,)))
    request = parse_what_if("cov=npb.ft:1%", context).request
    assert request is not None and -0.8 < request < -0.4
