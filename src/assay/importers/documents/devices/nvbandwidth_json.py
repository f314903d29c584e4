"""nvbandwidth's JSON (``-j``), since version 0.5.

Source: ``json_output.cpp``. The numbers of a matrix are strings. In the versions so far, a test of
both directions appends the matrices of its parts to each other, and has the description and the
sum of the last one only. Only the rows that add up to the sum are read. Older versions name no
devices; newer ones name them with the host: ``0: NAME (bus): (host)``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from assay.importers.decoded import Text
from assay.importers.model import FoundValue, Output, Result, Series, words
from assay.importers.numbers import number, scaled
from assay.importers.text.devices.nvbandwidth import PART, UNITS, place_of, row_of

_UNIT = re.compile(r"(.*)\s\((GB/s|ns)\)")
_DEVICE = re.compile(
    r"(?:Process )?\s*(\d{1,6})(?: \((\S+)\): device \d+)?: (.*?)(?:\s+\([\da-fA-F:.]+\))?"
    r"(?::\s*\((\S+)\))?"
)
_SUMMARIES = {"sum": "sum", "min": "min", "max": "max", "average": "mean"}
_PASSED = "passed"


class NvbandwidthJsonImporter:
    """See the module."""

    def takes(self, document: object) -> bool:
        """Whether its only part is nvbandwidth's."""
        body = document.get("nvbandwidth") if isinstance(document, dict) else None
        return isinstance(body, dict)

    def read(self, document: object, out: Output) -> None:
        """One result per element of each matrix."""
        assert isinstance(document, dict)
        body = document["nvbandwidth"]
        for name in ("error", "warning"):
            said = body.get(name)
            if isinstance(said, Text):
                out.skip(said.line, f"nvbandwidth's {name}: {str(said)[:200]}.")
        cases = body.get("testcases")
        for case in cases if isinstance(cases, list) else ():
            if isinstance(case, dict) and isinstance(case.get("name"), Text):
                _Case(body, case, out).read()


