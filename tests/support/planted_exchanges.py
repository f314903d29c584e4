"""The network's reply on cells that the fake executor measured with planted times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import msgspec

from asking import reply_to
from assay.charts.drawing import svg
from assay.charts.figure import Figure
from assay.kernels import find_kernel
from assay.launch.fake.scenario import Behaviour, NoiseModel, Scenario
from assay.model.cell import Cell
from assay.model.placement import Placement, Value
from assay.questions.common.question import Reply
from assay.records.model import Measurement
from assay.stats.cells.summarise import summarise_cells
from fake_launches import entry, order, run
from report_builder import make_run

NOISE = NoiseModel(sigma=0.002, launch_sigma=0.002)


def cell_of(kernel: str, ranks: int = 2, nodes: int = 1, **given: Value) -> Cell:
    """A cell as plans make it: without omitted parameters that have their default."""
    known = find_kernel(kernel).parameters
    parameters = {p.name: p.default for p in known if not p.omitted} | given
    return Cell(kernel, parameters, Placement(nodes=nodes, ppn=ranks // nodes), "fake")


def planted(
    folder: Path, times: dict[str, str], cells: Iterable[Cell], launches: int = 8
) -> tuple[Reply, dict[str, Figure]]:
    """The reply on the network, and its figures by id, each of which can be drawn.

    ``times``: a formula of the seconds of an operation, by kernel.
    """
    machine = Scenario(
        kernel=tuple(Behaviour(match=k, time=t, noise=NOISE) for k, t in times.items())
    )
    found = []
    for number, cell in enumerate(cells):
        for k in range(launches):
            one = entry(
                f"m{number}-{k}", kernel=cell.kernel, parameters=cell.parameters, max_samples=6
            )
            work = order(folder, one, placement=cell.placement, launch=one.measurement)
            seed = 1000 * number + k
            work = replace(work, job=msgspec.structs.replace(work.job, seed=seed))
            _, stream = run(machine, work)
            (record,) = stream.measurements
            found.append(Measurement(cell, k, f"l{k}", 1e9, record, None, tuple(stream.ranks)))
    given = make_run([], measurements=found)
    reply = reply_to("network", summarise_cells(given), given)
    figures = {figure.id: figure for figure in reply.question.figures(reply.findings)}
    for figure in figures.values():
        assert {field.name for field in figure.fields} <= set(figure.rows[0])
        svg(figure)
    return reply, figures


def advised(reply: Reply, *words: str) -> list[str]:
    """The sentences of advice that contain all of these words."""
    return [said for said in reply.answer.advice if all(word in said for word in words)]
