"""Scenarios of the fake executor: the behaviour and faults of its machine, as TOML or objects.

::

    schema = 1
    seed = 7
    delay = "10 ms"                   # real seconds that each measurement takes

    [[kernel]]                        # the first whose patterns match a measurement counts
    match = "network.pingpong"
    time = "latency + bytes / bandwidth * (1 + 0.1 * (t > 60))"
    constants = { latency = "1 us", bandwidth = "10 GB/s" }
    noise = { sigma = 0.02, phi = 0.3, launch_sigma = 0.01 }

    [[failure]]
    kind = "crash"
    match = "npb.cg"
    times = 1

Expressions may use the constants, the kernel's parameters, its work (``work_bytes``, ``work_flops``
…), ``nodes``, ``ppn``, ``threads``, ``ranks``, ``rank``, ``node`` (the number of the rank's host,
as in ``fake3``) and ``t``: simulated seconds since the executor was created. One formula can thus
simulate slow ranks and nodes, drift and steps in time. They may also use ``order``, ``adapter`` (as
named, or empty), ``adapters`` (their number), ``binding``, ``smt`` and ``node_set``, and
expressions of covariates may use ``slow``: 1 in a measurement that was drawn as slow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import msgspec

from assay.errors import AssayError
from assay.kernels import kernels, known_kernel
from assay.launch.fake.congestion import CongestionModel
from assay.launch.fake.devices import PeerModel
from assay.launch.fake.fabric import FabricModel
from assay.launch.fake.transfers import TransferModel
from assay.model.expression import Expression, parse_expression
from assay.model.placement import Placement, Value
from assay.toml import KeyPath, dotted, load_toml
from assay.units import parse_quantity

SCENARIO_SCHEMA = 1

FailureKind = Literal[
    "wrong result",
    "nan",
    "error",
    "crash",
    "hang",
    "torn",
    "no end",
    "killed",
    "miscount",
    "disk full",
    "no start",
    "host lost",
]


class NoiseModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Scatter of the samples around the given time, which is their median."""

    #: Standard deviation of the logarithm within a launch.
    sigma: float = 0.0
    #: Correlation of consecutive samples, AR(1).
    phi: float = 0.0
    #: Standard deviation of the logarithm between launches. A share ``outliers`` of the samples
    #: takes ``outlier_factor`` as long. A share ``slow_launches`` of the measurements takes
    #: ``slow_factor`` as long (a second mode), lengthened by a share from the exponential
    #: distribution with mean ``slow_tail`` (a right tail).
    launch_sigma: float = 0.0
    outliers: float = 0.0
    outlier_factor: float = 10.0
    slow_launches: float = 0.0
    slow_factor: float = 1.0
    slow_tail: float = 0.0


class Warmup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first ``samples`` samples of a measurement take ``factor`` as long."""

    samples: int = 0
    factor: float = 2.0


class Behaviour(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Behaviour of the kernels that match."""

    #: ``match``, ``toolchain``: shell patterns.
    match: str = "*"
    toolchain: str = "*"
    #: A further condition, an expression without constants, ``rank`` and ``t``.
    where: str | None = None
    #: Time of one operation on a rank, s; the slowest rank counts.
    time: float | str = 1e-3
    constants: dict[str, float | str] = {}
    noise: NoiseModel = NoiseModel()
    warmup: Warmup = Warmup()
    #: Simulated seconds before the first sample.
    setup: float | str = 0.0
    #: 1 for whole benchmarks.
    max_batch: int = 1 << 20
    #: Values of parameters left at 0 or "auto".
    resolved: dict[str, Value] = {}
    covariates: dict[str, float | str] = {}
    #: The share of each sample's time by phase (``compute``, ``most_compute``, ``halo`` …); a phase
    #: at 0 is not reported. ``delay`` overrides the scenario's.
    phases: dict[str, float | str] = {}
    #: By name, a series in B/s beside the time: the formula's value in every sample.
    rates: dict[str, float | str] = {}
    facts: dict[str, Value] = {}
    delay: float | str | None = None


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A failure of the measurements that meet all of its conditions.

    Kinds: ``wrong result`` and ``nan`` fail the verification; ``error``: the kernel throws;
    ``crash``: SIGSEGV in the measurement; ``hang``: the measurement never ends; ``torn``: half a
    line is written, and the exit status is 0; ``no end``, ``miscount``: the end record is missing
    or wrong; ``disk full``; ``no start``: the launch can't be started; ``killed``: SIGKILL before
    the first record; ``host lost``: a host fails in the measurement, if the launch uses it, and
    answers no more.
    """

    kind: FailureKind
    match: str = "*"
    #: An expression.
    where: str | None = None
    #: Index of the launch in the executor, from 1.
    launch: int | None = None
    #: Index in its launch, from 1.
    measurement: int | None = None
    #: Share of the measurements that fail, drawn at random.
    share: float = 1.0
    #: Maximum number of occurrences.
    times: int | None = None
    #: Bytes of the stream that fit before the disk is full.
    bytes: int = 2000
    #: Number of the host that fails.
    host: int = 0
    #: The error message.
    text: str = "a planted failure"


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fake machine. Times are simulated seconds, except ``delay``."""

    schema: int = SCENARIO_SCHEMA
    seed: int = 0
    #: Real time of a measurement, s, so that it can be watched and killed.
    delay: float | str = 0.0
    #: Start of its clock, None for now.
    utc: float | None = None
    #: Time of a launch outside its measurements.
    launch_time: float | str = 0.1
    #: Cores per node; None means that ranks are never oversubscribed.
    cores: int | None = None
    #: Hardware threads per core.
    smt: int = 1
    #: NUMA domains per node.
    domains: int = 1
    #: Accelerators per node; None means that their number is unknown.
    devices: int | None = None
    #: Number of hosts, named ``fake0``, ``fake1`` …; None means as many as are requested.
    nodes: int | None = None
    #: Names of a node's network adapters; if empty, they are unknown.
    adapters: tuple[str, ...] = ()
    #: Toolchains: by name, the entry of the manifest (``cxx``, ``cxx_version``, ``flags``,
    #: ``mpi_flavour``, ``mpi_version``), the default one first; if empty, there is one named
    #: ``fake``.
    toolchain: dict[str, dict[str, str]] = {}
    #: The switches that network.pairs shows; None if all pairs take the same time.
    fabric: FabricModel | None = None
    #: The CPUs that memory.core_to_core shows; None if all pairs take the same time.
    transfers: TransferModel | None = None
    #: The devices that gpu.peer copies between; None if it only has times.
    peers: PeerModel | None = None
    #: The loads that network.congestion shows; None if it only has times.
    congestion: CongestionModel | None = None
    clock_resolution: float | str = 1e-9
    clock_overhead: float | str = 2e-8
    kernel: tuple[Behaviour, ...] = ()
    failure: tuple[Failure, ...] = ()


