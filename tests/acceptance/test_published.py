"""The procurement of two papers: the documented contract yields the documented numbers."""

from __future__ import annotations

import csv
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from acceptance_runs import filed_run
from assay.cli.app import main
from assay.kernels import find_kernel
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.reference.papers.loading import figure_by_id
from assay.reference.papers.model import printed_number

FOLDER = Path(__file__).parents[2] / "docs" / "contracts"


def published(name: str) -> Decimal:
    """The number of a paper's figure, as printed."""
    return Decimal(str(printed_number(figure_by_id(name).value)))


def judged(folder: Path, gflops: Decimal) -> tuple[int, dict[str, str]]:
    """The exit status, and the row of the worksheet, of two dual nodes at this rate."""
    cell = Cell("linpack", {"n": 10_000}, Placement(nodes=2, ppn=2), "fake")
    kernel = find_kernel("linpack")
    parameters = {each.name: each.default for each in kernel.parameters} | {"n": 10_000}
    flops = kernel.work(parameters, 4, 1)["flops"]
    run = filed_run(folder, [(cell, np.full(30, flops / (float(gflops) * 1e9)))])
    sheet = folder / "sheet.csv"
    words = ("--run", run.name, "--runs", str(folder), "--worksheet", str(sheet))
    with pytest.raises(SystemExit) as ended:
        main(["accept", str(FOLDER / "published.toml"), *words])
    lines = list(csv.reader(sheet.open(newline="")))
    return int(ended.value.code or 0), dict(zip(lines[0], lines[1], strict=True))


def test_the_contract_has_the_papers_numbers() -> None:
    text = (FOLDER / "published.toml").read_text()
    assert f'at_least = "{published("helix-candidates.linpack.athlon")} Gflop/s"' in text
    penalty = re.search(r"penalty = (\d+)", text)
    assert penalty is not None
    assert 100 * int(penalty[1]) == published("seth.price.usd")


@pytest.mark.parametrize(("node", "status"), [("athlon", 0), ("xeon", 1)])
def test_the_worksheet_has_the_documented_numbers(tmp_path: Path, node: str, status: int) -> None:
    price, whole = published("seth.price.usd"), published("seth.linpack.rate")
    promised = published("helix-candidates.linpack.athlon")
    rate = published(f"helix-candidates.linpack.{node}")
    found, row = judged(tmp_path, rate)
    assert found == status
    worse = 1 - rate / promised
    # Fifteen digits are what a double holds.
    assert float(row["measured"]) == pytest.approx(float(rate) * 1e9, rel=1e-15)
    assert float(row["worse_by"]) == pytest.approx(float(worse), abs=1e-15)
    assert float(row["penalty"]) == pytest.approx(float(price * worse), rel=1e-12)
    page = (FOLDER / "published.md").read_text()
    paid = price - Decimal(row["penalty"])
    delivered = whole * rate / promised
    assert abs(paid / delivered - price / whole) < Decimal("1e-6")
    if node == "xeon":
        line = next(line for line in page.splitlines() if "Xeons: 8.36" in line and "|" in line)
        for number in (
            f"{Decimal(row['penalty']):,.6f}", f"{paid:,.6f}", f"{delivered:.2f}",
            f"{paid / delivered:,.2f}", f"{float(row['worse_by']):.3%}",
        ):  # fmt: skip
            assert f"| {number} |" in line
