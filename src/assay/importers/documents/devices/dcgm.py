"""DCGM's diagnostics as JSON (``dcgmi diag -j``), versions 1.7 to 4.

Source: ``dcgmi/Diag.cpp`` and the plugins of nvvs. A test has a status per GPU: up to version 3 in
``gpu_id`` or ``gpu_ids`` (a list with commas), since version 4 as an entity. A test that passed has
``passed`` 1, one that failed 0. Warnings, and tests that were skipped, are reported but have no
verdict. Sentences in ``info`` hold the measured numbers: GB/s are 10^9 bytes per second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal

from assay.importers.decoded import Text
from assay.importers.model import FoundValue, Output, Result, Series, slug, words
from assay.importers.numbers import NUMBER, US, number

_ROOTS = ("DCGM GPU Diagnostic", "DCGM Diagnostic")
VERDICTS = {"pass": 1, "fail": 0}
_NAMED = re.compile(r"\s*GPU (\d{1,6})\b")
_MOST_GPUS = 1024
_LONGEST = 300  # characters of a sentence of DCGM
_FROM = r"(?P<{}>GPU to Host|Host to GPU|[Bb]idirectional|GPU to GPU|Device to Host|Host to Device)"
_NUMBERS: tuple[tuple[re.Pattern[str], str, str, Decimal], ...] = (
    (
        re.compile(rf"{_FROM.format('way')} bandwidth:?\s*(?P<number>{NUMBER})\s*GB/s"),
        "bandwidth",
        "B/s",
        Decimal(10) ** 9,
    ),
    (
        re.compile(rf"{_FROM.format('way')} latency:?\s*(?P<number>{NUMBER})\s*us"),
        "time",
        "s",
        US,
    ),
    (
        re.compile(rf"approximately (?P<number>{NUMBER}) gigaflops"),
        "rate",
        "flop/s",
        Decimal(10) ** 9,
    ),
    (re.compile(rf"relative stress level\s+(?P<number>{NUMBER})"), "stress_level", "", Decimal(1)),
    (re.compile(rf"max power: (?P<number>{NUMBER}) W"), "power.max", "W", Decimal(1)),
    (re.compile(rf"average power usage: (?P<number>{NUMBER}) W"), "power", "W", Decimal(1)),
    (re.compile(rf"Allocated (?P<number>{NUMBER}) bytes"), "allocated", "B", Decimal(1)),
)


class DcgmImporter:
    """See the module."""

    def takes(self, document: object) -> bool:
        """Whether it is a diagnostic, or iterations of one."""
        if not isinstance(document, dict):
            return False
        iterations = document.get("iterations")
        if isinstance(iterations, list) and iterations:
            return all(self.takes(each) for each in iterations)
        return any(isinstance(document.get(name), dict) for name in _ROOTS)

    def read(self, document: object, out: Output) -> None:
        """One result per GPU of each test."""
        assert isinstance(document, dict)
        iterations = document.get("iterations")
        if isinstance(iterations, list) and iterations:
            for each in iterations:
                self.read(each, out)
            return
        body = next(document[name] for name in _ROOTS if isinstance(document.get(name), dict))
        settings, version = _settings(document, body)
        error = body.get("runtime_error")
        if isinstance(error, Text):
            out.skip(error.line, f"DCGM's diagnostic failed: {_sentence(error)}")
        for category in _dicts(body.get("test_categories")):
            for test in _dicts(category.get("tests")):
                for result in _dicts(test.get("results")):
                    _read_result(
                        category, test, result, settings=settings, version=version, out=out
                    )


def _read_result(
    category: Mapping[str, object],
    test: Mapping[str, object],
    result: Mapping[str, object],
    *,
    settings: Mapping[str, FoundValue],
    version: str | None,
    out: Output,
) -> None:
    name, status = test.get("name"), result.get("status")
    if not isinstance(name, Text) or not isinstance(status, Text):
        return
    kind = status.strip().lower()
    said = [*_sentences(result.get("warnings")), *_sentences(test.get("warnings"))]
    why = f": {_sentence(said[0])}" if said else "."
    devices = list(_devices(result))
    if kind in ("skip", "skipped", "not run", "warn"):
        told = {"warn": "warns"}.get(kind, "did not run")
        of = f" of GPU {devices[0]['device'].value}" if devices and "device" in devices[0] else ""
        out.skip(status.line, f"DCGM's test {name[:60]}{of} {told}{why}")
    elif kind not in VERDICTS:
        out.skip(status.line, f"'{status[:40]}' is not a status of DCGM's test {name[:60]}.")
        return
    verdict = VERDICTS.get(kind)
    parameters = dict(settings)
    if isinstance(category.get("category"), Text):
        kind_of = category["category"]
        assert isinstance(kind_of, Text)
        parameters["category"] = words(str(kind_of), kind_of.line)
    for device in devices:
        numbers = list(_numbers(result.get("info"), device.get("device"), len(devices), out))
        if verdict is not None:
            numbers.insert(0, Series("passed", "", [FoundValue(verdict, str(status), status.line)]))
        if not numbers:
            continue
        out.result(
            Result(
                code=f"dcgm.{slug(name)[:80] or 'unnamed'}",
                tool="DCGM",
                version=version,
                parameters=device | parameters,
                series=numbers,
                verified=None if verdict is None else bool(verdict),
                check="" if verdict is None else "diagnostic",
                error=_sentence(said[0]) if verdict == 0 and said else None,
            )
        )


def _devices(result: Mapping[str, object]) -> Iterator[dict[str, FoundValue]]:
    """The GPUs, or other entities, that a result holds for; {} if it names none."""
    group, entity = result.get("entity_group"), result.get("entity_id")
    if isinstance(entity, FoundValue):
        found = {"device": FoundValue(entity.printed, entity.printed, entity.line)}
        if isinstance(group, Text) and group.upper() != "GPU":
            found["entity"] = words(str(group), group.line)
        yield found
        return
    listed = result.get("gpu_ids", result.get("gpu_id"))
    if isinstance(listed, FoundValue):
        yield {"device": FoundValue(listed.printed, listed.printed, listed.line)}
        return
    ids = [each.strip() for each in listed.split(",")] if isinstance(listed, Text) else []
    ids = [each for each in ids if re.fullmatch(r"\d{1,6}", each)][:_MOST_GPUS]
    for each in ids:
        assert isinstance(listed, Text)
        yield {"device": FoundValue(each, "", listed.line)}
    if not ids:
        yield {}


def _numbers(
    info: object, device: FoundValue | None, devices: int, out: Output
) -> Iterator[Series]:
    """The numbers in the sentences about a device, each metric once.

    A result may hold the sentences about all GPUs. A sentence without a GPU belongs to the device
    of the result if this is the only one (``devices``).
    """
    seen: set[str] = set()
    for text in _sentences(info):
        named = _NAMED.match(text)
        if named is None and devices != 1:
            continue
        if named is not None and (device is None or named[1] != str(device.value)):
            continue
        for pattern, name, unit, factor in _NUMBERS:
            for match in pattern.finditer(str(text)):
                way = match.groupdict().get("way")
                metric = f"{name}.{slug(way)}" if way else name
                found = number(match["number"], text.line, factor)
                if found is None or metric in seen:
                    out.skip(text.line, f"A second number is left out: {_sentence(text)}")
                    continue
                seen.add(metric)
                yield Series(metric, unit, [found])


def _settings(
    document: Mapping[str, object], body: Mapping[str, object]
) -> tuple[dict[str, FoundValue], str | None]:
    settings: dict[str, FoundValue] = {}
    version = None
    for place in (document.get("metadata"), document, body):
        if not isinstance(place, dict):
            continue
        for key, value in place.items():
            if key in ("Driver Version Detected", "driver_version") and isinstance(value, Text):
                settings.setdefault("driver", words(str(value), value.line))
        found = place.get("version")
        if isinstance(found, Text) and version is None:
            version = str(found)[:40]
    return settings, version


def _sentences(value: object) -> Iterator[Text]:
    """The sentences of a list; warnings may have a code beside their text."""
    if isinstance(value, Text):
        yield value
    for each in value if isinstance(value, list) else ():
        text = each.get("warning", each.get("warnings")) if isinstance(each, dict) else each
        if isinstance(text, Text):
            yield text


def _sentence(text: str) -> str:
    plain = " ".join(text.split())[:_LONGEST]
    return plain if plain.endswith((".", "!", "?")) else f"{plain}."


def _dicts(value: object) -> Iterator[dict[str, object]]:
    """The objects of a list; DCGM writes null between them."""
    for each in value if isinstance(value, list) else ():
        if isinstance(each, dict):
            yield each


IMPORTER = DcgmImporter()
