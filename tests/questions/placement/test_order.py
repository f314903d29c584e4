"""Rank orders: their cost against block order, and the bytes between nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import pytest

from asking import reply_to
from assay.charts.drawing import svg
from assay.kernels import find_kernel
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.plan import Plan
from assay.model.rank_order import seats_by_rank
from assay.model.replication import Replication
from assay.questions.common.answer import Answer
from assay.questions.placement.order.answer import bytes_text, sentence
from assay.questions.placement.order.figures import figures
from assay.questions.placement.order.findings import (
    OrderEffect,
    compare_orders,
    sent_bytes,
)
from assay.questions.placement.order.tables import tables
from assay.records.model import RunData
from assay.report import build_report
from assay.stats.cells.summarise import summarise_cells
from report_builder import make_measurement, make_run

FITTED = "0,2,1,3"


def cell(kernel: str, order: str, nodes: int = 2, ppn: int = 2, **parameters: object) -> Cell:
    given = parameters or {"class": "A"}
    return Cell(kernel, dict(given), Placement(nodes, ppn, order=order), "embedded")


def run_of(
    times: Mapping[Cell, float] | Sequence[tuple[Cell, float]],
    *,
    noise: float = 0.01,
    launches: int = 8,
    seed: int = 1,
    **changes: object,
) -> RunData:
    rng = np.random.default_rng(seed)
    pairs = list(times)
    measurements = [
        make_measurement(one, [time * (1.0 + noise * rng.standard_normal())], replicate)
        for one, time in pairs
        for replicate in range(launches)
    ]
    run = make_run([], measurements=measurements, launches=[])
    plan = Plan("orders", "Orders", tuple(one for one, _ in pairs), Replication(), 1, **changes)
    return dataclasses.replace(run, manifest=msgspec.structs.replace(run.manifest, plan=plan))


def answered(run: RunData) -> Answer:
    return reply_to("placement", summarise_cells(run), run).answer


def by_order(run: RunData) -> dict[str, OrderEffect]:
    return {effect.order: effect for effect in compare_orders(summarise_cells(run), run).effects}


MG = [
    (cell("npb.mg", "block"), 1.0),
    (cell("npb.mg", "cyclic"), 1.08),
    (cell("npb.mg", "reversed"), 1.0),
    (cell("npb.mg", FITTED), 0.95),
]


def test_planted_costs_and_gains_come_back() -> None:
    run = run_of(MG, fitted=(cell("npb.mg", FITTED).id,))
    found = by_order(run)
    assert set(found) == {"cyclic", "reversed", "fitted"}
    assert (
        found["cyclic"].significant
        and found["fitted"].significant
        and not found["reversed"].significant
    )
    low, high = found["cyclic"].interval
    assert low < 1.08 < high and low > 1.0
    assert sentence(found["cyclic"]).startswith("cyclic order increases the time of MG class A by ")
    assert "compared with block order on 2 × 2 ranks (p" in sentence(found["cyclic"])
    assert sentence(found["fitted"]).startswith("fitted order reduces the time of MG class A by ")
    answer = answered(run)
    assert answer.status == "answered"
    assert "Cyclic order increases the time of MG class A by" in answer.verdict
    assert "fitted order reduces the time of MG class A by" in answer.verdict
    assert "reversed" not in answer.verdict
    (advice,) = answer.advice
    assert FITTED in advice and "reduces its time by" in advice
    assert len(answer.evidence) == 3
    assert any("not distinguishable" in row.note for row in answer.evidence)


def test_bytes_between_nodes_are_the_formula_s_rank_by_rank() -> None:
    run = run_of(MG)
    mg = find_kernel("npb.mg")
    assert mg.peers is not None
    peers = mg.peers({"class": "A"}, 4, 1)
    for one, _ in MG:
        nodes = [node for node, _ in seats_by_rank(one.placement.order, 2, 2)]
        expected = sum(
            peers.get((a, b), 0.0) for a in range(4) for b in range(4) if nodes[a] != nodes[b]
        )
        counted = sent_bytes(one, run)
        assert counted is not None
        assert counted.between == pytest.approx(expected)
        assert counted.share == pytest.approx(expected / sum(peers.values()))
    assert sent_bytes(cell("npb.ep", "cyclic"), run) is None


def test_number_of_bytes_as_text() -> None:
    run = run_of(MG)
    effect = by_order(run)["cyclic"]
    assert effect.sent is not None and effect.sent_in_block is not None

    def sentence_of(between: float, block: float) -> str:
        return bytes_text(
            dataclasses.replace(
                effect,
                sent=dataclasses.replace(effect.sent, between=between, all=8.0),
                sent_in_block=dataclasses.replace(effect.sent_in_block, between=block, all=8.0),
            )
        )

    assert sentence_of(3.1, 1.0) == ": 3.1 times the bytes between nodes"
    assert sentence_of(1.0, 1.0) == ": the same number of bytes between nodes"
    assert sentence_of(0.62, 1.0) == ": 62.0% of the bytes between nodes"
    assert sentence_of(1.0, 0.0) == ": it sends bytes between nodes, block order sends none"
    assert bytes_text(dataclasses.replace(effect, sent=None)) == ""


def test_only_otherwise_equal_cells_are_compared() -> None:
    other = [
        (cell("npb.mg", "block"), 1.0),
        (cell("npb.mg", "cyclic", ppn=4), 9.0),
        (cell("npb.lu", "cyclic"), 9.0),
        (cell("npb.cg", "block", nodes=1, ppn=4), 1.0),
        (cell("npb.cg", "reversed", nodes=1, ppn=4), 2.0),
    ]
    run = run_of(other)
    assert compare_orders(summarise_cells(run), run).effects == ()
    assert answered(run).status == "unmeasured"


def test_too_few_launches_give_no_result() -> None:
    run = run_of(MG, launches=3)
    found = compare_orders(summarise_cells(run), run)
    assert found.effects == () and found.skipped == 3


@pytest.mark.long
def test_without_differences_hardly_any_run_reports_one() -> None:
    """Holm's family error is 5%: more than 13 of 100 runs have a probability of 0.1%."""
    alike = [(one, 1.0) for one, _ in MG]
    claims = 0
    for seed in range(100):
        run = run_of(alike, seed=seed)
        claims += any(effect.significant for effect in by_order(run).values())
    assert claims <= 13


