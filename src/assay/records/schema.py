"""The interface to kernels: the job they read and the stream of records they write.

Both are JSON; `docs/formats/stream.md` documents them. Any program that writes this stream can be
a kernel. Times are seconds of the monotonic clock since the start of the launch, unless a field is
called ``utc``. Missing values are null, never 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from assay.model.placement import Binding, Smt, Value

JOB_SCHEMA = 1
STREAM_SCHEMA = 1

# Exit statuses of a kernel program other than 0: its stream could not be written; a measurement
# failed or was not verified; the processor lacks instructions that the program was built for.
EXIT_STREAM = 3
EXIT_MEASUREMENT = 4
EXIT_PROCESSOR = 5


# Series of a stream that are times of operations, so that every sample is above 0 s.
TIMED = frozenset({
    "time", "fastest", "median_pair", "slowest_pair",
    # Operations of network.congestion: medians of blocks, and means of launches.
    "quiet", "loaded", "quiet_mean", "loaded_mean",
    # Those of network.overlap: alone, with calls in between, the computation alone, both at a time.
    "communication", "tested", "computation", "overlapped",
    # The parts of hpcg that have a rate, and the time of its rating.
    "dot", "mg", "rated", "spmv", "symgs", "waxpby",
    # Kernels of devices, by the device's own clock.
    "device_time", "median_pair_latency", "slowest_pair_latency",
    # One device alone, and how many times as long it takes beside the others.
    "alone", "slowdown",
    # Costs of the phases of storage.io500, and of its scores.
    "bandwidth_score", "metadata_score", "score", "find",
    "ior_easy_read", "ior_easy_write", "ior_hard_read", "ior_hard_write",
    "mdtest_easy_delete", "mdtest_easy_stat", "mdtest_easy_write",
    "mdtest_hard_delete", "mdtest_hard_read", "mdtest_hard_stat", "mdtest_hard_write",
})  # fmt: skip


class MeasurementOrder(msgspec.Struct, frozen=True):
    """One measurement of a job: the kernel, its parameters and the limits of sampling."""

    measurement: str
    kernel: str
    parameters: dict[str, Value]
    precision: float
    confidence: float
    budget: float
    min_samples: int
    max_samples: int
    #: Maximum seconds of the measurement, regardless of its parameters; omitted without a limit.
    longest: float | msgspec.UnsetType = msgspec.UNSET


class Job(msgspec.Struct, frozen=True):
    """The measurements of one launch, which share a placement.

    ``order`` of ranks, ``smt`` and ``devices`` as in ``model.placement.Placement``.
    """

    schema: int
    job: str
    threads: int
    binding: Binding
    seed: int
    measurements: list[MeasurementOrder]
    order: str = "block"
    smt: Smt = "off"
    devices: int = 0


class ClockRecord(msgspec.Struct, frozen=True):
    """The clock of a launch, with overhead and resolution in seconds, measured at its start."""

    source: str
    overhead: float
    resolution: float


class StreamStart(msgspec.Struct, frozen=True, tag_field="record", tag="start"):
    """First record of a stream: the program, its libraries and its clock."""

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
    """Seconds by which a clock is ahead of the clock of rank 0's host, and the maximum error."""

    offset: float
    error: float


class HostClocks(msgspec.Struct, frozen=True):
    """Offsets of a host's clocks when the launch began: time of day, and monotonic clock."""

    utc: ClockOffset
    monotonic: ClockOffset


class RankRecord(msgspec.Struct, frozen=True, tag_field="record", tag="rank"):
    """The host and CPUs of a rank."""

    rank: int
    host: str
    pid: int
    local_rank: int
    #: CPUs of the rank, one per thread, in thread order.
    cpus: list[int]
    numa: int | None
    pinned: bool
    oversubscribed: bool
    #: Offsets of the host's clocks; with several hosts, the first rank of each host reports them.
    clocks: HostClocks | None = None


class MeasurementBegin(msgspec.Struct, frozen=True, tag_field="record", tag="begin"):
    """A measurement has begun; if its MeasurementRecord is missing, the launch ended during it."""

    measurement: str
    kernel: str


