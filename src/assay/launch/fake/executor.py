"""The fake executor: it writes the stream that the simulated machine of a scenario would write.

It obeys orders (samples, precision, budget, timeout) in simulated time and takes the real time that
the scenario sets. The result of a measurement depends only on the scenario, its seed, the
measurement's name and the simulated time, so a run that was killed and resumed gets the same
results. It uses no threads or processes: a launch advances when it is polled.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

import msgspec

from assay.errors import AssayError
from assay.launch.executor import LaunchOrder
from assay.launch.fake.samples import FakeSamples
from assay.launch.fake.scenario import Failure, FailureKind, Scenario, compile_scenario
from assay.launch.fake.seats import ranks_of
from assay.launch.node_sets import choose_hosts
from assay.launch.outcome import EndedBy, judge
from assay.model.placement import Placement
from assay.model.rank_order import seats_by_rank
from assay.plain_files import appending, ensure_file
from assay.records.model import LaunchRecord
from assay.records.schema import (
    EXIT_MEASUREMENT,
    EXIT_STREAM,
    STREAM_SCHEMA,
    ClockRecord,
    MeasurementBegin,
    MeasurementOrder,
    MeasurementRecord,
    StreamEnd,
    StreamRecord,
    StreamStart,
)
from assay.version import VERSION

_SIGKILL = 9
_SIGSEGV = 11
# Real seconds between progress records.
_PROGRESS_EVERY = 0.25
# Failures of a launch as a whole; the others happen in a measurement.
_OF_LAUNCH: tuple[FailureKind, ...] = ("no end", "miscount", "disk full", "no start", "killed")

Failures = dict[FailureKind, Failure]


class FakeExecutor:
    """Runs launches on the scenario's machine. ``now``: simulated seconds since its creation.

    ``first``: the number of its first host, for nodes that measure themselves.
    """

    def __init__(self, scenario: Scenario | None = None, first: int = 0) -> None:
        self._first = first
        self.machine = compile_scenario(scenario or Scenario())
        utc = self.machine.scenario.utc
        self.epoch = time.time() if utc is None else utc
        self.now = 0.0
        self._launches = 0
        self._failed = [0] * len(self.machine.scenario.failure)
        self._failed_hosts: set[str] = set()
        self._lost: set[str] = set()  # failed hosts that are known to be lost

    def start(self, order: LaunchOrder) -> FakeLaunch:
        """Start a launch. Raises AssayError if the scenario says that it can't be started."""
        self._launches += 1
        failures: Failures = {}
        for place in range(len(order.job.measurements)):
            failures |= self.failures(order, place, of_launch=True)
        if "no start" in failures:
            text = failures["no start"].text
            raise AssayError(f"The launch can't be started: {text}.", where=order.launch)
        return FakeLaunch(self, order, failures)

    def hosts_of(self, order: LaunchOrder) -> tuple[str, ...]:
        """The hosts of a launch, without those known to be lost."""
        count = self.machine.scenario.nodes
        there = count or order.placement.nodes + len(self._lost)
        names = [f"fake{node}" for node in range(self._first, self._first + there)]
        hosts = [name for name in names if name not in self._lost]
        return choose_hosts(hosts, order.placement.nodes, order.placement.node_set, order.seed)

    def node_of_ranks(self, order: LaunchOrder) -> tuple[int, ...]:
        """The number of each rank's host."""
        hosts, placement = self.hosts_of(order), order.placement
        seats = seats_by_rank(placement.order, placement.nodes, placement.ppn)
        return tuple(int(hosts[node].removeprefix("fake")) for node, _ in seats)

    def fits(self, placement: Placement) -> bool:
        """Whether there are enough hosts for it, without those known to be lost."""
        count = self.machine.scenario.nodes
        return count is None or placement.nodes <= count - len(self._lost)

    def lost_hosts(self, order: LaunchOrder) -> tuple[str, ...]:
        """The failed hosts of a launch; they are not used again."""
        found = tuple(host for host in self.hosts_of(order) if host in self._failed_hosts)
        self._lost |= set(found)
        return found

    def kill(self, host: str) -> None:
        """Make a host fail: it no longer answers."""
        self._failed_hosts.add(host)

    def failures(self, order: LaunchOrder, place: int, *, of_launch: bool = False) -> Failures:
        """The failures that now apply to the measurement at index ``place``, or to its launch."""
        entry = order.job.measurements[place]
        behaviour = self.machine.behaviour(
            entry.kernel, order.toolchain, entry.parameters, order.placement
        )
        names = behaviour.names(entry.kernel, behaviour.resolve(entry.parameters), order.placement)
        names |= {"t": self.now, "rank": 0, "node": self.node_of_ranks(order)[0]}
        found: Failures = {}
        for index, failure in enumerate(self.machine.scenario.failure):
            condition = self.machine.conditions[index]
            seed = f"{self.machine.scenario.seed}/failure {index}/{entry.measurement}"
            if (
                (failure.kind in _OF_LAUNCH) == of_launch
                and failure.kind not in found
                and fnmatchcase(entry.kernel, failure.match)
                and failure.launch in (None, self._launches)
                and failure.measurement in (None, place + 1)
                and (failure.times is None or self._failed[index] < failure.times)
                and (condition is None or condition.value(names))
                and random.Random(seed).random() < failure.share
            ):
                if failure.kind == "host lost" and f"fake{failure.host}" not in self.hosts_of(
                    order
                ):
                    continue
                self._failed[index] += 1
                found[failure.kind] = failure
        return found