COLLECTIVES = [
    (cell("network.collective", order, op="allreduce", bytes=size, timing="appointed"), time)
    for size, base in ((8, 1e-5), (32768, 1e-4))
    for order, time in (("block", base), ("cyclic", base * (1.0 + 0.3 * (size > 8))))
]


def test_collectives_are_grouped_by_size() -> None:
    run = run_of(COLLECTIVES)
    effects = compare_orders(summarise_cells(run), run).effects
    assert [effect.work for effect in effects] == ["allreduce of 8 B", "allreduce of 32 KiB"]
    assert [effect.significant for effect in effects] == [False, True]
    answer = answered(run)
    assert "Cyclic order increases the time of allreduce of 32 KiB by" in answer.verdict


def test_table_and_figure_have_every_comparison() -> None:
    run = run_of([*MG, *COLLECTIVES], fitted=(cell("npb.mg", FITTED).id,))
    cells = summarise_cells(run)
    (table,) = tables(compare_orders(cells, run))
    assert [row[2].text for row in table.rows] == [
        "cyclic", "reversed", "fitted", "cyclic", "cyclic",
    ]  # fmt: skip
    assert table.rows[0][5].tone == "warn" and table.rows[2][5].tone == "good"
    assert "B (" in table.rows[0][6].text and "%)" in table.rows[0][6].text
    (figure,) = figures(compare_orders(cells, run))
    assert [row["sure"] for row in figure.rows] == [True, False, True, False, True]
    for theme in ("light", "dark"):
        assert "MG class A, 2 × 2 ranks" in svg(figure, theme)
    section = next(s for s in build_report(run, cells).sections if s.id == "placement")
    assert "placement-order" in {table.id for table in section.tables}
    assert "placement-order" in {figure.id for figure in section.figures}


def test_a_command_s_bytes_are_its_matrix_s_shares() -> None:
    command = {
        "command": "run {ranks} {hostfile}", "time": "", "verify": "", "shell": 0, "timeout": 0.0,
    }  # fmt: skip
    block, cyclic = (cell("app", order, **command) for order in ("block", "cyclic"))
    run = run_of([(block, 2.0), (cyclic, 1.0)], between={block.id: 0.8, cyclic.id: 0.2})
    (effect,) = compare_orders(summarise_cells(run), run).effects
    assert bytes_text(effect) == ": 25.0% of the bytes between nodes"
    (table,) = tables(compare_orders(summarise_cells(run), run))
    assert [entry.text for entry in table.rows[0][6:]] == ["20.0%", "80.0%"]