class _Case:
    """A test case and the document that it is in."""

    def __init__(self, body: Mapping[str, object], case: Mapping[str, object], out: Output) -> None:
        self._body, self._case, self._out = body, case, out
        name = case["name"]
        assert isinstance(name, Text)
        self._name = name

    def read(self) -> None:
        """Put the numbers of the matrix, or a sentence why there are none."""
        status, error = self._case.get("status"), self._case.get("error")
        rows = self._case.get("bandwidth_matrix")
        title = _UNIT.fullmatch(str(self._case.get("bandwidth_description", "")).strip())
        if str(status).lower() != _PASSED or not isinstance(rows, list):
            why = f": {str(error)[:200]}" if isinstance(error, Text) else ""
            self._skip(f"has the status '{str(status)[:40]}'{why}")
            return
        if title is None:
            self._skip("has no description with a known unit")
            return
        width = max((len(row) for row in rows if isinstance(row, list)), default=0)
        matrix = self._matrix(rows, width)
        if matrix is None:
            self._skip("has numbers that do not add up to their sum")
            return
        devices, hosts = self._devices()
        part = {}
        if of_part := PART.search(title[1]):
            part["part"] = FoundValue(of_part[1], "", self._name.line)
        for row, fields in enumerate(matrix):
            for column, text in enumerate(fields):
                found = number(str(text), text.line, UNITS[title[2]][2])
                if found is not None and float(found.value) > 0.0:
                    device, peer = place_of(title[1], row, column)
                    where = self._where(device, peer, devices, hosts, text.line)
                    named = row_of(title[1], row, len(matrix), text.line)
                    self._put(where | named | part, found, title[2])
        if title[2] == "GB/s":
            for key, of in _SUMMARIES.items():
                value = self._case.get(key)
                found = scaled(value, UNITS["GB/s"][2]) if isinstance(value, FoundValue) else None
                if found is not None:
                    named = {"of_matrix": FoundValue(of, "", found.line)}
                    where = self._where(None, None, devices, hosts, found.line)
                    self._put(named | where | part, found, "GB/s")

    def _matrix(self, rows: Sequence[object], width: int) -> list[list[Text]] | None:
        """The last rows, as many as add up to the sum; None if none do."""
        texts: list[list[Text]] = []
        for row in rows:
            if not isinstance(row, list) or len(row) != width:
                return None
            texts.append([field for field in row if isinstance(field, Text)])
            if len(texts[-1]) != width:
                return None
        total = self._case.get("sum")
        if not isinstance(total, FoundValue):
            return None
        for parts in (1, 2, 3):
            count = len(texts) // parts
            if count and count * parts == len(texts) and _is_sum(texts[-count:], total):
                return texts[-count:]
        return None

    def _devices(self) -> tuple[dict[int, FoundValue], dict[int, FoundValue]]:
        """The models and the hosts of the devices, by their indices."""
        models: dict[int, FoundValue] = {}
        hosts: dict[int, FoundValue] = {}
        listed = self._body.get("GPU Device list", self._body.get("GPU Device info"))
        for text in listed if isinstance(listed, list) else ():
            device = _DEVICE.fullmatch(str(text)) if isinstance(text, Text) else None
            if device is not None and isinstance(text, Text):
                models[int(device[1])] = FoundValue(device[3], "", text.line)
                if device[2] or device[4]:
                    hosts[int(device[1])] = FoundValue(device[2] or device[4], "", text.line)
        return models, hosts

    def _where(
        self,
        device: int | None,
        peer: int | None,
        models: Mapping[int, FoundValue],
        hosts: Mapping[int, FoundValue],
        line: int,
    ) -> dict[str, FoundValue]:
        found: dict[str, FoundValue] = {}
        for name, index in (("device", device), ("peer", peer)):
            if index is not None:
                found[name] = FoundValue(str(index), "", line)
        names = {str(host.value) for host in hosts.values()}
        if device is not None and device in hosts:
            found["node"] = hosts[device]
        elif len(names) == 1:
            found["node"] = next(iter(hosts.values()))
        alike = len({str(model.value) for model in models.values()}) == 1
        if device is None and alike:
            found["gpu"] = next(iter(models.values()))
        elif device is not None and device in models:
            found["gpu"] = models[device]
        return found

    def _put(self, where: Mapping[str, FoundValue], found: FoundValue, printed_unit: str) -> None:
        metric, unit, _ = UNITS[printed_unit]
        settings: dict[str, FoundValue] = {}
        for key, name in (("CUDA Runtime Version", "cuda"), ("Driver Version", "driver")):
            value = self._body.get(key)
            if isinstance(value, FoundValue):
                settings[name] = FoundValue(value.printed, value.printed, value.line)
            elif isinstance(value, Text):
                settings[name] = words(str(value), value.line)
        version = self._body.get("version")
        self._out.result(
            Result(
                code=f"nvbandwidth.{self._name}",
                tool="nvbandwidth",
                version=str(version).lstrip("v") if isinstance(version, Text) else None,
                parameters={**where, **settings},
                series=[Series(metric, unit, [found])],
            )
        )

    def _skip(self, why: str) -> None:
        self._out.skip(self._name.line, f"nvbandwidth's {self._name[:80]} {why}.")


def _is_sum(rows: Sequence[Sequence[Text]], total: FoundValue) -> bool:
    """Whether the numbers of a matrix, which have six digits, add up to the total."""
    values: list[Decimal] = []
    for text in (field for row in rows for field in row):
        found = number(str(text), text.line)
        if found is not None:
            values.append(Decimal(found.printed))
        elif text != "N/A":
            return False
    slack = sum((abs(value) for value in values), Decimal(0)) * Decimal("5e-6")
    return bool(values) and abs(sum(values, Decimal(0)) - Decimal(total.printed)) <= slack


IMPORTER = NvbandwidthJsonImporter()
