"""What a board needs of a run: its main numbers, what they cost, how sure they are, what to do."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.answer import Answer, Evidence
from assay.questions.common.tables import Tone
from assay.records.model import Manifest, RunData
from assay.stats.core.model import CellSummary
from assay.subjects.board import (
    Board,
    certainty,
    decisions,
    evidence_headlines,
)
from assay.units import counted, format_quantity, listed

_NO_PRICE = "No price is stated. `[prices]` in assay.toml states what a node costs."


def run_board(
    run: RunData, cells: Sequence[CellSummary], answers: Sequence[Answer], machine: str
) -> Board:
    """``answers``: the asked question first. ``machine``: the measured machine in one line."""
    answered = [each for each in answers if each.status == "answered"]
    verdict, tone = _verdict(run, cells, answered)
    first = answered[0].verdict if answered else "The run has no results yet."
    return Board(
        verdict=verdict,
        tone=tone,
        sentence=first,
        headlines=evidence_headlines(_varied(answered)),
        decide=decisions(answered),
        sure=[*_incomplete(run), *certainty(answered)],
        what=[each for each in (machine,) if each],
        does=[f"{each.title} {each.verdict}" for each in answered[1:]],
        costs=_costs(run.manifest, run, cells),
    )


def _varied(answered: Sequence[Answer]) -> list[Evidence]:
    """The evidence, beginning with one row of each quantity, as the first word of its label says:
    STREAM, DGEMM, CG. Rows with a limit come first."""
    rows = sorted(
        (row for answer in answered for row in answer.evidence), key=lambda row: row.share is None
    )
    first = {row.label.split(" ")[0].rstrip(","): row for row in reversed(rows)}
    leading = [row for row in rows if any(row is each for each in first.values())]
    return [*leading, *(row for row in rows if not any(row is each for each in leading))]


def _verdict(
    run: RunData, cells: Sequence[CellSummary], answered: Sequence[Answer]
) -> tuple[str, Tone]:
    if any(answer.impossible for answer in answered):
        return "Impossible numbers", "bad"
    if any(cell.verified is False for cell in cells):
        return "Wrong results", "bad"
    if not run.complete or not answered:
        return "Incomplete", "warn"
    confidence = answered[0].confidence
    word = "Simulated" if run.manifest.fake else "Measured"
    tones: dict[str | None, Tone] = {"high": "good", "medium": "warn", "low": "bad"}
    if confidence is None:
        return word, ""
    return f"{word}, {confidence} confidence", tones[confidence]


def _incomplete(run: RunData) -> list[str]:
    simulated = ["The machine is simulated: nothing was measured."] if run.manifest.fake else []
    return simulated + ([] if run.complete else ["The run is incomplete."])


def _costs(manifest: Manifest, run: RunData, cells: Sequence[CellSummary]) -> list[str]:
    sentences = []
    prices = manifest.prices
    stated = [f"{name} {amount:,.12g}" for name, amount in sorted(prices.amounts.items())]
    if stated:
        currency = f" ({prices.currency})" if prices.currency else ""
        sentences.append(f"Stated prices{currency}: {', '.join(stated)}.")
    else:
        sentences.append(_NO_PRICE)
    spent = sum(launch.wall for launch in run.launches)
    if spent:
        launches = counted(len(run.launches), "launch")
        sentences.append(f"Measuring took {format_quantity(spent, 's')} in {launches}.")
    energies = [
        f"{format_quantity(cell.device_energy.value, 'J')} for {cell.kernel}"
        for cell in cells
        if cell.device_energy is not None
    ]
    if energies:
        sentences.append(f"One operation takes the devices {listed(energies[:3])}.")
    return sentences