Place = Callable[[KeyPath], str]


def _names(kernel: str, parameters: Mapping[str, Value], placement: Placement) -> dict[str, Value]:
    """The names that a placement and a kernel's parameters define for expressions.

    Parameters that cells omit at their defaults are among them.
    """
    known = known_kernel(kernel)
    omitted = (p for p in (known.parameters if known else ()) if p.omitted)
    return {
        **{parameter.name: parameter.default for parameter in omitted},
        "nodes": placement.nodes,
        "ppn": placement.ppn,
        "threads": placement.threads,
        "ranks": placement.ranks,
        "order": placement.order,
        "binding": placement.binding,
        "smt": placement.smt,
        "devices": placement.devices,
        "adapter": placement.adapter or "",
        "adapters": len(placement.adapter.split(",")) if placement.adapter else 0,
        "node_set": placement.node_set,
        **parameters,
    }


@dataclass(frozen=True)
class Compiled:
    """A behaviour ready for use: its expressions parsed, its quantities numbers."""

    written: Behaviour
    where: Expression | None
    time: Expression
    setup: float
    delay: float
    constants: Mapping[str, Value]
    covariates: Mapping[str, Expression]
    phases: Mapping[str, Expression]
    rates: Mapping[str, Expression]

    def names(
        self, kernel: str, parameters: Mapping[str, Value], placement: Placement
    ) -> dict[str, Value]:
        """The names that expressions may use, except ``rank``, ``node``, ``slow`` and ``t``."""
        work = next((entry.work for entry in kernels() if entry.name == kernel), None)
        done = work(parameters, placement.ranks, placement.threads) if work else {}
        return {
            **{f"work_{quantity}": amount for quantity, amount in done.items()},
            **_names(kernel, parameters, placement),
            **self.constants,
        }

    def resolve(self, parameters: Mapping[str, Value]) -> dict[str, Value]:
        """The parameters with 0 and "auto" replaced as on the scenario's machine."""
        return {
            name: self.written.resolved.get(name, value) if value in (0, "auto") else value
            for name, value in parameters.items()
        }


@dataclass(frozen=True)
class CompiledScenario:
    """A scenario checked and ready for use."""

    scenario: Scenario
    behaviours: tuple[Compiled, ...]
    conditions: tuple[Expression | None, ...]
    launch_time: float
    clock_resolution: float
    clock_overhead: float

    def behaviour(
        self, kernel: str, toolchain: str, parameters: Mapping[str, Value], placement: Placement
    ) -> Compiled:
        """The first behaviour that matches; by default an operation takes a millisecond."""
        names = _names(kernel, parameters, placement)
        for behaviour in self.behaviours:
            written = behaviour.written
            if (
                fnmatchcase(kernel, written.match)
                and fnmatchcase(toolchain, written.toolchain)
                and (behaviour.where is None or behaviour.where.value(names))
            ):
                return behaviour
        return _compile(Behaviour(), self.scenario, lambda path: "")


