"""The loop: next block, one launch a placement, its stream followed, the launch filed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import msgspec

from assay.campaign.state import CampaignState, Interruption
from assay.config import PATIENCE
from assay.errors import AssayError
from assay.launch.executor import Executor, Launch, LaunchOrder
from assay.plans.model import Cell, Value
from assay.plans.schedule import block_order
from assay.records.directory import RunDirectory
from assay.records.model import LaunchRecord, Manifest, RunData
from assay.records.reading import (
    fit_memory,
    measurement_id,
    measurements_of,
    read_run,
    read_streams,
)
from assay.records.schema import EXIT_STREAM, JOB_SCHEMA, Job, MeasurementOrder, StreamRecord
from assay.records.stream import Stream, StreamTail, read_stream

# Between looks at a growing stream, seconds: every look takes a core from a rank that is measured.
# The end of a launch is noticed at once.
LOOK = 0.25


class Observer(Protocol):
    """Somebody who watches a campaign: the progress display, or nobody."""

    def launching(self, replicate: int, order: LaunchOrder, cells: Sequence[Cell]) -> None:
        """A launch is about to start."""
        ...

    def record(self, record: StreamRecord) -> None:
        """A record has come in."""
        ...

    def tick(self, state: CampaignState) -> None:
        """Time has passed."""
        ...

    def note(self, sentence: str) -> None:
        """Something was decided that whoever reads the numbers should know."""
        ...


class Campaign:
    """Carries out the plan of one run directory."""

    def __init__(
        self,
        run: RunDirectory,
        executor: Executor,
        observer: Observer,
        make_state: Callable[[Manifest], CampaignState],
        *,
        patience: float = PATIENCE,
    ) -> None:
        self._run = run
        self._manifest = run.manifest()
        self._executor = executor
        self._observer = observer
        self._patience = patience
        self._state = make_state(self._manifest)
        self._parameters: dict[str, dict[str, Value]] = {}
        self._notes: set[str] = set()

    def execute(self) -> RunData:
        """Do what is missing. Raises Interruption if asked to stop, and AssayError."""
        self._take_in_what_is_there()
        while (block := self._state.next_block()) is not None:
            replicate, cells = block
            pending = {cell.id for cell in cells}
            self._settle(cells)
            for group in block_order(self._manifest.plan, replicate, pending):
                if replicate > 0 and self._state.spent >= self._manifest.plan.replication.budget:
                    break
                self._launch_group(replicate, self._state.affordable(replicate, group))
        return read_run(self._run.path)

    def _take_in_what_is_there(self) -> None:
        launches = {record.launch: record for record in self._run.launches()}

        def streams() -> Iterator[tuple[str, Stream]]:
            for launch, stream in read_streams(self._run):
                record = launches.get(launch)
                last = stream.measurements[-1] if stream.measurements else None
                seen = last.start + last.wall if last else 0.0
                self._state.spent += record.wall if record else seen
                yield launch, stream

        for measurement in measurements_of(streams(), self._manifest.plan.cells):
            self._state.add(measurement)
        for record in launches.values():
            if record.outcome in ("crash", "timeout") and record.blamed:
                guilty = self._state.cells.get(record.blamed.rpartition("-")[0])
                self._state.blame(record, [guilty.cell] if guilty else [], progressed=True)

    def _launch_group(self, replicate: int, group: Sequence[Cell]) -> None:
        """Launch cells of one placement; after a crash, again without the one it died in."""
        waiting = list(group)
        while waiting:
            order = self._order(replicate, waiting)
            record = self._follow(replicate, order, waiting)
            full = record.exit == EXIT_STREAM
            if full:  # no cell's fault
                record = msgspec.structs.replace(record, outcome="interrupted", blamed=None)
            self._run.append_launch(record)
            self._state.spent += record.wall
            stream = read_stream(order.stream, samples=fit_memory([order.stream]))
            for measurement in measurements_of([(order.launch, stream)], waiting):
                self._state.add(measurement)
            if full:
                raise AssayError(
                    f"The kernels could not write their records: {record.error}.",
                    where=str(order.stream),
                    mend=f"Free some space, then `assay run --resume {self._run.path}`: what was "
                    "complete is kept.",
                )
            if record.outcome == "interrupted":
                raise Interruption
            left = self._unfinished(replicate, waiting)
            if record.outcome != "complete":
                self._state.blame(record, left, progressed=len(left) < len(waiting))
            elif left:
                # It ended well, yet left something out: asked to stop from outside.
                raise Interruption
            waiting = self._unfinished(replicate, left)

    def _unfinished(self, replicate: int, cells: Sequence[Cell]) -> list[Cell]:
        return [
            cell
            for cell in cells
            if self._state.cells[cell.id].failure is None
            and replicate not in self._state.cells[cell.id].values
        ]

    def _order(self, replicate: int, cells: Sequence[Cell]) -> LaunchOrder:
        plan = self._manifest.plan
        rule = plan.replication
        budgets = self._state.measurement_budgets(replicate, cells)
        launch = self._run.new_launch()
        placement = cells[0].placement
        job = Job(
            schema=JOB_SCHEMA,
            job=launch,
            threads=placement.threads,
            binding=placement.binding,
            order=placement.order,
            seed=(plan.seed + replicate) % 2**31,
            measurements=[
                MeasurementOrder(
                    measurement=measurement_id(cell, replicate),
                    kernel=cell.kernel,
                    parameters=self._parameters[cell.id],
                    precision=rule.precision,
                    confidence=rule.confidence,
                    budget=budgets[cell.id],
                    min_samples=rule.min_samples,
                    max_samples=rule.max_samples,
                )
                for cell in cells
            ],
        )
        return LaunchOrder(
            launch=launch,
            toolchain=cells[0].toolchain,
            placement=placement,
            job=job,
            stream=self._run.raw / f"{launch}.jsonl",
            patience=self._patience,
        )

    def _settle(self, cells: Sequence[Cell]) -> None:
        """Find the parameters to measure cells with; how they came is said once."""
        for cell in cells:
            settlement = self._state.settle(cell)
            self._parameters[cell.id] = settlement.settled.parameters
            if settlement.note and settlement.note not in self._notes:
                self._notes.add(settlement.note)
                self._observer.note(settlement.note)

    def _follow(self, replicate: int, order: LaunchOrder, cells: Sequence[Cell]) -> LaunchRecord:
        self._observer.launching(replicate, order, cells)
        launch = self._executor.start(order)
        tail = StreamTail(order.stream)
        heard = time.monotonic()
        try:
            while True:
                record = launch.wait(LOOK)
                for news in tail.records():
                    heard = time.monotonic()
                    self._observer.record(news)
                self._observer.tick(self._state)
                if record is not None:
                    return record
                if time.monotonic() - heard > self._patience:
                    return self._give_up(launch, order)
        except KeyboardInterrupt:
            record = launch.stop()
            return msgspec.structs.replace(record, outcome="interrupted")
        except BaseException:
            launch.stop()
            raise

    def _give_up(self, launch: Launch, order: LaunchOrder) -> LaunchRecord:
        record = launch.stop()
        begun = read_stream(order.stream, samples=False).begun
        return msgspec.structs.replace(
            record,
            outcome="timeout",
            blamed=begun,
            error=f"no word from it for {self._patience:g} s (patience in assay.toml's [defaults])",
        )
