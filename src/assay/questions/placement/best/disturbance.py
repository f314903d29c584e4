"""How many CPUs other processes kept busy while the candidates of a search were measured."""

from __future__ import annotations

import statistics
from collections.abc import Collection
from dataclasses import dataclass

from assay.models.placement.candidates import PlacementSearch
from assay.records.model import RunData

# If other processes keep more than this share of the nodes' CPUs busy, a search has no verdict.
# They slow down placements on all cores more than placements on few cores, so another placement may
# be the best.
SUBSTANTIAL = 0.1


@dataclass(frozen=True)
class OtherLoad:
    """CPUs that processes other than the ranks kept busy: the median over measurements."""

    #: Number of CPUs that other processes kept busy.
    busy: float
    #: Number of CPUs (hardware threads) of the measured nodes.
    cpus: int

    @property
    def substantial(self) -> bool:
        """Whether other processes kept too many CPUs busy for a verdict on placements."""
        return self.busy > SUBSTANTIAL * self.cpus


def other_load(search: PlacementSearch, ids: Collection[str], run: RunData) -> OtherLoad | None:
    """The load while these candidates (``ids``) of a search were measured; None if unknown."""
    rates = []
    for measurement in run.measurements:
        covariates = measurement.record.covariates
        taken = covariates.get("other_cpu_seconds")
        seconds = covariates.get("sampling_seconds") or measurement.record.wall
        if measurement.cell.id in ids and taken is not None and seconds > 0.0:
            rates.append(taken / seconds)
    if not rates:
        return None
    processor = run.manifest.system.get("processor")
    known = processor.get("threads") if isinstance(processor, dict) else None
    used = max(cell.placement.ppn * cell.placement.threads for cell in search.cells)
    each = max(known, used) if isinstance(known, int) else used
    return OtherLoad(statistics.median(rates), each * search.cells[0].placement.nodes)
