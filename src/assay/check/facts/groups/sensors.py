"""Alarms and temperatures of the kernel's hardware monitors (Documentation/hwmon/sysfs-interface).
Other files are not read: some sensors take milliseconds each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.check.model import Fact
from assay.system.files import Tree

_FOLDER = "/sys/class/hwmon"
_MOST_FILES = 400
# The sensors of processors answer from a register; those behind a slow bus are left out.
_PROCESSORS = ("coretemp", "k10temp", "zenpower")
_ALARM = re.compile(r"(temp|fan|power|in)\d{1,3}_(crit_alarm|fault|alarm)", re.ASCII)


def facts(tree: Tree) -> Iterator[Fact]:
    """Alarms that are raised, and the highest temperature of a processor in °C."""
    alarms: list[str] = []
    temperatures: list[float] = []
    read = 0
    for monitor in tree.names(_FOLDER):
        name = tree.word(f"{_FOLDER}/{monitor}/name") or ""
        for file in tree.names(f"{_FOLDER}/{monitor}") if name in _PROCESSORS else ():
            temperature = re.fullmatch(r"temp\d{1,3}_input", file, re.ASCII)
            if read >= _MOST_FILES or not (temperature or _ALARM.fullmatch(file)):
                continue
            read += 1
            value = tree.integer(f"{_FOLDER}/{monitor}/{file}")
            if value is not None and temperature:
                temperatures.append(value * 1e-3)
            elif value == 1:
                alarms.append(f"{name} {file.partition('_')[0]}")
    if read:
        yield Fact(
            name="sensor.alarms",
            value=len(alarms),
            rule="not above",
            look_at=f"check {alarms[0]}" if alarms else "check cooling",
        )
    if temperatures:
        yield Fact(name="sensor.temperature", value=max(temperatures), unit="°C", rule="shown")
