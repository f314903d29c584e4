"""Best placements for speed, cost and energy, and their crossovers: from planted times."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence

import msgspec
import pytest

from asking import figures_of, reply_to
from assay.charts.drawing import svg
from assay.config import Prices
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.answer import Answer
from assay.questions.common.question import Measured
from assay.questions.placement.best.answer import NO_ENERGY
from assay.questions.placement.best.crossovers import CrossoverSeries
from assay.questions.placement.best.energy import energies
from assay.questions.placement.best.findings import BestFindings, find
from assay.questions.placement.best.launch_lines import job_lines, launch_lines
from assay.questions.placement.best.recommendations import own_line
from assay.questions.placement.ratios.figures import by_size, speed_figures
from assay.questions.placement.works import works_of
from assay.records.model import LaunchRecord, RunData
from assay.stats.cells.summarise import summarise_cells
from assay.system.model import System
from placement_runs import run_of
from report_builder import SYSTEM


def work(
    kernel: str = "npb.cg", size: str = "S", nodes: int = 1, ppn: int = 1, **placement: object
) -> Cell:
    return Cell(kernel, {"class": size}, Placement(nodes, ppn, **placement), "embedded")  # type: ignore[arg-type]


def grid(
    sizes: str = "S", nodes: Sequence[int] = (1,), ppns: Sequence[int] = (1, 2), kernel="npb.cg"
) -> list[Cell]:
    return [work(kernel, size, n, p) for size in sizes for n in nodes for p in ppns]


def answered(run: RunData) -> Answer:
    return reply_to("placement", summarise_cells(run), run).answer


def searched(run: RunData) -> BestFindings:
    found = find(Measured(run, summarise_cells(run)))
    assert found is not None
    return found


def series(run: RunData, axis: str) -> list[CrossoverSeries]:
    return [one for one in searched(run).series if one.axis == axis]


def advised(run: RunData) -> str:
    return "\n".join(answered(run).advice)


def limited(run: RunData) -> str:
    return "\n".join(answered(run).limits)


def chosen(run: RunData) -> dict[str, Placement]:
    (of_work,) = searched(run).choices
    return {choice.aim: choice.point.summary.cell.placement for choice in of_work.choices}


def with_energy(run: RunData, power: Callable[[Cell], float | None]) -> RunData:
    """The same; each launch's nodes consumed the given W over 10 s."""
    measurements = []
    for measurement in run.measurements:
        watts = power(measurement.cell)
        more = {"sampling_seconds": 10.0, "energy": None if watts is None else 10.0 * watts}
        record = msgspec.structs.replace(
            measurement.record, covariates={**measurement.record.covariates, **more}
        )
        measurements.append(dataclasses.replace(measurement, record=record))
    return dataclasses.replace(run, measurements=tuple(measurements))


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
    text = advised(run)
    assert "For speed: CG class S (1.73" in text
    assert (
        re.search(r"For cost: CG class S \(1\.6\d*× \[[^]]*\] the speed of one rank", text) is None
    )
    assert re.search(r"For cost: CG class S \(1\.20\d* s \[[^]]*\] of node time, 0\.80", text)
    assert re.search(r"For energy: CG class S \(200\.\d J \[[^]]*\], 0\.44", text), text
    assert "2.67" in text.split("For energy")[1].split("\n")[0]  # of the fastest's time
    answer = answered(run)
    (energy,) = [e for e in answer.evidence if e.unit == "J"]
    assert energy.value == pytest.approx(200.0, rel=0.01)
    assert energy.ci95 is not None and energy.ci95[0] < 200.0 < energy.ci95[1]
    assert "Energy is unknown" not in " ".join(answer.limits)


def test_cost_is_money_where_the_site_names_a_price() -> None:
    cells = grid(nodes=(1, 2))
    run = run_of(cells, lambda c: 3600.0 / c.placement.ppn / c.placement.nodes**0.5, cells)
    run = dataclasses.replace(
        run,
        manifest=msgspec.structs.replace(run.manifest, prices=Prices("EUR", {"node_hour": 3.0})),
    )
    # Half an hour on one node; on two it would be 0.71 of an hour.
    assert re.search(r"For cost: CG class S \(.*1\.50\d* EUR \[1\.49\d*, 1\.50\d*\]", advised(run))


def test_a_placement_best_for_all_is_given_once_with_its_lines() -> None:
    cells = grid()
    run = with_energy(run_of(cells, lambda c: 1.0 / c.placement.ppn, cells), lambda c: 100.0)
    (line,) = [text for text in advised(run).split("\n") if text.startswith("For")]
    assert line.startswith("For speed, cost and energy: CG class S (")
    assert "2 ranks on 1 node. Slurm: `srun --nodes=1 --ntasks-per-node=2" in line
    assert "#PBS -l select=1:ncpus=2:mpiprocs=2" in line and "mpirun -n 2" in line