class Progress(msgspec.Struct, frozen=True, tag_field="record", tag="progress"):
    """Progress for the live display, a few records per second. ``half_width`` is relative; null if
    not yet known.
    """

    measurement: str
    samples: int
    elapsed: float
    median: float | None
    half_width: float | None
    #: Completed share of the current sample, 0 to 1, if the kernel reports it.
    share: float | None = None
    #: The sample's rate so far, in the unit of the kernel's metric ``rate``.
    rate: float | None = None


class SampleSeries(msgspec.Struct, frozen=True, omit_defaults=True):
    """Samples of one metric. ``rank`` null: samples of all ranks; for ``time``, of the slowest
    rank.
    """

    metric: str
    unit: str
    rank: int | None
    peer: int | None
    #: Start of each sample; empty if unknown or the same as in the first series. A series has one
    #: value per sample if it is as long as the first series; the warm-up is left out only from such
    #: series.
    starts: list[float]
    values: list[float]
    #: ``lines``, ``printed``: for imported values, the line number and the text of each.
    lines: list[int] = []
    printed: list[str] = []


class Verification(msgspec.Struct, frozen=True):
    """What was checked, the value found and the maximum allowed (null if not a number)."""

    what: str
    value: float | None
    tolerance: float | None


class AdapterTraffic(msgspec.Struct, frozen=True):
    """Bytes through a network adapter while samples were taken, by its own counters."""

    adapter: str
    sent: float
    received: float
    #: Host of the adapter; null for all hosts together, if there are too many to list. Then
    #: ``hosts`` is their number, and ``least`` and ``most`` are the extremes over hosts of sent +
    #: received bytes.
    host: str | None = None
    hosts: int = 1
    least: float | None = None
    most: float | None = None


class MeasurementRecord(msgspec.Struct, frozen=True, tag_field="record", tag="measurement"):
    """One complete measurement."""

    measurement: str
    kernel: str
    #: ``ok``, or ``failed`` (``error`` says why; no samples), or ``left out`` (a sample would have
    #: taken too long, as ``error`` says; no samples), or ``interrupted`` (stopped by a signal
    #: before ``min_samples``).
    status: Literal["ok", "failed", "left out", "interrupted"]
    start: float
    wall: float
    parameters: dict[str, Value]
    error: str | None = None
    verified: bool | None = None
    verification: Verification | None = None
    #: Number of operations per sample.
    batch: int | None = None
    #: Number of leading samples detected as not yet steady; they are kept in the series.
    warmup: int | None = None
    #: Why sampling ended: ``precision`` (reached), ``budget`` (spent), ``samples`` (maximum
    #: reached) or ``signal``. ``parameters`` are as resolved on the machine.
    stop: Literal["precision", "budget", "samples", "signal"] | None = None
    #: Relative half-width of this launch's own interval.
    half_width: float | None = None
    series: Sequence[SampleSeries] = []
    #: Each rank's median of the first metric; null if its time does not count.
    rank_medians: list[float | None] = []
    #: Further facts, see docs/formats/stream.md.
    covariates: dict[str, float | None] = {}
    facts: dict[str, Value] = {}
    #: With several hosts, traffic of the adapters that carried any.
    traffic: list[AdapterTraffic] = []


class ImportedRecord(msgspec.Struct, frozen=True, tag_field="record", tag="imported"):
    """Another tool's result for one cell, as ``assay import`` read it."""

    measurement: str
    kernel: str
    #: ``tool``, ``version``: name and version as the tool prints them; the version may be null.
    tool: str
    version: str | None
    parameters: dict[str, Value]
    series: Sequence[SampleSeries]
    #: ``verified``, ``verification``: the tool's own check.
    verified: bool | None = None
    verification: Verification | None = None
    #: The tool's reason for a failure. There is neither ``start`` nor ``wall``, since the time of
    #: the measurement is unknown.
    error: str | None = None

    def as_measurement(self) -> MeasurementRecord:
        """The result as a MeasurementRecord, for summaries; its times are placeholders."""
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
    """The last record: if it is missing or its count differs, the launch did not finish."""

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
