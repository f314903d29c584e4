"""Kernels of the storage family that measure one operation each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.model.placement import Placement, Value
from assay.units import format_quantity, format_size

READS = ("read", "reread", "random_read", "stride_read")
WRITES = ("write", "rewrite", "random_write")
RANDOM = ("random_read", "random_write")
OPERATIONS = ("write", "rewrite", "read", "reread", "random_read", "random_write", "stride_read")
METHODS = ("buffered", "direct", "fsync", "dsync")
LAYOUTS = ("own", "shared", "strided")
APIS = ("posix", "mpiio", "mpiio_collective")

_UNIT = 512  # bytes that a record must be a multiple of
_DIRECT_UNIT = 4096  # the same with O_DIRECT: the largest sector size
LARGEST_RECORD = 1 << 30
_RANDOM_RECORDS = 1024
_STRIDE = 17  # IOzone's
_SPARE = 1.05  # space for the file system's own data
_BYTES_PER_FILE = 1024.0  # metadata of an empty file


def records_of_sample(parameters: Mapping[str, Value]) -> int:
    """Records that a rank reads or writes in a sample of ``storage.file``."""
    in_file = int(parameters["file_size"]) // int(parameters["record"])
    if parameters["op"] in RANDOM:
        return min(int(parameters["records"]) or _RANDOM_RECORDS, in_file)
    if parameters["op"] == "stride_read":
        return -(-in_file // (int(parameters["stride"]) or _STRIDE))
    return in_file


def _file_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    records = records_of_sample(parameters) * ranks
    return {"bytes": float(records * int(parameters["record"])), "operations": float(records)}


def _parallel_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    moved = int(parameters["bytes"]) * ranks
    return {"bytes": float(moved), "operations": float(moved // int(parameters["record"]))}


def _metadata_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {"operations": float(int(parameters["files"]) * ranks)}


def _record_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    return float(int(parameters["record"]))


def _check_file(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    if parameters["op"] in READS and parameters["method"] in ("fsync", "dsync"):
        return f"method = {parameters['method']} is for writing, and op = {parameters['op']} reads."
    size = int(parameters["file_size"])
    return _check_sizes("file_size", size, parameters) or check_directory(
        str(parameters["directory"]), size, placement
    )


def _check_parallel(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    if parameters["api"] != "posix" and parameters["method"] == "direct":
        return f"method = direct is for api = posix, not for {parameters['api']}."
    if parameters["api"] == "mpiio_collective" and parameters["layout"] == "own":
        return "api = mpiio_collective needs a file that ranks share, not layout = own."
    size = int(parameters["bytes"])
    return _check_sizes("bytes", size, parameters) or check_directory(
        str(parameters["directory"]), size, placement
    )


def _check_metadata(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    need = _BYTES_PER_FILE * int(parameters["files"])
    return check_directory(str(parameters["directory"]), need, placement)


def _check_sizes(name: str, size: int, parameters: Mapping[str, Value]) -> str | None:
    """Whether records fit the file and the method."""
    record = int(parameters["record"])
    unit = _DIRECT_UNIT if parameters["method"] == "direct" else _UNIT
    if record % unit:
        return (
            f"record = {format_size(record)} is not a multiple of {unit} B, which "
            f"method = {parameters['method']} needs."
        )
    if size % record:
        return f"record = {format_size(record)} does not divide {name} = {format_size(size)}."
    return None


def check_directory(directory: str, bytes_per_rank: float, placement: Placement) -> str | None:
    """Why all ranks' files can't be written there; None if they can.

    None also with several nodes: each may have its own file system at that path, so the kernel
    checks on every node.
    """
    if placement.nodes > 1:
        return None
    path = Path(directory).absolute()
    if not path.is_dir():
        return (
            f"There is no directory '{path}' to write in: create it, or name another one as "
            f"'directory'."
        )
    if not os.access(path, os.W_OK | os.X_OK):
        return f"The directory '{path}' can't be written: name another one as 'directory'."
    status = os.statvfs(path)
    free = float(status.f_bavail * status.f_frsize)
    need = bytes_per_rank * placement.ranks * _SPARE
    if need <= free:
        return None
    return (
        f"{format_quantity(need, 'B')} are needed in '{path}', with 5% to spare, but "
        f"{format_quantity(free, 'B')} are free: choose smaller files, or another 'directory'."
    )


DIRECTORY = Parameter(
    "directory",
    ".",
    "directory to write in; assay writes only in a new subdirectory, which it removes afterwards; "
    "relative to the working directory",
)
_RECORD = Parameter(
    "record",
    1 << 20,
    "bytes of a read or write, a multiple of 512 (4096 with method=direct)",
    unit="B",
    low=_UNIT,
    high=LARGEST_RECORD,
)
_BANDWIDTH = Metric("bandwidth", "B/s", "more", "bytes of all ranks / time", quantity="bytes")
_RATE = Metric("rate", "op/s", "more", "records of all ranks / time", quantity="operations")
_IOZONE = "Norcott & Capps, IOzone filesystem benchmark; Pepper & Gupta (2005), Disk I/O"

KERNELS = (
    Kernel(
        name="storage.file",
        title="One file per rank, written and read record by record",
        parameters=(
            Parameter(
                "op",
                "write",
                "write: a new file; rewrite: the same again; read: nothing is cached; reread: as "
                "much as fits is cached; random_read, random_write: records in random order, none "
                "twice in a sample; stride_read: every stride-th record, with nothing cached",
                choices=OPERATIONS,
            ),
            _RECORD,
            Parameter(
                "file_size",
                64 << 20,
                "bytes of each rank's file, a multiple of record",
                unit="B",
                low=_UNIT,
            ),
            Parameter(
                "method",
                "buffered",
                "buffered: through the page cache; direct: bypassing it (O_DIRECT); fsync: "
                "buffered, "
                "and flushed to the device before the time is taken; dsync: each write is flushed",
                choices=METHODS,
            ),
            Parameter(
                "stride",
                0,
                "for stride_read: distance between records read, in records; 0: 17, as in IOzone",
                low=0,
            ),
            Parameter(
                "records",
                0,
                "for random operations: records in a sample; 0: 1024, or the whole file if it has "
                "fewer",
                low=0,
            ),
            DIRECTORY,
        ),
        metrics=(
            Metric("time", "s", "less", "one pass over the records, slowest rank"),
            _BANDWIDTH,
            _RATE,
            Metric(
                "latency",
                "s",
                "less",
                "for random operations: median time of a record in a sample, slowest rank",
                series="latency",
                optional=True,
            ),
            Metric(
                "latency_p99",
                "s",
                "less",
                "for random operations: 99th percentile of the times of a sample's records, "
                "slowest rank",
                series="latency_p99",
                optional=True,
            ),
        ),
        work=_file_work,
        source=_IOZONE,
        headline="bandwidth",
        notes="Opening and closing are not timed. The fact from_cache is the share of the bytes "
        "that only the page cache handled: bytes read but not fetched from the device, or "
        "written but not yet on the device.",
        work_units={"bytes": "B", "operations": "op"},
        formulas={
            "bytes": "record records ranks",
            "operations": "records ranks; records = file_size / record; divided by stride for "
            "stride_read; as given for random operations",
        },
        memory=_record_memory,
        check=_check_file,
    ),
    Kernel(
        name="storage.parallel",
        title="All ranks write or read concurrently",
        parameters=(
            Parameter(
                "op",
                "write",
                "write: to an empty file; read: with nothing cached",
                choices=("write", "read"),
            ),
            Parameter(
                "layout",
                "own",
                "own: one file per rank; shared: one file with a segment per rank; strided: one "
                "file with the ranks' records interleaved",
                choices=LAYOUTS,
            ),
            Parameter(
                "api",
                "posix",
                "pwrite and pread, or MPI-IO with independent or collective calls",
                choices=APIS,
            ),
            Parameter(
                "bytes", 32 << 20, "bytes of each rank, a multiple of record", unit="B", low=512
            ),
            _RECORD,
            Parameter(
                "method",
                "fsync",
                "as in storage.file; with MPI-IO, fsync is MPI_File_sync",
                choices=("buffered", "direct", "fsync"),
            ),
            DIRECTORY,
        ),
        metrics=(
            Metric("time", "s", "less", "time from the first to the last record, slowest rank"),
            _BANDWIDTH,
            _RATE,
        ),
        work=_parallel_work,
        source="Shan & Shalf, Using IOR to analyze the I/O performance for HPC platforms (2007); "
        "MPI-4.0, chapter 14",
        headline="bandwidth",
        notes="Opening and closing are not timed. Before a read the file is dropped from the page "
        "cache of each node. Only the method direct affects reads.",
        work_units={"bytes": "B", "operations": "op"},
        formulas={"bytes": "bytes ranks", "operations": "bytes / record ranks"},
        memory=_record_memory,
        check=_check_parallel,
    ),
    Kernel(
        name="storage.metadata",
        title="Empty files: created, examined (stat), removed",
        parameters=(
            Parameter(
                "op",
                "create",
                "create: open and close a new file; stat: query its size; unlink: remove it",
                choices=("create", "stat", "unlink"),
            ),
            Parameter("files", 1000, "number of files of each rank", low=1, high=1_000_000),
            Parameter(
                "layout",
                "own",
                "one directory for each rank, or one for all ranks",
                choices=LAYOUTS[:2],
            ),
            DIRECTORY,
        ),
        metrics=(
            Metric("time", "s", "less", "time for all files of a rank, slowest rank"),
            Metric("rate", "op/s", "more", "files of all ranks / time", quantity="operations"),
        ),
        work=_metadata_work,
        source="mdtest, of the IOR benchmark suite",
        headline="rate",
        notes="If all nodes share the directory, stat queries files that a rank of the next node "
        "created.",
        work_units={"operations": "op"},
        formulas={"operations": "files ranks"},
        check=_check_metadata,
    ),
)
