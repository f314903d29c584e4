"""How does its network behave? Parts that each measure one side of it, and one verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.answers.collectives import collectives_part
from assay.answers.concurrency import concurrency_part
from assay.answers.confidence import AGAIN, caveats_of, describe, is_broken, judge, why_broken
from assay.answers.fabric import fabric_part
from assay.answers.messages import barrier_part
from assay.answers.model import QUESTIONS, Answer
from assay.answers.pingpong import pingpong_part
from assay.answers.select import Part
from assay.answers.sweeps import FEWEST_SIZES, sweeps
from assay.answers.unmeasured import unmeasured
from assay.records.model import RunData
from assay.stats.model import CellSummary

PartFunction = Callable[[Sequence[CellSummary], RunData], Part | None]

# What stands besides the messages of one pair, in the order of the verdict.
PARTS: tuple[PartFunction, ...] = (
    lambda cells, run: concurrency_part(cells),
    collectives_part,
    fabric_part,
)


def answer_network(
    cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()
) -> Answer:
    """The network's answer; unmeasured for a run that holds no more than single message sizes.

    One size of ping-pong is context for speed: how a network behaves takes a sweep, or one of the
    other parts. A barrier is context here as there.
    """
    broken = [cell for cell in cells if cell.kernel.startswith("network.") and is_broken(cell)]
    others = [part for make in PARTS if (part := make(cells, run)) is not None]
    swept = any(len(sweep.sizes) >= FEWEST_SIZES for sweep in sweeps(cells, run))
    messages = pingpong_part(cells, run) if swept or others else None
    parts = [part for part in (messages, *others) if part is not None]
    if not parts:
        return unmeasured("network", cells)
    barrier = barrier_part(cells)
    parts += [barrier] if barrier else []
    headline = [point for part in parts for point in part.headline]
    confidence, why = judge(headline, broken, run.complete)
    clauses = "; ".join(part.remark for part in parts if part.remark)
    return Answer(
        question="network",
        title=QUESTIONS["network"],
        status="answered",
        verdict=clauses[:1].upper() + clauses[1:] + ".",
        confidence=confidence,
        confidence_why=why,
        evidence=[row for part in parts for row in part.evidence],
        advice=[
            *([AGAIN] if confidence == "low" else []),
            *(sentence for part in parts for sentence in part.advice),
        ],
        caveats=[
            *(f"{describe(cell)}: {why_broken(cell)}" for cell in broken),
            *(sentence for part in parts for sentence in part.caveats),
            *caveats_of(headline),
        ],
        method=[sentence for part in parts for sentence in part.method],
        limits=[sentence for part in parts for sentence in part.limits],
    )
