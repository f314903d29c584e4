"""Measures what a decision asks for until it decides."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from assay.check.baseline.model import Baseline
from assay.check.components import ALONE, BY_NAME, OF_DEVICES, WITH_PARTNER
from assay.check.decision.decide import check_values, decide, slow_components
from assay.check.decision.model import CheckPolicy, Given, NodeState
from assay.check.decision.next_state import next_state
from assay.check.devices.slots import levelled_round
from assay.check.facts.groups.devices import device_users
from assay.check.facts.reading import read_facts
from assay.check.learning.program import sealed_program
from assay.check.measuring.device_meter import DeviceMeter, with_users
from assay.check.measuring.meter import SECONDS, Meter
from assay.check.model import CheckVerdict, DeviceSet, MeasureAgain, Reading
from assay.check.node.course import CheckCourse
from assay.check.state.header import MOST_STATE
from assay.decoding import UNREADABLE

# Preparing and verifying a measurement takes about as long as its loop.
_WHOLE = 2.0
# Seconds that the program needs to start and to measure anything.
_LEAST = 0.8
# Seconds in which a driver must say who uses the devices.
_USERS = 0.5


def measured_verdict(course: CheckCourse, baseline: Baseline) -> CheckVerdict:
    """Measure until there is a verdict or no time is left.

    Raises AssayError if the measuring program can't be run.
    """
    course.stage("measuring program")
    if course.request.partner and not set(WITH_PARTNER) & baseline.components.keys():
        course.warnings.append(
            "Messages aren't measured: the baseline has none. Record with --partner, then learn."
        )
    devices = baseline.devices
    given = _given(course, baseline)
    verdict = decide(given)
    if isinstance(verdict, MeasureAgain):
        if course.reporter.remaining() < _LEAST:
            return CheckVerdict(
                outcome="undecided",
                reason=f"the deadline of {course.settings.deadline:g} s leaves no time to measure",
            )
        program = sealed_program(course.settings.folder, baseline.program)
        deadline = course.reporter.remaining()
        with (
            Meter(
                program,
                digest=baseline.program,
                deadline=deadline,
                scratch=course.settings.scratch,
                partner=course.request.partner,
                own_name=course.host if course.request.partner else "",
            ) as meter,
            DeviceMeter(
                program,
                digest=baseline.program,
                backend=devices.backend if devices is not None else "auto",
                deadline=deadline,
            ) as device_meter,
        ):
            verdict = _until_decided(course, baseline, (meter, device_meter), verdict)
    given = _given(course, baseline)
    course.values = check_values(given)
    course.slow = slow_components(verdict)
    state = msgspec.msgpack.encode(next_state(given))
    if len(state) <= MOST_STATE:
        course.state = state
    return verdict


def _until_decided(
    course: CheckCourse,
    baseline: Baseline,
    meters: tuple[Meter, DeviceMeter],
    wanted: CheckVerdict | MeasureAgain,
) -> CheckVerdict:
    meter, device_meter = meters
    while isinstance(wanted, MeasureAgain):
        found = _measured(course, meter, wanted.components)
        found |= _measured_devices(course, baseline, device_meter, wanted.components)
        if found or course.without_devices:
            course.rounds.append(found)
            wanted = decide(_given(course, baseline))
            continue
        # Without time the decision is made by what there is.
        late = decide(replace(_given(course, baseline), time_left=0.0))
        if isinstance(late, CheckVerdict):
            return late
        return CheckVerdict(outcome="undecided", reason=f"no time to measure: {wanted.why}")
    return wanted


def _measured(course: CheckCourse, meter: Meter, components: Sequence[str]) -> dict[str, Reading]:
    """The readings for which there is time: one that is cut short would look like a failure."""
    found: dict[str, Reading] = {}
    for name in components:
        if name in OF_DEVICES:
            continue
        if course.reporter.remaining() < _WHOLE * SECONDS[name]:
            break
        course.stage(BY_NAME[name].title)
        found |= meter.measure([name])
    return found


def _measured_devices(
    course: CheckCourse, baseline: Baseline, meter: DeviceMeter, components: Sequence[str]
) -> dict[str, Reading]:
    """The readings of devices for which there is time; none if they weren't ready in time, and if
    they are other ones than the fleet has.
    """
    names = [name for name in components if name in OF_DEVICES]
    slots = baseline.devices
    seconds = _WHOLE * sum(SECONDS[name] for name in names)
    if not names or slots is None or course.reporter.remaining() < seconds:
        return {}
    course.stage("devices")
    facts = course.facts
    if meter.devices is not None:
        # Measured again: other processes may have come since the facts were read.
        facts = read_facts(seconds=_USERS, groups=("devices",)).facts
    users = device_users(facts, meter.process)
    wanted = DeviceSet(backend=slots.backend, names=slots.names)
    found = with_users(meter.measure(names, wanted), users)
    if meter.late:
        course.without_devices = True
        course.missing = course.missing or f"Devices aren't measured: {meter.late}"
    elif meter.devices is not None and set(meter.devices.names) - set(slots.names):
        other = next(name for name in meter.devices.names if name not in slots.names)
        course.without_devices = True
        course.warnings.append(
            f"Devices aren't measured: the fleet has no {other}. Record on nodes with it, then "
            "learn."
        )
        return {}
    return found


def _given(course: CheckCourse, baseline: Baseline) -> Given:
    partner = course.request.partner
    components = (*ALONE, *WITH_PARTNER) if partner else ALONE
    if not course.without_devices:
        components = (*components, *OF_DEVICES)
    return Given(
        baseline=baseline,
        state=_state(course.header.state),
        records=course.file.content.records if course.file is not None else (),
        rounds=[levelled_round(each, baseline.devices) for each in course.rounds],
        components=components,
        partner=partner,
        utc=time.time(),
        time_left=max(course.reporter.remaining(), 0.0),
        policy=CheckPolicy(false_drains=course.settings.false_drains),
    )


def _state(encoded: bytes) -> NodeState:
    """The state of the last check; a new one if it can't be read."""
    if not encoded:
        return NodeState()
    try:
        return msgspec.msgpack.decode(encoded, type=NodeState)
    except UNREADABLE:
        return NodeState()
