"""The file of one process's samples: its blocks and records (docs/formats/samples.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from assay.arrays import Ints
from assay.errors import AssayError
from assay.plain_files import read_plain
from assay.trace.samples.mapped import CodeMap, read_map
from assay.trace.trace_files import blocks_of

SAMPLE_FILES = "process-*.samples"
SAMPLES_VERSION = 1
_MAGIC = b"assay-samples 1\n"
_FIX = "Sample the program again with `assay profile --sample -- COMMAND`."
_SAMPLE = np.dtype([("time", "<u8"), ("stack", "<u4"), ("thread", "<u4")])
_THREAD_BITS = 24
_CUT = 1 << 31
# In place of an address: a function of Python (`kPythonMark` in native/trace/sampling/python.hpp).
PYTHON_MARK = 1 << 63


class SamplesHeader(msgspec.Struct, frozen=True, tag="samples"):
    """The first record: the process, and its ``period`` of CPU time between samples (ns)."""

    version: int
    process: int
    parent: int
    host: str
    period: int
    signal: int
    #: ``begin``, ``begin_wall``: when sampling began, ns of CLOCK_MONOTONIC and since 1970.
    begin: int
    begin_wall: int
    command: str = ""
    #: The process whose child, or child's child, it is by fork(); 0: none.
    forked: int = 0


class SamplesClock(msgspec.Struct, frozen=True, tag="clock"):
    """What the samples follow: "cpu-clock" (a timer) or "task-clock" (a counter of the kernel)."""

    clock: str


class SampledRank(msgspec.Struct, frozen=True, tag="rank"):
    """The process is a rank. ``files``: name of its profile without suffix. ``begin``: of its
    profile, ns of CLOCK_MONOTONIC."""

    rank: int
    ranks: int
    files: str
    begin: int


class ThreadRecord(msgspec.Struct, frozen=True, tag="thread"):
    """A thread that ended, or that ran at the end. ``cpu``: its CPU time, ns; -1: unknown."""

    number: int
    id: int
    name: str
    cpu: int
    samples: int
    lost: int
    #: ``enabled``, ``running``: for how long events were to be counted, and were counted, ns.
    enabled: int = 0
    running: int = 0
    #: How many of each event were counted, in the order of the `CounterRecord`.
    counted: tuple[int, ...] = ()


class CounterRecord(msgspec.Struct, frozen=True, tag="counter"):
    """An event that is counted. ``user``: in user code only."""

    event: str
    user: bool


class UncountedRecord(msgspec.Struct, frozen=True, tag="uncounted"):
    """An event that could not be counted. ``error``: the errno."""

    event: str
    error: int
    problem: str


class PythonRecord(msgspec.Struct, frozen=True, tag="python"):
    """A function of Python, which stands in stacks as ``PYTHON_MARK`` + ``number``."""

    number: int
    function: str
    file: str


class InterpreterRecord(msgspec.Struct, frozen=True, tag="interpreter"):
    """A Python before 3.12, and whether its functions have names ("yes", "no") or why not."""

    version: str
    named: str
    problem: str = ""


class DoubtRecord(msgspec.Struct, frozen=True, tag="doubt"):
    """Why samples are missing. ``problem``: the system's message."""

    text: str
    problem: str = ""


class UnsampledRecord(msgspec.Struct, frozen=True, tag="unsampled"):
    """How many threads were not sampled, and why the first of them was not."""

    threads: int
    problem: str


class ForksRecord(msgspec.Struct, frozen=True, tag="forks"):
    """The processes that a process and its children forked. ``unsampled``: how many of them ended
    without a sample, and ``cpu`` their CPU time, ns. ``alone``: how many could not be sampled."""

    forked: int
    unsampled: int
    cpu: int
    alone: int = 0


class SamplesEnd(msgspec.Struct, frozen=True, tag="end"):
    """The last record. ``cost``: time of all handlers, ns."""

    ended: str
    end: int
    cost: int


SampleRecord = (
    SamplesHeader | SamplesClock | SampledRank | ThreadRecord | PythonRecord | InterpreterRecord
    | DoubtRecord | UnsampledRecord | ForksRecord | CounterRecord | UncountedRecord | SamplesEnd
)  # fmt: skip


@dataclass(frozen=True)
class SampledStack:
    """Addresses of a stack, innermost first. ``map_number``: the map of code when it was written.
    ``cut``: further frames outside are missing."""

    addresses: tuple[int, ...]
    map_number: int
    cut: bool


@dataclass
class ProcessSamples:
    """The contents of a file. The samples of all threads are in the order in which they were
    stored."""

    path: Path
    header: SamplesHeader
    clock: str = ""
    rank: SampledRank | None = None
    threads: dict[int, ThreadRecord] = field(default_factory=dict)
    #: Functions of Python before 3.12, by number.
    python: dict[int, PythonRecord] = field(default_factory=dict)
    interpreter: InterpreterRecord | None = None
    doubts: list[DoubtRecord] = field(default_factory=list)
    unsampled: UnsampledRecord | None = None
    forks: ForksRecord | None = None
    counters: list[CounterRecord] = field(default_factory=list)
    uncounted: list[UncountedRecord] = field(default_factory=list)
    end: SamplesEnd | None = None
    stacks: list[SampledStack] = field(default_factory=list)
    maps: list[CodeMap] = field(default_factory=list)
    #: Names of code that was compiled at run time, in the format of perf's map files.
    compiled: str = ""
    #: ns of CLOCK_MONOTONIC.
    times: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    #: Number of each sample's stack, its thread, and whether it was in MPI.
    stack: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    thread: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    inside: npt.NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    #: For each sample, since the thread's sample before it: ns for which events were to be counted,
    #: ns for which they were counted, and the number of each event.
    counted: Ints = field(default_factory=lambda: np.empty((0, 2), np.int64))


