"""Imports a text in memory, and checks invariants of any importer's results."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from assay.importers.channels import FileReader
from assay.importers.importing import Cells, Collector
from assay.importers.lines import SourceFile, clean
from assay.importers.model import FoundValue, Result
from assay.kernels import known_kernel

Read = Callable[[str], "Probe"]
OUTPUTS = Path(__file__).parents[1] / "data" / "importers"


@dataclass
class Probe:
    """The findings in a text: results, and skipped parts as (line, sentence)."""

    text: str
    results: list[Result] = field(default_factory=list)
    skipped: list[tuple[int, str]] = field(default_factory=list)
    _collector: Collector = field(default_factory=lambda: Collector(Cells(), io.BytesIO()))

    def result(self, result: Result) -> None:
        """Keep it; it must be storable."""
        self.results.append(result)
        self._collector.result(result)

    def skip(self, line: int, what: str) -> None:
        """Keep it."""
        self.skipped.append((line, what))

    def values(self, code: str, metric: str, **parameters: object) -> list[float]:
        """The values of a metric in the results of a code that have these parameters, in order."""
        found = []
        for result in self.results:
            have = {name: value.value for name, value in result.parameters.items()}
            if result.code == code and parameters.items() <= have.items():
                for series in result.series:
                    if series.metric == metric:
                        found += [float(value.value) for value in series.found]
        return found

    def value(self, code: str, metric: str, **parameters: object) -> float:
        """The only one of these values."""
        (value,) = self.values(code, metric, **parameters)
        return value

    def check(self) -> None:
        """Check that each number occurs in its line, and that no code is a kernel of assay's."""
        lines = [clean(line) for line in self.text.split("\n")]
        for result in self.results:
            assert known_kernel(result.code) is None, result.code
            assert result.series
            counted = {
                id(v) for n, v in result.parameters.items() if n in _COUNTED and not v.printed
            }
            for found in result.found():
                if id(found) in counted:  # a number of lines, which is printed nowhere
                    assert isinstance(found.value, int) and 1 <= found.value <= len(lines)
                else:
                    _check_value(found, lines[found.line - 1])
        for line, what in self.skipped:
            assert 1 <= line <= len(lines)
            assert what.endswith(".") or ": " in what, what


# Parameters that may count lines: of ranks and of their nodes.
_COUNTED = {"ranks", "nodes"}
# Values of the verdicts that are imported as numbers.
_VERDICTS = {"pass": 1, "fail": 0}
# Possible ratios of a printed number and its value: the factors of units.
_FACTORS = [
    *(10.0**power for power in (0, 3, 6, 9, 12, 15, -2, -3, -6, -9)),
    *(2.0**power for power in (10, 20, 30, 40)),
    *(unit / 8 for unit in (2.0**20, 1.0, 1e3, 1e6, 1e9, 1e12)),
]
_NUMBER = re.compile(r"[-+]?\d*\.?\d*(?:[eEdD][-+]?\d+)?", re.ASCII)


def _check_value(found: FoundValue, line: str) -> None:
    """Check that the line contains the value, as a whole number if it is one."""
    assert found.printed in line, (found, line)
    if isinstance(found.value, str):
        return
    if found.printed.strip().lower() in _VERDICTS:
        assert found.value == _VERDICTS[found.printed.strip().lower()], found
        return
    assert _NUMBER.fullmatch(found.printed), found
    assert re.search(rf"(?<![\d.]){re.escape(found.printed)}(?![\d.]\d)(?!\d)", line), (found, line)
    printed = float(found.printed.replace("D", "e").replace("d", "e"))
    assert math.isfinite(found.value)
    assert any(math.isclose(found.value, printed * f, rel_tol=1e-12) for f in _FACTORS), found


def probe(content: str | bytes, path: Path) -> Probe:
    """Import a text through a file at ``path``."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = Probe(path.read_bytes().decode("utf-8", "replace"))
    reader = FileReader(found)
    source = SourceFile(str(path))
    for line in source.read():
        reader.feed(line)
    reader.finish()
    if source.problem:
        found.skip(source.lines, source.problem)
    found.check()
    return found


def output(name: str) -> str:
    """A recorded output."""
    return (OUTPUTS / name).read_text("utf-8")
