"""Reads the result that a site's benchmark executable printed, with the tool's importer.

``python -m assay.launch.commands.result_reader SPEC`` is started by the runner after the executable
has ended, and prints the result as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.importers.channels import FileReader
from assay.importers.lines import RawLine, clean
from assay.importers.model import Result
from assay.kernels.memory import STREAM_NAMES, STREAM_WORK
from assay.model.placement import Value


@dataclass(frozen=True)
class SiteResult:
    """The result of one run of an executable."""

    #: Time of one operation, s; the rate is ``work`` / ``time``.
    time: float
    work: float
    verified: bool | None
    #: Verification by the tool, empty without one.
    check: str
    #: Tool, version, and numbers as printed.
    facts: Mapping[str, Value]


class NoResult(Exception):
    """The reason why an output has no valid result: one sentence without the program's name."""


@dataclass
class _Results:
    """Receives the results of importers."""

    found: list[Result] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def result(self, result: Result) -> None:
        """Receive the numbers of one cell."""
        self.found.append(result)

    def skip(self, line: int, what: str) -> None:
        """Receive a sentence on a damaged part."""
        self.skipped.append(what)


def read_result(lines: Iterable[str], expected: Mapping[str, Value]) -> SiteResult:
    """The result in an output.

    ``expected``: ``kernel`` (of the executable), ``benchmark``, ``at`` (the parameters of the
    kernel beside it), ``work`` (of one operation, 0 if the output states it), ``ranks`` and
    ``threads``. Raises NoResult if the output has no result, or the result of another benchmark,
    class, size or number of processes.
    """
    collected = _Results()
    reader = FileReader(collected)
    for number, line in enumerate(lines, 1):
        reader.feed(RawLine(number, clean(line), line.endswith("\n")))
    reader.finish()
    if not collected.found:
        raise NoResult(" ".join(["it printed no result", *collected.skipped[:1]]))
    at = dict(word.split("=", 1) for word in str(expected["at"]).split())
    tool = str(expected["kernel"]).rpartition(".")[2]
    return _READERS[tool](collected.found, at, expected)


def _npb(
    found: Sequence[Result], at: Mapping[str, str], expected: Mapping[str, Value]
) -> SiteResult:
    name, size, work = str(expected["benchmark"]), at["class"], float(expected["work"])
    of_name = [each for each in found if each.code.endswith(f".{name}")]
    if not of_name:
        raise NoResult(f"it printed the result of {found[0].code}, not of {name.upper()}")
    (result,) = of_name[-1:]
    printed = {key: each.value for key, each in result.parameters.items()}
    if printed["class"] != size:
        raise NoResult(f"it printed the result of class {printed['class']}, not of {size}")
    for key, what in (
        ("ranks", "processes"),
        ("active_ranks", "processes"),
        ("threads", "threads"),
    ):
        wanted = expected["threads" if key == "threads" else "ranks"]
        if key in printed and printed[key] != wanted:
            raise NoResult(f"it ran on {printed[key]} {what}, not on {wanted}")
    rate = _number(result, "rate")
    if not rate:
        raise NoResult("it printed no rate: its run was too short for its clock")
    time, seconds = work / rate, _number(result, "time")
    # The seconds have two decimals; the rate has more digits and counts the official operations.
    if seconds is not None and abs(seconds - time) > 0.01 + 0.005 * time:
        raise NoResult(
            f"its {rate / 1e6:.2f} Mop/s and {seconds:.2f} s do not agree with the official "
            f"operations of class {size}"
        )
    return _result(result, time, work)


def _hpl(
    found: Sequence[Result], at: Mapping[str, str], expected: Mapping[str, Value]
) -> SiteResult:
    rows = [each for each in found if str(each.parameters["n"].value) == at["n"]]
    if not rows:
        raise NoResult(f"it printed no result of N = {at['n']}")
    wrong = next((each for each in rows if each.verified is False), None)
    best = wrong or max(rows, key=lambda each: _number(each, "rate") or 0.0)
    rate = _number(best, "rate")
    if not rate:
        raise NoResult("it printed no rate")
    return _result(best, float(expected["work"]) / rate, float(expected["work"]))


def _hpcg(
    found: Sequence[Result], at: Mapping[str, str], expected: Mapping[str, Value]
) -> SiteResult:
    result = found[-1]
    printed = {key: each.value for key, each in result.parameters.items()}
    for key, what in (("ranks", "processes"), ("threads", "threads")):
        if key in printed and printed[key] != expected[key]:
            raise NoResult(f"it ran on {printed[key]} {what}, not on {expected[key]}")
    rate = _number(result, "rate")
    if not rate:
        raise NoResult("it printed no rating")
    return _result(result, float(expected["work"]) / rate, float(expected["work"]))


