"""The time of launches: the part that counts towards the budget, the part outside measurements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.campaign.cells.effort import Place, place_of
from assay.model.cell import Cell
from assay.records.model import LaunchRecord
from assay.records.schema import MeasurementRecord
from assay.records.stream import Stream


class LaunchTimes:
    """The last known time (s) of a launch outside its measurements, for each placement.

    ``earlier``: this time in earlier runs, used before the first launch of this run; 0 if unknown.
    """

    def __init__(self, earlier: float = 0.0) -> None:
        self._known: dict[Place, float] = {}
        self._earlier = earlier

    def add(self, cell: Cell, seconds: float) -> None:
        """Add the time of a launch that measured this cell."""
        self._known[place_of(cell)] = max(seconds, 0.0)

    def of(self, cells: Iterable[Cell], assumed: float = 0.0) -> float:
        """Expected seconds of the launches that cells need, one per placement and toolchain.

        Placements without a launch are assumed to take the mean time of the others. Before the
        first launch, the time of earlier runs is used, or otherwise ``assumed`` seconds.
        """
        places = {place_of(cell) for cell in cells}
        known = [self._known[place] for place in places if place in self._known]
        if not self._known:
            return (self._earlier or assumed) * len(places)
        mean = sum(self._known.values()) / len(self._known)
        return sum(known) + mean * (len(places) - len(known))


def launch_cost(record: LaunchRecord | None, stream: Stream) -> float:
    """Seconds of the budget that a launch has used.

    The whole time counts. The time after the last measurement does not count if the launch only
    waited, or if its end was not recorded (``record`` is None). ``stream``: the launch's stream, of
    which only the last measurement is used.
    """
    if record is not None and not only_waited(record, stream):
        return record.wall
    last = stream.measurements[-1] if stream.measurements else None
    return last.start + last.wall if last else 0.0


def only_waited(record: LaunchRecord, stream: Stream) -> bool:
    """Whether the time of a launch is a wait for lost hosts, or for processes that a signal ended
    before the first record. Such a wait has nothing to do with the plan, and would leave no time
    for other launches.
    """
    return record.outcome == "lost" or (record.signal is not None and stream.start is None)


def launch_overhead(record: LaunchRecord | None, stream: Stream) -> float | None:
    """Seconds of a launch outside its measurements; None unless it ended normally."""
    if record is None or record.outcome != "complete":
        return None
    return beside_measurements(record, stream.measurements)


def beside_measurements(launch: LaunchRecord, records: Sequence[MeasurementRecord]) -> float:
    """Seconds of a launch outside its measurements."""
    return launch.wall - sum(record.wall for record in records)
