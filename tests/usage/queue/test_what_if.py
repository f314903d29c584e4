"""What-ifs: each text is either parsed or refused with what may be written; effects are planted."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.usage.queue.walltimes import (
    RunSteadiness,
    VariedProgram,
    asked,
    request_change,
    times_with,
    variation,
)
from assay.usage.queue.whatif import KINDS, Case, WhatIf, WhatIfContext, parse_what_if
from assay.usage.scheduler.machine import EqualNodes, Machine, Partition
from assay.usage.scheduler.policy import Policy
from planted_loads import planted_load

MACHINE = Machine(nodes=(EqualNodes(count=200), EqualNodes(count=40)))
LOAD = planted_load([0, 100, 200], [3600, 90000, 50], [1, 64, 128], limit=[7200, 90000, 500])
TIMES = np.random.default_rng(2).normal(100.0, 5.0, 400)
RUN = RunSteadiness((VariedProgram("FT", TIMES, 0.05, "npb.ft"),), noise=0.03, named=True)


def case() -> Case:
    return Case(LOAD, MACHINE, Policy())


def parsed(text: str, run: RunSteadiness | None = None) -> WhatIf:
    return parse_what_if(text, WhatIfContext(MACHINE, run or RunSteadiness()))


def applied(text: str) -> Case:
    return parsed(text, RUN).apply(case(), np.random.default_rng(1))


@settings(max_examples=120, deadline=None)
@given(
    st.one_of(
        st.text(max_size=30),
        st.tuples(
            st.sampled_from(sorted(KINDS)), st.text("0123456789.+-%:×xeEdhrunnpb.ft ", max_size=12)
        ).map("=".join),
    )
)
def test_any_text_is_parsed_or_refused(text: str) -> None:
    """No traceback, no number that can't be; what is parsed can be applied."""
    try:
        found = parsed(text, RUN)
    except AssayError as error:
        assert error.where.startswith("--what-if") and error.fix
        return
    assert found.text.partition("=")[0] in KINDS
    changed = found.apply(case(), np.random.default_rng(1))
    assert changed.machine.size >= 1
    assert np.all(np.isfinite(changed.workload.limit)) and np.all(changed.workload.limit >= 1.0)
    assert np.all(changed.workload.run >= 0.0) and np.all(np.isfinite(changed.workload.run))


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 400), st.sampled_from(["+", "-", ""]))
def test_nodes_as_stated(number: int, sign: str) -> None:
    wanted = {"+": 240 + number, "-": 240 - number, "": number}[sign]
    if wanted < 1:
        with pytest.raises(AssayError):
            parsed(f"nodes={sign}{number}")
        return
    assert applied(f"nodes={sign}{number}").machine.size == wanted


def test_what_each_changes() -> None:
    assert applied("nodes=+10%").machine.size == 264
    assert applied("nodes=-50%").machine.nodes == (EqualNodes(count=120),)
    assert applied("estimates=2").workload.limit.tolist() == [5400, 90000, 275]
    assert applied("estimates=exact").workload.limit.tolist() == [3600, 90000, 50]
    assert applied("estimates=×3").workload.limit.tolist() == [10800, 270000, 150]
    assert applied("estimates=x3").workload.limit.tolist() == [10800, 270000, 150]
    assert set(applied("estimates=modal").workload.limit) != {7200, 90000, 500}
    assert applied("longest=12h").workload.run.tolist() == [3600, 43200, 43200, 3600, 50]
    assert applied("largest=32").workload.processors.tolist() == [1, 32, 32]
    assert applied("heartbeat=2%").workload.run.tolist() == [3600, 88200, 49]
    assert applied("heartbeat=run").workload.run == pytest.approx([3600, 87300, 48.5])
    assert applied("policy=fcfs").policy.backfill == "none"
    failures = applied("lost-node=1d:8").machine.failures
    assert len(failures) == 1 and failures[0].last - failures[0].first == 7
    assert failures[0].end - failures[0].begin == pytest.approx(86400)


