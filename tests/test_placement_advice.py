"""Which placement for speed, cost and energy, and when another one is best: from planted times."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence

import msgspec
import pytest

from assay.answers.placement import answer_placement
from assay.answers.placement_advice import choices, own_line
from assay.answers.placement_data import outcomes
from assay.answers.placement_energy import energies, why_no_energy
from assay.answers.placement_flips import flips, node_stages, size_stages
from assay.answers.placement_lines import job_lines, launch_lines
from assay.config import Prices
from assay.plans.model import Cell, Placement
from assay.records.model import LaunchRecord, RunData
from assay.report.drawing import svg
from assay.report.figures.placement import placement_figures
from assay.report.figures.placement_speed import by_size, speed_figures
from assay.stats.cells import summarise_cells
from assay.system.model import System
from report_builder import SYSTEM
from test_answers_placement import run_of


def work(
    kernel: str = "npb.cg", size: str = "S", nodes: int = 1, ppn: int = 1, **placement: object
) -> Cell:
    return Cell(kernel, {"class": size}, Placement(nodes, ppn, **placement), "embedded")  # type: ignore[arg-type]


def grid(
    sizes: str = "S", nodes: Sequence[int] = (1,), ppns: Sequence[int] = (1, 2), kernel="npb.cg"
) -> list[Cell]:
    return [work(kernel, size, n, p) for size in sizes for n in nodes for p in ppns]


def advised(run: RunData) -> str:
    return "\n".join(answer_placement(summarise_cells(run), run).advice)


def limited(run: RunData) -> str:
    return "\n".join(answer_placement(summarise_cells(run), run).limits)


def chosen(run: RunData) -> dict[str, Placement]:
    cells = summarise_cells(run)
    ((_, own),) = choices(outcomes(cells, run), cells, run)
    return {choice.aim: choice.point.summary.cell.placement for choice in own}


def with_energy(run: RunData, power: Callable[[Cell], float | None]) -> RunData:
    """The same, where each launch's nodes took so many W over 10 s."""
    made = []
    for measurement in run.measurements:
        watts = power(measurement.cell)
        told = {"sampling_seconds": 10.0, "energy": None if watts is None else 10.0 * watts}
        record = msgspec.structs.replace(
            measurement.record, covariates={**measurement.record.covariates, **told}
        )
        made.append(dataclasses.replace(measurement, record=record))
    return dataclasses.replace(run, measurements=tuple(made))


def test_speed_cost_and_energy_may_be_three_placements() -> None:
    """Two nodes are 1.6 times as fast as one; of one node 2 ranks take 300 W and 1 rank 100 W."""
    cells = grid(nodes=(1, 2))
    times = {(1, 1): 2.0, (1, 2): 1.2, (2, 1): 1.3, (2, 2): 0.75}
    run = run_of(cells, lambda c: times[c.placement.nodes, c.placement.ppn], cells)
    powers = {1: 100.0, 2: 300.0}
    run = with_energy(run, lambda c: c.placement.nodes * powers[c.placement.ppn])
    found = chosen(run)
    assert (found["speed"].nodes, found["speed"].ppn) == (2, 2)
    assert (found["cost"].nodes, found["cost"].ppn) == (1, 2)  # 1.2 against 1.5 node-seconds
    assert (found["energy"].nodes, found["energy"].ppn) == (1, 1)  # 200 J against 360, 260, 450
    told = advised(run)
    assert "For speed: CG class S (1.73" in told
    assert (
        re.search(r"For cost: CG class S \(1\.6\d*× \[[^]]*\] the speed of one rank", told) is None
    )
    assert re.search(r"For cost: CG class S \(1\.20\d* s \[[^]]*\] of node time, 0\.80", told)
    assert re.search(r"For energy: CG class S \(200\.\d J \[[^]]*\], 0\.44", told), told
    assert "2.67" in told.split("For energy")[1].split("\n")[0]  # of the quickest's time
    answer = answer_placement(summarise_cells(run), run)
    (energy,) = [e for e in answer.evidence if e.unit == "J"]
    assert energy.value == pytest.approx(200.0, rel=0.01)
    assert energy.ci95 is not None and energy.ci95[0] < 200.0 < energy.ci95[1]
    assert "No energy" not in " ".join(answer.limits)


