"""clpeak's XML (``--xml-file``), versions 1 and 2.

Source: ``clpeak.cpp`` of version 1, whose elements are named after the tests and variants;
``result_store.cpp`` of version 2 (``format_version="2"``).
"""

from __future__ import annotations

from collections.abc import Iterator

from assay.importers.decoded import Element
from assay.importers.model import FoundValue, Output, Result, Series, slug
from assay.importers.numbers import number
from assay.importers.text.devices.clpeak import UNITS


class ClpeakXmlImporter:
    """See the module."""

    def takes(self, document: object) -> bool:
        """Whether its root element is clpeak's."""
        return isinstance(document, Element) and document.name == "clpeak"

    def read(self, document: object, out: Output) -> None:
        """One result per variant of each test."""
        assert isinstance(document, Element)
        version = document.attributes.get("clpeak_version")
        for platform in document.all("platform"):
            for device in platform.all("device"):
                settings = dict(_named(platform, {"name": "platform"}))
                settings |= dict(_named(device, {"name": "gpu", "driver_version": "driver"}))
                for test in device.elements:
                    _test(test, test.name, settings, version, out)
        for run in document.all("run"):
            names = {"backend": "backend", "platform": "platform", "device": "gpu"}
            settings = dict(_named(run, names | {"driver": "driver"}))
            for category in run.all("category"):
                for test in category.all("test"):
                    # The title, in which version 2 differs from text, says what was measured.
                    name = test.attributes.get("display") or test.attributes.get("name", "")
                    _test(test, name, settings, version, out)


def _named(element: Element, names: dict[str, str]) -> Iterator[tuple[str, FoundValue]]:
    for attribute, name in names.items():
        value = element.attributes.get(attribute, "").strip()
        if value:
            yield name, FoundValue(value, "", element.line)


def _test(
    test: Element, name: str, settings: dict[str, FoundValue], version: str | None, out: Output
) -> None:
    printed_unit = test.attributes.get("unit", "").upper()
    if printed_unit not in UNITS:
        if test.elements or test.text.strip():
            out.skip(test.line, f"The unit '{printed_unit[:40]}' of clpeak is unknown.")
        return
    metric, unit, factor = UNITS[printed_unit]
    for element in test.elements or [test]:
        text = element.text.strip()
        if not text:
            continue  # a variant that the device does not support
        found = number(text, element.line, factor)
        if found is None or not float(found.value) > 0:
            out.skip(element.line, f"'{text[:40]}' of clpeak is not a number above 0.")
            continue
        parameters = dict(settings)
        if element is not test:
            variant = element.attributes.get("name") or element.name
            parameters = {"variant": FoundValue(variant, "", element.line)} | parameters
        out.result(
            Result(
                code=f"clpeak.{slug(name)}",
                tool="clpeak",
                version=version,
                parameters=parameters,
                series=[Series(metric, unit, [found])],
            )
        )


IMPORTER = ClpeakXmlImporter()