class FakeClock:
    """The simulated time of the scenario's machine; waiting takes no real time.

    See ``campaign.machine.clocks.CampaignClock``.
    """

    nap = 600.0

    def __init__(self, executor: FakeExecutor) -> None:
        self._executor = executor

    def now(self) -> float:
        """Unix time."""
        return self._executor.epoch + self._executor.now

    def running(self) -> float:
        """Simulated seconds."""
        return self._executor.now

    def awake(self) -> float:
        """Same as ``running``: the machine never sleeps."""
        return self._executor.now

    def sleep(self, seconds: float) -> None:
        """Advance simulated time."""
        self._executor.now += seconds

    def resume(self, utc: float) -> None:
        """Advance simulated time to that of a resumed run's last record."""
        self._executor.now = max(self._executor.now, utc - self._executor.epoch)


class FakeLaunch:
    """A launch under way; see ``assay.launch.executor.Launch``."""

    def __init__(self, executor: FakeExecutor, order: LaunchOrder, failures: Failures) -> None:
        self._executor = executor
        self._order = order
        self._failures = failures
        self._began = executor.now
        self._clock = 0.0  # simulated seconds of this launch
        self._room = failures["disk full"].bytes if "disk full" in failures else None
        self._under_way: _UnderWay | None = None
        self._written = 0
        self._done = 0
        self._any_failed = False
        self._record: LaunchRecord | None = None
        self._due = time.monotonic()
        self._steps = self._run()
        try:
            ensure_file(order.stream)
        except OSError as error:
            raise AssayError(
                f"The stream can't be written: {error.strerror}.",
                where=str(order.stream),
                fix="Make room or correct the folder's permissions.",
            ) from None

    def poll(self) -> LaunchRecord | None:
        """Do the steps due by now; returns the launch's record once it has ended."""
        while self._record is None and time.monotonic() >= self._due:
            try:
                self._due += next(self._steps)
            except StopIteration:
                self._finish(EXIT_MEASUREMENT if self._any_failed else 0)
            except _Ended as end:
                self._finish(end.status, end.said, end.ended_by)
        return self._record

    def wait(self, seconds: float) -> LaunchRecord | None:
        """Like ``poll``, but wait up to ``seconds`` for the end."""
        until = time.monotonic() + seconds
        while (record := self.poll()) is None and (left := until - time.monotonic()) > 0:
            time.sleep(max(min(left, self._due - time.monotonic()), 0.0))
        return record

    def stop(self) -> LaunchRecord:
        """End it as real kernels end on request: with the samples so far. A hung one is killed."""
        if self._record is None:
            doing = self._under_way
            try:
                if doing is not None and doing.hangs:
                    raise _Ended(-_SIGKILL)
                if doing is not None:
                    self._write(self._cut_short(doing))
                    self._done += 1
                self._write(StreamEnd(self._done, "signal"))
                self._finish(0, ended_by="interrupted")
            except _Ended as end:
                self._finish(end.status, end.said, "interrupted")
        assert self._record is not None
        return self._record

    def _finish(
        self,
        status: int,
        said: str = "",
        ended_by: EndedBy | None = None,
    ) -> None:
        verdict = judge(self._order.stream, status, said, ended_by, after=self._clock)
        wall = self._clock + self._executor.machine.launch_time
        self._record = LaunchRecord(
            launch=self._order.launch,
            toolchain=self._order.toolchain,
            command=["fake", self._order.launch],
            utc=self._executor.epoch + self._began,
            wall=wall,
            exit=status,
            outcome=verdict.outcome,
            error=verdict.error,
            blamed=verdict.blamed,
            stderr=said,
            signal=verdict.signal,
        )
        self._executor.now = self._began + wall

    def _write(self, record: StreamRecord, *, share: float = 1.0) -> None:
        """Append a record, or the leading share of its line. Raises _Ended on a full disk."""
        line = msgspec.json.encode(record) + b"\n"
        line = line[: max(int(len(line) * share), 1)]
        full = self._room is not None and self._written + len(line) > self._room
        if full:
            line = line[: (self._room or 0) - self._written]
        try:
            with appending(self._order.stream) as stream:
                stream.write(line)
        except OSError as error:
            raise _Ended(EXIT_STREAM, said=f"assay-fake: {error.strerror}") from None
        self._written += len(line)
        if full:
            raise _Ended(EXIT_STREAM, said="assay-fake: No space left on device")

    def _run(self) -> Iterator[float]:
        """Write the stream step by step, yielding the real seconds before the next one."""
        order, machine = self._order, self._executor.machine
        if "killed" in self._failures:
            raise _Ended(-_SIGKILL)
        self._write(
            StreamStart(
                schema=STREAM_SCHEMA,
                program="assay-fake",
                version=VERSION,
                job=order.job.job,
                ranks=order.placement.ranks,
                utc=self._executor.epoch + self._began,
                clock=ClockRecord("simulated", machine.clock_overhead, machine.clock_resolution),
            )
        )
        hosts = self._executor.hosts_of(order)
        node = machine.scenario
        for rank in ranks_of(order.placement, hosts, node.cores, node.smt, node.domains):
            self._write(rank)
        for place, entry in enumerate(order.job.measurements):
            self._write(MeasurementBegin(entry.measurement, entry.kernel))
            yield from self._measure(entry, self._executor.failures(order, place))
        if "no end" not in self._failures:
            self._write(StreamEnd(self._done + ("miscount" in self._failures), "complete"))

    def _measure(self, entry: MeasurementOrder, failures: Failures) -> Iterator[float]:
        machine = self._executor.machine
        behaviour = machine.behaviour(
            entry.kernel, self._order.toolchain, entry.parameters, self._order.placement
        )
        samples = FakeSamples(
            machine=machine,
            behaviour=behaviour,
            entry=entry,
            order=self._order,
            nodes=self._executor.node_of_ranks(self._order),
            epoch=self._began,
            start=self._clock,
        )
        samples.take()
        record = samples.record(failures)
        delay = behaviour.delay
        self._under_way = _UnderWay(
            record, entry.min_samples, "hang" in failures, time.monotonic(), delay
        )
        steps = max(math.ceil(delay / _PROGRESS_EVERY), 1)
        for step in range(1, steps + 1):
            yield delay / steps
            if step < steps and "hang" not in failures:
                self._write(samples.progress(step / steps))
        if "crash" in failures:
            self._clock += samples.elapsed / 2
            raise _Ended(-_SIGSEGV, f"assay-fake: {failures['crash'].text}")
        if "host lost" in failures:
            self._executor.kill(f"fake{failures['host lost'].host}")
            self._clock += samples.elapsed / 2
            raise _Ended(-_SIGKILL, f"assay-fake: {failures['host lost'].text}")
        if "hang" in failures:
            given_up = min(self._order.timeout, self._clock + self._order.patience)
            over = self._order.allowance < given_up
            self._clock = self._order.allowance if over else given_up
            raise _Ended(-_SIGKILL, ended_by="budget" if over else "timeout")
        ends = self._clock + samples.elapsed
        if ends + machine.launch_time > self._order.allowance and ends > 0.0:
            self._end_by_budget(record)
        if self._clock + samples.elapsed > self._order.timeout:
            self._clock = self._order.timeout
            raise _Ended(-_SIGKILL, ended_by="timeout")
        self._clock += samples.elapsed
        self._under_way = None
        if "torn" in failures:
            self._write(record, share=0.5)
            raise _Ended(0)
        self._write(record)
        self._done += 1
        self._any_failed |= record.status == "failed" or record.verified is False

    def _end_by_budget(self, record: MeasurementRecord) -> None:
        """End as kernels do on request when the allowance is used up, unless the time-out comes
        first.

        Raises _Ended.
        """
        if self._order.allowance > self._order.timeout:
            return
        # Starting and ending the ranks takes time, too.
        allowance = max(self._order.allowance - self._executor.machine.launch_time, 0.0)
        assert self._under_way is not None
        share = max(allowance - self._clock, 0.0) / record.wall
        self._write(self._cut(record, min(share, 1.0), self._under_way.least))
        self._done += 1
        self._clock = max(self._clock, allowance)
        self._write(StreamEnd(self._done, "signal"))
        raise _Ended(0, ended_by="budget")

    def _cut_short(self, doing: _UnderWay) -> MeasurementRecord:
        """The record of a measurement that is stopped now."""
        passed = time.monotonic() - doing.since
        share = min(passed / doing.delay, 1.0) if doing.delay > 0 else 1.0
        return self._cut(doing.record, share, doing.least)

    def _cut(self, record: MeasurementRecord, share: float, least: int) -> MeasurementRecord:
        """The record of a measurement that is stopped after this share of its time."""
        wall = record.wall * share
        self._clock += wall
        series = record.series[0] if record.series else None
        count = int(share * len(series.values)) if series else 0
        if series is None or count < least:
            return MeasurementRecord(
                measurement=record.measurement,
                kernel=record.kernel,
                status="interrupted",
                start=record.start,
                wall=wall,
                parameters=record.parameters,
                stop="signal",
            )
        cut = msgspec.structs.replace(
            series, starts=series.starts[:count], values=series.values[:count]
        )
        return msgspec.structs.replace(
            record, stop="signal", wall=wall, series=[cut], half_width=None
        )


@dataclass(frozen=True)
class _UnderWay:
    """A measurement in real time: its final record, and when it began."""

    record: MeasurementRecord
    least: int
    hangs: bool
    since: float
    delay: float


@dataclass
class _Ended(Exception):
    """The end of the fake kernels: exit status, last output, and the reason if assay ended them."""

    status: int
    said: str = ""
    ended_by: EndedBy | None = None
