"""What a node's file keeps after a check."""

from __future__ import annotations

import math

from assay.check.baseline.exceedance import exceeded_with
from assay.check.decision.judgement import FOUND, OWN_UNTIL, judge_check
from assay.check.decision.model import Given, NodeState, SeriesJudgement, SeriesState


def next_state(given: Given) -> NodeState:
    """The state after a check whose last round is in ``given``.

    Evidence is counted for quiet values; slow ones count once a second measurement agrees. A
    node's own level is the mean of its first checks without a suspicion since the baseline was
    learned, and stays as it is afterwards: a node that becomes slower step by step doesn't take
    its level along.
    """
    anchored = given.state.anchored == given.baseline.anchored
    series = dict(given.state.series) if anchored else {}
    for judged in judge_check(given):
        before = series.get(judged.series) or SeriesState()
        series[judged.series] = _after(before, judged, given.utc)
    return NodeState(anchored=given.baseline.anchored, series=series)


def _after(before: SeriesState, judged: SeriesJudgement, utc: float) -> SeriesState:
    checks, level = before.checks, before.level
    if checks < OWN_UNTIL and judged.counts and not judged.suspicious:
        # A single value that is far too fast must not move the level far.
        usual = judged.usual
        cost = max(judged.level_cost, usual.level - exceeded_with(usual.fleet, FOUND))
        if math.isfinite(cost):
            checks += 1
            level += (cost - level) / checks
    counted = utc if judged.counts and math.isfinite(utc) else before.counted
    return SeriesState(checks=checks, level=level, evidence=judged.evidence, counted=counted)
