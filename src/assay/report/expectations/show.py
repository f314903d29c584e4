"""Judgements on a terminal and as JUnit XML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from assay.records.files import write_atomically
from assay.report.expectations.judge import Judgement
from assay.units import counted, listed

# Maximum number of judgements other than "met" that are printed.
_MOST = 20
# Characters that XML 1.0 (2.2) excludes.
_KEPT = "\t\n\r"


def sentences(judgements: Sequence[Judgement]) -> list[str]:
    """A line on all judgements, and one line for each expectation that is not met."""
    if not judgements:
        return ["assay.toml has no [[expect]], so no result was judged."]
    counts: Counter[str] = Counter(judgement.outcome for judgement in judgements)
    names = ("met", "missed", "undecided", "unmeasured")
    words = [f"{counts[name]} {name}" for name in names if counts[name]]
    lines = [f"{counted(len(judgements), 'expectation')}: {listed(words)}."]
    odd = [judgement for judgement in judgements if judgement.outcome != "met"]
    odd.sort(key=lambda judgement: not judgement.failed)
    for each in odd[:_MOST]:
        node = f"{each.node}: " if each.node else ""
        lines.append(f"{each.outcome}: {node}{each.cell} · {each.sentence}")
    if len(odd) > _MOST:
        lines.append(f"and {len(odd) - _MOST} others")
    return lines


def write_junit(judgements: Sequence[Judgement], run: str, path: Path) -> None:
    """Write the judgements as JUnit XML, one test case each. "missed" is a failure, "unmeasured" an
    error, "undecided" skipped, each with its sentence.

    Raises AssayError if the file can't be written.
    """
    counts: Counter[str] = Counter(judgement.outcome for judgement in judgements)
    suite = ElementTree.Element(
        "testsuite",
        name="assay",
        tests=str(len(judgements)),
        failures=str(counts["missed"]),
        errors=str(counts["unmeasured"]),
        skipped=str(counts["undecided"]),
        time=f"{sum(each.seconds for each in judgements):.3f}",
    )
    properties = ElementTree.SubElement(suite, "properties")
    ElementTree.SubElement(properties, "property", name="run", value=_text(run))
    tags = {"missed": "failure", "unmeasured": "error", "undecided": "skipped"}
    for each in judgements:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=_text(".".join(filter(None, ("assay", each.node)))),
            name=_text(f"{each.cell} {each.metric}".strip()),
            time=f"{each.seconds:.3f}",
        )
        if each.outcome in tags:
            ElementTree.SubElement(case, tags[each.outcome], message=_text(each.sentence))
        else:
            ElementTree.SubElement(case, "system-out").text = _text(each.sentence)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    content = ElementTree.tostring(root, "utf-8", xml_declaration=True) + b"\n"
    write_atomically(path, content, option="--junit")


def _text(text: str) -> str:
    """The text without characters that XML can't contain."""
    return "".join(c if c in _KEPT or (c.isprintable() and c != "\ufffe") else "?" for c in text)
