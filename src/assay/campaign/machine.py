"""What a campaign runs on: this machine with its toolchains, or a fake one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from assay.config import NO_PRICES, PATIENCE, Config, Prices
from assay.launch.executor import Executor
from assay.plans.model import ASSUMED_CACHES, PlanContext
from assay.system.model import System

if TYPE_CHECKING:
    from assay.kernels.building import BuildProgress


# Cores of a fake node whose scenario names none.
FAKE_CORES = 2


@dataclass(frozen=True)
class Bench:
    """Ready to measure: the executor, and what the manifest says of the toolchains.

    ``patience``: seconds without a word from kernels after which they are given up.
    """

    executor: Executor
    toolchains: dict[str, dict[str, object]]
    patience: float = PATIENCE


class Machine(Protocol):
    """Where cells can be measured."""

    name: str
    context: PlanContext
    system: System
    prices: Prices

    def prepare(
        self, toolchains: Collection[str], progress: Callable[[BuildProgress], None] | None
    ) -> Bench:
        """Build what these toolchains need. Raises AssayError with the compiler's output."""
        ...


class ThisMachine:
    """The machine that assay runs on."""

    def __init__(self, config: Config) -> None:
        from assay.kernels.toolchains import detect_toolchains, select_toolchain
        from assay.system.detect import detect

        self._config = config
        self.system = detect()
        self.prices = config.prices
        self.name = config.system.name or self.system.os.hostname or "unnamed"
        self.context = PlanContext(
            cores=self.system.usable_cores or 1,
            nodes=len(config.cluster.hosts) if config.cluster else 1,
            memory=self.system.memory.available,
            numa=self.system.usable_numa,
            caches=self.system.last_level_caches or ASSUMED_CACHES,
            adapters=tuple(adapter.name for adapter in self.system.adapters) or None,
            default_toolchain=select_toolchain(None, config).name,
            toolchains=tuple(t.name for t in detect_toolchains(config) if not t.problem),
        )

    def prepare(
        self, toolchains: Collection[str], progress: Callable[[BuildProgress], None] | None
    ) -> Bench:
        """Build the kernels with each toolchain."""
        from assay.kernels.building import build_kernels
        from assay.kernels.toolchains import select_toolchain
        from assay.launch.local import LocalExecutor

        selected = {name: select_toolchain(name, self._config) for name in sorted(toolchains)}
        executables = {name: build_kernels(t, progress) for name, t in selected.items()}
        return Bench(
            LocalExecutor(selected, executables, cluster=self._config.cluster),
            {
                name: {**msgspec.to_builtins(t), "executable": str(executables[name])}
                for name, t in selected.items()
            },
            self._config.patience,
        )


class FakeMachine:
    """A machine that exists in a scenario file alone: times, noise, delays and failures as told."""

    def __init__(self, scenario: Path, prices: Prices = NO_PRICES) -> None:
        from assay.launch.scenario import load_scenario

        self._scenario = load_scenario(scenario)
        self.system = System()
        self.prices = prices
        self.name = "fake"
        self.context = PlanContext(
            cores=self._scenario.cores or FAKE_CORES, default_toolchain="fake", toolchains=("fake",)
        )

    def prepare(
        self, toolchains: Collection[str], progress: Callable[[BuildProgress], None] | None
    ) -> Bench:
        """Nothing needs building."""
        from assay.launch.fake import FakeExecutor

        return Bench(FakeExecutor(self._scenario), {name: {} for name in toolchains})


def machine_for(config: Config, fake: Path | None) -> Machine:
    """This machine, or the one that a scenario file describes."""
    return FakeMachine(fake, config.prices) if fake else ThisMachine(config)
