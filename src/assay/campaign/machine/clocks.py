"""Clocks of a campaign: this machine's clock. Tests and fake machines have their own clocks."""

from __future__ import annotations

import time
from typing import Protocol

from assay.units import format_duration

# Minimum seconds of a clock change or of sleep that are reported.
NOTICED = 30.0


class CampaignClock(Protocol):
    """A clock. All times are in seconds."""

    #: Maximum time to sleep between checks.
    nap: float

    def now(self) -> float:
        """Unix time. The clock may be set."""
        ...

    def running(self) -> float:
        """Monotonic time that also advances while the machine sleeps."""
        ...

    def awake(self) -> float:
        """Monotonic time that stops while the machine sleeps."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait for this time."""
        ...

    def resume(self, utc: float) -> None:
        """Note that a run is resumed. ``utc``: the time of its last record."""
        ...


class MachineClock:
    """This machine's clock: clock_gettime(2)."""

    nap = 1.0

    def now(self) -> float:
        """CLOCK_REALTIME."""
        return time.time()

    def running(self) -> float:
        """CLOCK_BOOTTIME."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def awake(self) -> float:
        """CLOCK_MONOTONIC, which on Linux stops while the machine is suspended."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def resume(self, utc: float) -> None:
        """Does nothing, since the machine's clock continues."""


class AwakeTime:
    """Detects whether the machine slept or its clock was set between two checks."""

    def __init__(self, clock: CampaignClock) -> None:
        self._clock = clock
        self._last = self._read()

    def look(self) -> str:
        """Sentences on events since the last check; empty if there were none."""
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
