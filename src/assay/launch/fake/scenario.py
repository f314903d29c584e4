"""Scenarios of the fake executor: what its machine does, and how it fails. A TOML file or objects.

::

    schema = 1
    seed = 7
    delay = "10 ms"                   # real seconds that each measurement takes

    [[kernel]]                        # the first whose patterns match a measurement counts
    match = "network.*"
    time = "latency + bytes / bandwidth * (1 + 0.1 * (t > 60))"
    constants = { latency = "1 us", bandwidth = "10 GB/s" }
    noise = { sigma = 0.02, phi = 0.3, launch_sigma = 0.01 }

    [[failure]]
    kind = "crash"
    match = "npb.cg"
    times = 1

Expressions may use the constants, the kernel's parameters, its work (``work_bytes``, ``work_flops``
…), ``nodes``, ``ppn``, ``threads``, ``ranks``, ``rank``, ``node`` (the number of the rank's host,
as in ``fake3``) and ``t``: simulated seconds since the executor was made. So one formula plants
slow ranks and nodes, drift and steps in time. They know ``order``, ``adapters`` (how many are
named), ``binding``, ``smt`` and ``node_set`` too, and covariates ``slow``: 1 in a launch that was
drawn to be slow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import msgspec

from assay.errors import AssayError
from assay.kernels import kernels
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
    """How samples scatter about the time asked for, which stays their median.

    ``sigma``: of the logarithm, within a launch; ``phi``: correlation of neighbours, AR(1);
    ``launch_sigma``: of the logarithm, between launches; a share ``outliers`` of the samples takes
    ``outlier_factor`` as long. A share ``slow_launches`` of the measurements takes ``slow_factor``
    as long, which makes a second mode, and longer by a share drawn from the exponential
    distribution of mean ``slow_tail``, which makes a right tail.
    """

    sigma: float = 0.0
    phi: float = 0.0
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
    """How the kernels that match behave.

    ``match``, ``toolchain``: shell patterns. ``where``: an expression that must hold too; it knows
    no constants, ``rank`` or ``t``. ``time``: seconds of one operation on a rank; the
    slowest counts. ``setup``: simulated seconds before the first sample. ``resolved``: what a
    parameter left at 0 or "auto" comes to. ``max_batch``: 1 for whole benchmarks. ``phases``: by
    name (``compute``, ``most_compute``, ``halo`` …) what share of each sample's time is reported;
    none is reported at 0. ``delay``: in place of the scenario's.
    """

    match: str = "*"
    toolchain: str = "*"
    where: str | None = None
    time: float | str = 1e-3
    constants: dict[str, float | str] = {}
    noise: NoiseModel = NoiseModel()
    warmup: Warmup = Warmup()
    setup: float | str = 0.0
    max_batch: int = 1 << 20
    resolved: dict[str, Value] = {}
    covariates: dict[str, float | str] = {}
    phases: dict[str, float | str] = {}
    facts: dict[str, Value] = {}
    delay: float | str | None = None


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to fail, for the measurements for which everything it says holds.

    ``where``: an expression. ``launch``: the how-many-th launch of the executor, from 1.
    ``measurement``: the how-many-th of its launch, from 1. ``share``: this share of the
    measurements, drawn. ``times``: so often and no more. ``bytes``: of the stream that fit before
    the disk is full. ``host``: which dies, by its number. ``text``: the error's own words.

    Kinds: ``wrong result`` and ``nan`` fail the verification; ``error`` is a kernel that throws;
    ``crash`` dies in the measurement, ``hang`` never ends it; ``torn`` leaves half a line and ends
    at exit 0; ``no end`` and ``miscount`` spoil the end record; ``disk full``; ``no start``;
    ``killed`` ends the launch by SIGKILL before its first record. With ``host lost`` a host dies in
    the measurement, if the launch uses it, and answers no more.
    """

    kind: FailureKind
    match: str = "*"
    where: str | None = None
    launch: int | None = None
    measurement: int | None = None
    share: float = 1.0
    times: int | None = None
    bytes: int = 2000
    host: int = 0
    text: str = "a planted failure"


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fake machine. Times are simulated seconds, but for ``delay``.

    ``delay``: real seconds that a measurement takes, so that there is something to watch and to
    kill. ``utc``: when its clock starts, None for now. ``launch_time``: what a launch costs beyond
    its measurements. ``cores`` of a node, if ranks beyond them shall count as oversubscribed.
    ``smt``: hardware threads of a core. ``domains``: NUMA nodes among which its cores are divided.
    ``nodes``: how many there are, named ``fake0``, ``fake1`` …; None is as many as are asked for.
    ``toolchain``: of each by its name what the manifest says of it (``cxx``, ``cxx_version``,
    ``flags``, ``mpi_flavour``, ``mpi_version``), the default one first; none is one named ``fake``.
    """

    schema: int = SCENARIO_SCHEMA
    seed: int = 0
    delay: float | str = 0.0
    utc: float | None = None
    launch_time: float | str = 0.1
    cores: int | None = None
    smt: int = 1
    domains: int = 1
    nodes: int | None = None
    toolchain: dict[str, dict[str, str]] = {}
    clock_resolution: float | str = 1e-9
    clock_overhead: float | str = 2e-8
    kernel: tuple[Behaviour, ...] = ()
    failure: tuple[Failure, ...] = ()


Place = Callable[[KeyPath], str]


def _names(parameters: Mapping[str, Value], placement: Placement) -> dict[str, Value]:
    """What a placement and a kernel's parameters tell an expression."""
    return {
        "nodes": placement.nodes,
        "ppn": placement.ppn,
        "threads": placement.threads,
        "ranks": placement.ranks,
        "order": placement.order,
        "binding": placement.binding,
        "smt": placement.smt,
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

    def names(
        self, kernel: str, parameters: Mapping[str, Value], placement: Placement
    ) -> dict[str, Value]:
        """What expressions may speak of, but for ``rank``, ``node``, ``slow`` and ``t``."""
        work = next((entry.work for entry in kernels() if entry.name == kernel), None)
        done = work(parameters, placement.ranks, placement.threads) if work else {}
        return {
            **{f"work_{quantity}": amount for quantity, amount in done.items()},
            **_names(parameters, placement),
            **self.constants,
        }

    def resolve(self, parameters: Mapping[str, Value]) -> dict[str, Value]:
        """The parameters as they would be found on the machine."""
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
        """The first behaviour that matches; the default one takes a millisecond."""
        names = _names(parameters, placement)
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
    """Check a scenario and parse what is text in it. Raises AssayError, placed by ``where``."""
    if scenario.schema != SCENARIO_SCHEMA:
        raise AssayError(
            f"The scenario follows schema {scenario.schema}; this assay reads {SCENARIO_SCHEMA}.",
            where=where(("schema",)),
        )
    _seconds(scenario.delay, where(("delay",)))
    _within(scenario, (), where, smt=(1, None), domains=(1, scenario.cores or 1))
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
    )


def _below(where: Place, head: KeyPath) -> Place:
    return lambda path: where((*head, *path))


def _seconds(value: float | str, where: str) -> float:
    seconds = parse_quantity(value, "s", where=where)
    if seconds < 0:
        raise AssayError(f"{value} is below 0.", where=where)
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