def test_energy_is_known_of_all_or_of_none() -> None:
    cells = grid()
    run = run_of(cells, lambda c: 1.0 / c.placement.ppn, cells)
    part = with_energy(run, lambda c: 100.0 if c.placement.ppn == 1 else None)
    assert "energy" not in chosen(part)
    assert "energy" not in chosen(with_energy(run, lambda c: [None, 9.0][c.placement.ppn - 1]))
    assert energies(part).keys() == {cells[0].id}
    assert searched(run).scope.energy == "no counters"
    assert "Energy is unknown: this machine has no readable energy counters" in limited(run)

    def seen(readable: bool | None) -> RunData:
        processor = msgspec.structs.replace(SYSTEM.processor, energy_readable=readable)
        system = msgspec.structs.replace(SYSTEM, processor=processor)
        return dataclasses.replace(
            run, manifest=msgspec.structs.replace(run.manifest, system=system.to_dict())
        )

    assert searched(seen(False)).scope.energy == "unreadable"
    assert "may not read" in limited(seen(False)) and "chmod" in limited(seen(False))
    assert searched(seen(True)).scope.energy == "incomplete"
    assert NO_ENERGY["incomplete"] == "Energy is unknown: not every launch recorded it."
    assert NO_ENERGY["incomplete"] in limited(seen(True))
    assert isinstance(System.from_dict(seen(False).manifest.system), System)


def test_a_placement_that_failed_on_other_nodes_is_not_recommended_either() -> None:
    cells = grid(nodes=(1, 2))
    searched = [c for c in cells if c.placement.nodes == 2]
    times = {(1, 1): 0.5, (1, 2): 0.1, (2, 1): 0.6, (2, 2): 0.7}
    run = run_of(cells, lambda c: times[c.placement.nodes, c.placement.ppn], searched)
    # Only the cells on two nodes are a search; on one node all were measured.
    plan = run.manifest.plan
    assert plan.search is not None
    search = msgspec.structs.replace(plan.search, cells=tuple(c.id for c in searched))
    plan = msgspec.structs.replace(plan, search=search)
    run = dataclasses.replace(run, manifest=msgspec.structs.replace(run.manifest, plan=plan))
    assert (chosen(run)["speed"].nodes, chosen(run)["speed"].ppn) == (1, 2)
    assert "Nothing was measured on more than 2 nodes." in limited(run)
    died = LaunchRecord(
        "0001", "embedded", [], 0.0, 9.0, -11, "crash", "it died", blamed=f"{cells[1].id}-7"
    )
    run = dataclasses.replace(run, launches=(died,))
    assert (chosen(run)["speed"].nodes, chosen(run)["speed"].ppn) == (1, 1)


SIZES = {("S", 1): 1.0, ("S", 2): 1.2, ("W", 1): 4.0, ("W", 2): 3.0, ("A", 1): 40.0, ("A", 2): 28.0}


def sized(one: Cell) -> float:
    return SIZES[str(one.parameters["class"]), one.placement.ppn]


def test_a_crossover_over_sizes_is_recommended_with_its_gain() -> None:
    """One rank is best at class S; from class W on two are, by a third."""
    cells = grid("SWA")
    run = run_of(cells, sized, cells)
    (found,) = series(run, "sizes")
    assert found.name == "CG"
    assert [stage.name for stage in found.stages] == ["class S", "class W", "class A"]
    (crossover,) = found.crossovers
    assert (crossover.old.ppn, crossover.new.ppn) == (1, 2) and crossover.sure
    assert crossover.gain.value == pytest.approx(4 / 3)
    assert crossover.loss.value == pytest.approx(1.2)
    text = advised(run)
    assert re.search(
        r"CG: 1 rank per node at class S, from class W on 2 ranks per node "
        r"\(1\.33\d*× \[1\.32\d*, 1\.34\d*\] the speed of 1 rank per node there\)",
        text,
    ), text
    assert "At problem sizes that were not measured" in limited(run)
    assert "all launches ran on 1 node." in limited(run)


def test_a_difference_within_the_intervals_is_no_crossover() -> None:
    cells = grid("SW")
    close = {("S", 1): 1.0, ("S", 2): 1.001, ("W", 1): 4.001, ("W", 2): 4.0}
    run = run_of(cells, lambda c: close[str(c.parameters["class"]), c.placement.ppn], cells)
    (found,) = series(run, "sizes")
    (crossover,) = found.crossovers
    assert not crossover.sure and (crossover.old.ppn, crossover.new.ppn) == (1, 2)
    assert (
        "CG: no significant change of the best placement with the problem size "
        "(class S to class W)" in advised(run).split("\n")
    )


