"""Runs of network.congestion on fake networks with planted impacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from tempfile import mkdtemp

import msgspec

from assay.kernels import find_kernel
from assay.kernels.congestion import AGGRESSORS, VICTIMS
from assay.launch.fake.congestion import CongestionModel
from assay.launch.fake.scenario import Behaviour, Scenario
from assay.model.cell import Cell
from assay.model.placement import Placement, Value
from assay.model.plan import Plan
from assay.model.replication import Replication
from assay.records.creation import create_run
from assay.records.directory import RunDirectory
from assay.records.model import Measurement, RunData
from assay.records.reading import measurement_id
from fake_launches import entry, order, run
from records_builder import make_launch, make_stream
from report_builder import SYSTEM, make_run

NODES = 16


def congestion_cells(
    victims: Sequence[str] = VICTIMS,
    aggressors: Sequence[str] = AGGRESSORS,
    shares: Sequence[float] = (1.0,),
    *,
    controls: bool = True,
    **given: Value,
) -> list[Cell]:
    """A cell per victim, aggressor and share, and a control per victim."""
    wanted = [*product(victims, aggressors, shares)]
    wanted += [(victim, aggressors[0], 0.0) for victim in victims if controls]
    defaults = {one.name: one.default for one in find_kernel("network.congestion").parameters}
    return [
        Cell(
            "network.congestion",
            {**defaults, "victim": victim, "aggressor": aggressor, "share": share, **given},
            Placement(nodes=NODES),
            "fake",
        )
        for victim, aggressor, share in wanted
    ]


def loaded_run(
    folder: Path,
    model: CongestionModel,
    cells: Sequence[Cell],
    launches: int = 8,
    seed: int = 1,
    covariates: Mapping[str, float | str] = {},
) -> RunData:
    """What that many launches of the cells wrote on a network with these impacts."""
    behaviour = Behaviour(time=1e-3, covariates=dict(covariates))
    machine = Scenario(nodes=NODES, congestion=model, seed=seed, kernel=(behaviour,))
    streams = Path(mkdtemp(dir=folder))
    found = []
    for number, cell in enumerate(cells):
        for k in range(launches):
            one = entry(
                f"m{number}-{k}", kernel=cell.kernel, parameters=cell.parameters, max_samples=10
            )
            work = order(streams, one, placement=cell.placement, launch=f"{seed}-{number}-{k}")
            work = replace(work, job=msgspec.structs.replace(work.job, seed=k))
            _, stream = run(machine, work)
            (record,) = stream.measurements
            found.append(Measurement(cell, k, f"l{k}", 1e9 + k, record, None, tuple(stream.ranks)))
    measured = make_run([], measurements=found, launches=[], command=("assay", "run", "congestion"))
    plan = Plan("congestion", "Network under load", tuple(cells), Replication(), seed)
    return replace(measured, manifest=msgspec.structs.replace(measured.manifest, plan=plan))


def stored_loaded_run(root: Path, run: RunData) -> RunDirectory:
    """The run as a directory of runs, each launch with the cells' measurements."""
    stored = create_run(
        root,
        plan=run.manifest.plan,
        system_name="box",
        system=SYSTEM.to_dict(),
        toolchains={"fake": {}},
        command=["assay", "run", "congestion"],
    )
    for replicate in sorted({one.replicate for one in run.measurements}):
        name = stored.new_launch()
        records = [
            msgspec.structs.replace(one.record, measurement=measurement_id(one.cell, replicate))
            for one in run.measurements
            if one.replicate == replicate
        ]
        (stored.raw / f"{name}.jsonl").write_bytes(make_stream(name, records, NODES))
        stored.append_launch(make_launch(name))
    return stored
