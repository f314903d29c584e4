"""HPCC, the HPC Challenge benchmark: ``hpccoutf.txt`` of all versions.

Source: ``src/io.c``. The summary has every result as ``NAME=VALUE``; the sections before it repeat
them and are ignored, except for HPL's table, which HPL's importer reads. The program reports one
``Success`` for all tests together.
"""

from __future__ import annotations

import re
from decimal import Decimal

from assay.importers.model import FoundValue, Line, Output, Result, Series, TextImporter
from assay.importers.numbers import US, number

_VERSION = re.compile(r".*HPC Challenge Benchmark version (\d[\w.]*)\b.*")
_ENTRY = re.compile(r"([A-Za-z]\w{1,60})=(\S*)")
_GIGA = Decimal(10) ** 9
_TERA = Decimal(10) ** 12
_ONE = Decimal(1)

# For each test: metric, unit and factor by the name of the entry, and the entries that define the
# cell.
_STREAM = ("Copy", "Scale", "Add", "Triad")
_Metrics = dict[str, tuple[str, str, Decimal]]
_TESTS: dict[str, tuple[_Metrics, dict[str, str]]] = {
    "hpl": (
        {"HPL_Tflops": ("rate", "flop/s", _TERA), "HPL_time": ("time", "s", _ONE)},
        {"HPL_N": "n", "HPL_NB": "nb", "HPL_nprow": "p", "HPL_npcol": "q"},
    ),
    "ptrans": (
        {"PTRANS_GBs": ("rate", "B/s", _GIGA), "PTRANS_time": ("time", "s", _ONE)},
        {"PTRANS_n": "n", "PTRANS_nb": "nb", "PTRANS_nprow": "p", "PTRANS_npcol": "q"},
    ),
    "mpi_random_access": (
        {
            "MPIRandomAccess_GUPs": ("rate", "op/s", _GIGA),
            "MPIRandomAccess_time": ("time", "s", _ONE),
            "MPIRandomAccess_ErrorsFraction": ("errors", "1", _ONE),
        },
        {"MPIRandomAccess_N": "n"},
    ),
    "mpi_random_access_lcg": (
        {
            "MPIRandomAccess_LCG_GUPs": ("rate", "op/s", _GIGA),
            "MPIRandomAccess_LCG_time": ("time", "s", _ONE),
            "MPIRandomAccess_LCG_ErrorsFraction": ("errors", "1", _ONE),
        },
        {"MPIRandomAccess_LCG_N": "n"},
    ),
    "mpi_fft": (
        {"MPIFFT_Gflops": ("rate", "flop/s", _GIGA)},
        {"MPIFFT_N": "n", "MPIFFT_Procs": "procs"},
    ),
    "ping_pong": (
        {
            "MinPingPongLatency_usec": ("time.min", "s", US),
            "AvgPingPongLatency_usec": ("time", "s", US),
            "MaxPingPongLatency_usec": ("time.max", "s", US),
            "MinPingPongBandwidth_GBytes": ("bandwidth.min", "B/s", _GIGA),
            "AvgPingPongBandwidth_GBytes": ("bandwidth", "B/s", _GIGA),
            "MaxPingPongBandwidth_GBytes": ("bandwidth.max", "B/s", _GIGA),
        },
        {},
    ),
}
for _ring in ("NaturallyOrdered", "RandomlyOrdered"):
    _TESTS[f"{_ring.removesuffix('lyOrdered').lower()}_ring"] = (
        {
            f"{_ring}RingLatency_usec": ("time", "s", US),
            f"{_ring}RingBandwidth_GBytes": ("bandwidth", "B/s", _GIGA),
        },
        {},
    )
for _mode in ("Star", "Single"):
    _small = _mode.lower()
    for _operation in _STREAM:
        _TESTS[f"{_small}_stream_{_operation.lower()}"] = (
            {f"{_mode}STREAM_{_operation}": ("rate", "B/s", _GIGA)},
            {"STREAM_VectorSize": "elements", "STREAM_Threads": "threads"},
        )
    _TESTS[f"{_small}_dgemm"] = (
        {f"{_mode}DGEMM_Gflops": ("rate", "flop/s", _GIGA)},
        {"DGEMM_N": "n"},
    )
    _TESTS[f"{_small}_fft"] = ({f"{_mode}FFT_Gflops": ("rate", "flop/s", _GIGA)}, {"FFT_N": "n"})
    for _lcg in ("", "_LCG"):
        _TESTS[f"{_small}_random_access{_lcg.lower()}"] = (
            {f"{_mode}RandomAccess{_lcg}_GUPs": ("rate", "op/s", _GIGA)},
            {f"RandomAccess{_lcg}_N": "n"},
        )
