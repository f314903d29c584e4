"""A check as JUnit XML: a test case per component and per group of facts."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from assay.check.components import BY_NAME, COMPONENTS
from assay.check.model import NodeFinding
from assay.check.result import NodeCheck

_Case = tuple[str, str, float, str, str]  # class, name, seconds, tag, message


def junit(check: NodeCheck) -> bytes:
    """The check as one test suite.

    A finding that fails the node is a failure. What the check couldn't decide is skipped. A
    suspicion is noted in a case that passes.
    """
    cases = list(_cases(check))
    suite = ElementTree.Element(
        "testsuite",
        name="assay.check",
        hostname=_text(check.host),
        tests=str(len(cases)),
        failures=str(sum(case[3] == "failure" for case in cases)),
        errors="0",
        skipped=str(sum(case[3] == "skipped" for case in cases)),
        time=f"{check.seconds:.3f}",
    )
    properties = ElementTree.SubElement(suite, "properties")
    baseline = check.baseline.digest if check.baseline else ""
    for name, value in (("line", check.line), ("kind", check.kind), ("baseline", baseline)):
        ElementTree.SubElement(properties, "property", name=name, value=_text(value))
    for group, name, seconds, tag, message in cases:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=_text(f"assay.check.{check.host}.{group}"),
            name=_text(name),
            time=f"{seconds:.3f}",
        )
        if tag:
            ElementTree.SubElement(case, tag, message=_text(message))
        elif message:
            ElementTree.SubElement(case, "system-out").text = _text(message)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    found: bytes = ElementTree.tostring(root, "utf-8", xml_declaration=True)
    return found + b"\n"


def _cases(check: NodeCheck) -> Iterator[_Case]:
    judged = {name for name in BY_NAME if any(each.component == name for each in check.readings)}
    judged |= {each.about for each in check.findings if each.about in BY_NAME}
    for component in COMPONENTS:
        if component.name in judged:
            readings = [each for each in check.readings if each.component == component.name]
            seconds = sum(each.seconds for each in readings)
            failed = next((each.failed for each in readings if each.failed), "")
            tag, message = _judged(check, component.name, failed)
            yield "measurements", component.title, seconds, tag, message
    groups = dict.fromkeys(_group(fact.name) for fact in check.facts)
    groups |= dict.fromkeys(_group(f.about) for f in check.findings if f.about not in BY_NAME)
    for group in groups:
        tag, message = _judged(check, group, "")
        yield "facts", group, 0.0, tag, message
    if not judged and not groups:
        # The check ended before it had anything to judge.
        tag = {"healthy": "", "unhealthy": "failure", "undecided": "skipped"}[check.outcome]
        yield "node", "check", check.seconds, tag, check.reason


def _judged(check: NodeCheck, about: str, failed: str) -> tuple[str, str]:
    """The tag of a case, and its message."""
    found = [each for each in check.findings if about in (each.about, _group(each.about))]
    message = "; ".join(map(_sentence, found))
    if check.outcome == "unhealthy" and found:
        return "failure", message
    if check.outcome == "undecided" or failed:
        return "skipped", message or failed or check.reason
    noted = [each for each in check.suspected if about in (each.about, _group(each.about))]
    return "", "; ".join(f"suspected: {_sentence(each)}" for each in noted)


def _sentence(finding: NodeFinding) -> str:
    return finding.text or f"{finding.about} is {finding.value}, expected {finding.expected}"


def _group(name: str) -> str:
    """The group of a fact: the first part of its name. A component is its own group."""
    return name if name in BY_NAME else name.partition(".")[0]


def _text(text: str) -> str:
    """The text without characters that XML can't contain."""
    return "".join(c if c.isprintable() and c != "\ufffe" else "?" for c in text)
