"""The loop: next block, one launch per placement, its stream followed, the launch filed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import msgspec

from assay.campaign.engine.budget_shares import LEAST_BUDGET
from assay.campaign.engine.effort import beside_measurements
from assay.campaign.engine.retries import LaunchBatch, LaunchQueue
from assay.campaign.engine.state import CampaignState, Interruption, OutOfTime
from assay.campaign.engine.timeouts import longest_silence
from assay.config import PATIENCE
from assay.errors import AssayError
from assay.hostnames import names_text
from assay.launch.executor import Executor, HostsLost, Launch, LaunchOrder
from assay.model.cell import Cell
from assay.model.placement import Value
from assay.model.replication import Replication
from assay.model.sessions import session_of
from assay.plans.schedule import block_order
from assay.records.directory import RunDirectory
from assay.records.model import LaunchRecord, Manifest, RunData
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
    StreamRecord,
)
from assay.records.stream import Stream, StreamTail, read_stream

# Between looks at a growing stream, seconds: every look takes a core from a rank that is measured.
# The end of a launch is noticed at once.
LOOK = 0.25
# Seconds of silence after which the hosts of a launch are asked whether they are still there; again
# after twice as long each time. It disturbs a little, but kernels that are well are never silent so
# long.
SILENCE = 30.0


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
        """Something was decided that a reader of the numbers should know."""
        ...


class Campaign:
    """Carries out the plan of one run directory, or the session of it whose state is made.

    ``deadline``: Unix time; nothing is begun that would not end before it, and what is under way
    then is asked to end.
    """

    def __init__(
        self,
        run: RunDirectory,
        executor: Executor,
        observer: Observer,
        make_state: Callable[[Manifest], CampaignState],
        *,
        patience: float = PATIENCE,
        deadline: float | None = None,
    ) -> None:
        self._run = run
        self._manifest = run.manifest()
        self._executor = executor
        self._observer = observer
        self._patience = patience
        self._deadline = math.inf if deadline is None else deadline
        self._launched = 0
        self._overhead = 0.0  # seconds that a launch took beyond its measurements, the most so far
        self._state = make_state(self._manifest)
        self._parameters: dict[str, dict[str, Value]] = {}
        self._notes: set[str] = set()

    @property
    def lost(self) -> dict[str, str]:
        """Why cells were given up for now, by their ids: signals ended their launches."""
        return {
            name: state.lost for name, state in self._state.cells.items() if state.lost is not None
        }

    @property
    def left_out(self) -> list[Cell]:
        """The cells that this execution had to leave, for want of hosts."""
        found = (state for state in self._state.cells.values() if state.left_out)
        return [state.cell for state in found if state.lost is None]

    def execute(self) -> RunData:
        """Do what is missing.

        Raises Interruption if asked to stop, OutOfTime at the deadline, and AssayError. Cells for
        which there are not hosts enough are left out.
        """
        self._take_in_what_is_there()
        while (block := self._state.next_block()) is not None:
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
            if waiting and self._launched == before:
                raise OutOfTime
        return read_run(self._run.path)

    def _take_in_what_is_there(self) -> None:
        launches = {record.launch: record for record in self._run.launches()}

        rule, session = self._manifest.plan.replication, self._state.session
        beside: dict[str, float | None] = {}

        def streams() -> Iterator[tuple[str, Stream]]:
            for launch, stream in read_streams(self._run):
                record = launches.get(launch)
                if _session(record, stream, rule) == session:
                    self._state.spent += _cost(record, stream)
                beside[launch] = _beside(record, stream)
                yield launch, stream

        for measurement in measurements_of(streams(), self._manifest.plan.cells):
            self._state.add(measurement, beside[measurement.launch])
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
        """Of cells that one launch would measure, those that would end before the deadline.

        Before anything was launched there is at least one, the quickest: more time than it has now
        it would never get.
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
        """Launch cells of one placement; after a crash, again without the one it died in.

        What a signal ended is tried once more (``retries``).
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
                record = self._follow(replicate, order, waiting)
            except HostsLost as lost:
                record = self._never_begun(order, lost)
            full = record.exit == EXIT_STREAM
            if full:  # no cell's fault
                record = msgspec.structs.replace(record, outcome="interrupted", blamed=None)
            elif record.outcome in ("crash", "timeout"):
                record = self._unless_hosts_are_lost(record, order)
            stream = read_stream(order.stream, samples=fit_memory([order.stream]))
            record = msgspec.structs.replace(record, session=self._state.session)
            if record.outcome in ("crash", "timeout"):
                record = msgspec.structs.replace(record, left=_left(order, stream))
            self._run.append_launch(record)
            self._state.spent += _cost(record, stream)
            if record.outcome != "lost":  # whose end was waited for
                self._overhead = max(
                    self._overhead, beside_measurements(record, stream.measurements)
                )
            for measurement in measurements_of([(order.launch, stream)], waiting):
                self._state.add(measurement, _beside(record, stream))
            if full:
                raise AssayError(
                    f"The kernels could not write their records: {record.error}.",
                    where=str(order.stream),
                    fix=f"Free some space, then `assay run --resume {self._run.path}`: complete "
                    f"data are kept.",
                )
            if record.outcome == "interrupted":
                raise OutOfTime if time.time() >= self._deadline else Interruption
            left = self._unfinished(replicate, waiting)
            if len(left) < len(waiting):
                queue.brought()
            if record.outcome == "crash" and record.signal is not None:
                self._after_signal(record, queue, LaunchBatch(tuple(waiting), batch.again), left)
                continue
            if record.outcome == "lost":
                self._observer.note(f"{record.error}; its remaining work is done on other hosts.")
            elif record.outcome != "complete":
                self._state.blame(record, left, progressed=len(left) < len(waiting))
            elif left:
                # It ended well, yet left something out: asked to stop from outside.
                raise Interruption
            queue.rest(self._unfinished(replicate, left))

    def _after_signal(
        self, record: LaunchRecord, queue: LaunchQueue, batch: LaunchBatch, left: list[Cell]
    ) -> None:
        """A signal ended a launch: what it left is tried once more, or given up."""
        guilty = next(
            (c for c in left if record.blamed and c.id == record.blamed.rpartition("-")[0]), None
        )
        rest = [cell for cell in left if cell is not guilty]
        if guilty is not None and record.blamed is not None:
            if self._state.strike(record.blamed, record):
                queue.died_in(guilty)
            queue.rest(rest)
        elif len(left) < len(batch.cells):
            queue.rest(rest)
        else:
            lost = queue.died_before(batch, left)
            self._state.give_up(lost, record.error or "a signal ended its launches")

    def _unless_hosts_are_lost(self, record: LaunchRecord, order: LaunchOrder) -> LaunchRecord:
        """The record of a launch that ended badly; if its hosts did, that is no cell's fault."""
        return _with_lost(record, self._executor.lost_hosts(order))

    def _never_begun(self, order: LaunchOrder, lost: HostsLost) -> LaunchRecord:
        order.stream.touch()
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
        return _with_lost(record, lost.hosts)

    def _unfinished(self, replicate: int, cells: Sequence[Cell]) -> list[Cell]:
        return [
            cell
            for cell in cells
            if self._state.cells[cell.id].failure is None
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
            patience=longest_silence(cells, self._patience),
            seed=plan.seed,
        )

    def _resolve(self, cells: Sequence[Cell]) -> None:
        """Find the parameters to measure cells with; how they came is said once."""
        for cell in cells:
            resolution = self._state.resolve(cell)
            self._parameters[cell.id] = resolution.resolved.parameters
            if resolution.note and resolution.note not in self._notes:
                self._notes.add(resolution.note)
                self._observer.note(resolution.note)

    def _follow(self, replicate: int, order: LaunchOrder, cells: Sequence[Cell]) -> LaunchRecord:
        self._observer.launching(replicate, order, cells)
        launch = self._executor.start(order)
        tail = StreamTail(order.stream)
        last_record = time.monotonic()
        ask_after = SILENCE
        # A command that was given its time says nothing until it ends.
        limit = order.timeout if order.timeout < math.inf else 0.0
        patience = max(order.patience, limit + SILENCE if limit else 0.0)
        try:
            while True:
                record = launch.wait(LOOK)
                for news in tail.records():
                    last_record, ask_after = time.monotonic(), SILENCE
                    self._observer.record(news)
                self._observer.tick(self._state)
                if record is not None:
                    return record
                if time.time() >= self._deadline:
                    return msgspec.structs.replace(launch.stop(), outcome="interrupted")
                silence = time.monotonic() - last_record
                if silence > patience:
                    return self._give_up(launch, order)
                if silence > ask_after:
                    ask_after *= 2
                    if lost := self._executor.lost_hosts(order):
                        return _with_lost(launch.stop(), lost)
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
            error=f"no word from it for {order.patience:g} s (patience in assay.toml's [defaults])",
        )


