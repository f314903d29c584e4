"""IO500 since 2018: the summary of a run (``result_summary.txt``, or the program's output).

Source: ``main.c`` of IO500 (since 2020) and ``io500_fixed.sh`` of IO-500-dev (to 2020). Bandwidths
are in GiB/s; the earlier script wrote GB/s for the same number (MiB/s of IOR divided by 1024).
IO500 computes a score of the phases that ran, each the geometric mean of its kind, and their total
as the square root of the product. The scores are read only if they follow from the phases, within
what the printed digits allow.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

from assay.importers.model import FoundValue, Line, Output, Result, Series, TextImporter, words
from assay.importers.numbers import number

_VERSION = re.compile(r"IO500 version (\S+)(?: \((standard|extended)\))?\s*")
_SCRIPT = re.compile(r"\[Summary\] Results files in \S.*")
_PHASE = re.compile(
    r"\[(?:RESULT(?P<bad>-invalid)?| *)\]\s+(?:(?:BW|IOPS)\s+phase\s+\d+\s+)?"
    r"(?P<name>[A-Za-z][\w-]{1,39})\s+(?P<value>\S+) (?P<unit>GiB/s|GB/s|kIOPS|kiops)\s*"
    r":\s*time\s+(?P<time>\S+) seconds(?P<invalid> \[INVALID\])?"
)
_SCORE = re.compile(
    r"\[SCORE(?P<kind> |X|-invalid|-valid|)\]\s+Bandwidth (?P<data>\S+) (?:GiB/s|GB/s)\s*"
    r":\s*IOPS (?P<files>\S+) (?:kiops|kIOPS)\s*:\s*TOTAL (?P<total>\S+)(?P<invalid> \[INVALID\])?"
)
_LIKE_ROW = re.compile(r"\[(?:RESULT|SCORE)")
_GIB = 1 << 30
_KILO = 1000
# Phases that aren't part of the score, or of no interest.
_UNSCORED = frozenset({"timestamp"})
_DATA = frozenset({"ior_easy_write", "ior_hard_write", "ior_easy_read", "ior_hard_read"})
_FILES = frozenset({
    "mdtest_easy_write", "mdtest_hard_write", "find", "mdtest_easy_stat", "mdtest_hard_stat",
    "mdtest_easy_delete", "mdtest_hard_read", "mdtest_hard_delete",
})  # fmt: skip


class Io500Importer(TextImporter):
    """See the module."""

    SIGNATURE = (
        r"IO500 version \S|\[Summary\] Results files in "
        r"|\[RESULT(?:-invalid)?\]\s+(?:BW |IOPS |find|ior-|mdtest-)"
        r"|\[SCORE[ X]?(?:-(?:in)?valid)?\]\s+Bandwidth "
    )

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._reset(None)

    def _reset(self, version: str | None) -> None:
        self._version = version
        self._mode: FoundValue | None = None
        self._phases: dict[str, FoundValue] = {}  # in GiB/s or thousands per second
        self._series: list[Series] = []
        self._doubtful = False
        self._valid: FoundValue | None = None

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if version := _VERSION.fullmatch(text):
            self._flush()
            self._reset(version[1])
            self._mode = words(version[2], line.number) if version[2] else None
        elif _SCRIPT.fullmatch(text):
            self._flush()
            self._reset(None)
        elif text.startswith("One or more test phases invalid"):
            self._valid = FoundValue("no", "", line.number)
        elif phase := _PHASE.fullmatch(text):
            self._phase(phase, line.number)
        elif score := _SCORE.fullmatch(text):
            self._score(score, line.number)
        elif _LIKE_ROW.match(text):
            self._doubtful = True
            self.out.skip(line.number, "This row of IO500's summary is damaged.")

    def _phase(self, row: re.Match[str], line: int) -> None:
        name = row["name"].lower().replace("-", "_")
        data = row["unit"] in ("GiB/s", "GB/s")
        known = name in (_DATA if data else _FILES)
        if name in _UNSCORED:
            return
        factor = _GIB if data else _KILO
        rate, time = number(row["value"], line, factor), number(row["time"], line)
        plain = number(row["value"], line)
        if rate is None or time is None or plain is None:
            self._doubtful = True
            self.out.skip(line, f"The phase {row['name']} has no number.")
            return
        if name in self._phases:
            self._flush()
            self._reset(None)
        if row["bad"] or row["invalid"]:
            self._valid = FoundValue("no", "", line)
        if float(rate.value) <= 0.0:
            self.out.skip(line, f"The phase {row['name']} was not measured.")
            return
        if known:
            self._phases[name] = plain
        self._series += [
            Series(name, "B/s" if data else "op/s", [rate]),
            Series(f"time.{name}", "s", [time]),
        ]

    def _score(self, row: re.Match[str], line: int) -> None:
        extended = row["kind"] == "X"
        if row["invalid"] or row["kind"] == "-invalid":
            self._valid = FoundValue("no", "", line)
        prefix = "extended." if extended else ""
        plain = {name: number(row[name], line) for name in ("data", "files", "total")}
        values = {
            f"{prefix}bandwidth_score": ("B/s", number(row["data"], line, _GIB)),
            f"{prefix}metadata_score": ("op/s", number(row["files"], line, _KILO)),
            f"{prefix}score": ("points", plain["total"]),
        }
        if any(value is None or float(value.value) <= 0.0 for _, value in values.values()):
            self.out.skip(line, "The score of IO500 has no number.")
            return
        # The phases of the extended score beyond the twelve are unknown here.
        if not extended and not self._follows(plain):
            self.out.skip(line, "The score of IO500 does not follow from its phases.")
            return
        self._series += [
            Series(name, unit, [value]) for name, (unit, value) in values.items() if value
        ]

    def _follows(self, score: dict[str, FoundValue | None]) -> bool:
        """Whether the scores are the means of the phases; a damaged row of a phase leaves it open
        for its kind.
        """
        data, files, total = (score[name] for name in ("data", "files", "total"))
        assert data is not None and files is not None and total is not None
        agree = _overlap(_bounds(total), _mean_of([data, files]))
        for kind, mean in ((_DATA, data), (_FILES, files)):
            phases = [value for name, value in self._phases.items() if name in kind]
            if phases and not self._doubtful:
                agree = agree and _overlap(_bounds(mean), _mean_of(phases))
        return agree

    def _flush(self) -> None:
        """Process the end of a summary."""
        if self._series:
            parameters = {} if self._mode is None else {"mode": self._mode}
            if self._valid is not None:
                parameters["valid"] = self._valid
            self.out.result(
                Result(
                    code="io500",
                    tool="IO500",
                    version=self._version,
                    parameters=parameters,
                    series=self._series,
                )
            )
        self._series = []

    def leave(self) -> None:
        """Process the end or the interruption of the output."""
        self._flush()
        self._reset(None)


def _bounds(found: FoundValue) -> tuple[float, float]:
    """The numbers that are printed as this one."""
    exponent = Decimal(found.printed).as_tuple().exponent
    half = 0.5 * 10.0 ** (exponent if isinstance(exponent, int) else 0)
    # The script cut some numbers instead of rounding them.
    return max(float(found.value) - 2 * half, 0.0), float(found.value) + 2 * half


def _mean_of(values: list[FoundValue]) -> tuple[float, float]:
    """Bounds of the geometric mean."""
    low, high = zip(*map(_bounds, values), strict=True)
    return math.prod(low) ** (1 / len(low)), math.prod(high) ** (1 / len(high))


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


IMPORTER = Io500Importer
