"""The machine of a campaign: this machine, a cluster's hosts, or a fake machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from assay.campaign.machine.clocks import CampaignClock, MachineClock
from assay.config import NO_PRICES, PATIENCE, ClusterConfig, Config, Prices
from assay.errors import AssayError
from assay.launch.executor import Executor
from assay.model.cell import OWN_TOOLCHAIN
from assay.model.plan import ASSUMED_CACHES, PlanContext, UsableDevices
from assay.system.model import Memory, NumaNode, Processor, System

if TYPE_CHECKING:
    from assay.campaign.machine.survey import Surveyed
    from assay.kernels.building import BuildProgress
    from assay.kernels.builds.toolchain import Toolchain
    from assay.launch.allocation import Allocation
    from assay.launch.fake.scenario import Scenario
    from assay.system.survey import HostSurvey


# The kernels to measure with each toolchain, by its name.
NeededKernels = Mapping[str, Collection[str]]

# Cores of a fake node without a number of cores in its scenario.
FAKE_CORES = 2


@dataclass(frozen=True)
class Bench:
    """A machine that is ready to measure: its executor, and its toolchains as in the manifest."""

    executor: Executor
    toolchains: dict[str, dict[str, object]]
    #: Seconds without reports after which kernels are given up.
    patience: float = PATIENCE
    #: Hosts as surveyed now; empty if only this machine measures.
    nodes: tuple[HostSurvey, ...] = ()
    #: Clock that times sessions.
    clock: CampaignClock = MachineClock()  # noqa: RUF009


class MeasuredMachine(Protocol):
    """A machine that can measure cells."""

    name: str
    #: Path of the machine's scenario; None for a real machine.
    fake: str | None
    context: PlanContext
    system: System
    prices: Prices

    def prepare(
        self, needed: NeededKernels, progress: Callable[[BuildProgress], None] | None
    ) -> Bench:
        """Build the required kernels. Raises AssayError with the compiler's output."""
        ...


class ThisMachine:
    """The machine that assay runs on, or the hosts of its allocation or of ``[cluster]``.

    ``runs``: the folder that the hosts must share. An allocation around this process takes
    precedence over ``[cluster]``. If the allocation has only this machine, no remote shell is
    needed. For several hosts, ``context`` has the minimum of each resource, and ``system`` is the
    first host.
    """

    def __init__(self, config: Config, runs: Path | None = None) -> None:
        from assay.campaign.machine.survey import survey_hosts
        from assay.kernels.toolchains import detect_toolchains, select_toolchain
        from assay.launch.allocation import find_allocation
        from assay.system.detect import detect

        self._config = config
        self.allocation: Allocation | None = find_allocation()
        self.cluster = _cluster(self.allocation, config)
        self.surveyed: Surveyed | None = None
        self.system = detect()
        if self.cluster is not None:
            self.surveyed = survey_hosts(self.cluster, runs or config.runs, config.path)
            answering = tuple(node.host for node in self.surveyed.nodes)
            self.cluster = msgspec.structs.replace(self.cluster, hosts=answering)
            self.system = self.surveyed.systems[0]
        self.prices = config.prices
        self.name = config.system.name or self.system.os.hostname or "unnamed"
        self.fake: str | None = None
        found = detect_toolchains(config)
        self.context = replace(
            _context(
                self.system,
                self.surveyed,
                default_toolchain=select_toolchain(None, config).name,
                toolchains=tuple(t.name for t in found if not t.problem),
            ),
            crossed=config.crossed,
            unusable={t.name: t.problem for t in found if t.problem},
            older_mpi=older_libraries({t.name: (t.mpi_flavour, t.mpi_version) for t in found}),
            slowest_link=self.cluster.slowest_rate if self.cluster else None,
            find_devices=cache(lambda: _devices(self.surveyed is not None)),
        )

    def prepare(
        self, needed: NeededKernels, progress: Callable[[BuildProgress], None] | None
    ) -> Bench:
        """Build the kernels with each toolchain, for each kind of processor among the hosts."""
        from assay.campaign.machine.processor_builds import build_everywhere
        from assay.kernels.toolchains import select_toolchain
        from assay.launch.local import LocalExecutor

        names = sorted(name for name in needed if name != OWN_TOOLCHAIN)
        selected = {name: select_toolchain(name, self._config) for name in names}
        nodes = self.surveyed.nodes if self.surveyed else ()
        built = build_everywhere(
            selected,
            needed,
            nodes=nodes,
            cluster=self.cluster,
            config=self._config.path,
            progress=progress,
        )
        own: dict[str, dict[str, object]] = {n: {} for n in needed if n == OWN_TOOLCHAIN}
        return Bench(
            LocalExecutor(
                selected,
                {name: build.program for name, build in built.items()},
                cluster=self.cluster,
            ),
            {name: {**_recorded(t), **built[name].described} for name, t in selected.items()} | own,
            self._config.patience,
            nodes,
        )


def _devices(several: bool) -> UsableDevices | None:
    """The devices of this machine. If others measure, one that has none says nothing on them."""
    from assay.system.devices.usable import usable_devices

    found = usable_devices()
    return None if several and found is not None and found.count == 0 else found


def older_libraries(mpi: Mapping[str, tuple[str, str | None]]) -> dict[str, str]:
    """The toolchains whose MPI library lacks MPI 4; ``mpi``: flavour and version by toolchain."""
    from assay.kernels.builds.toolchain import library_before_mpi_4

    found = {name: library_before_mpi_4(*library) for name, library in mpi.items()}
    return {name: library for name, library in found.items() if library is not None}


