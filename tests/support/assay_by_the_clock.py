"""``assay`` whose fake machines take the real time of their launches."""

from __future__ import annotations

import dataclasses
from typing import Any

from assay.campaign.machine import bench as machine
from assay.campaign.machine.clocks import MachineClock
from assay.cli.app import main

_prepare = machine.FakeMachine.prepare


def _waiting(self: machine.FakeMachine, *words: Any) -> machine.Bench:
    return dataclasses.replace(_prepare(self, *words), clock=MachineClock())


if __name__ == "__main__":
    machine.FakeMachine.prepare = _waiting  # type: ignore[method-assign]
    main()
