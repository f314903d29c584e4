"""The lines that the measuring program writes, checked before any of their values is used."""

from __future__ import annotations

import math

import msgspec

from assay.check.components import BY_NAME, OF_DEVICES, PER_UNIT
from assay.check.model import DeviceSet, Quiet, Reading

#: The version of orders and answers.
PROTOCOL = 1
_UNITS = ("CPUs", "devices")


class MeasuredDevice(msgspec.Struct, frozen=True, kw_only=True):
    """One device, as its driver names it; ``address``: on the PCI bus, empty if unknown."""

    name: str
    address: str


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    """The program's first line."""

    program: str
    version: str
    protocol: int
    #: One hardware thread of each core that the process may use.
    cpus: list[int]
    #: Instruction sets that the program was compiled for.
    instructions: str
    components: list[str]
    #: The devices that it measures, and by which backend; empty if it measures processors.
    devices: list[MeasuredDevice] = []
    backend: str = ""

    @property
    def device_set(self) -> DeviceSet:
        """The devices in the order of their numbers."""
        return DeviceSet(backend=self.backend, names=[each.name for each in self.devices])


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A line as it is written: every field is required."""

    component: str
    values: list[float]
    cpus: list[int]
    seconds: float
    verified: bool
    failed: str
    quiet: Quiet


class _Problem(msgspec.Struct, frozen=True, kw_only=True):
    problem: str


class NotReady(msgspec.Struct, frozen=True, kw_only=True):
    """Why devices can't be measured: they weren't ready in time (``late``), or one failed."""

    late: str = ""
    failed: str = ""


_hello = msgspec.json.Decoder(Hello)
_answer = msgspec.json.Decoder(_Answer)
_problem = msgspec.json.Decoder(_Problem)
_not_ready = msgspec.json.Decoder(NotReady)


def read_hello(line: bytes) -> Hello | str:
    """The first line, or a sentence that says why the program can't be used."""
    try:
        hello = _hello.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "The measuring program doesn't say what it is."
    if hello.program != "assay-check" or hello.protocol != PROTOCOL:
        return (
            f"The measuring program is '{hello.program}' with protocol {hello.protocol}, "
            f"not 'assay-check' with protocol {PROTOCOL}."
        )
    return hello


def read_not_ready(line: bytes) -> NotReady | None:
    """What the first line says instead of a greeting; None if it is one, or damaged."""
    try:
        found = _not_ready.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if not (found.late or found.failed):
        return None
    return NotReady(late=_said(found.late), failed=_said(found.failed))


def read_answer(line: bytes, component: str) -> Reading | str:
    """The reading of that component, or a sentence that says why the line can't be used."""
    try:
        answer = _answer.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _problem_of(line) or "The measuring program's answer can't be read."
    if answer.component != component:
        return f"The measuring program answered about '{answer.component}'."
    if answer.failed:
        return Reading(
            component=component,
            values=[],
            seconds=answer.seconds if _is_amount(answer.seconds) else 0.0,
            failed=_sentence(answer.failed),
            quiet=answer.quiet,
        )
    wrong = _what_is_wrong(answer)
    if wrong:
        return f"The measuring program's answer is impossible: {wrong}."
    return Reading(
        component=component,
        values=answer.values,
        cpus=answer.cpus,
        seconds=answer.seconds,
        verified=answer.verified,
        quiet=answer.quiet,
    )


def failed(component: str, why: str) -> Reading:
    """A reading without a value. ``why``: a sentence."""
    return Reading(component=component, values=[], failed=why)


def _problem_of(line: bytes) -> str:
    try:
        return _sentence(_problem.decode(line).problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""


def _sentence(words: str) -> str:
    """Words of the program on one line, with the beginning and the end of a sentence."""
    text = " ".join(words.split())[:300]
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def _said(words: str) -> str:
    return _sentence(words) if words else ""


def _is_amount(value: float) -> bool:
    return math.isfinite(value) and value >= 0.0


def _what_is_wrong(answer: _Answer) -> str:
    quiet = answer.quiet
    if not answer.values:
        return "it has no value"
    if not all(math.isfinite(value) and value > 0.0 for value in answer.values):
        return f"not all values in {BY_NAME[answer.component].unit} are positive"
    if not answer.cpus or len(set(answer.cpus)) != len(answer.cpus) or min(answer.cpus) < 0:
        return f"its {_UNITS[answer.component in OF_DEVICES]} are not distinct"
    if answer.component in PER_UNIT and len(answer.cpus) != len(answer.values):
        units = _UNITS[answer.component in OF_DEVICES]
        return f"{len(answer.cpus)} {units} have {len(answer.values)} values"
    if not all(map(_is_amount, (answer.seconds, quiet.others, quiet.steal, quiet.held_back))):
        return "a duration is negative or infinite"
    if quiet.steal > 1.0 or (quiet.throttled or 0) < 0:
        return "a share exceeds 1, or a counter is negative"
    return ""