def test_unchanged_best_placements_are_combined_and_one_size_is_a_limit() -> None:
    cells = [*grid("SW"), *grid("SW", kernel="npb.ep")]
    run = run_of(cells, lambda c: 1.0 / c.placement.ppn, cells)
    assert (
        "CG, EP: 2 ranks per node is the best at each size measured (class S to class W)"
        in advised(run)
    )
    one = run_of(grid(), lambda c: 1.0 / c.placement.ppn, grid())
    assert "problem size" in limited(one) and "each benchmark ran at one size" in limited(one)
    assert "at each size" not in advised(one)


def test_an_estimate_replaces_untried_placements_and_is_marked() -> None:
    cells = grid("SA", ppns=(1, 2, 4))
    untried = [c for c in cells if c.parameters["class"] == "A" and c.placement.ppn == 1]
    times = {"S": {1: 1.0, 2: 1.5, 4: 2.0}, "A": {1: 80.0, 2: 40.0, 4: 20.0}}
    run = run_of(
        cells, lambda c: times[str(c.parameters["class"])][c.placement.ppn], cells, untried
    )
    (found,) = series(run, "sizes")
    (crossover,) = found.crossovers
    assert (
        crossover.old not in crossover.after.measured
        and crossover.new.ppn == 4
        and crossover.estimated
    )
    assert "by the search's estimate" in advised(run)


NODES = {1: (4.0, 2.0), 2: (2.1, 1.2), 4: (1.1, 0.75), 8: (0.56, 0.5)}


def over_nodes(one: Cell) -> float:
    """Twice as fast with two ranks on one node; the lead shrinks to 1.12 on eight."""
    return NODES[one.placement.nodes][one.placement.ppn - 1]


def test_a_lead_that_shrinks_over_nodes_is_extrapolated_and_marked_as_unmeasured() -> None:
    cells = grid(nodes=(1, 2, 4, 8))
    run = run_of(cells, over_nodes, [c for c in cells if c.placement.nodes == 8])
    text = advised(run)
    # log(2/1.12) over three doublings: log(1.12) takes 0.59 of one more.
    assert "2 ranks per node leads 1 rank per node by 2.0" in text
    assert "by extrapolation, the lead ends at about 12 nodes, which were not measured" in text
    assert "Nothing was measured on more than 8 nodes." in limited(run)


def test_a_crossover_over_nodes() -> None:
    cells = grid(nodes=(1, 2, 4))
    times = {1: (4.0, 2.0), 2: (2.0, 1.8), 4: (1.0, 1.7)}
    run = run_of(cells, lambda c: times[c.placement.nodes][c.placement.ppn - 1], cells)
    (found,) = series(run, "nodes")
    assert found.name == "CG class S"
    (crossover,) = found.crossovers
    assert (crossover.before.name, crossover.after.name, crossover.old.ppn, crossover.new.ppn) == (
        "2 nodes", "4 nodes", 2, 1,
    )  # fmt: skip
    assert "CG class S: 2 ranks per node on 2 nodes, on 4 nodes 1 rank per node (1.7" in advised(
        run
    )


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


def test_a_users_command_has_its_environment_variables() -> None:
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
    found = {figure.id: figure for figure in figures_of("placement", summaries, run)}
    assert {"placement-ratio-nodes", "placement-ratio-nodes-2"} <= found.keys()
    # The largest class of each benchmark is combined, whichever it is.
    works = {row["work"] for row in found["placement-ratio-nodes"].rows}
    assert works == {"CG class A", "LU class S"}
    by_nodes, by_ranks = (found[f"placement-speed-{fixed}-1"] for fixed in ("nodes", "ranks"))
    assert {row["count"] for row in by_nodes.rows} == {1, 2, 4}
    assert {row["count"] for row in by_ranks.rows} == {1, 2, 4, 8}
    assert by_nodes.rows[0]["ppn"] == "1 rank per node"
    rate = {(r["ppn"], r["count"]): r["median"] for r in by_nodes.rows}
    assert rate["2 ranks per node", 4] / rate["1 rank per node", 1] == pytest.approx(
        8**0.8, rel=1e-6
    )
    for figure in found.values():
        assert svg(figure).startswith("<svg")


def test_on_one_number_of_nodes_there_are_no_lines() -> None:
    run = run_of(grid(), lambda c: 1.0, grid())
    assert speed_figures(works_of(summarise_cells(run))) == []
    assert by_size([]) == []