def _stream(
    found: Sequence[Result], at: Mapping[str, str], expected: Mapping[str, Value]
) -> SiteResult:
    rows = [each for each in found if STREAM_NAMES.get(_operation(each)) == at["op"]]
    if not rows or not rows[-1].parameters.get("elements"):
        raise NoResult(f"it printed no row of {at['op']}, or no array size")
    result = rows[-1]
    size = result.parameters.get("element_bytes")
    elements = float(result.parameters["elements"].value)
    work = STREAM_WORK[at["op"]][0] * elements * (float(size.value) if size else 8.0)
    time = _number(result, "time")
    if not time:
        raise NoResult("its average time is too short for its clock")
    return _result(result, time, work)


def _of_size(found: Sequence[Result], at: Mapping[str, str]) -> list[Result]:
    """OSU's rows of the cell's size; those without one, such as a barrier's, have any."""
    return [
        each
        for each in found
        if "bytes" not in each.parameters or str(each.parameters["bytes"].value) == at["bytes"]
    ]


def _osu(
    found: Sequence[Result], at: Mapping[str, str], expected: Mapping[str, Value]
) -> SiteResult:
    rows = _of_size(found, at)
    if not rows:
        raise NoResult(f"it printed no row of {at['bytes']} B")
    # Of non-blocking collectives the time with the computation.
    time = _number(rows[-1], "time") or _number(rows[-1], "time.overall")
    bandwidth = _number(rows[-1], "bandwidth")
    if not time and bandwidth:  # of a window of puts or gets
        time = float(at["bytes"]) / bandwidth
    if not time:
        raise NoResult("it printed no time")
    return _result(rows[-1], time, float(expected["work"]))


def _osu_bw(
    found: Sequence[Result], at: Mapping[str, str], expected: Mapping[str, Value]
) -> SiteResult:
    rows = _of_size(found, at)
    bandwidth = _number(rows[-1], "bandwidth") if rows else None
    if not bandwidth:
        raise NoResult(f"it printed no bandwidth of {at['bytes']} B")
    return _result(rows[-1], float(at["bytes"]) / bandwidth, float(at["bytes"]))


def _osu_rate(
    found: Sequence[Result], at: Mapping[str, str], expected: Mapping[str, Value]
) -> SiteResult:
    rows = _of_size(found, at)
    rate = _number(rows[-1], "rate") if rows else None
    if not rate:
        raise NoResult(f"it printed no message rate of {at['bytes']} B")
    messages = float(expected["work"])
    return _result(rows[-1], messages / rate, messages)


def _operation(result: Result) -> str:
    return str(result.parameters["op"].value)


_READERS = {
    "npb": _npb,
    "hpl": _hpl,
    "hpcg": _hpcg,
    "stream": _stream,
    "osu": _osu,
    "osu_bw": _osu_bw,
    "osu_rate": _osu_rate,
}


def _number(result: Result, metric: str) -> float | None:
    """The number of a metric; None if there is none, or if it is not positive."""
    for series in result.series:
        if series.metric == metric and series.found and float(series.found[-1].value) > 0.0:
            return float(series.found[-1].value)
    return None


def _result(result: Result, time: float, work: float) -> SiteResult:
    facts: dict[str, Value] = {"tool": result.tool}
    if result.version is not None:
        facts["version"] = result.version
    for series in result.series:
        if series.found:
            facts[f"printed {series.metric}"] = series.found[-1].printed
    return SiteResult(time, work, result.verified, result.check, facts)


def main(text: str) -> None:
    """Read the files that the runner names, and print the result as JSON."""
    spec: dict[str, Any] = json.loads(text)
    lines: list[str] = []
    for path, start in spec["sources"]:
        with Path(path).open("rb") as file:
            file.seek(start)
            lines += file.read().decode("utf-8", "replace").splitlines(keepends=True)
    try:
        found = read_result(lines, spec)
    except NoResult as why:
        print(json.dumps({"error": str(why)}))
        return
    record: dict[str, object] = {"facts": dict(found.facts), "resolved": {"work": found.work}}
    if found.check:
        record["verification"] = {"what": found.check, "value": None, "tolerance": None}
    answer = {"error": "", "time": found.time, "verified": found.verified, "record": record}
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1])
