"""The loop of a campaign: the next block, one launch per placement, its record."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec

from assay.campaign.cells.budget_shares import LEAST_BUDGET
from assay.campaign.cells.launch_times import (
    beside_measurements,
    launch_cost,
    launch_overhead,
    only_waited,
)
from assay.campaign.engine.forecast import block_time, shortfall
from assay.campaign.engine.launch_follower import LaunchFollower, with_lost
from assay.campaign.engine.observer import Observer
from assay.campaign.engine.retries import LaunchBatch, LaunchQueue
from assay.campaign.engine.state import CampaignState, Interruption, OutOfTime
from assay.campaign.engine.timeouts import ENDING, longest_silence
from assay.config import PATIENCE
from assay.errors import AssayError
from assay.kernels.naming import cell_title
from assay.launch.executor import Executor, HostsLost, LaunchOrder
from assay.launch.outcome import OVER_BUDGET
from assay.model.cell import Cell
from assay.model.placement import Value
from assay.model.replication import Replication
from assay.model.sessions import session_of
from assay.plain_files import ensure_file
from assay.plans.schedule import block_order
from assay.records.directory import RunDirectory
from assay.records.model import LaunchRecord, Manifest, Measurement, RunData
from assay.records.reading import (
    fit_memory,
    is_number,
    measurement_id,
    measurements_of,
    read_run,
    read_streams,
)
from assay.records.schema import (
    EXIT_STREAM,
    JOB_SCHEMA,
    Job,
    MeasurementOrder,
)
from assay.records.stream import Stream, read_stream
from assay.units import format_duration


def left_out_text(measurement: Measurement) -> str:
    """A sentence on a measurement that its kernel left out."""
    return (
        f"Left out {cell_title(measurement.cell)}: {measurement.record.error}. A longer --budget "
        "includes it."
    )


class Campaign:
    """Executes the plan of one run directory, or the session that ``make_state`` selects.

    ``manifest``: the run's manifest, if it has been read. ``patience``: seconds without records
    after which a launch is given up. ``ending``: seconds within which ranks must end after the end
    of their stream. ``deadline``: Unix time at which a launch is stopped. Measurements that would
    end later do not start.
    """

    def __init__(
        self,
        run: RunDirectory,
        executor: Executor,
        observer: Observer,
        make_state: Callable[[Manifest], CampaignState],
        *,
        manifest: Manifest | None = None,
        patience: float = PATIENCE,
        ending: float = ENDING,
        deadline: float | None = None,
    ) -> None:
        self._run = run
        self._manifest = manifest or run.manifest()
        self._executor = executor
        self._observer = observer
        self._patience = patience
        self._deadline = math.inf if deadline is None else deadline
        self._follower = LaunchFollower(executor, observer, ending, self._deadline)
        self._launched = 0
        self._overhead = 0.0  # maximum seconds of a launch outside its measurements
        self._state = make_state(self._manifest)
        self._parameters: dict[str, dict[str, Value]] = {}
        self._notes: set[str] = set()
        self._foreseen = False

    @property
    def lost(self) -> dict[str, str]:
        """The reasons, by cell id, of cells given up for now because signals ended launches."""
        return {
            name: state.lost for name, state in self._state.cells.items() if state.lost is not None
        }

    @property
    def left_out(self) -> list[Cell]:
        """The cells left out of this execution for lack of hosts."""
        found = (state for state in self._state.cells.values() if state.left_out)
        return [state.cell for state in found if state.lost is None]

    @property
    def over_budget(self) -> list[Cell]:
        """The cells without a launch for which the budget was too small."""
        return self._state.keeper.beyond()

    def execute(self) -> RunData:
        """Measure what is missing.

        Cells for which there are too few hosts are left out. Raises Interruption on a request to
        stop, OutOfTime at the deadline, and AssayError.
        """
        self._read_existing()
        self._forecast()
        while (block := self._next_block()) is not None:
            replicate, cells = block
            pending = {cell.id for cell in cells}
            self._resolve(cells)
            before, waiting = self._launched, False
            number = self._state.first + replicate
            for group in block_order(self._manifest.plan, number, pending):
                if replicate > 0 and self._state.spent >= self._manifest.plan.replication.budget:
                    break
                affordable = self._state.affordable(replicate, group)
                begun = self._in_time(replicate, affordable)
                waiting |= len(begun) < len(affordable)
                self._launch_group(replicate, begun)
            self._forecast()
            if waiting and self._launched == before:
                raise OutOfTime
        return read_run(self._run.path)

    def _next_block(self) -> tuple[int, list[Cell]] | None:
        for state in self._state.settle():
            self._observer.measured(state)
        return self._state.next_block()

    def _forecast(self) -> None:
        """Report what the budget can't answer: first from expected times, and again after every
        cell was measured.
        """
        if self._state.session > 0 or self._foreseen:
            return
        block = block_time(self._state)
        self._foreseen = block.measured
        if self._state.keeper.beyond():
            return  # the message on cells left out is more precise
        sentence = shortfall(self._manifest.plan, block)
        if sentence and (block.measured or not self._launched):
            self._observer.note(sentence)

    def _read_existing(self) -> None:
        launches = {record.launch: record for record in self._run.launches()}

        rule, session = self._manifest.plan.replication, self._state.session
        overheads: dict[str, float | None] = {}

        def streams() -> Iterator[tuple[str, Stream]]:
            for launch, stream in read_streams(self._run):
                record = launches.get(launch)
                if _session(record, stream, rule) == session:
                    self._state.spent += launch_cost(record, stream)
                overheads[launch] = launch_overhead(record, stream)
                yield launch, stream

        for measurement in measurements_of(streams(), self._manifest.plan.cells):
            self._state.add(measurement, overheads[measurement.launch])
        for record in launches.values():
            ours = record.session == session
            if not ours or record.outcome not in ("crash", "timeout") or not record.blamed:
                continue
            if record.signal is not None:
                self._state.strike(record.blamed, record)
            else:
                failed_cell = self._state.cells.get(record.blamed.rpartition("-")[0])
                self._state.blame(
                    record, [failed_cell.cell] if failed_cell else [], progressed=True
                )

    def _in_time(self, replicate: int, cells: Sequence[Cell]) -> list[Cell]:
        """The cells of a launch that would end before the deadline.

        Before the first launch, this includes at least the quickest cell, since a later execution
        would have no more time.
        """
        if self._deadline == math.inf or not cells:
            return list(cells)
        budgets = self._state.measurement_budgets(replicate, cells)
        needs = {c.id: self._state.cells[c.id].expected(budgets[c.id]) for c in cells}
        left = self._deadline - time.time() - self._overhead
        remaining = []
        for cell in cells:
            if needs[cell.id] <= left:
                remaining.append(cell)
                left -= needs[cell.id]
        if not remaining and not self._launched and left > 0:
            return [min(cells, key=lambda cell: needs[cell.id])]
        return remaining

    def _launch_group(self, replicate: int, group: Sequence[Cell]) -> None:
        """Launch cells of one placement.

        After a crash, launch again without the crashed cell. A launch that a signal ended is
        retried once (``retries``).
        """
        queue = LaunchQueue.of(group, self._state.suspects(replicate, group))
        while (batch := queue.next()) is not None:
            waiting = self._unfinished(replicate, batch.cells)
            if not waiting:
                continue
            if not self._executor.fits(waiting[0].placement):
                self._state.leave_out(self._unfinished(replicate, group))
                return
            order = self._order(replicate, waiting)
            self._launched += 1
            try:
                record = self._follower.follow(replicate, order, waiting, self._state)
            except HostsLost as lost:
                record = self._never_begun(order, lost)
            full = record.exit == EXIT_STREAM
            if full:  # no space was left for records, so the cell has not failed
                record = msgspec.structs.replace(record, outcome="interrupted", blamed=None)
            elif record.outcome in ("crash", "timeout"):
                record = self._unless_hosts_are_lost(record, order)
            stream = read_stream(order.stream, samples=fit_memory([order.stream]))
            record = msgspec.structs.replace(record, session=self._state.session)
            if record.outcome in ("crash", "timeout"):
                record = msgspec.structs.replace(record, left=_left(order, stream))
            self._run.append_launch(record)
            self._state.spent += launch_cost(record, stream)
            if not only_waited(record, stream):
                self._overhead = max(
                    self._overhead, beside_measurements(record, stream.measurements)
                )
            for measurement in measurements_of([(order.launch, stream)], waiting):
                self._state.add(measurement, launch_overhead(record, stream))
                self._observer.measured(self._state.cells[measurement.cell.id])
                if measurement.record.status == "left out":
                    self._observer.note(left_out_text(measurement))
            if full:
                raise AssayError(
                    f"The kernels could not write their records: {record.error}.",
                    where=str(order.stream),
                    fix=f"Free some space, then run `assay run --resume {self._run.path}`. "
                    "Complete data are kept.",
                )
            if record.outcome == "interrupted" and record.error == OVER_BUDGET:
                self._observer.note(
                    f"Launch {order.launch} was ended after {format_duration(record.wall)}: it "
                    "took longer than expected, and the budget was spent."
                )
                return  # a message at the end names cells without a value
            if record.outcome == "interrupted":
                raise OutOfTime if time.time() >= self._deadline else Interruption
            left = self._unfinished(replicate, waiting)
            if len(left) < len(waiting):
                queue.succeeded()
            if record.outcome == "crash" and record.signal is not None:
                self._after_signal(record, queue, LaunchBatch(tuple(waiting), batch.again), left)
                continue
            if record.outcome == "lost":
                self._observer.note(f"{record.error}; other hosts do its remaining work.")
            elif record.outcome != "complete":
                self._state.blame(record, left, progressed=len(left) < len(waiting))
            elif left:
                # The launch ended normally but incomplete, since it was asked to stop from outside.
                raise Interruption
            queue.rest(self._unfinished(replicate, left))

    def _after_signal(
        self, record: LaunchRecord, queue: LaunchQueue, batch: LaunchBatch, left: list[Cell]
    ) -> None:
        """After a signal ended a launch, retry the remaining cells once, or give them up."""
        guilty = next(
            (c for c in left if record.blamed and c.id == record.blamed.rpartition("-")[0]), None
        )
        rest = [cell for cell in left if cell is not guilty]
        if guilty is not None and record.blamed is not None:
            if self._state.strike(record.blamed, record):
                queue.ended_in(guilty)
            queue.rest(rest)
        elif len(left) < len(batch.cells):
            queue.rest(rest)
        else:
            lost = queue.ended_before(batch, left)
            self._state.give_up(lost, record.error or "a signal ended its launches")

    def _unless_hosts_are_lost(self, record: LaunchRecord, order: LaunchOrder) -> LaunchRecord:
        """The record of a failed launch, with the outcome "lost" if its hosts were lost."""
        return with_lost(record, self._executor.lost_hosts(order))

    def _never_begun(self, order: LaunchOrder, lost: HostsLost) -> LaunchRecord:
        ensure_file(order.stream)
        record = LaunchRecord(
            launch=order.launch,
            toolchain=order.toolchain,
            command=[],
            utc=time.time(),
            wall=0.0,
            exit=None,
            outcome="lost",
            stderr=lost.detail,
        )
        return with_lost(record, lost.hosts)

    def _unfinished(self, replicate: int, cells: Sequence[Cell]) -> list[Cell]:
        return [
            cell
            for cell in cells
            if self._state.cells[cell.id].failure is None
            and self._state.cells[cell.id].too_long is None
            and not self._state.cells[cell.id].left_out
            and replicate not in self._state.cells[cell.id].values
        ]

    def _order(self, replicate: int, cells: Sequence[Cell]) -> LaunchOrder:
        plan = self._manifest.plan
        rule = plan.replication
        budgets = self._state.measurement_budgets(replicate, cells)
        most_samples = self._state.most_samples(replicate, cells)
        left = max(self._deadline - time.time(), LEAST_BUDGET)
        launch = self._run.new_launch()
        number = self._state.first + replicate
        placement = cells[0].placement
        job = Job(
            schema=JOB_SCHEMA,
            job=launch,
            threads=placement.threads,
            binding=placement.binding,
            order=placement.order,
            smt=placement.smt,
            devices=placement.devices,
            seed=(plan.seed + number) % 2**31,
            measurements=[
                MeasurementOrder(
                    measurement=measurement_id(cell, number),
                    kernel=cell.kernel,
                    parameters=self._parameters[cell.id],
                    precision=rule.precision,
                    confidence=rule.confidence,
                    budget=min(budgets[cell.id], left),
                    min_samples=rule.min_samples,
                    max_samples=most_samples[cell.id],
                    longest=self._state.longest(cell),
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
            timeout=self._state.time_limit(cells),
            allowance=self._state.keeper.allowance(),
            patience=longest_silence(cells, self._patience),
            seed=plan.seed,
        )

    def _resolve(self, cells: Sequence[Cell]) -> None:
        """Determine the parameters for measuring cells. Each note is reported once."""
        for cell in cells:
            resolution = self._state.resolve(cell)
            self._parameters[cell.id] = resolution.resolved.parameters
            if resolution.note and resolution.note not in self._notes:
                self._notes.add(resolution.note)
                self._observer.note(resolution.note)


def _session(record: LaunchRecord | None, stream: Stream, rule: Replication) -> int | None:
    """The session of a launch; None if neither its record nor its stream shows it."""
    if record is not None:
        return record.session
    name = stream.measurements[0].measurement if stream.measurements else stream.begun or ""
    replicate = name.rpartition("-")[2]
    return session_of(int(replicate), rule) if is_number(replicate) else None


def _left(order: LaunchOrder, stream: Stream) -> tuple[str, ...]:
    """The measurements that a launch lacked at its end."""
    measured = {
        record.measurement for record in stream.measurements if record.status != "interrupted"
    }
    wanted = (entry.measurement for entry in order.job.measurements)
    return tuple(name for name in wanted if name not in measured)
