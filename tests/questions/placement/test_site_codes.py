"""The site's executables in answers on placement: their ratios stand beside published ones."""

from __future__ import annotations

import pytest

from asking import reply_to
from assay.kernels.npb.own_code import OWN_CODE
from assay.kernels.outside import is_beside
from assay.model.cell import Cell
from assay.stats.cells.summarise import summarise_cells
from placement_runs import cell, run_of
from site_programs import beside


def time(one: Cell) -> float:
    """Two ranks of assay's code are 1.6 times as fast as one, of the site's 1.2 times."""
    gain = 1.2 if is_beside(one.kernel) else 1.6
    return {1: 1.0, 2: 1.0 / gain, 4: 1.0 / gain**2}[one.placement.ppn]


def test_ratios_of_the_sites_executables_stand_beside_published_ones() -> None:
    own = [cell(kernel, ppn=ppn) for kernel in ("npb.cg", "npb.lu") for ppn in (1, 2, 4)]
    cells = [*own, *(beside(each) for each in own if each.kernel == "npb.cg")]
    run = run_of(cells, time, [each for each in cells if each.placement.ppn == 4])
    reply = reply_to("placement", summarise_cells(run), run)
    (table,) = (table for table in reply.tables() if table.id == "placement-published")
    here = {row[0].text: row[1].value for row in table.rows}
    assert here == {"CG": pytest.approx(1.2), "LU": pytest.approx(1.6)}
    assert table.notes[:2] == [
        "CG: here your executables (--beside).",
        f"The other NPB benchmarks: {OWN_CODE}.",
    ]
    # They are works of their own, with their own best placement.
    advice = " ".join(reply.answer.advice)
    assert "cg.S.x" in advice and "/site/bin/cg.S.x" in advice