def read_process(path: Path) -> ProcessSamples:
    """The samples of a process, up to the last whole block.

    Raises AssayError if the file can't be read, has another format, or has a damaged record.
    """
    try:
        data = read_plain(path)
    except OSError as error:
        raise AssayError(f"It can't be read: {error.strerror}.", where=str(path)) from None
    if not data.startswith(_MAGIC):
        raise AssayError("This is not a file of samples of this version of assay.", where=str(path),
                         fix=_FIX)  # fmt: skip
    found: ProcessSamples | None = None
    parts: list[npt.NDArray[Any]] = []
    counts: list[bytes] = []
    for kind, numbers, begin in blocks_of(data, len(_MAGIC), {ord(one): 1 for one in "MPKSJC"}):
        payload = data[begin : begin + numbers[0]]
        if kind == ord("M"):
            records = list(_records(payload, path))
            if found is None:
                found = ProcessSamples(path, _header(records, path))
            _keep(records, found)
        elif found is None:
            break
        elif kind == ord("P"):
            found.maps.append(read_map(payload.decode("utf-8", "replace")))
        elif kind == ord("J"):
            found.compiled += payload.decode("utf-8", "replace")
        elif kind == ord("K"):
            _add_stacks(payload, found, path)
        elif kind == ord("C"):
            counts.append(payload)
        else:
            parts.append(np.frombuffer(payload[: len(payload) // 16 * 16], _SAMPLE))
    if found is None:
        raise AssayError("The file has no header: nothing was written.", where=str(path), fix=_FIX)
    every = np.concatenate([np.empty(0, _SAMPLE), *parts])
    if len(every) and int(every["stack"].max()) >= len(found.stacks):
        raise AssayError("A sample names a stack that is missing.", where=str(path), fix=_FIX)
    found.times = every["time"].astype(np.int64)
    found.stack = every["stack"].astype(np.int64)
    found.thread = (every["thread"] & ((1 << _THREAD_BITS) - 1)).astype(np.int64)
    found.inside = (every["thread"] >> _THREAD_BITS) == 1
    if found.counters:
        width = 2 + len(found.counters)
        every_count = np.frombuffer(b"".join(counts)[: len(every) * width * 8], "<u8")
        if len(every_count) < len(every) * width:
            raise AssayError("A sample has no counters.", where=str(path), fix=_FIX)
        found.counted = every_count.reshape(-1, width).astype(np.int64)
    return found


def _records(payload: bytes, path: Path) -> Iterator[SampleRecord]:
    decoder = msgspec.json.Decoder(SampleRecord)
    for line in payload.splitlines():
        try:
            yield decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise AssayError(f"A record is damaged: {error}.", where=str(path), fix=_FIX) from None


def _header(records: list[SampleRecord], path: Path) -> SamplesHeader:
    header = records[0] if records else None
    if not isinstance(header, SamplesHeader) or header.period <= 0:
        raise AssayError("The first record must be 'samples'.", where=str(path), fix=_FIX)
    if header.version != SAMPLES_VERSION:
        raise AssayError(
            f"The samples have version {header.version}; this assay reads {SAMPLES_VERSION}.",
            where=str(path),
            fix="Use the assay that wrote them, or sample the program again.",
        )
    return header


def _keep(records: list[SampleRecord], to: ProcessSamples) -> None:
    for one in records:
        if isinstance(one, SamplesClock):
            to.clock = one.clock
        elif isinstance(one, SampledRank):
            to.rank = one
        elif isinstance(one, ThreadRecord):
            to.threads[one.number] = one
        elif isinstance(one, PythonRecord):
            to.python[one.number] = one
        elif isinstance(one, InterpreterRecord):
            to.interpreter = one
        elif isinstance(one, DoubtRecord):
            to.doubts.append(one)
        elif isinstance(one, UnsampledRecord):
            to.unsampled = one
        elif isinstance(one, CounterRecord):
            to.counters.append(one)
        elif isinstance(one, UncountedRecord):
            to.uncounted.append(one)
        elif isinstance(one, ForksRecord):
            to.forks = one
        elif isinstance(one, SamplesEnd):
            to.end = one


def _add_stacks(payload: bytes, to: ProcessSamples, path: Path) -> None:
    at = 0
    while at + 8 <= len(payload):
        number, count = (int(one) for one in np.frombuffer(payload, "<u4", 2, at))
        cut, count = bool(count & _CUT), count & (_CUT - 1)
        if number != len(to.stacks) or at + 8 + 8 * count > len(payload):
            raise AssayError("A stack is damaged.", where=str(path), fix=_FIX)
        addresses = tuple(np.frombuffer(payload, "<u8", count, at + 8).tolist())
        to.stacks.append(SampledStack(addresses, max(len(to.maps) - 1, 0), cut))
        at += 8 + 8 * count
