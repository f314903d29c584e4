"""SuperBench's results: ``results-summary.jsonl``, ``results-summary.json`` and ``results.json``.

Source: ``superbench/runner/runner.py``. The files hold no units: the summary's importer has
them. A metric is named ``benchmark/metric:rank``, and a node's
results are one document. A benchmark whose return code is not 0 failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from assay.importers.decoded import Text, Unusable
from assay.importers.model import FoundValue, Output, Result, Series, words
from assay.importers.numbers import scaled
from assay.importers.text.devices.superbench_summary import unit_of_metric

_KEY = re.compile(r"([\w.:+-]+(?:/[\w.:+-]+)?)/([^/:]+)(?::(\d{1,6}))?")
_CODE = "return_code"


class SuperbenchImporter:
    """See the module."""

    def takes(self, document: object) -> bool:
        """Whether it is a node's summary or a list of results."""
        if isinstance(document, list):
            names = {"name", "return_code", "raw_data", "result"}
            return bool(document) and all(
                isinstance(r, dict) and r.keys() >= names for r in document
            )
        if not isinstance(document, dict):
            return False
        keys = [key for key in document if key != "node"]
        named = isinstance(document.get("node"), Text)
        codes = any(f"/{_CODE}" in key for key in keys)
        return bool(keys) and (named or codes) and all(_KEY.fullmatch(key) for key in keys)

    def read(self, document: object, out: Output) -> None:
        """One result per metric and rank."""
        if isinstance(document, list):
            for each in document:
                self._results(each, out)
            return
        assert isinstance(document, dict)
        node = document.get("node")
        settings = {"node": words(str(node), node.line)} if isinstance(node, Text) else {}
        failed = _failed(document)
        for key, value in document.items():
            match = _KEY.fullmatch(key) if key != "node" else None
            if match is None or match[2] == _CODE:
                continue
            found = {"rank": match[3]} if match[3] is not None else {}
            code = failed.get((match[1], match[3])) or failed.get((match[1], None))
            put(
                match[1],
                match[2],
                [value],
                settings=settings,
                names=found,
                failed=code,
                out=out,
            )
        for (benchmark, rank), code in failed.items():
            of = "" if rank is None else f" of rank {rank}"
            out.skip(code.line, f"SuperBench's {benchmark}{of} returned {code.printed}.")

    def _results(self, said: Mapping[str, object], out: Output) -> None:
        name, metrics, code = said["name"], said["result"], said["return_code"]
        if not isinstance(name, Text) or not isinstance(metrics, dict):
            return
        failed = code if isinstance(code, FoundValue) and code.value != 0 else None
        if failed is not None:
            out.skip(failed.line, f"SuperBench's {name[:80]} returned {failed.printed}.")
        for metric, values in metrics.items():
            if metric != _CODE and isinstance(values, list):
                put(
                    str(name)[:120],
                    metric,
                    values,
                    settings={},
                    names={},
                    failed=failed,
                    out=out,
                )


def _failed(document: Mapping[str, object]) -> dict[tuple[str, str | None], FoundValue]:
    """The return codes that are not 0, by benchmark and rank."""
    found = {}
    for key, value in document.items():
        match = _KEY.fullmatch(key)
        if (
            match is not None
            and match[2] == _CODE
            and isinstance(value, FoundValue)
            and value.value
        ):
            found[match[1], match[3]] = value
    return found


def put(
    benchmark: str,
    metric: str,
    values: Sequence[object],
    *,
    settings: Mapping[str, FoundValue],
    names: Mapping[str, str],
    failed: FoundValue | None,
    out: Output,
) -> None:
    """Put a metric's values, of one run each."""
    kind, unit, factor = unit_of_metric(benchmark, metric)
    found = list(_scaled(values, factor, out))
    if not found:
        return
    line = found[0].line
    named = {name: FoundValue(text, "", line) for name, text in names.items()}
    plain, _, group = benchmark.rpartition("/")[2].partition(":")
    parameters = {"name": FoundValue(metric[:160], "", line)} | named | dict(settings)
    before = benchmark.rpartition("/")[0] or group
    if before:
        parameters["group"] = FoundValue(before, "", line)
    out.result(
        Result(
            code=f"superbench.{plain}",
            tool="SuperBench",
            version=None,
            parameters=parameters,
            series=[Series(kind, unit, found)],
            verified=False if failed is not None else None,
            check=_CODE.replace("_", " ") if failed is not None else "",
            checked=failed,
            error=f"The return code is {failed.printed}." if failed is not None else None,
        )
    )


def _scaled(values: Sequence[object], factor: Decimal | int, out: Output) -> Iterator[FoundValue]:
    for value in values:
        if isinstance(value, Unusable):
            out.skip(value.line, f"'{value.printed}' is not a number.")
        elif isinstance(value, FoundValue):
            found = scaled(value, factor)
            if found is not None:
                yield found


IMPORTER = SuperbenchImporter()
