"""Imports a text in memory, and what must hold of whatever an importer yields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from assay.importers.channels import FileReader
from assay.importers.lines import SourceFile, clean
from assay.importers.model import Result
from assay.kernels import known_kernel

Read = Callable[[str], "Probe"]
OUTPUTS = Path(__file__).parents[1] / "data" / "importers"


@dataclass
class Probe:
    """What was found in a text: results, and skipped parts as (line, sentence)."""

    text: str
    results: list[Result] = field(default_factory=list)
    skipped: list[tuple[int, str]] = field(default_factory=list)

    def result(self, result: Result) -> None:
        self.results.append(result)

    def skip(self, line: int, what: str) -> None:
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
        """No number is invented: each stands in its line, and codes are none of assay's kernels."""
        lines = [clean(line) for line in self.text.split("\n")]
        for result in self.results:
            assert known_kernel(result.code) is None, result.code
            assert result.series
            for found in result.found():
                assert found.printed in lines[found.line - 1], (found, lines[found.line - 1])
        for line, what in self.skipped:
            assert 1 <= line <= len(lines)
            assert what.endswith(".") or ": " in what, what


def probe(content: str | bytes, path: Path) -> Probe:
    """Import a text by way of a file at ``path``."""
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
