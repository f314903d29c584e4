"""Checks of the accelerators: what lowers their speed, and what makes their results doubtful."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from assay.system.devices.describe import user_text
from assay.system.devices.model import Device
from assay.system.devices.throttling import THROTTLING
from assay.system.doctor.findings import CheckFinding, Severity
from assay.system.model import System
from assay.units import counted, format_quantity

# A clock for applications that is lower than the greatest by less has the same step.
_SAME_CLOCK = 0.99


def devices(system: System) -> list[CheckFinding]:
    """Is the state of every accelerator known, and does nothing slow it down?"""
    findings = [found for device in system.devices for found in _of(device)]
    if findings or not system.devices:
        return findings
    count = counted(len(system.devices), "device")
    return [CheckFinding("devices", "ok", f"Nothing slows down or disturbs the {count}.")]


def _of(device: Device) -> Iterator[CheckFinding]:
    for check in _CHECKS:
        yield from check(device)


def _finding(device: Device, severity: Severity, what: str, means: str, fix: str) -> CheckFinding:
    name = f" ({device.name})" if device.name else ""
    return CheckFinding("devices", severity, f"Device {device.address}{name} {what}.", means, fix)


def _command(device: Device, words: str) -> str:
    """How an administrator changes it, in brackets; empty for devices of other makers."""
    return f" (nvidia-smi {words})" if device.vendor == "NVIDIA" else ""


def _reachable(device: Device) -> Iterator[CheckFinding]:
    if device.lost:
        yield _finding(
            device,
            "problem",
            "is lost: the driver gets no answer",
            "Nothing can be measured on it.",
            "Check the kernel's log (dmesg), its slot and power, and reset it or restart the node.",
        )
    elif device.problem:
        yield CheckFinding(
            "devices",
            "warning",
            f"The state of device {device.address} is unknown. {device.problem}",
            "Throttling and errors of its memory won't be noticed; kernels may not find it.",
            device.fix or "",
        )


def _errors(device: Device) -> Iterator[CheckFinding]:
    if device.ecc_uncorrected:
        yield _finding(
            device,
            "problem",
            f"has {counted(device.ecc_uncorrected, 'uncorrected memory error')}",
            "Results may be wrong, and processes on it were ended.",
            "Reset it, and have it replaced if the errors come back.",
        )
    if device.xids:
        yield _finding(
            device,
            "warning",
            "has reported errors: XID " + ", ".join(map(str, device.xids)),
            "The driver had to interrupt its work.",
            "Look the numbers up in NVIDIA's list of XID errors.",
        )
    if device.repair_failed or device.repair_pending:
        yield _finding(
            device,
            "problem" if device.repair_failed else "warning",
            "could not repair its memory"
            if device.repair_failed
            else "waits for a reset that repairs its memory",
            "Further errors of the same place are likely.",
            "Have it replaced." if device.repair_failed else "Reset it when it is idle.",
        )
    if device.ecc is False:
        yield _finding(
            device,
            "note",
            "doesn't correct errors of its memory (ECC off)",
            "Wrong results may stay unnoticed; some devices are faster this way.",
            f"Switch ECC on{_command(device, '-e 1')}, or state it with the results.",
        )


def _slowed(device: Device) -> Iterator[CheckFinding]:
    slowed = [reason for reason in device.throttle or () if reason in THROTTLING]
    if slowed:
        yield _finding(
            device,
            "problem",
            f"is throttled now: {', '.join(slowed)}",
            "It runs below the clock that it could have: its rates are too low.",
            "Check its cooling, its power limit and its power supply.",
        )
    limit, usual = device.power_limit, device.power_limit_default
    if limit is not None and usual is not None and limit < usual:
        yield _finding(
            device,
            "warning",
            f"may use {format_quantity(limit, 'W')} of {format_quantity(usual, 'W')}",
            "Under load it lowers its clock to stay below this limit.",
            f"Have the limit lifted{_command(device, '-pl')}, or state it with the results.",
        )
    for what, most, application in (
        ("", device.clock_most, device.clock_application),
        ("memory ", device.memory_clock_most, device.memory_clock_application),
    ):
        if most is None or application is None or application >= _SAME_CLOCK * most:
            continue
        yield _finding(
            device,
            "warning",
            f"gives applications a {what}clock of {format_quantity(application, 'Hz')}; the "
            f"greatest is {format_quantity(most, 'Hz')}",
            "Rates are lower than the device could reach.",
            f"Have the clocks reset{_command(device, '-rac')}, or state them with the results.",
        )


def _link(device: Device) -> Iterator[CheckFinding]:
    width, most = device.link_width, device.link_width_most
    if width is not None and most is not None and width < most:
        yield _finding(
            device,
            "warning",
            f"has a PCIe link of {width} lanes; {most} are possible",
            "Transfers between host and device are slower in the same ratio.",
            "Reseat it, and check its slot and riser; some slots have fewer lanes than they hold.",
        )
    now, highest = device.link_generation, device.link_generation_most
    # The driver lowers the generation of an idle device's link.
    busy = device.throttle is not None and "idle" not in device.throttle
    if now is not None and highest is not None and now < highest and busy:
        yield _finding(
            device,
            "note",
            f"has a PCIe link of generation {now}; {highest} is possible",
            "Transfers are slower, unless the link speeds up under load.",
            "Look again while it works: gpu.transfer shows what the link reaches.",
        )
    if device.links is not None and device.links_up is not None and device.links_up < device.links:
        yield _finding(
            device,
            "warning",
            f"has {device.links_up} of {counted(device.links, 'link')} to other devices up",
            "Messages between devices are slower or take the way over the host.",
            "Check bridges, switches and the fabric manager.",
        )


def _modes(device: Device) -> Iterator[CheckFinding]:
    nvidia = device.vendor == "NVIDIA"
    if device.mig:
        yield _finding(
            device,
            "warning",
            "is divided into instances (MIG)" if nvidia else "is divided into partitions",
            "A rank gets a part of it, and the other parts share its memory and power.",
            f"Have the division undone{_command(device, '-mig 0')}, or state the part with the "
            "results.",
        )
    if device.persistence is False:
        yield _finding(
            device,
            "note",
            "isn't kept ready without users (persistence off)",
            "The first use after a pause takes seconds, and clocks that were set are forgotten.",
            "Have nvidia-persistenced started.",
        )
    if device.compute_mode == "prohibited":
        yield _finding(
            device,
            "problem",
            "prohibits computing (compute mode)",
            "Kernels can't use it.",
            f"Have the mode set to default{_command(device, '-c 0')}.",
        )


def _shared(device: Device) -> Iterator[CheckFinding]:
    if device.users:
        count = counted(len(device.users), "process")
        verb = "uses" if len(device.users) == 1 else "use"
        yield CheckFinding(
            "devices",
            "warning",
            f"{count} {verb} device {device.address}: {', '.join(map(user_text, device.users))}.",
            "They share its units, memory and power with the kernels.",
            "Wait for them or end them, or measure in an exclusive allocation.",
        )


_CHECKS: tuple[Callable[[Device], Iterator[CheckFinding]], ...] = (
    _reachable,
    _errors,
    _slowed,
    _link,
    _modes,
    _shared,
)