def test_cost_is_money_where_the_site_names_a_price() -> None:
    cells = grid(nodes=(1, 2))
    run = run_of(cells, lambda c: 3600.0 / c.placement.ppn / c.placement.nodes**0.5, cells)
    run = dataclasses.replace(
        run,
        manifest=msgspec.structs.replace(run.manifest, prices=Prices("EUR", {"node_hour": 3.0})),
    )
    # Half an hour on one node; on two it would be 0.71 of an hour.
    assert re.search(r"For cost: CG class S \(.*1\.50\d* EUR \[1\.49\d*, 1\.50\d*\]", advised(run))


def test_what_is_best_for_all_is_told_once_with_its_lines() -> None:
    cells = grid()
    run = with_energy(run_of(cells, lambda c: 1.0 / c.placement.ppn, cells), lambda c: 100.0)
    (line,) = [told for told in advised(run).split("\n") if told.startswith("For")]
    assert line.startswith("For speed, cost and energy: CG class S (")
    assert "2 ranks on 1 node. Slurm: srun --nodes=1 --ntasks-per-node=2" in line
    assert "#PBS -l select=1:ncpus=2:mpiprocs=2" in line and "mpirun -n 2" in line


def test_energy_is_known_of_all_or_of_none() -> None:
    cells = grid()
    run = run_of(cells, lambda c: 1.0 / c.placement.ppn, cells)
    part = with_energy(run, lambda c: 100.0 if c.placement.ppn == 1 else None)
    assert "energy" not in chosen(part)
    assert "energy" not in chosen(with_energy(run, lambda c: [None, 9.0][c.placement.ppn - 1]))
    assert energies(part).keys() == {cells[0].id}
    summaries = summarise_cells(run)
    assert "shows no counters" in why_no_energy(run, summaries)
    assert "No energy: this machine shows no counters" in limited(run)

    def seen(readable: bool | None) -> RunData:
        processor = msgspec.structs.replace(SYSTEM.processor, energy_readable=readable)
        system = msgspec.structs.replace(SYSTEM, processor=processor)
        return dataclasses.replace(
            run, manifest=msgspec.structs.replace(run.manifest, system=system.to_dict())
        )

    assert "may not be read" in why_no_energy(seen(False), summaries)
    assert "chmod" in limited(seen(False))
    assert why_no_energy(seen(True), summaries) == "No energy: not every launch told what it took."
    assert isinstance(System.from_dict(seen(False).manifest.system), System)


def test_what_failed_on_another_number_of_nodes_is_not_recommended_either() -> None:
    cells = grid(nodes=(1, 2))
    searched = [c for c in cells if c.placement.nodes == 2]
    times = {(1, 1): 0.5, (1, 2): 0.1, (2, 1): 0.6, (2, 2): 0.7}
    run = run_of(cells, lambda c: times[c.placement.nodes, c.placement.ppn], searched)
    # Only what is searched on two nodes is a search; on one node all was measured.
    plan = run.manifest.plan
    assert plan.search is not None
    search = msgspec.structs.replace(plan.search, cells=tuple(c.id for c in searched))
    plan = msgspec.structs.replace(plan, search=search)
    run = dataclasses.replace(run, manifest=msgspec.structs.replace(run.manifest, plan=plan))
    assert (chosen(run)["speed"].nodes, chosen(run)["speed"].ppn) == (1, 2)
    assert "Beyond 2 nodes nothing was measured." in limited(run)
    died = LaunchRecord(
        "0001", "embedded", [], 0.0, 9.0, -11, "crash", "it died", blamed=f"{cells[1].id}-7"
    )
    run = dataclasses.replace(run, launches=(died,))
    assert (chosen(run)["speed"].nodes, chosen(run)["speed"].ppn) == (1, 1)


SIZES = {("S", 1): 1.0, ("S", 2): 1.2, ("W", 1): 4.0, ("W", 2): 3.0, ("A", 1): 40.0, ("A", 2): 28.0}


def sized(one: Cell) -> float:
    return SIZES[str(one.parameters["class"]), one.placement.ppn]