def test_another_policy_shares_nodes_as_the_first_unless_a_file_says_how(tmp_path: Path) -> None:
    shared = replace(case(), policy=Policy(sharing="processor"))
    random = np.random.default_rng(1)
    changed = parsed("policy=conservative").apply(shared, random).policy
    assert changed == Policy(backfill="conservative", sharing="processor")
    file = tmp_path / "easy.toml"  # the name of a known one
    file.write_text('[policy]\nbackfill = "none"\n')
    assert parsed(f"policy={file}").apply(shared, random).policy == Policy(backfill="none")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nodse=+10%", "Did you mean 'nodes'?"),
        ("nodes", "has no value"),
        ("nodes=10%", "nodes=+10%"),
        ("nodes=-240", "can't have 0 nodes"),
        ("nodes=1.5", "nodes=+10%"),
        ("estimates=0", "better by a factor of 0"),
        ("estimates=1e-300", "from 0.001 to 1000"),
        ("estimates=x1e300", "at most ×1000"),
        ("nodes=+0.1%", "less than half a node"),
        ("cov=:5%", "not a coefficient"),
        ("cov=5%:", "not a coefficient"),
        ("largest=²", "from 1 to 240"),
        ("lost-node=1d:²", "from 1 to 240"),
        ("lost-node=1d:", "from 1 to 240"),
        ("estimates=x0.5", "end every job"),
        ("estimates=soon", "not a kind of estimates"),
        ("cov=npb.ft:1%", "no run"),
        ("cov=5%:high", "not a coefficient"),
        ("cov=-1%", "not a coefficient"),
        ("cov=200%", "not between 0% and 100%"),
        ("longest=1s", "at least a minute"),
        ("longest=12", "has no unit"),
        ("longest=12s", "at least a minute"),
        ("longest=12 GB", "GB"),
        ("largest=0", "from 1 to 240"),
        ("largest=241", "from 1 to 240"),
        ("heartbeat=run", "noise"),
        ("heartbeat=120%", "not between"),
        ("lost-node=8d", "at most a week"),
        ("lost-node=1d:999", "lost-node=1d:8"),
        ("policy=best", "neither a known scheduler nor a TOML file"),
        ("policy=absent.toml", "can't be read"),
    ],
)
def test_refused_with_a_fix(text: str, said: str) -> None:
    with pytest.raises(AssayError) as caught:
        parsed(text)
    assert said in f"{caught.value} {caught.value.where} {caught.value.fix}"


def test_nodes_of_partitions_are_not_taken() -> None:
    machine = Machine(nodes=(EqualNodes(count=8),), partitions=(Partition(name="a", last=7),))
    with pytest.raises(AssayError, match="beyond node 7"):
        parse_what_if("nodes=-1", WhatIfContext(machine))


def test_requests_follow_the_cov_by_the_walltime_that_is_asked() -> None:
    """The 99.5% quantile of lognormal run times, whose order statistic bounds the 99% one."""
    assert asked(times_with(0.0)) == 1.0
    for cov in (0.01, 0.057, 0.2):
        times = times_with(cov)
        assert times.mean() == pytest.approx(1.0, abs=0.002)
        assert times.std(ddof=1) == pytest.approx(cov, rel=0.02)
        sigma = math.sqrt(math.log1p(cov * cov))
        # Between the 99% and the 99.9% quantile of the normal distribution.
        low, high = (math.exp(z * sigma - sigma * sigma / 2) for z in (2.326, 3.09))
        assert low < asked(times) < high
    factor = request_change(0.057, 0.01)
    assert factor == pytest.approx(asked(times_with(0.01)) / asked(times_with(0.057)))
    assert parsed("cov=5.7%:1%").request == pytest.approx(factor - 1.0)
    assert "lets users ask for" in parsed("cov=5.7%:1%").lead
    limits = applied("cov=5.7%:1%").workload
    assert limits.limit == pytest.approx([7200 * factor, 90000, 500 * factor])
    assert np.array_equal(limits.run, LOAD.run)


def test_the_cov_of_a_run_is_that_of_its_times() -> None:
    found = parsed("cov=npb.ft:1%", RUN)
    scaled = 100.0 + (TIMES - TIMES.mean()) * 0.01 / (TIMES.std(ddof=1) / TIMES.mean())
    # The shape is kept, so that the excess over the mean shrinks in proportion.
    excess = (asked(TIMES) - 1) * 0.01 / (TIMES.std(ddof=1) / TIMES.mean())
    assert found.request == pytest.approx((1 + excess) / asked(TIMES) - 1)
    assert scaled.std() < TIMES.std()
    assert "Bringing FT's CoV from 5% to 1%" in found.lead
    assert parsed("cov=run:1%", RUN).request == found.request
    with pytest.raises(AssayError, match=r"no program 'npb\.lu'"):
        parsed("cov=npb.lu:1%", RUN)


@pytest.mark.parametrize(("before", "after"), [(0.0, 0.1), (0.05, 0.2), (0.1, 0.1), (0.2, 0.05)])
def test_added_variation_completes_the_present_one(before: float, after: float) -> None:
    random = np.random.default_rng(4)
    factors = variation(before, after, 200_000, random)
    assert factors.mean() == pytest.approx(1.0, abs=2e-3)
    present = np.exp(random.normal(0, math.sqrt(math.log1p(before**2)), 200_000))
    together = present * factors
    wanted = max(before, after)
    assert together.std() / together.mean() == pytest.approx(wanted, rel=0.02)