def _recorded(toolchain: Toolchain) -> dict[str, object]:
    """A toolchain as stored in manifests: without the whole environment of its modules."""
    recorded: dict[str, object] = msgspec.to_builtins(toolchain)
    del recorded["loaded"]
    return recorded


def _cluster(allocation: Allocation | None, config: Config) -> ClusterConfig | None:
    if allocation is None:
        return config.cluster
    by_srun = any(entry.launcher == "srun" for entry in config.toolchains.values())
    if allocation.hosts in ((_own_name(),), (os.uname().nodename,)) and not by_srun:
        return None
    return allocation.cluster


def _own_name() -> str:
    """This host's name without its domain, as schedulers report it."""
    return os.uname().nodename.partition(".")[0]


def _context(
    system: System,
    surveyed: Surveyed | None,
    *,
    default_toolchain: str,
    toolchains: tuple[str, ...],
) -> PlanContext:
    from assay.system.nodes import common_adapters, common_numa, fastest_link, least

    if surveyed is None:
        return PlanContext(
            cores=system.usable_cores or 1,
            memory=system.memory.available,
            numa=system.usable_numa,
            caches=system.last_level_caches or ASSUMED_CACHES,
            adapters=tuple(adapter.name for adapter in system.adapters) or None,
            default_toolchain=default_toolchain,
            toolchains=toolchains,
            hardware_threads=system.usable_threads or 0,
        )
    nodes = surveyed.nodes
    return PlanContext(
        cores=least([node.cores for node in nodes]) or 1,
        nodes=len(nodes),
        memory=least([node.available for node in nodes]),
        numa=common_numa(nodes),
        # The largest caches: data meant to exceed caches must exceed the caches of every host.
        caches=max((node.caches or 0 for node in nodes), default=0) or ASSUMED_CACHES,
        adapters=common_adapters(nodes) or None,
        default_toolchain=default_toolchain,
        toolchains=toolchains,
        notes=surveyed.notes,
        hardware_threads=least([node.threads for node in nodes]) or 0,
        adapter_speed=least([fastest_link(node) for node in nodes]),
    )


class FakeMachine:
    """A machine simulated from a scenario file: times, noise, delays, failures.

    ``node``: its first node in the scenario, for nodes that measure themselves.
    """

    def __init__(self, scenario: Path, prices: Prices = NO_PRICES, node: int = 0) -> None:
        from assay.launch.fake.scenario import load_scenario

        self._node = node
        self._scenario = load_scenario(scenario)
        self.system = _fake_system(self._scenario)
        self.prices = prices
        self.name = "fake"
        self.fake: str | None = str(scenario.absolute())
        toolchains = tuple(self._scenario.toolchain) or ("fake",)
        self.context = PlanContext(
            cores=self._scenario.cores or FAKE_CORES,
            hardware_threads=(self._scenario.cores or FAKE_CORES) * self._scenario.smt,
            numa=self.system.usable_numa,
            nodes=self._scenario.nodes or 1,
            unlimited=self._scenario.nodes is None,
            find_devices=lambda: _fake_devices(self._scenario.devices),
            adapters=self._scenario.adapters or None,
            default_toolchain=toolchains[0],
            toolchains=toolchains,
            older_mpi=older_libraries(
                {
                    name: (facts.get("mpi_flavour", ""), facts.get("mpi_version"))
                    for name, facts in self._scenario.toolchain.items()
                }
            ),
        )

    def prepare(
        self, needed: NeededKernels, progress: Callable[[BuildProgress], None] | None
    ) -> Bench:
        """Builds nothing."""
        from assay.launch.fake.executor import FakeClock, FakeExecutor

        executor = FakeExecutor(self._scenario, self._node)
        facts = self._scenario.toolchain
        known: dict[str, dict[str, object]] = {name: dict(facts.get(name, {})) for name in needed}
        return Bench(executor, known, clock=FakeClock(executor))


def _fake_devices(number: int | None) -> UsableDevices | None:
    return None if number is None else UsableDevices("", number)


def _fake_system(scenario: Scenario) -> System:
    """The CPUs of a fake node; empty if the scenario has no SMT and no NUMA domains."""
    from assay.launch.fake.seats import of_domain, siblings_of

    cores, smt, domains = scenario.cores, scenario.smt, scenario.domains
    if cores is None or (smt == 1 and domains == 1):
        return System()
    siblings = siblings_of(cores, smt)
    nodes = [
        NumaNode(
            id=domain,
            cpus=sorted(
                cpu for core in of_domain(domain, cores, domains) for cpu in siblings[core]
            ),
        )
        for domain in range(domains)
    ]
    return System(
        processor=Processor(
            cores=cores, threads=cores * smt, threads_per_core=smt, siblings=siblings
        ),
        memory=Memory(nodes=nodes),
    )


def fake_nodes(scenario: Path | None, requested: int | None) -> int:
    """The number of nodes of a scenario, or otherwise the requested number.

    Raises AssayError if neither is known.
    """
    from assay.launch.fake.scenario import load_scenario

    assert scenario is not None
    nodes = load_scenario(scenario).nodes or requested
    if nodes is None:
        raise AssayError(
            "The number of nodes of the fake machine is missing.",
            where=str(scenario),
            fix="Write, for example, nodes = 16 in the scenario, or add --nodes 16.",
        )
    return nodes


def machine_for(config: Config, fake: Path | None, node: int = 0) -> MeasuredMachine:
    """This machine, or the machine of a scenario file, beginning with its node ``node``."""
    return FakeMachine(fake, config.prices, node) if fake else ThisMachine(config)