def _session(record: LaunchRecord | None, stream: Stream, rule: Replication) -> int | None:
    """The session that a launch belongs to; None where neither its end nor its stream tells."""
    if record is not None:
        return record.session
    name = stream.measurements[0].measurement if stream.measurements else stream.begun or ""
    replicate = name.rpartition("-")[2]
    return session_of(int(replicate), rule) if is_number(replicate) else None


def _with_lost(record: LaunchRecord, lost: tuple[str, ...]) -> LaunchRecord:
    """The record of a launch whose hosts no longer answer; as it was if all of them do."""
    if not lost:
        return record
    error = f"{names_text(lost)} no longer answer{'s' if len(lost) == 1 else ''}"
    return msgspec.structs.replace(record, outcome="lost", lost=lost, blamed=None, error=error)


def _left(order: LaunchOrder, stream: Stream) -> tuple[str, ...]:
    """The measurements that a launch had still to make when it ended."""
    made = {record.measurement for record in stream.measurements if record.status != "interrupted"}
    wanted = (entry.measurement for entry in order.job.measurements)
    return tuple(name for name in wanted if name not in made)


def _beside(record: LaunchRecord | None, stream: Stream) -> float | None:
    """Seconds that a launch which ended as it should took beside its measurements."""
    if record is None or record.outcome != "complete":
        return None
    return beside_measurements(record, stream.measurements)


def _cost(record: LaunchRecord | None, stream: Stream) -> float:
    """Seconds of the budget that a launch has used up: all of it, or the part that was of use where
    hosts were lost, or nobody saw its end.
    """
    if record is not None and record.outcome != "lost":
        return record.wall
    last = stream.measurements[-1] if stream.measurements else None
    return last.start + last.wall if last else 0.0
