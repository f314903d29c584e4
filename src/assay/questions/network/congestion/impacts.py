"""Impacts of aggressors on victims, as cells hold them: ratios of a launch's loaded to its quiet
quantiles, and the quantiles themselves.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.kernels.congestion import LEVELS, message_bytes
from assay.kernels.naming import placement_text
from assay.model.placement import Value
from assay.questions.common.question import Measured
from assay.questions.common.selection import Point, points
from assay.records.model import Measurement
from assay.stats.cells.summarise import find_series
from assay.stats.compare.directions import Comparison, compared
from assay.stats.core.intervals import median_interval
from assay.units import Interval, format_quantity, format_size

KERNEL = "network.congestion"
# Operations of a launch and phase beyond a quantile that its ratio needs. With fewer, the intervals
# of mixtures cover less than 92% (docs/methods/congestion.md).
BEYOND = 10
#: The ratios by metric: the quantile, and its name.
QUANTILES = {"impact_p99": (0.99, "99th percentile"), "impact_p999": (0.999, "99.9th percentile")}
# Parameters besides victim, aggressor and share, in which cells of a pair may differ.
_SETTINGS = ("bytes", "load_bytes", "duty", "period", "draw")
_SHORTEST = 1e-12  # s; a quantile of 0 can't be drawn on a logarithmic axis


@dataclass(frozen=True)
class TailCurve:
    """One quantile of the victim's operations, quiet and loaded: medians over launches."""

    #: The quantile, such as 0.99.
    level: float
    #: Time of the quiet network, s.
    quiet: float
    #: Time beside the aggressors, s.
    loaded: float
    #: 95% interval of ``loaded`` over launches; None with too few.
    loaded_ci95: Interval | None
    #: Number of launches.
    launches: int
    #: Whether each launch has at least 10 operations beyond the quantile in each phase.
    sure: bool


@dataclass(frozen=True)
class Impact:
    """One victim beside one aggressor, both fixed, at one share of active aggressors."""

    #: Victim: pingpong, allreduce, alltoall or halo.
    victim: str
    #: Aggressor: incast, alltoall, permutation or broadcast.
    aggressor: str
    #: Active part of the aggressors' half of the nodes, 0 to 1; 0 is the control.
    share: float
    #: Settings in which this cell differs from others of the same pair; "" if it doesn't.
    setting: str
    #: Size of a victim's message, bytes.
    bytes: int
    #: Loaded over quiet median, each of a launch.
    median: Point
    #: Loaded over quiet mean; None if the kernel gave none.
    mean: Point | None
    #: ``p99``, ``p999``: loaded over quiet 99th and 99.9th percentile; None if there are too few
    #: operations.
    p99: Point | None
    p999: Point | None
    #: Median time of an operation on the quiet network.
    quiet: Point | None
    #: The same beside the aggressors.
    loaded: Point | None
    #: Fewest operations of a launch in a phase; None if unknown.
    operations: int | None
    #: Rate at which all aggressors receive, B/s, median over launches; None if unknown.
    load: float | None
    #: Number of nodes that sent and received as aggressors; None if unknown.
    aggressors: int | None
    #: Quantiles of the operations; empty if the kernel gave none.
    tail: tuple[TailCurve, ...]

    @property
    def pair(self) -> tuple[str, str, str]:
        """Victim, aggressor and setting, which impacts of a ramp share."""
        return self.victim, self.aggressor, self.setting

    @property
    def name(self) -> str:
        """``allreduce beside incast``."""
        return f"{self.victim} beside {self.aggressor}{self.setting and f', {self.setting}'}"

    @property
    def worst(self) -> Point:
        """The 99th percentile's ratio, or the median's if that is unknown."""
        return self.p99 or self.median

    def ratios(self) -> dict[str, Point]:
        """The known ratios by what they compare."""
        named = {"median": self.median, "99th percentile": self.p99}
        named["99.9th percentile"] = self.p999
        return {name: point for name, point in named.items() if point is not None}


def direction(point: Point, comparisons: int, equal: float = 1.0) -> Comparison:
    """Whether a ratio lies above or below ``equal`` beyond its range, among ``comparisons``."""
    return compared(
        point.metric.median,
        point.metric.ci95,
        launches=point.metric.n,
        comparisons=comparisons,
        equal=equal,
    )


def impacts(measured: Measured) -> list[Impact]:
    """All impacts of a run, by victim, aggressor, setting and ascending share."""
    found = points(measured.cells, KERNEL, "impact")
    launches: dict[str, list[Measurement]] = {}
    for one in measured.run.measurements:
        if one.cell.kernel == KERNEL and one.record.status == "ok":
            launches.setdefault(one.cell.id, []).append(one)
    settings = _settings(found)
    each = [_impact(point, settings[at], launches) for at, point in enumerate(found)]
    order = {name: at for at, name in enumerate(dict.fromkeys(one.pair for one in each))}
    return sorted(each, key=lambda one: (order[one.pair], one.share))


