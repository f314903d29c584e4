"""What high and medium confidence mean: the least share of such statements that are right.

``benchmarks/rates`` measures these shares for comparisons and histories.
"""

from __future__ import annotations

from assay.questions.common.answer import Confidence

# The least share of the statements of a confidence that are right; of low confidence none is
# stated.
RIGHT: dict[Confidence, float] = {"high": 0.95, "medium": 0.90}


def rate_text(confidence: Confidence) -> str:
    """``At least 95% of such verdicts are right``; empty for low confidence."""
    share = RIGHT.get(confidence)
    return "" if share is None else f"at least {share:.0%} of such verdicts are right"
