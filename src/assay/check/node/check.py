"""One check of this node: facts, comparison, measurements, verdict, record, files."""

from __future__ import annotations

import time

import msgspec

from assay.check.model import CheckRecord, CheckVerdict
from assay.check.node.comparing import baseline_of, judged_facts
from assay.check.node.course import CheckCourse
from assay.check.node.measuring import measured_verdict
from assay.check.node.reports import CheckPipe
from assay.check.node.request import CheckRequest, settings_for
from assay.check.outputs.evidence import evidence
from assay.check.outputs.files import replace_file
from assay.check.outputs.line import LONGEST, plain, shortened
from assay.check.outputs.textfile import textfile
from assay.check.result import NodeCheck
from assay.check.state.file_names import host_name
from assay.check.state.node_file import open_node_file
from assay.errors import AssayError
from assay.units import counted

_NEEDS_RECORDS = "Slowness fails a node only by the records of two checks."


def check_this_node(request: CheckRequest, reporter: CheckPipe) -> None:
    """Check this node, and report what to print. Raises nothing."""
    try:
        reporter.stage("config")
        settings = settings_for(request)
    except AssayError as error:
        reporter.refuse(error)
        return
    reporter.limit(settings.deadline)
    course = CheckCourse(request, settings, host_name(), reporter)
    check = course.ended(_verdict_of(course))
    reporter.output(printed(check, request), check.status)
    for warning in check.warnings:
        reporter.warn(warning)
    _write_record(course, check)
    _write_files(course, check)


def printed(check: NodeCheck, request: CheckRequest) -> str:
    """What a check prints on standard output."""
    if request.as_json:
        return msgspec.json.format(msgspec.json.encode(check), indent=2).decode() + "\n"
    return evidence(check) if request.verbose else f"{check.line}\n"


def undecided(reason: str) -> CheckVerdict:
    """A verdict without a decision."""
    text = plain(reason).rstrip(".")
    if text[1:2].islower():  # a sentence, and no abbreviation
        text = text[:1].lower() + text[1:]
    return CheckVerdict(outcome="undecided", reason=shortened(text, LONGEST))


def _verdict_of(course: CheckCourse) -> CheckVerdict:
    """The verdict; undecided for whatever prevents one."""
    try:
        return _verdict(course)
    except AssayError as error:
        found = error
    except Exception as error:
        from assay.conditions import condition
        from assay.console import unforeseen

        known = condition(error)
        saved = unforeseen(error)
        found = known or AssayError(saved["what"], fix=saved["fix"])
    words = [f"{found.where}:" if found.where else "", found.what, found.fix]
    course.warnings.append(" ".join(filter(None, words)))
    return undecided(found.what)


def _verdict(course: CheckCourse) -> CheckVerdict:
    course.stage("file of the node")
    course.file = open_node_file(course.settings.folder, course.host)
    if course.file.content.damaged:
        course.warnings.append(
            f"The node's file had {counted(course.file.content.damaged, 'damaged place')}, and "
            "begins again without them."
        )
    baseline = baseline_of(course)
    fatal, noted = judged_facts(course, baseline)
    if fatal:
        verdict = CheckVerdict(
            outcome="unhealthy",
            findings=fatal,
            reason=shortened("; ".join(each.text for each in fatal), LONGEST),
        )
    elif course.request.facts_only:
        verdict = CheckVerdict(outcome="healthy")
    else:
        verdict = measured_verdict(course, baseline)
    if course.unread and verdict.outcome == "healthy":
        # A device that holds up the reading of its facts is not known to be well.
        verdict = undecided(f"Facts that couldn't be read: {'; '.join(course.unread)}.")
    if course.missing and verdict.outcome == "healthy":
        verdict = undecided(course.missing)
    return msgspec.structs.replace(verdict, suspected=[*verdict.suspected, *noted])


def _write_record(course: CheckCourse, check: NodeCheck) -> None:
    header = course.counted(check.outcome)
    if course.file is None or header is None:
        return
    course.reporter.stage("record")
    record = CheckRecord(
        utc=time.time(),
        outcome=check.outcome,
        seconds=check.seconds,
        baseline=course.used.digest if course.used is not None else "",
        values=course.values,
        slow=course.slow,
        partner=course.request.partner,
        reason=check.reason,
    )
    why = course.file.write(header, record) or course.file.close()
    if why and course.used is not None:
        course.reporter.warn(
            f"{course.file.path}: This check couldn't be recorded: {why}. {_NEEDS_RECORDS}"
        )


def _write_files(course: CheckCourse, check: NodeCheck) -> None:
    request = course.request
    contents = []
    if request.textfile is not None:
        contents.append((request.textfile, textfile(check).encode()))
    if request.junit is not None:
        from assay.check.outputs.junit import junit

        contents.append((request.junit, junit(check)))
    for path, content in contents:
        course.reporter.stage(f"writing {path.name}")
        why = replace_file(path, content)
        if why:
            course.reporter.warn(f"{path}: The file couldn't be written: {why}.")
