"""The devices of a node, measured by processes of their own.

A driver may hang, crash or keep threads. None of this stops the other measurements of a check: the
process has limits, and ends after the first failure. The next round starts another one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from assay.check.measuring.answers import failed
from assay.check.measuring.meter import SECONDS, Meter
from assay.check.model import DeviceSet, Reading
from assay.errors import AssayError

# Preparing and verifying a measurement takes about as long as its loop; and the time for an answer.
_WHOLE, _ANSWER = 2.0, 0.3
# Seconds with a device that doesn't answer: at least this, or a share of all that there are.
_PATIENCE, _SHARE = 2.0, 0.25
# The shortest time in which devices can be ready, s.
_SHORTEST = 0.1


class DeviceMeter:
    """The devices of one backend; a context manager that leaves no process behind."""

    def __init__(self, program: Path, *, digest: str, backend: str, deadline: float) -> None:
        """``program``: run only if its SHA-256 is ``digest``. ``backend``: ``auto`` takes the first
        one that has accelerators. ``deadline``: seconds from now, after which all is killed.
        """
        self._program = program
        self._digest = digest
        self._backend = backend
        self._patience = max(_PATIENCE, _SHARE * deadline)
        self._limit = time.monotonic() + deadline
        self._meter: Meter | None = None
        #: The devices, once they were ready.
        self.devices: DeviceSet | None = None
        #: Why the devices weren't ready in time, as a sentence; empty if they were.
        self.late = ""

    def __enter__(self) -> Self:
        """Starts nothing: ``measure`` does."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process."""
        self.close()

    def close(self) -> None:
        """End the process. May be repeated."""
        meter, self._meter = self._meter, None
        if meter is not None:
            meter.close()

    @property
    def process(self) -> int | None:
        """The process that uses the devices now."""
        return self._meter.process if self._meter is not None else None

    def measure(
        self, components: Sequence[str], wanted: DeviceSet | None = None
    ) -> dict[str, Reading]:
        """A reading of each component; none if the devices weren't ready in time.

        ``wanted``: the devices that a node of its kind has; fewer are a failure. Devices that were
        ready before in this check, and aren't any more, have failed.
        """
        left = self._limit - time.monotonic()
        ready = left - _WHOLE * sum(SECONDS[name] for name in components) - _ANSWER
        if self._meter is None and not self.late:
            why = self._start(max(ready, _SHORTEST))
            if why:
                return {name: failed(name, why) for name in components}
        if self.devices is None or self._meter is None:
            return {}
        found = len(self.devices.names)
        if wanted is not None and found < len(wanted.names):
            self.close()
            why = f"Only {found} of {len(wanted.names)} devices are there."
            return {name: failed(name, why) for name in components}
        readings: dict[str, Reading] = {}
        for name in components:
            reading = self._meter.measure([name])[name]
            if reading.failed:
                # What a device that hangs cost says nothing of the time of another round.
                self.close()
                rest = components[len(readings) :]
                return readings | {each: failed(each, reading.failed) for each in rest}
            readings[name] = reading
        return readings

    def _start(self, ready: float) -> str:
        """Why the devices can't be measured; empty if they can, or if they weren't ready."""
        meter = Meter(
            self._program,
            digest=self._digest,
            deadline=max(self._limit - time.monotonic(), 0.0),
            devices=self._backend,
            ready=ready,
            patience=self._patience,
        )
        try:
            meter.__enter__()
        except AssayError as error:
            said = meter.not_ready
            if said is not None and said.failed:
                return said.failed
            late = said.late if said is not None else error.what
            if self.devices is not None or (said is None and not meter.was_late):
                return late
            self.late = late
            return ""
        assert meter.hello is not None
        self._meter, self.devices = meter, meter.hello.device_set
        return ""


def with_users(readings: dict[str, Reading], users: int) -> dict[str, Reading]:
    """The readings, where other processes used the devices meanwhile."""
    if not users:
        return readings
    return {
        name: msgspec.structs.replace(each, quiet=msgspec.structs.replace(each.quiet, users=users))
        for name, each in readings.items()
    }