_THREADS = "omp_get_max_threads"  # 0 without OpenMP
_METRICS = {name for metrics, _ in _TESTS.values() for name in metrics}
_COUNTS = {name for _, counts in _TESTS.values() for name in counts} | {"CommWorldProcs", _THREADS}


class HpccImporter(TextImporter):
    """See the module."""

    SIGNATURE = (
        r"This is the .{0,20}HPC Challenge Benchmark|(?:Begin|End) of \w{2,40} section\."
        r"|VersionMajor=\d|End of HPC Challenge tests\."
    )

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._header: str | None = None
        self._stream = False
        self._summary: int | None = None
        self._entries: dict[str, tuple[str, int]] = {}
        self._damaged: set[str] = set()

    def holds(self, name: str, text: str) -> bool:
        """HPCC's STREAM section resembles STREAM's output, but lacks the line with its version."""
        return self._stream and name == "stream" and not text.startswith("STREAM version")

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if version := _VERSION.fullmatch(text):
            self._end()
            self._header = version[1]
        elif text in ("Begin of Summary section.", "VersionMajor=0", "VersionMajor=1"):
            if self._summary is None or text.startswith("Begin"):
                self._end()
                self._summary = line.number
            self._entry(text, line.number)
        elif text == "End of Summary section.":
            self._whole()
        elif self._summary is not None:
            self._entry(text, line.number)
        elif section := re.fullmatch(r"(Begin|End) of (\w+) section\.", text):
            self._stream = section[1] == "Begin" and "STREAM" in section[2]

    def _entry(self, text: str, line: int) -> None:
        entry = _ENTRY.fullmatch(text)
        if entry is None:
            if "=" in text:
                self.out.skip(line, "This line of HPCC's summary is damaged.")
            return
        name, value = entry.groups()
        if name in self._entries and self._entries[name][0] != value:
            self.out.skip(line, f"'{name}' occurs twice in HPCC's summary.")
            self._damaged.add(name)
        self._entries[name] = value, line

    def _whole(self) -> None:
        """Process the end of a complete summary."""
        have = self._entries
        version = ".".join(
            have[name][0]
            for name in ("VersionMajor", "VersionMinor", "VersionMicro")
            if name in have
        )
        success = {"1": True, "0": False}.get(have.get("Success", ("", 0))[0])
        for test, (metrics, counts) in _TESTS.items():
            self._test(test, metrics, counts, version or self._header, success)
        self._summary, self._entries, self._damaged = None, {}, set()

    def _test(
        self,
        test: str,
        metrics: _Metrics,
        counts: dict[str, str],
        version: str | None,
        success: bool | None,
    ) -> None:
        series = []
        for name, (metric, unit, factor) in metrics.items():
            found = self._number(name, factor)
            # A test that was not run has rates of -1 or 0.
            if found is not None and isinstance(found.value, int | float) and found.value >= 0:
                series.append(Series(metric, unit, [found]))
        parameters = {}
        common = {"CommWorldProcs": "ranks", _THREADS: "max_threads"}
        for name, parameter in {**common, **counts}.items():
            count = self._number(name, _ONE)
            if count is None:
                continue
            # A test that was not run has a size of -1, and an uninitialised rate.
            if "threads" not in parameter and float(count.value) <= 0:
                return
            parameters[parameter] = count
        if not any(float(s.found[0].value) > 0 for s in series if s.metric != "errors"):
            return
        self.out.result(
            Result(
                code=f"hpcc.{test}",
                tool="HPCC",
                version=version,
                parameters=parameters,
                series=series,
                verified=success,
                check="success of all of HPCC's tests" if success is not None else "",
            )
        )

    def _number(self, name: str, factor: Decimal) -> FoundValue | None:
        if name not in self._entries or name in self._damaged:
            return None
        printed, line = self._entries[name]
        found = number(printed, line, factor)
        if found is None:
            self.out.skip(line, f"'{name}' is not a number: '{printed}'.")
            self._damaged.add(name)
        return found

    def leave(self) -> None:
        """Process the end or the interruption of the text; a truncated summary is incomplete."""
        self._stream = False
        self._end()

    def _end(self) -> None:
        if self._summary is not None:
            self.out.skip(self._summary, "HPCC's summary that begins here is incomplete.")
        self._summary, self._entries, self._damaged = None, {}, set()


IMPORTER = HpccImporter