def test_a_flip_over_sizes_is_told_with_its_gain() -> None:
    """One rank is best at class S; from class W on two are, by a third."""
    cells = grid("SWA")
    run = run_of(cells, sized, cells)
    summaries = summarise_cells(run)
    ((name, stages),) = size_stages(outcomes(summaries, run), summaries)
    assert name == "CG" and [stage.name for stage in stages] == ["class S", "class W", "class A"]
    (flip,) = flips(stages)
    assert (flip.old.ppn, flip.new.ppn) == (1, 2) and flip.sure
    assert flip.gain.value == pytest.approx(4 / 3) and flip.loss.value == pytest.approx(1.2)
    told = advised(run)
    assert re.search(
        r"CG: 1 rank a node at class S, from class W on 2 ranks a node "
        r"\(1\.33\d*× \[1\.32\d*, 1\.34\d*\] the speed of 1 rank a node there\)",
        told,
    ), told
    assert "Beyond the sizes measured" in limited(run)
    assert "all was on 1 node." in limited(run)


def test_a_difference_within_the_intervals_is_no_sure_flip() -> None:
    cells = grid("SW")
    close = {("S", 1): 1.0, ("S", 2): 1.001, ("W", 1): 4.001, ("W", 2): 4.0}
    run = run_of(cells, lambda c: close[str(c.parameters["class"]), c.placement.ppn], cells)
    assert "it isn't sure that they differ" in advised(run)


def test_what_stays_best_is_told_together_and_one_size_is_said_to_be_one() -> None:
    cells = [*grid("SW"), *grid("SW", kernel="npb.ep")]
    run = run_of(cells, lambda c: 1.0 / c.placement.ppn, cells)
    assert (
        "CG, EP: 2 ranks a node: the best at each size that was measured (class S to class W)"
        in advised(run)
    )
    one = run_of(grid(), lambda c: 1.0 / c.placement.ppn, grid())
    assert "problem size" in limited(one) and "all was of one" in limited(one)
    assert "at each size" not in advised(one)


def test_an_estimate_stands_in_for_what_was_not_tried_and_is_said_to() -> None:
    cells = grid("SA", ppns=(1, 2, 4))
    untried = [c for c in cells if c.parameters["class"] == "A" and c.placement.ppn == 1]
    times = {"S": {1: 1.0, 2: 1.5, 4: 2.0}, "A": {1: 80.0, 2: 40.0, 4: 20.0}}
    run = run_of(
        cells, lambda c: times[str(c.parameters["class"])][c.placement.ppn], cells, untried
    )
    summaries = summarise_cells(run)
    ((_, stages),) = size_stages(outcomes(summaries, run), summaries)
    (flip,) = flips(stages)
    assert flip.old not in flip.after.measured and flip.new.ppn == 4
    assert "by the search's estimate" in advised(run)


NODES = {1: (4.0, 2.0), 2: (2.1, 1.2), 4: (1.1, 0.75), 8: (0.56, 0.5)}


def over_nodes(one: Cell) -> float:
    """Twice as fast with two ranks on one node; the lead shrinks to 1.12 on eight."""
    return NODES[one.placement.nodes][one.placement.ppn - 1]


def test_a_lead_that_shrinks_over_nodes_is_followed_and_said_to_be_unmeasured() -> None:
    cells = grid(nodes=(1, 2, 4, 8))
    run = run_of(cells, over_nodes, [c for c in cells if c.placement.nodes == 8])
    told = advised(run)
    # log(2/1.12) over three doublings: log(1.12) takes 0.59 of one more.
    assert (
        "shrinks from 2.0" in told and "gone from about 12 nodes on, which was not measured" in told
    )
    assert "Beyond 8 nodes nothing was measured." in limited(run)


