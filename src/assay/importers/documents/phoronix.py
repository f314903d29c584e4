"""Phoronix Test Suite's ``composite.xml``.

Source: ``pts_test_result_parser.php``. An entry's runs are samples of one result; its value is
used where they are missing. A test's profile identifier gives its name and version.
"""

from __future__ import annotations

import re

from assay.importers.decoded import Element
from assay.importers.model import FoundValue, Output, Result, Series
from assay.importers.numbers import number, unit_of


class PhoronixImporter:
    """See the module."""

    def takes(self, document: object) -> bool:
        """Whether its root element is the suite's."""
        return isinstance(document, Element) and document.name == "PhoronixTestSuite"

    def read(self, document: object, out: Output) -> None:
        """One result per entry of each test."""
        assert isinstance(document, Element)
        generated = document.first("Generated")
        client = re.search(r"\d+(?:\.\d+)+\w*", generated.said("TestClient") if generated else "")
        version = client[0] if client else None
        for result in document.all("Result"):
            data = result.first("Data")
            for entry in data.all("Entry") if data else ():
                self._entry(result, entry, version, out)

    def _entry(self, result: Element, entry: Element, version: str | None, out: Output) -> None:
        parameters = {}
        for name, element, label in (
            ("test", result, "Identifier"),
            ("title", result, "Title"),
            ("app_version", result, "AppVersion"),
            ("description", result, "Description"),
            ("arguments", result, "Arguments"),
            ("system", entry, "Identifier"),
        ):
            found = element.first(label)
            if found is not None and found.text.strip():
                parameters[name] = FoundValue(found.text.strip(), "", found.line)
        scale = result.said("Scale")
        unit, factor = unit_of(scale) or (scale, 1)
        runs, value = entry.first("RawString"), entry.first("Value")
        source = runs if runs is not None and runs.text.strip() else value
        if source is None or not source.text.strip():
            out.skip(entry.line, "This Phoronix entry has no value.")
            return
        numbers = []
        for printed in source.text.strip().split(":"):
            found_number = number(printed.strip(), source.line, factor)
            if found_number is None:
                out.skip(source.line, f"'{printed.strip()[:40]}' is not a number.")
                return
            numbers.append(found_number)
        out.result(
            Result(
                code="phoronix",
                tool="Phoronix Test Suite",
                version=version,
                parameters=parameters,
                series=[Series("time" if unit == "s" else "result", unit, numbers)],
            )
        )


IMPORTER = PhoronixImporter()
