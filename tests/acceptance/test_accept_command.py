"""``assay accept`` on stored runs with planted machines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from acceptance_runs import BEGIN, accepted, contract, filed_run, normal_times
from assay.acceptance.measured import read_measured
from assay.errors import AssayError
from assay.kernels import find_kernel
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.directory import RunDirectory
from assay.reference.papers.loading import figure_by_id
from assay.reference.papers.model import printed_number
from assay.subjects.acceptance.findings import find
from assay.subjects.acceptance.model import AcceptanceFindings
from assay.subjects.acceptance.subject import SUBJECT
from records_builder import make_cell

PINGPONG = make_cell("network.pingpong", bytes=8)
OTHERS = [make_cell("network.pingpong", bytes=2**k) for k in range(10, 16)]
PROMISE = """
[penalties]
currency = "EUR"
[score]
[[commitment]]
name = "Latency"
cells = "network.pingpong bytes=8"
at_most = "1 ms"
penalty = 1000
penalty_cap = 4500
"""


def run_of(root: Path, median: float, launches: int = 30) -> RunDirectory:
    times = [(PINGPONG, normal_times(1, median, launches))]
    times += [(cell, normal_times(2 + k, 1.0, launches)) for k, cell in enumerate(OTHERS)]
    return filed_run(root, times)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "contract.toml"
    path.write_text(f'schema = 1\ntitle = "Test"\n{PROMISE}')
    return str(path)


@pytest.mark.parametrize(
    ("median", "launches", "status", "outcome", "penalty"),
    [
        (0.0009, 30, 0, "accepted", 0.0),
        (0.0010, 30, 0, "accepted", 0.0),
        (0.00104, 30, 1, "rejected", 4000.0),
        (0.0012, 30, 1, "rejected", 4500.0),
        (0.0009, 5, 3, "undecided", 0.0),
    ],
)
def test_the_status_is_the_verdict_and_the_penalty_is_right(
    tmp_path: Path, file: str, capsys: pytest.CaptureFixture[str],
    median: float, launches: int, status: int, outcome: str, penalty: float,
) -> None:  # fmt: skip
    run = run_of(tmp_path / "runs", median, launches)
    found, out, _ = accepted(
        capsys, file, "--run", run.name, "--runs", str(tmp_path / "runs"), "--json"
    )
    assert found == status
    findings = json.loads(out)
    assert findings["outcome"] == outcome
    # The median of the launches until the deciding look, which is near the planted median.
    assert findings["penalty"]["value"] == pytest.approx(penalty, rel=0.1)
    assert findings["commitments"][0]["value"] == pytest.approx(median, rel=0.004)
    assert findings["score"] == pytest.approx(0.001 / median, rel=0.004)


def test_the_report_says_what_and_why(
    tmp_path: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(tmp_path / "runs", 0.00104)
    page = tmp_path / "page.html"
    words = (file, "--run", run.name, "--runs", str(tmp_path / "runs"), "-o", str(page))
    status, out, _ = accepted(capsys, *words)
    assert status == 1
    assert "Rejected: 1 commitment, 1 rejected; score 0.96" in out
    text = page.read_text()
    assert "Penalties and bonuses" in text
    assert "Worse than promised: median 1.04 ms" in text


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ((), "The contract is missing."),
        (("FILE",), "There are no runs to judge."),
        (("FILE", "--run", "none"), "none"),
        (("nowhere.toml", "--plan"), "The file can't be read"),
        (("FILE", "--plan", "--html"), "A plan is printed, not written to a file."),
    ],
)
def test_wrong_input_has_status_2(
    tmp_path: Path, file: str, capsys: pytest.CaptureFixture[str], words: Sequence[str], what: str
) -> None:
    given = [file if word == "FILE" else word for word in words]
    status, _, err = accepted(capsys, *given, "--runs", str(tmp_path))
    assert status == 2
    assert what in err


def judged(text: str, root: Path, *runs: RunDirectory) -> AcceptanceFindings:
    return find(contract(text), read_measured(root, [run.name for run in runs]))


def test_a_run_that_is_named_twice_is_an_error(tmp_path: Path) -> None:
    run = run_of(tmp_path, 1e-3)
    with pytest.raises(AssayError, match="named twice"):
        read_measured(tmp_path, [run.name, str(run.path)])


def test_commitments_without_a_result_leave_it_undecided(tmp_path: Path) -> None:
    run = run_of(tmp_path, 0.9e-3)
    found = judged(
        f'{PROMISE}\n[[commitment]]\ncells = "npb.cg"\nmetric = "time"\nat_most = "1 s"',
        tmp_path,
        run,
    )
    assert found.outcome == "undecided"
    kept, missing = found.commitments
    assert kept.outcome == "accepted"
    assert (missing.outcome, missing.reason) == ("undecided", "The runs have no such cell.")
    assert found.score is None
    assert SUBJECT.answer(found).advice == [
        "npb.cg: Measure its cells, and name the run with --run."
    ]


def test_launches_of_several_runs_count_together(tmp_path: Path) -> None:
    times = [(cell, normal_times(k, 0.9e-3, 6)) for k, cell in enumerate([PINGPONG, *OTHERS])]
    runs = [filed_run(tmp_path, times, utc=BEGIN + 86400.0 * day) for day in range(3)]
    one = judged(PROMISE, tmp_path, runs[0]).commitments[0]
    assert (one.launches, one.outcome) == (6, "undecided")
    all_ = judged(PROMISE, tmp_path, *runs).commitments[0]
    assert all_.launches == 18


def test_nodes_are_told_apart_by_their_hosts(tmp_path: Path) -> None:
    """Eight runs on one node each; one node is 5% slow."""
    runs = [
        filed_run(
            tmp_path,
            [(PINGPONG, normal_times(k, 1e-3 * (1.05 if k == 3 else 0.995), 9))],
            host=f"n{k}",
        )
        for k in range(8)
    ]
    text = PROMISE.replace("penalty_cap = 4500", 'per = "node"')
    found = judged(f"[machine]\nnodes = 8\n{text}", tmp_path, *runs)
    (each,) = found.commitments
    assert found.outcome == "rejected"
    assert each.nodes is not None
    assert [node.node for node in each.nodes.slow] == ["n3"]
    # One of eight nodes lacks 5% of what was promised.
    assert found.penalty.value == pytest.approx(1000.0 * 5.0 / 8.0, rel=0.01)
    assert "With 95% confidence at most 1 node of 8" in " ".join(SUBJECT.answer(found).limits)
    with pytest.raises(AssayError, match="measured 8 nodes, but the contract's machine has 4"):
        judged(f"[machine]\nnodes = 4\n{text}", tmp_path, *runs)
    with pytest.raises(AssayError, match="The node n0 isn't one of the contract's"):
        judged(f'[machine]\nhosts = "n[1-9]"\n{text}', tmp_path, *runs)


def published(name: str) -> float:
    """The number of a paper's figure."""
    return float(printed_number(figure_by_id(name).value))


