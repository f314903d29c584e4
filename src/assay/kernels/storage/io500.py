"""storage.io500's entry in the catalogue: all phases of IO500 in one measurement."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.kernels.storage.files import DIRECTORY, LARGEST_RECORD, check_directory
from assay.model.placement import Placement, Value
from assay.units import format_size

# These words appear wherever its score is shown.
OWN_CODE = "assay's own code, not an official IO500 result"
#: Seconds of each phase that writes, in an official result.
OFFICIAL_SECONDS = 300.0
#: Bytes of a record of the shared file, in an official result.
HARD_RECORD = 47_008
#: Bytes of a file in the shared directory.
HARD_FILE = 3_901

#: Phases in which data move, in the order of the score's list, with their meaning.
DATA_PHASES: Mapping[str, str] = {
    "ior_easy_write": "written to a file of each rank in large transfers",
    "ior_hard_write": "written to one file in which the ranks' records alternate",
    "ior_easy_read": "read from the file of another rank and compared",
    "ior_hard_read": "read from another rank's records of the one file and compared",
}
#: Phases that count files.
FILE_PHASES: Mapping[str, str] = {
    "mdtest_easy_write": "empty files created, in a directory of each rank",
    "mdtest_hard_write": f"files of {HARD_FILE:,} B created and written, in one directory",
    "find": "all files of the measurement examined for a name, a size and a time",
    "mdtest_easy_stat": "empty files of another rank examined (stat)",
    "mdtest_hard_stat": "files in the one directory examined (stat)",
    "mdtest_easy_delete": "empty files removed",
    "mdtest_hard_read": "files in the one directory opened, read and compared",
    "mdtest_hard_delete": "files in the one directory removed",
}
#: Phases that write for the given time.
TIMED_PHASES = ("ior_easy_write", "mdtest_easy_write", "ior_hard_write", "mdtest_hard_write")

# The costs of phases are times of this much work.
_GIBIBYTE = float(1 << 30)
_THOUSAND = 1000.0
# As native/storage/io500.cpp: a part of the free space is used, of which everything takes at least
# this much.
_PART_OF_FREE = 0.25
_LEAST_STEPS = 16
_METADATA = 1024 + 4096 + 1024
_LONGEST = 86_400.0
# Phases that write take the given time; the others and what is between usually less.
_PHASES_OF_TIME = 8.0


def _work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    lasts = _PHASES_OF_TIME * float(parameters["seconds"])
    return {"bytes": _GIBIBYTE, "files": _THOUSAND, "score": 1.0, "operations": lasts * ranks}


def _memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    return 2.0 * (int(parameters["transfer"]) + int(parameters["record"]))


def _check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    seconds = float(parameters["seconds"])
    if not 0.0 < seconds <= _LONGEST:
        return f"seconds={seconds:g} must be above 0 and at most {_LONGEST:g}."
    for name in ("transfer", "record"):
        if int(parameters[name]) % 8:
            return f"{name} = {format_size(int(parameters[name]))} is not a multiple of 8 B."
    moved = int(parameters["transfer"]) + int(parameters["record"]) + _METADATA
    need = _LEAST_STEPS * moved / _PART_OF_FREE
    return check_directory(str(parameters["directory"]), need, placement)


def _rate(name: str, unit: str, meaning: str, quantity: str) -> Metric:
    return Metric(name, unit, "more", meaning, series=name, quantity=quantity)


def _record(name: str, default: int, meaning: str) -> Parameter:
    return Parameter(
        name,
        default,
        f"{meaning}, a multiple of 8",
        unit="B",
        low=512,
        high=LARGEST_RECORD,
        tacit=True,
    )


KERNELS = (
    Kernel(
        name="storage.io500",
        title="Storage by the rules of IO500: data, metadata and a score",
        parameters=(
            Parameter(
                "seconds",
                5.0,
                "time of each of the four phases that write; an official result needs 300",
                unit="s",
                low=0,
                high=_LONGEST,
            ),
            Parameter(
                "api",
                "posix",
                "of the data phases: pwrite and pread, or MPI-IO with independent calls",
                choices=("posix", "mpiio"),
            ),
            _record("record", HARD_RECORD, "bytes of a record of the one file"),
            _record("transfer", 2 << 20, "bytes of a transfer to the files of the ranks"),
            Parameter(
                "files",
                1_000_000,
                "most files of each rank in a phase",
                low=1,
                high=100_000_000,
                tacit=True,
            ),
            Parameter(
                "space",
                0,
                "bytes of all files together at most; 0: a quarter of the free space, which is "
                "never exceeded",
                unit="B",
                low=0,
                high=float(1 << 60),
                tacit=True,
            ),
            DIRECTORY,
        ),
        metrics=(
            Metric("time", "s", "less", "all phases, and what is between them"),
            _rate(
                "score",
                "points",
                f"square root of (bandwidth_score in GiB/s times metadata_score in 1000/s); "
                f"{OWN_CODE}",
                "score",
            ),
            _rate("bandwidth_score", "B/s", "geometric mean of the four bandwidths", "bytes"),
            _rate("metadata_score", "op/s", "geometric mean of the eight rates of files", "files"),
            *(_rate(name, "B/s", meaning, "bytes") for name, meaning in DATA_PHASES.items()),
            *(_rate(name, "op/s", meaning, "files") for name, meaning in FILE_PHASES.items()),
        ),
        work=_work,
        source="Kunkel, Bent, Lofstead & Markomanolis, Establishing the IO-500 benchmark (2016); "
        "IO500 submission rules; MPI-4.0, chapter 14",
        headline="score",
        notes=f"{OWN_CODE[0].upper()}{OWN_CODE[1:]}. One sample has all twelve phases in the order "
        "of the rules. A phase that writes lasts the given time; then each rank goes on until it "
        "has written as much as the fastest. Opening, flushing and closing are timed. "
        "Reads fetch what a rank of another node wrote, or of another rank on a single node, and "
        "compare every byte. Between phases the files are dropped from the page caches of their "
        "writers. What a file system in memory or a cache of metadata serves can't be avoided on "
        "one node. Costs are recorded in seconds per GiB or per thousand files. All nodes must "
        "share the directory.",
        work_units={"bytes": "B", "files": "op", "score": "points", "operations": "s"},
        formulas={
            "bytes": "2^30: a phase's series is the time of a GiB",
            "files": "1000: a phase's series is the time of a thousand files",
            "score": "1",
            "operations": "8 seconds ranks: processor time of a sample, from which plans estimate "
            "its length",
        },
        memory=_memory,
        check=_check,
        pace=1.0,
    ),
)