def load_scenario(path: Path) -> Scenario:
    """Read a scenario. Raises AssayError with file, line and key."""
    document = load_toml(path)
    scenario = document.read((), document.data, Scenario)
    compile_scenario(scenario, document.where)
    return scenario


def compile_scenario(scenario: Scenario, where: Place = dotted) -> CompiledScenario:
    """Check a scenario and parse its expressions and quantities.

    Raises AssayError; ``where`` gives the location of a key.
    """
    if scenario.schema != SCENARIO_SCHEMA:
        raise AssayError(
            f"The scenario follows schema {scenario.schema}; this assay reads {SCENARIO_SCHEMA}.",
            where=where(("schema",)),
            fix=f"Write schema = {SCENARIO_SCHEMA}, and see docs/formats/scenario.md.",
        )
    _seconds(scenario.delay, where(("delay",)))
    _within(scenario, (), where, smt=(1, None), domains=(1, scenario.cores or 1))
    _within(scenario, (), where, devices=(0, None))
    if scenario.fabric is not None:
        sizes = dict.fromkeys(("switch", "pod", "sigma", "launch_sigma"), (0, None))
        ratios = dict.fromkeys(("between", "between_pods", "oversubscription"), (1, None))
        _within(scenario.fabric, ("fabric",), where, **sizes, **ratios)
    for index, failure in enumerate(scenario.failure):
        _within(failure, ("failure", index), where, share=(0, 1), measurement=(1, None))
        _within(failure, ("failure", index), where, launch=(1, None), times=(0, None))
    return CompiledScenario(
        scenario,
        tuple(
            _compile(behaviour, scenario, _below(where, ("kernel", index)))
            for index, behaviour in enumerate(scenario.kernel)
        ),
        tuple(
            parse_expression(failure.where, where=where(("failure", index, "where")))
            if failure.where is not None
            else None
            for index, failure in enumerate(scenario.failure)
        ),
        launch_time=_seconds(scenario.launch_time, where(("launch_time",))),
        clock_resolution=_seconds(scenario.clock_resolution, where(("clock_resolution",))),
        clock_overhead=_seconds(scenario.clock_overhead, where(("clock_overhead",))),
    )


def _compile(written: Behaviour, scenario: Scenario, where: Place) -> Compiled:
    _within(written, (), where, max_batch=(1, None))
    _within(written.warmup, ("warmup",), where, samples=(0, None), factor=(0, None))
    _within(
        written.noise,
        ("noise",),
        where,
        sigma=(0, None),
        launch_sigma=(0, None),
        phi=(-1, 1),
        outliers=(0, 1),
        outlier_factor=(0, None),
        slow_launches=(0, 1),
        slow_factor=(0, None),
        slow_tail=(0, None),
    )
    delay = _seconds(scenario.delay, "delay") if written.delay is None else written.delay
    return Compiled(
        written,
        where=(
            parse_expression(written.where, where=where(("where",)))
            if written.where is not None
            else None
        ),
        time=_formula(written.time, "s", where(("time",))),
        setup=_seconds(written.setup, where(("setup",))),
        delay=_seconds(delay, where(("delay",))),
        constants={
            name: parse_quantity(value, where=where(("constants", name)))
            for name, value in written.constants.items()
        },
        covariates={
            name: _formula(value, "", where(("covariates", name)))
            for name, value in written.covariates.items()
        },
        phases={
            name: _formula(value, "", where(("phases", name)))
            for name, value in written.phases.items()
        },
        rates={
            name: _formula(value, "B/s", where(("rates", name)))
            for name, value in written.rates.items()
        },
    )


def _below(where: Place, head: KeyPath) -> Place:
    return lambda path: where((*head, *path))


def _seconds(value: float | str, where: str) -> float:
    seconds = parse_quantity(value, "s", where=where)
    if seconds < 0:
        raise AssayError(f"{value} is below 0.", where=where, fix='Write 0 or more, such as "2 s".')
    return seconds


def _formula(value: float | str, unit: str, where: str) -> Expression:
    """A number, a quantity or an expression, as an expression."""
    try:
        return parse_expression(repr(parse_quantity(value, unit)))
    except AssayError:
        return parse_expression(str(value), where=where)


def _within(
    struct: msgspec.Struct, path: KeyPath, where: Place, **bounds: tuple[float, float | None]
) -> None:
    for name, (low, high) in bounds.items():
        value = getattr(struct, name)
        if value is not None and not low <= value <= (float("inf") if high is None else high):
            limit = f"at least {low}" if high is None else f"between {low} and {high}"
            raise AssayError(f"'{name}' must be {limit}.", where=where((*path, name)))