def linpack_run(root: Path, gflops: float, seed: int) -> RunDirectory:
    """Two dual nodes at this rate of Linpack, with a variation of 0.2%."""
    cell = Cell("linpack", {"n": 10_000}, Placement(nodes=2, ppn=2), "fake")
    kernel = find_kernel("linpack")
    parameters = {each.name: each.default for each in kernel.parameters} | {"n": 10_000}
    flops = kernel.work(parameters, 4, 1)["flops"]
    return filed_run(root, [(cell, normal_times(seed, flops / (gflops * 1e9), cov=0.002))])


def test_the_procurement_of_two_papers(tmp_path: Path) -> None:
    """Barczak et al. (2003) chose nodes by Linpack on two nodes: 8.45 Gflops of two dual Athlons,
    8.36 of two dual Xeons. As a contract, the two-node test promises the Athlons' rate. The penalty
    per cent is one per cent of the price of Edmundsson et al.'s cluster (2004), so that the price
    per Gflop/s is paid for what was measured.
    """
    price, rate = published("seth.price.usd"), published("seth.linpack.rate") * 1e9
    text = f"""
[penalties]
currency = "USD"
[[commitment]]
name = "Linpack on two nodes"
cells = "linpack nodes=2"
metric = "rate"
at_least = "8.45 Gflop/s"
margin = "1%"
penalty = {price / 100.0}
"""
    one, other = (published(f"helix-candidates.linpack.{name}") for name in ("athlon", "xeon"))
    athlon = judged(text, tmp_path, linpack_run(tmp_path, one, 1))
    xeon = judged(text, tmp_path, linpack_run(tmp_path, other, 2))
    assert (athlon.outcome, athlon.penalty.value) == ("accepted", 0.0)
    assert xeon.outcome == "rejected"
    (each,) = xeon.commitments
    assert each.value is not None
    share = each.value / 8.45e9
    assert share == pytest.approx(8.36 / 8.45, rel=0.002)
    paid = price - xeon.penalty.value
    # Price per Gflop/s: 1,040 USD as promised, and as paid for the rate that was delivered.
    assert price / (rate / 1e9) == pytest.approx(1040.15, abs=0.01)
    assert paid / (share * rate / 1e9) == pytest.approx(price / (rate / 1e9))
    assert np.isclose(xeon.penalty.value, price * (1.0 - share))
