"""The parts of a run that its trace covers, as MPI_Pcontrol switches the recording on and off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats


@dataclass(frozen=True)
class Regions:
    """Regions."""

    #: Alternating begins and ends of the times in which any rank recorded, s, ascending.
    edges: Floats

    @property
    def cut(self) -> float:
        """Seconds between the first begin and the last end in which no rank recorded."""
        return float((self.edges[2::2] - self.edges[1:-1:2]).sum())

    def without_gaps(self, times: Floats) -> Floats:
        """Times that exclude the gaps between regions and the time before the first region.

        The times of all ranks change in the same way, so that their order is kept.
        """
        lengths = np.diff(self.edges)
        lengths[1::2] = 0.0
        found: Floats = np.interp(times, self.edges, np.concatenate([[0.0], np.cumsum(lengths)]))
        return found


def recorded_regions(ranks: Sequence[tuple[Floats, npt.NDArray[np.bool_]]]) -> Regions | None:
    """The union of the ranks' recorded times. None if no rank ever recorded.

    ``ranks``: for each rank, times in s (ascending), and whether it records from each time on.
    """
    times, changes = [], []
    for at, on in ranks:
        change = np.diff(np.concatenate([[0], on.astype(np.int64)]))
        times.append(at[change != 0])
        changes.append(change[change != 0])
    flat, step = np.concatenate(times), np.concatenate(changes)
    # Begins come first at equal times, so that regions that touch are joined.
    order = np.lexsort((-step, flat))
    flat, active = flat[order], np.cumsum(step[order])
    before = np.concatenate([[0], active[:-1]])
    edges = flat[(active == 0) != (before == 0)]
    return Regions(edges) if len(edges) else None
