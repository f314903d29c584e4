"""The contract with kernels: the job they read and the stream of records they write.

Both are JSON; `docs/formats/stream.md` is the prose. Any program that writes this stream is a
kernel. Times are seconds of the monotonic clock counted from the launch's own start,
unless a field says ``utc``. What is missing is null, never 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from assay.model.placement import Binding, Smt, Value

JOB_SCHEMA = 1
STREAM_SCHEMA = 1

# Exit statuses of a kernel program besides 0: its stream could not be written; some measurement
# failed or was not verified, as the stream says; the processor lacks what it was built for.
EXIT_STREAM = 3
EXIT_MEASUREMENT = 4
EXIT_PROCESSOR = 5


class MeasurementOrder(msgspec.Struct, frozen=True):
    """One line of a job: measure this, this precisely, in no more than this time."""

    measurement: str
    kernel: str
    parameters: dict[str, Value]
    precision: float
    confidence: float
    budget: float
    min_samples: int
    max_samples: int


class Job(msgspec.Struct, frozen=True):
    """Everything one launch works through: measurements that share a placement.

    ``order`` of ranks and ``smt`` as in ``plans.model.Placement``.
    """

    schema: int
    job: str
    threads: int
    binding: Binding
    seed: int
    measurements: list[MeasurementOrder]
    order: str = "block"
    smt: Smt = "off"


class ClockRecord(msgspec.Struct, frozen=True):
    """The clock that timed it, as found at the start of the launch, in seconds."""

    source: str
    overhead: float
    resolution: float


class StreamStart(msgspec.Struct, frozen=True, tag_field="record", tag="start"):
    """First record of a stream: who writes, with what, by which clock."""

    schema: int
    program: str
    version: str
    job: str
    ranks: int
    utc: float
    clock: ClockRecord
    mpi: str | None = None
    blas: str | None = None
    compiler: str | None = None


class ClockOffset(msgspec.Struct, frozen=True):
    """By how many seconds a clock is ahead of that of rank 0's host, and may be wrong at most."""

    offset: float
    error: float


class HostClocks(msgspec.Struct, frozen=True):
    """A host's clocks when the launch began: the time of day, and the time since it started."""

    utc: ClockOffset
    monotonic: ClockOffset


class RankRecord(msgspec.Struct, frozen=True, tag_field="record", tag="rank"):
    """Where a rank sits. ``cpus``: one per thread, in thread order.

    ``clocks``: those of its host, reported by the first rank of each of several hosts.
    """

    rank: int
    host: str
    pid: int
    local_rank: int
    cpus: list[int]
    numa: int | None
    pinned: bool
    oversubscribed: bool
    clocks: HostClocks | None = None


class MeasurementBegin(msgspec.Struct, frozen=True, tag_field="record", tag="begin"):
    """A measurement has begun; without its MeasurementRecord the launch died in it."""

    measurement: str
    kernel: str


class Progress(msgspec.Struct, frozen=True, tag_field="record", tag="progress"):
    """For the live display, a few per second. ``half_width`` is relative, null if not yet known.

    ``share``: of the sample under way, 0 to 1, where the kernel tells; ``rate``: its own so far, in
    the unit of the kernel's metric ``rate``.
    """

    measurement: str
    samples: int
    elapsed: float
    median: float | None
    half_width: float | None
    share: float | None = None
    rate: float | None = None


class SampleSeries(msgspec.Struct, frozen=True, omit_defaults=True):
    """One metric's samples. ``rank`` null: all of them, of ``time`` the slowest.

    ``starts``: when each began; empty where that is as in the first series, or not known.
    A series has one value per sample if it has as many as the first; the warm-up is left out of
    those alone. ``lines`` and ``printed``: of imported values, the line that each is in and how it
    stands there.
    """

    metric: str
    unit: str
    rank: int | None
    peer: int | None
    starts: list[float]
    values: list[float]
    lines: list[int] = []
    printed: list[str] = []


class Verification(msgspec.Struct, frozen=True):
    """What was checked, the value found and the greatest allowed (null where not a number)."""

    what: str
    value: float | None
    tolerance: float | None


class AdapterTraffic(msgspec.Struct, frozen=True):
    """Bytes that went through a network adapter while samples were taken, by its own counters.

    ``host``: None for all hosts together, where they are too many to be listed; then
    ``hosts`` counts them, and ``least`` and ``most`` are bytes, both ways, of one of them.
    """

    adapter: str
    sent: float
    received: float
    host: str | None = None
    hosts: int = 1
    least: float | None = None
    most: float | None = None


class MeasurementRecord(msgspec.Struct, frozen=True, tag_field="record", tag="measurement"):
    """One measurement, whole.

    ``status``: ``ok``, or ``failed`` (``error`` says why; no samples), or ``interrupted`` (asked to
    stop before ``min_samples``). ``stop``: ``precision`` reached, ``budget`` spent, ``samples``
    (the most allowed) or ``signal``. ``parameters`` as resolved on the machine. ``batch``:
    operations per sample. ``warmup``: leading samples judged not yet steady; they are kept in the
    series. ``half_width``: relative, of this launch's own interval. ``rank_medians``: each rank's
    own median of the first metric, null where its time does not count. ``covariates``: see
    docs/formats/stream.md. ``traffic``: the adapters that moved anything, of several hosts.
    """

    measurement: str
    kernel: str
    status: Literal["ok", "failed", "interrupted"]
    start: float
    wall: float
    parameters: dict[str, Value]
    error: str | None = None
    verified: bool | None = None
    verification: Verification | None = None
    batch: int | None = None
    warmup: int | None = None
    stop: Literal["precision", "budget", "samples", "signal"] | None = None
    half_width: float | None = None
    series: Sequence[SampleSeries] = []
    rank_medians: list[float | None] = []
    covariates: dict[str, float | None] = {}
    facts: dict[str, Value] = {}
    traffic: list[AdapterTraffic] = []


class ImportedRecord(msgspec.Struct, frozen=True, tag_field="record", tag="imported"):
    """What another tool printed about one cell, as ``assay import`` read it.

    ``tool`` and ``version``: as the tool calls itself; null where it names no version. ``verified``
    and ``verification``: its own check. ``error``: why the tool calls it a failure. It has no
    ``start`` and no ``wall``: nobody knows when it was measured.
    """

    measurement: str
    kernel: str
    tool: str
    version: str | None
    parameters: dict[str, Value]
    series: Sequence[SampleSeries]
    verified: bool | None = None
    verification: Verification | None = None
    error: str | None = None

    def as_measurement(self) -> MeasurementRecord:
        """The same in the form that summaries read; its times are no measured ones."""
        facts: dict[str, Value] = {"tool": self.tool}
        if self.version is not None:
            facts["version"] = self.version
        return MeasurementRecord(
            measurement=self.measurement,
            kernel=self.kernel,
            status="failed" if self.error else "ok",
            start=0.0,
            wall=0.0,
            parameters=self.parameters,
            error=self.error,
            verified=self.verified,
            verification=self.verification,
            series=self.series,
            facts=facts,
        )


class StreamEnd(msgspec.Struct, frozen=True, tag_field="record", tag="end"):
    """Last record: without it, or with another count than was read, the launch did not finish."""

    measurements: int
    reason: Literal["complete", "signal", "error"]


StreamRecord = (
    StreamStart
    | RankRecord
    | MeasurementBegin
    | Progress
    | MeasurementRecord
    | ImportedRecord
    | StreamEnd
)
