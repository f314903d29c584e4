"""Clocks to wait by: this machine's, or one that a test or a fake machine brings."""

from __future__ import annotations

import time
from typing import Protocol

from assay.units import format_duration

# A clock that was set, or a machine that slept, by so many seconds is worth a word.
NOTICED = 30.0


class CampaignClock(Protocol):
    """All times in seconds. ``nap``: how long at most to sleep before looking again."""

    nap: float

    def now(self) -> float:
        """The time of day, Unix time. It may be set."""
        ...

    def running(self) -> float:
        """Time since some moment, that goes on while the machine sleeps, and is never set."""
        ...

    def awake(self) -> float:
        """The same without the time that the machine slept."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let so much time pass."""
        ...

    def resume(self, utc: float) -> None:
        """A run goes on whose records are of that time and before."""
        ...


class MachineClock:
    """This machine's: clock_gettime(2)."""

    nap = 1.0

    def now(self) -> float:
        """CLOCK_REALTIME."""
        return time.time()

    def running(self) -> float:
        """CLOCK_BOOTTIME."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def awake(self) -> float:
        """CLOCK_MONOTONIC, which on Linux stands still while the machine is suspended."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def resume(self, utc: float) -> None:
        """A machine's clock is what it is."""


class AwakeTime:
    """Notices that the machine has slept, or that its clock was set, between two looks."""

    def __init__(self, clock: CampaignClock) -> None:
        self._clock = clock
        self._last = self._read()

    def look(self) -> str:
        """What has happened since the last look, as sentences; empty if nothing has."""
        before, self._last = self._last, self._read()
        now, running, awake = (b - a for a, b in zip(before, self._last, strict=True))
        slept, set_by = running - awake, now - running
        sentences = []
        if slept > NOTICED:
            sentences.append(f"The machine slept for {format_duration(slept)}.")
        if abs(set_by) > NOTICED:
            way = "forward" if set_by > 0 else "back"
            sentences.append(f"The clock was set {way} by {format_duration(abs(set_by))}.")
        return " ".join(sentences)

    def _read(self) -> tuple[float, float, float]:
        return self._clock.now(), self._clock.running(), self._clock.awake()