def test_a_flip_over_nodes() -> None:
    cells = grid(nodes=(1, 2, 4))
    times = {1: (4.0, 2.0), 2: (2.0, 1.8), 4: (1.0, 1.7)}
    run = run_of(cells, lambda c: times[c.placement.nodes][c.placement.ppn - 1], cells)
    ((name, stages),) = node_stages(summarise_cells(run))
    assert name == "CG class S"
    (flip,) = flips(stages)
    assert (flip.before.name, flip.after.name, flip.old.ppn, flip.new.ppn) == (
        "2 nodes", "4 nodes", 2, 1,
    )  # fmt: skip
    assert "CG class S: 2 ranks a node on 2 nodes, on 4 nodes 1 rank a node (1.7" in advised(run)


SMT_LINES = {
    "Slurm": "OMP_NUM_THREADS=2 srun --nodes=2 --ntasks-per-node=8 --cpus-per-task=2 "
    "--threads-per-core=2 --distribution=block:block --cpu-bind=threads ./program",
    "PBS": "#PBS -l select=2:ncpus=16:mpiprocs=8:ompthreads=2 -l place=scatter:excl",
    "Open MPI": "mpirun -n 16 --use-hwthread-cpus --map-by ppr:8:node:PE=2 --bind-to hwthread "
    "-x OMP_NUM_THREADS=2 ./program",
    "MPICH": "mpirun -n 16 -ppn 8 -bind-to hwthread:2 -genv OMP_NUM_THREADS 2 ./program",
}


def test_lines_for_shared_cores_are_pinned() -> None:
    shared = Placement(nodes=2, ppn=8, threads=2, smt="on")
    assert launch_lines(shared, 2) == SMT_LINES
    alone = launch_lines(Placement(ppn=4), 2)["Slurm"]
    assert "--threads-per-core=1 " in alone and "--cpu-bind=cores" in alone
    assert "--threads-per-core" not in launch_lines(Placement(ppn=4))["Slurm"]
    assert "-map-by numa" in launch_lines(Placement(nodes=2, ppn=4, binding="per-numa"))["MPICH"]
    assert job_lines(shared, 2) == {
        "Slurm": "#SBATCH --nodes=2 --ntasks-per-node=8 --cpus-per-task=2 --threads-per-core=2 "
        "--exclusive",
        "PBS": SMT_LINES["PBS"],
    }


def test_a_command_of_one_s_own_is_told_with_what_it_was_run_with() -> None:
    parameters = {"command": "./a -n {ranks} --bind {binding} {smt}", "shell": 0}
    cell = Cell(
        "app", {**parameters}, Placement(ppn=2, threads=2, binding="spread", smt="on"), "own"
    )
    assert own_line(cell) == (
        "OMP_NUM_THREADS=2 OMP_PROC_BIND=spread OMP_PLACES=threads ./a -n 2 --bind spread on"
    )


def test_figures_of_performance_over_nodes_and_ranks() -> None:
    cells = [*grid("SA", nodes=(1, 2, 4)), *grid(nodes=(1, 2, 4), kernel="npb.lu")]
    run = run_of(cells, lambda c: 1.0 / c.placement.ranks**0.8, cells)
    summaries = summarise_cells(run)
    found = {f.id: f for f in placement_figures(summaries, run) if f is not None}
    assert {"placement-ratio-nodes", "placement-ratio-nodes-2"} <= found.keys()
    # The largest class of each benchmark stands together, whichever it is.
    works = {row["work"] for row in found["placement-ratio-nodes"].rows}
    assert works == {"CG class A", "LU class S"}
    by_nodes, by_ranks = (found[f"placement-speed-{fixed}-1"] for fixed in ("nodes", "ranks"))
    assert {row["count"] for row in by_nodes.rows} == {1, 2, 4}
    assert {row["count"] for row in by_ranks.rows} == {1, 2, 4, 8}
    assert by_nodes.rows[0]["ppn"] == "1 rank a node"
    rate = {(r["ppn"], r["count"]): r["median"] for r in by_nodes.rows}
    assert rate["2 ranks a node", 4] / rate["1 rank a node", 1] == pytest.approx(8**0.8, rel=1e-6)
    for figure in found.values():
        assert svg(figure).startswith("<svg")


def test_on_one_number_of_nodes_there_are_no_lines() -> None:
    run = run_of(grid(), lambda c: 1.0, grid())
    from assay.answers.placement_data import works

    assert speed_figures(works(summarise_cells(run))) == []
    assert by_size([]) == []