def _impact(point: Point, setting: str, launches: Mapping[str, Sequence[Measurement]]) -> Impact:
    own = launches.get(point.summary.id, ())
    operations = _fewest_operations(own)
    loads = _facts(own, "load")
    active = str(next(iter(_facts(own, "aggressors")), "")).split()
    return Impact(
        victim=str(point.parameter("victim")),
        aggressor=str(point.parameter("aggressor")),
        share=_number(point, "share"),
        setting=setting,
        bytes=_bytes(point),
        median=point,
        mean=_metric(point, "impact_mean"),
        p99=_covered(point, "impact_p99", operations),
        p999=_covered(point, "impact_p999", operations),
        quiet=_metric(point, "quiet"),
        loaded=_metric(point, "loaded"),
        operations=operations,
        load=statistics.median(map(float, loads)) if loads else None,
        aggressors=len(active) if own else None,
        tail=_tail(own, operations),
    )


def _settings(found: Sequence[Point]) -> list[str]:
    """For each cell, the settings that tell it from others of its victim, aggressor and share."""
    written = [_written(point) for point in found]
    groups: dict[tuple[str, ...], list[int]] = {}
    for at, point in enumerate(found):
        names = ("victim", "aggressor")
        groups.setdefault(tuple(str(point.parameter(name)) for name in names), []).append(at)
    texts = [""] * len(found)
    for members in groups.values():
        differ = [
            name for name in written[members[0]] if len({written[at][name] for at in members}) > 1
        ]
        for at in members:
            texts[at] = ", ".join(written[at][name] for name in differ)
    return texts


def _written(point: Point) -> dict[str, str]:
    """The settings of a cell as text."""
    load = format_size(int(_number(point, "load_bytes")))
    texts = {
        "bytes": format_size(_bytes(point)),
        "load_bytes": f"aggressors' messages of {load}",
        "duty": f"duty {_number(point, 'duty'):.0%}",
        "period": f"period {format_quantity(_number(point, 'period'), 's')}",
        "draw": f"draw {_number(point, 'draw'):.0f}",
    }
    assert tuple(texts) == _SETTINGS
    cell = point.summary.cell
    return {**texts, "placement": placement_text(cell.placement), "toolchain": cell.toolchain}


def _bytes(point: Point) -> int:
    """Bytes of a victim's message, as the kernel chose them."""
    given = {name: point.parameter(name) for name in ("bytes", "victim")}
    return message_bytes({name: value for name, value in given.items() if value is not None})


def _number(point: Point, name: str) -> float:
    value = point.parameter(name)
    return float(value) if isinstance(value, (int, float)) else 0.0


def _metric(point: Point, name: str) -> Point | None:
    metric = point.summary.metrics.get(name)
    return None if metric is None else Point(point.summary, metric)


def _covered(point: Point, name: str, operations: int | None) -> Point | None:
    """The ratio of a quantile that enough operations lie beyond; else None."""
    level, _ = QUANTILES[name]
    if operations is not None and not _enough(operations, level):
        return None
    return _metric(point, name)


def _enough(operations: int, level: float) -> bool:
    """Whether ``BEYOND`` operations are expected beyond a quantile."""
    return operations * (1.0 - level) >= BEYOND - 1e-6


def needed_operations(name: str) -> int:
    """Operations of a launch and phase that the ratio of a quantile needs."""
    return round(BEYOND / (1.0 - QUANTILES[name][0]))


def _facts(launches: Sequence[Measurement], name: str) -> list[Value]:
    known = [one.record.facts.get(name) for one in launches]
    return [value for value in known if value is not None]


def _fewest_operations(launches: Sequence[Measurement]) -> int | None:
    known = [
        int(value)
        for name in ("operations_quiet", "operations_loaded")
        for value in _facts(launches, name)
    ]
    return min(known, default=None)


def _tail(launches: Sequence[Measurement], operations: int | None) -> tuple[TailCurve, ...]:
    """The quantiles that all launches have, as medians over launches."""
    sides = [
        [
            series.values
            for one in launches
            if (series := find_series(one.record, f"{side}_quantiles")) is not None
        ]
        for side in ("quiet", "loaded")
    ]
    if not sides[0] or len(sides[0]) != len(sides[1]):
        return ()
    common = min(len(values) for side in sides for values in side)
    found = []
    for at, level in enumerate(LEVELS[:common]):
        quiet, loaded = ([max(values[at], _SHORTEST) for values in side] for side in sides)
        found.append(
            TailCurve(
                level=level,
                quiet=statistics.median(quiet),
                loaded=statistics.median(loaded),
                loaded_ci95=median_interval(loaded),
                launches=len(loaded),
                sure=operations is not None and _enough(operations, level),
            )
        )
    return tuple(found)
