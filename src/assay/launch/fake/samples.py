"""The samples of one measurement on a scenario's machine, taken in simulated time."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist, median
from typing import Literal

from msgspec import UNSET

from assay.errors import AssayError
from assay.kernels.nonblocking.overlap import OVERLAP
from assay.launch.executor import LaunchOrder
from assay.launch.fake.congestion import CONGESTION, congestion_series
from assay.launch.fake.devices import PEER, peer_series
from assay.launch.fake.fabric import PAIRS, fabric_series
from assay.launch.fake.hidden import overlap_series
from assay.launch.fake.scenario import Compiled, CompiledScenario, Failure, FailureKind
from assay.launch.fake.transfers import CORES, sample_series, transfer_series
from assay.model.placement import Value
from assay.records.schema import (
    MeasurementOrder,
    MeasurementRecord,
    Progress,
    SampleSeries,
    Verification,
)

# Minimum length of a sample in units of the clock's resolution, reached by batching.
TICKS_PER_SAMPLE = 1000
_NORMAL = NormalDist()


@dataclass
class FakeSamples:
    """Takes samples by the harness's stop rule, and builds their record."""

    machine: CompiledScenario
    behaviour: Compiled
    entry: MeasurementOrder
    order: LaunchOrder
    nodes: Sequence[int]  # the number of each rank's host
    epoch: float  # of the launch, in the executor's time
    start: float  # of the measurement, in the launch's
    starts: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    batch: int = 1
    elapsed: float = 0.0
    stop: Literal["precision", "budget", "samples"] = "samples"

    def take(self) -> None:
        """Take samples until the order is met. Checks the precision at geometric counts."""
        self.names = self.behaviour.names(self.entry.kernel, self.parameters, self.order.placement)
        self.elapsed = self.behaviour.setup
        if self.too_long:
            return
        self._batch(self._time())
        noise = self._noise()
        look = self.entry.min_samples
        steady = not {"t", "rank"} & self.behaviour.time.names
        planted = self._time()
        while len(self.values) < self.entry.max_samples:
            value = (planted if steady else self._time()) * next(noise)
            cost = self.batch * value + self.machine.clock_overhead
            enough = len(self.values) >= self.entry.min_samples
            if self.values and self.elapsed + (cost if enough else 0.0) >= self.entry.budget:
                self.stop = "budget"
                return
            self.starts.append(self.start + self.elapsed)
            self.values.append(self._seen(value))
            self.elapsed += cost
            if len(self.values) >= look:
                width = self.half_width(self.values)
                if width is not None and width <= self.entry.precision:
                    self.stop = "precision"
                    return
                look = max(look + 1, math.ceil(1.5 * look))

    @property
    def too_long(self) -> bool:
        """Whether one sample would exceed the order's time, as kernels find before they begin."""
        longest = self.entry.longest
        return longest is not UNSET and self._time() > longest

    @property
    def parameters(self) -> dict[str, Value]:
        """As resolved on the scenario's machine."""
        return self.behaviour.resolve(self.entry.parameters)

    def _times(self) -> list[float]:
        """Seconds of an operation now, on each rank."""
        ranks = self.order.placement.ranks
        if {"rank", "node"} & self.behaviour.time.names:
            return [self._time(rank) for rank in range(ranks)]
        return [self._time()] * ranks

    def _time(self, rank: int | None = None) -> float:
        """Seconds of an operation now, on one rank or on the slowest rank."""
        now: dict[str, Value] = {**self.names, "t": self.epoch + self.start + self.elapsed}
        formula = self.behaviour.time
        differ = bool({"rank", "node"} & formula.names)
        everyone = range(self.order.placement.ranks) if differ else (0,)
        ranks = everyone if rank is None else (rank,)
        seconds = max(formula.number({**now, "rank": r, "node": self.nodes[r]}) for r in ranks)
        if not seconds > 0:
            raise AssayError(
                f"The time '{formula.text}' of the scenario is {seconds:g} s.",
                fix="Write an expression that is above 0 for every rank.",
            )
        return seconds

    @cached_property
    def slow(self) -> float | None:
        """The factor on this measurement's time if it is drawn as slow; None if it isn't.

        Uses a separate generator, so results of scenarios without slow launches don't change.
        """
        noise = self.behaviour.written.noise
        generator = random.Random(f"{self.machine.scenario.seed}/{self.entry.measurement}/slow")
        if generator.random() >= noise.slow_launches:
            return None
        return noise.slow_factor * (1.0 - noise.slow_tail * math.log(1.0 - generator.random()))

    def _batch(self, seconds: float) -> None:
        shortest = TICKS_PER_SAMPLE * self.machine.clock_resolution
        while self.batch * 2 <= self.behaviour.written.max_batch and (
            self.batch * seconds < shortest
        ):
            self.batch *= 2

    def _seen(self, seconds: float) -> float:
        """The time of an operation as the clock measures it: in whole ticks for the batch."""
        tick = self.machine.clock_resolution
        if tick == 0:
            return seconds
        return round(self.batch * seconds / tick) * tick / self.batch

    def _noise(self) -> Iterator[float]:
        """Factors with median 1, sample by sample."""
        noise, warmup = self.behaviour.written.noise, self.behaviour.written.warmup
        where = f"/{self.nodes[0]}" if self.nodes[0] else ""  # nodes don't scatter alike
        generator = random.Random(f"{self.machine.scenario.seed}/{self.entry.measurement}{where}")

        def normal() -> float:
            # Python guarantees a reproducible sequence for random(), but not for gauss().
            return _NORMAL.inv_cdf(min(max(generator.random(), 1e-15), 1 - 1e-15))

        launch = noise.launch_sigma * normal()
        state = normal()
        index = 0
        while True:
            factor = (self.slow or 1.0) * math.exp(launch + noise.sigma * state)
            if generator.random() < noise.outliers:
                factor *= noise.outlier_factor
            if index < warmup.samples:
                factor *= warmup.factor
            yield factor
            state = noise.phi * state + math.sqrt(1 - noise.phi**2) * normal()
            index += 1

    @property
    def warmup(self) -> int:
        """Number of warm-up samples that a perfect detector would drop, at most half."""
        return min(self.behaviour.written.warmup.samples, len(self.values) // 2)

    def half_width(self, values: Sequence[float]) -> float | None:
        """Relative half-width of the median's interval by order statistics (Le Boudec 2010, 2.2.2).

        The scenario's autocorrelation phi is known: the effective sample size is
        n (1 - phi) / (1 + phi). None below 6, and if the interval exceeds the samples.
        """
        steady = sorted(values[self.warmup :])
        n = len(steady)
        phi = max(self.behaviour.written.noise.phi, 0.0)
        effective = n * (1 - phi) / (1 + phi)
        z = _NORMAL.inv_cdf(0.5 + self.entry.confidence / 2)
        if effective < 6:
            return None
        half = z * n / (2 * math.sqrt(effective))
        low, high = math.floor(n / 2 - half), math.ceil(n / 2 + half)
        if low < 1 or high >= n:
            return None
        return (steady[high] - steady[low - 1]) / 2 / median(steady)

    def progress(self, share: float) -> Progress:
        """The progress record after this share of the measurement.

        A whole benchmark reports the share of its sample that is done, and its rate if it counts
        operations.
        """
        done = share * len(self.values)
        seen = self.values[: max(int(done), 1)]
        whole = self.behaviour.written.max_batch == 1
        flops = self.names.get("work_flops")
        return Progress(
            self.entry.measurement,
            len(seen),
            self.elapsed * share,
            median(seen),
            self.half_width(seen),
            share=done % 1.0 if whole else None,
            rate=float(flops) / median(seen) if whole and flops else None,
        )

    def record(self, failures: Mapping[FailureKind, Failure]) -> MeasurementRecord:
        """The measurement's record, with the failures that appear in a record."""
        entry = self.entry
        unmeasured: tuple[Literal["failed", "left out"], str] | None = None
        if "error" in failures:
            unmeasured = "failed", failures["error"].text
        elif self.too_long:
            unmeasured = (
                "left out",
                f"one sample would take about {self._time():.3g} s, and it may take "
                f"{entry.longest:.3g} s",
            )
        if unmeasured is not None:
            status, error = unmeasured
            return MeasurementRecord(
                measurement=entry.measurement,
                kernel=entry.kernel,
                status=status,
                start=self.start,
                wall=self.elapsed,
                parameters=self.parameters,
                error=error,
            )
        wrong = bool({"wrong result", "nan"} & failures.keys())
        found = None if "nan" in failures else 1.0 if wrong else 0.0
        slowest = self._time()
        typical = median(self.values[self.warmup :])
        now: dict[str, Value] = {**self.names, "t": self.epoch + self.start, "rank": 0}
        now |= {"slow": int(self.slow is not None), "node": self.nodes[0]}
        phases = [
            sample_series(name, "s", [share * value for value in self.values])
            for name, formula in self.behaviour.phases.items()
            if (share := formula.number(now)) > 0
        ]
        pairs, facts = self._modelled(phases)
        return MeasurementRecord(
            measurement=entry.measurement,
            kernel=entry.kernel,
            status="ok",
            start=self.start,
            wall=self.elapsed,
            parameters=self.parameters,
            verified=not wrong,
            verification=Verification("planted", found, 0.5),
            batch=self.batch,
            warmup=self.warmup,
            stop=self.stop,
            half_width=self.half_width(self.values),
            series=[
                SampleSeries(
                    metric="time",
                    unit="s",
                    rank=None,
                    peer=None,
                    starts=self.starts,
                    values=self.values,
                ),
                *phases,
                *(
                    sample_series(name, "B/s", [rate] * len(self.values))
                    for name, formula in self.behaviour.rates.items()
                    if (rate := formula.number(now)) > 0
                ),
                *pairs,
            ],
            rank_medians=[typical * seconds / slowest for seconds in self._times()],
            covariates={
                name: formula.number(now) for name, formula in self.behaviour.covariates.items()
            },
            facts={**self.behaviour.written.facts, **facts},
        )

    def _modelled(
        self, phases: Sequence[SampleSeries]
    ) -> tuple[list[SampleSeries], dict[str, Value]]:
        """The series and facts that a model of the scenario gives this kernel; none for others."""
        own: dict[str, Callable[[], tuple[list[SampleSeries], dict[str, Value]]]] = {
            CORES: self._transfers,
            PEER: self._peers,
            CONGESTION: self._congestion,
            OVERLAP: lambda: (overlap_series(phases, self.values), {}),
            PAIRS: self._fabric,
        }
        model = own.get(self.entry.kernel)
        return ([], {}) if model is None else model()

    def _congestion(self) -> tuple[list[SampleSeries], dict[str, Value]]:
        """A victim beside an aggressor by the scenario's model."""
        scenario = self.machine.scenario
        if scenario.congestion is None:
            return [], {}
        return congestion_series(
            scenario.congestion,
            self.parameters,
            self.order.placement.nodes,
            samples=len(self.values),
            seed=scenario.seed,
            noise=self.entry.measurement,
        )

    def _transfers(self) -> tuple[list[SampleSeries], dict[str, Value]]:
        """Pairs of CPUs by the scenario's model, one per thread."""
        scenario = self.machine.scenario
        if scenario.transfers is None:
            return [], {}
        return transfer_series(
            scenario.transfers,
            self.parameters,
            self.order.placement.threads,
            samples=len(self.values),
            seed=scenario.seed,
            launch=self.order.job.seed,
            noise=self.entry.measurement,
        )

    def _peers(self) -> tuple[list[SampleSeries], dict[str, Value]]:
        """Pairs of devices by the scenario's model."""
        scenario = self.machine.scenario
        if scenario.peers is None or (scenario.devices or 0) < 2:
            return [], {}
        return peer_series(
            scenario.peers,
            self.parameters,
            scenario.devices or 0,
            samples=len(self.values),
            seed=scenario.seed,
            noise=self.entry.measurement,
        )

    def _fabric(self) -> tuple[list[SampleSeries], dict[str, Value]]:
        """Pairs of nodes by the scenario's fabric."""
        scenario, parameters = self.machine.scenario, self.parameters
        if scenario.fabric is None or len(set(self.nodes)) < 2:
            return [], {}
        first = {node: rank for rank, node in reversed([*enumerate(self.nodes)])}
        return fabric_series(
            scenario.fabric,
            parameters,
            first,
            nodes=max(scenario.nodes or 0, max(first) + 1),
            seed=scenario.seed,
            launch=self.order.job.seed,
            noise=self.entry.measurement,
        )
