"""Results of equal cells: every launch has the same expectation, and differs by 1% of noise.

A planted ``effect`` other than 1 makes one side of each comparison that much slower. The results of
every question are built directly from launches, so that hundreds of runs take seconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product

import msgspec
import numpy as np

from asking import reply_to
from assay.arrays import Floats
from assay.kernels import find_kernel
from assay.kernels.congestion import AGGRESSORS, VICTIMS
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.plan import Plan, Search
from assay.model.replication import Replication
from assay.questions.common.answer import Answer
from assay.questions.design.question import DesignFindings
from assay.questions.design.question import answer as design_answer
from assay.questions.papers.answer import answer as papers_answer
from assay.questions.papers.curves import CurvePoint, PaperCurve
from assay.questions.papers.findings import ExhibitFound, PaperFindings
from assay.questions.papers.model import ExhibitCurve, Statement
from assay.questions.papers.quantities import PaperValue
from assay.questions.papers.statements import judged, states_direction
from assay.questions.steadiness.host_effects.findings import find as host_effects
from assay.records.model import Measurement, RunData
from assay.records.schema import RankRecord, SampleSeries
from assay.stats.cells.summarise import summarise_cells
from assay.stats.core.intervals import Estimate, median_interval, ratio_interval
from assay.stats.core.model import CellSummary, MetricSummary
from assay.stats.core.summary import coefficient_of_variation
from assay.stats.repeats.repeats import Repeats
from assay.units import Interval
from directions_in import directions_in
from equal_cells import answers, equal_cells
from report_builder import make_measurement, make_run

LAUNCHES, NOISE = 6, 0.01
# Sentences with such words that state no direction between measured values.
GENERAL = (
    # A search decides among equal placements at its own probability.
    r"^Within \d+% of the fastest placement: ",
    r"the best of \d+ comparable placements looks better than it is",
    # The wall time to request says what the assumption on the tail and the request cost.
    r"^For a job that varies as ",
    # Names of metrics and of cells.
    r"^No \w+ is given: ",
    r"cut=worst",
    # Why the code of BT and SP may scale differently.
    r"computation takes less time next to the messages",
)
Random = np.random.Generator
TOOLCHAINS: dict[str, dict[str, object]] = {
    f"{cxx}-{mpi}": {
        "cxx": cxx,
        "cxx_version": f"{cxx} 12.2.0",
        "flags": "-O3",
        "mpi_flavour": mpi,
        "mpi_version": version,
    }
    for cxx, (mpi, version) in product(
        ("g++", "clang++"), (("mpich", "5.0.2"), ("openmpi", "5.0.11"))
    )
}


def drawn(random: Random, value: float, launches: int = LAUNCHES) -> Floats:
    """Launches around a value."""
    return value * (1.0 + NOISE * random.standard_normal(launches))


# ---- the network ---------------------------------------------------------------------------------


def metric_of(values: Floats, unit: str, better: str) -> MetricSummary:
    """The summary of a metric's launches."""
    low, high = np.quantile(values, (0.05, 0.95))
    return MetricSummary(
        unit=unit,
        better=better,
        median=float(np.median(values)),
        ci95=median_interval(values),
        min=float(values.min()),
        max=float(values.max()),
        p05=float(low),
        p95=float(high),
        cov=coefficient_of_variation(values),
        cov_samples=NOISE / 10,
        n=int(values.size),
        samples=40 * int(values.size),
        stop="precision",
    )


def summary(cell: Cell, times: Mapping[str, Floats], rates: Mapping[str, Floats]) -> CellSummary:
    """A cell with these launches of its times (s) and rates (B/s)."""
    metrics = {name: metric_of(values, "s", "less") for name, values in times.items()}
    metrics |= {name: metric_of(values, "B/s", "more") for name, values in rates.items()}
    return CellSummary(
        cell.kernel, cell.id, cell, "ok", True, dict(cell.parameters), metrics, caveats=[]
    )


def network(random: Random, effect: float) -> Iterator[Answer]:
    """Ping-pong, concurrent messages, collectives, bisections; pairs and a ring of eight nodes."""
    cells = [
        *_pingpong(random, effect),
        *_concurrent(random, effect),
        *_collectives(random, effect),
        *_bisections(random, effect),
        *_under_load(random, effect),
    ]
    measurements = [
        make_measurement(cell.cell, [float(value)], replicate)
        for cell in cells
        if cell.kernel == "network.pingpong"
        for replicate, value in enumerate(drawn(random, cell.metrics["latency"].median))
    ]
    run = make_run(cells, measurements=[*measurements, *_fabric(random, effect)])
    fabric = summarise_cells(run, ("network.pairs", "network.ring"))
    yield reply_to("network", [*cells, *fabric], run).answer


def _pingpong(random: Random, effect: float) -> Iterator[CellSummary]:
    for toolchain, times in (("embedded", 1.0), ("other", effect)):
        for size in (0, 8, 64, 512, 4096, 1 << 15, 1 << 18, 1 << 20, 1 << 22):
            given = {"bytes": size, "from": 0, "to": 1, "mode": "blocking"}
            cell = Cell("network.pingpong", given, Placement(2, 1), toolchain)
            latency = drawn(random, times * _one_way(size))
            yield summary(cell, {"latency": latency}, {"bandwidth": size / latency} if size else {})


def _one_way(size: int) -> float:
    return 2e-6 + size / 1e9


def _concurrent(random: Random, effect: float) -> Iterator[CellSummary]:
    for size in (8, 1 << 20):
        given = {"bytes": size, "pairing": "halves"}
        cell = Cell("network.multi_pingpong", given, Placement(2, 4), "embedded")
        time = drawn(random, effect * _one_way(size))
        rates = {
            "min_bandwidth": size / time,
            "max_bandwidth": drawn(random, size / _one_way(size) / effect),
        }
        yield summary(cell, {"time": time}, rates)
        for senders in (1, 8):
            given = {"bytes": size, "senders": senders}
            cell = Cell("network.concurrent", given, Placement(2, 8), "embedded")
            factor = effect if senders == 8 and size > 8 else 1.0
            time = drawn(random, factor * _one_way(size))
            rates = {"bandwidth_each": size / time, "bandwidth": senders * size / time}
            yield summary(cell, {"time": time}, rates)


def _collectives(random: Random, effect: float) -> Iterator[CellSummary]:
    cases = [(ranks, "block", "appointed", effect ** (ranks.bit_length() - 2)) for ranks in
             (2, 4, 8, 16)]  # fmt: skip
    most = cases[-1][3]
    cases += [(16, "cyclic", "appointed", most * effect), (16, "reversed", "appointed", most)]
    cases += [(16, "block", "barrier", most * effect)]
    for op, (ranks, order, timing, factor) in product(("allreduce", "bcast"), cases):
        given = {"op": op, "bytes": 8, "root": 0, "timing": timing}
        cell = Cell("network.collective", given, Placement(2, ranks // 2, order=order), "embedded")
        yield summary(cell, {"time": drawn(random, 5e-6 * factor)}, {})


def _under_load(random: Random, effect: float) -> Iterator[CellSummary]:
    """Victims beside aggressors, and the control without any."""
    cases = [*product(VICTIMS, AGGRESSORS, (0.5, 1.0)), ("halo", "incast", 0.0)]
    for victim, aggressor, share in cases:
        given = {"victim": victim, "aggressor": aggressor, "share": share, "bytes": -1}
        cell = Cell("network.congestion", given, Placement(8, 1), "embedded")
        metrics = {
            name: metric_of(drawn(random, effect if share else 1.0), "", "less")
            for name in ("impact", "impact_mean", "impact_p99")
        }
        yield CellSummary(
            cell.kernel, cell.id, cell, "ok", True, dict(cell.parameters), metrics, caveats=[]
        )


def _bisections(random: Random, effect: float) -> Iterator[CellSummary]:
    for cut, pairs in product(("worst", "random", "best"), (4, 1)):
        slower = effect**2 if (cut, pairs) == ("random", 4) else effect if pairs > 1 else 1.0
        given = {"bytes": 1 << 20, "cut": cut, "pairs": pairs}
        cell = Cell("network.bisection", given, Placement(8, 1), "embedded")
        yield summary(cell, {}, {"bandwidth": drawn(random, pairs * 2e9 / slower)})


def _fabric(random: Random, effect: float) -> Iterator[Measurement]:
    """Pairs of eight nodes, in two groups if there is an effect, and a ring over them."""
    nodes = range(8)
    ends = [(one, other) for one in nodes for other in nodes if one < other]
    defaults = {
        kernel: {each.name: each.default for each in find_kernel(kernel).parameters}
        for kernel in ("network.pairs", "network.ring")
    }
    pairs = Cell("network.pairs", defaults["network.pairs"] | {"between": "nodes"},
                 Placement(8, 1), "embedded")  # fmt: skip
    ring = Cell("network.ring", defaults["network.ring"], Placement(8, 1), "embedded")
    for replicate in range(LAUNCHES):
        scatter = 1.0 + NOISE * random.standard_normal(len(ends))
        times = [
            1e-5 * own * (effect if one // 4 != other // 4 else 1.0)
            for (one, other), own in zip(ends, scatter, strict=True)
        ]
        series = [
            SampleSeries("pair", "s", *pair, [], [time])
            for pair, time in zip(ends, times, strict=True)
        ]
        series += [
            SampleSeries("median_pair", "s", None, None, [], [float(np.median(times))] * 3),
            SampleSeries("slowest_pair", "s", None, None, [], [max(times)] * 3),
        ]
        yield _on_nodes(pairs, 1e-3, series, replicate)
        hops = [
            SampleSeries("hop", "s", node, (node + 1) % 8, [], [
                1e-6 * (1.0 + NOISE * random.standard_normal()) * (effect if node == 3 else 1.0)
            ])
            for node in nodes
        ]  # fmt: skip
        yield _on_nodes(ring, 8e-6 * (1.0 + NOISE * random.standard_normal()), hops, replicate)


def _on_nodes(cell: Cell, time: float, more: Sequence[SampleSeries], replicate: int) -> Measurement:
    one = make_measurement(cell, [time], replicate)
    ranks = tuple(
        RankRecord(rank, f"node{rank}", 1, 0, [0], None, True, False)
        for rank in range(cell.placement.ranks)
    )
    record = msgspec.structs.replace(one.record, series=[*one.record.series, *more])
    return replace(one, record=record, ranks=ranks)


# ---- placement -----------------------------------------------------------------------------------


def placement(random: Random, effect: float) -> Iterator[Answer]:
    """Rank orders, steadiness, toolchains, and phases on one, two and four ranks."""
    for cells, searched in (
        (_orders(effect), False),
        (_steadiness(effect), False),
        (_toolchains(effect), False),
    ):
        run = _run_of(random, cells, searched=searched)
        yield reply_to("placement", summarise_cells(run), run).answer
    run = _phases(random, effect)
    yield reply_to("placement", summarise_cells(run), run).answer


def _orders(effect: float) -> list[tuple[Cell, float, float, int]]:
    """Cells with their time, further noise of each launch, and number of launches."""
    return [
        (Cell("npb.mg", {"class": "A"}, Placement(2, 2, order=order), "embedded"), time, 0.0, 6)
        for order, time in (("block", 1.0), ("cyclic", effect), ("reversed", 1.0))
    ]


def _steadiness(effect: float) -> list[tuple[Cell, float, float, int]]:
    return [
        (
            Cell("npb.cg", {"class": "S"}, Placement(1, 2, binding=binding), "embedded"),
            1.0,
            (effect - 1.0) / 3 if binding == "spread" else 0.0,
            20,
        )
        for binding in ("close", "spread")
    ]


def _toolchains(effect: float) -> list[tuple[Cell, float, float, int]]:
    return [
        (
            Cell("npb.bt", {"class": "W"}, Placement(1, ppn), name),
            effect if "clang" in name else 1.0,
            0.0,
            6,
        )
        for name, ppn in product(TOOLCHAINS, (1, 2))
    ]


def _run_of(
    random: Random, cells: Sequence[tuple[Cell, float, float, int]], *, searched: bool
) -> RunData:
    measurements = [
        make_measurement(cell, [float(value)], replicate)
        for cell, time, more, launches in cells
        for replicate, value in enumerate(
            drawn(random, time, launches) * np.exp(more * random.standard_normal(launches))
        )
    ]
    return _planned(measurements, [cell for cell, *_ in cells], searched=searched)


def _phases(random: Random, effect: float) -> RunData:
    """CG that scales perfectly; with an effect, its memory saturates from two ranks on."""
    measurements, cells = [], []
    for ppn in (1, 2, 4):
        cell = Cell("npb.cg", {"class": "B"}, Placement(1, ppn), "embedded")
        cells.append(cell)
        cores = ppn if effect == 1.0 else min(ppn, 2)
        for replicate, time in enumerate(drawn(random, 4.0 / cores)):
            spread = {"least_compute": time, "most_compute": time} if ppn > 1 else {}
            waiting = {"allgatherv": 0.001 * time} if ppn > 1 else {}
            phases = {"compute": time, **waiting, **spread}
            one = make_measurement(cell, [1.01 * time], replicate)
            more = [SampleSeries(name, "s", None, None, [], [v]) for name, v in phases.items()]
            record = msgspec.structs.replace(one.record, series=[*one.record.series, *more])
            measurements.append(replace(one, record=record))
    for ppn in (1, 2, 4):
        given = {"op": "triad", "elements": 10**6}
        cell = Cell("memory.stream", given, Placement(1, ppn), "embedded")
        cores = ppn if effect == 1.0 else min(ppn, 2)
        measurements += [
            make_measurement(cell, [float(time)], replicate)
            for replicate, time in enumerate(drawn(random, 24e6 * ppn / (10e9 * cores)))
        ]
    return _planned(measurements, cells, searched=True)


def _planned(
    measurements: Sequence[Measurement], cells: Sequence[Cell], *, searched: bool
) -> RunData:
    run = make_run([], measurements=measurements, launches=[], toolchains=TOOLCHAINS)
    search = Search(tuple(cell.id for cell in cells), ()) if searched else None
    plan = Plan("placement", "Placement", tuple(cells), Replication(), 1, search=search)
    return replace(run, manifest=msgspec.structs.replace(run.manifest, plan=plan))


# ---- steadiness ----------------------------------------------------------------------------------


def steadiness(random: Random, effect: float) -> Iterator[Answer]:
    """Two adapters, arrivals at barriers, and covariates that don't matter."""
    adapters = [
        (
            Cell("npb.ft", {"class": "S"}, Placement(2, 2, adapter=adapter), "embedded"),
            time,
            0.0,
            LAUNCHES if effect == 1.0 else 20,
        )
        for adapter, time in (("eth0", 1.0), ("eth0,eth1", effect))
    ]
    run = _spaced(_run_of(random, adapters, searched=False))
    yield reply_to("steadiness", summarise_cells(run), run).answer
    run = _spaced(_stolen(random, effect))
    yield reply_to("steadiness", summarise_cells(run), run).answer
    run = _arrivals(random, effect)
    yield reply_to("steadiness", summarise_cells(run), run).answer


def _spaced(run: RunData) -> RunData:
    """The run with ten seconds between its launches, which alternate between the cells."""
    order = sorted(run.measurements, key=lambda one: one.replicate)
    return replace(
        run,
        measurements=tuple(
            replace(one, utc=1.79e9 + 10.0 * number) for number, one in enumerate(order)
        ),
    )


def _stolen(random: Random, effect: float) -> RunData:
    """LU in 24 launches, beside steal time that costs nothing unless there is an effect."""
    cell = Cell("npb.lu", {"class": "S"}, Placement(1, 2), "embedded")
    measured = []
    for replicate, time in enumerate(drawn(random, 1.0, 24)):
        stolen = float(random.exponential(0.2))
        one = make_measurement(cell, [float(time) + (effect - 1.0) * stolen], replicate)
        covariates = {"steal_seconds": 2 * stolen, "sampling_seconds": 2.0}
        record = msgspec.structs.replace(one.record, covariates=covariates)
        measured.append(replace(one, record=record))
    return _planned(measured, [cell], searched=False)


def _arrivals(random: Random, effect: float) -> RunData:
    """Four ranks at 1,000 barriers per launch; with an effect the last rank is late more often."""
    cell = Cell("noise.barrier", {"quantum": 1e-4, "count": 1000}, Placement(1, 4), "embedded")
    weights = np.array([1.0, 1.0, 1.0, effect**8])
    measured = []
    for replicate in range(LAUNCHES):
        shares = random.multinomial(1000, weights / weights.sum()) / 1000
        whole = (("lost", "1", 0.02), ("spread", "s", 3e-6), ("barrier", "s", 1e-6))
        series = [
            SampleSeries(name, unit, None, None, [], [float(drawn(random, value, 1)[0])])
            for name, unit, value in whole
        ]
        for rank, share in enumerate(shares):
            levels = [float(drawn(random, 1e-6 * k, 1)[0]) for k in range(8)]
            series += [
                SampleSeries("last", "1", rank, None, [], [float(share)]),
                SampleSeries("lateness", "s", rank, None, [], levels),
                SampleSeries("latest", "s", rank, None, [], [1e-3, 1e-4]),
            ]
        one = make_measurement(cell, [0.4], replicate)
        record = msgspec.structs.replace(
            one.record, series=[*one.record.series, *series], facts={"clocks": "one clock"}
        )
        measured.append(replace(one, record=record))
    return _planned(measured, [cell], searched=False)


def sets_of_hosts(random: Random, effect: float) -> Repeats:
    """A barrier on fifteen sets of three hosts; with an effect, one host slows its sets."""
    sets = [f"n[{a}-{a + 1}],n{b}" for a in range(1, 6) for b in (7, 8, 9)]
    hosts = [text for text in sets for _ in range(3)]
    slow = np.array([np.log(effect) * ("n8" in text) for text in hosts])
    values = np.exp(slow + NOISE * random.standard_normal(len(hosts)))
    names = tuple(map(str, range(len(hosts))))
    cell = Cell("network.barrier", {}, Placement(nodes=3, ppn=1), "embedded")
    return Repeats(cell, "time", "s", "less", values, np.arange(45.0), names, names, tuple(hosts))


def slow_hosts(random: Random, effect: float) -> int:
    """Number of hosts that are reported to slow their sets."""
    found = host_effects([sets_of_hosts(random, effect)])
    assert found is not None
    return len(found.slow)


# ---- papers and design ---------------------------------------------------------------------------


def papers(random: Random, effect: float) -> Iterator[Answer]:
    """A paper with two ratios, a pair of numbers and a curve, of which none has a direction."""
    one, other, third, fourth = (
        PaperValue(float(np.median(values)), median_interval(values), "flop/s", "more",
                   ("cell",), launches=LAUNCHES)
        for values in (drawn(random, 1e9 * factor) for factor in (effect, 1.0, effect, 1.0))
    )  # fmt: skip
    values = {
        "one": one,
        "other": other,
        "ratio": _quotient(third, fourth),
    }
    points = [
        CurvePoint("", x, float(np.median(y)), median_interval(y), LAUNCHES, ("cell",))
        for x, y in ((x, drawn(random, effect**x)) for x in range(4))
    ]
    written = ExhibitCurve(name="curve", kernel=("npb.cg",), metric="rate", x="ranks")
    curve = PaperCurve("curve", "", "ranks", "", tuple(points), written)
    statements = (
        Statement(says="One is faster than the other.", quantity="one", above="other"),
        Statement(says="The ratio is above 1.", quantity="ratio", above=1.0),
        Statement(says="The ratio is below 1.", quantity="ratio", below=1.0),
        Statement(says="The curve rises.", curve="curve", trend="rises"),
        Statement(says="The curve falls.", curve="curve", trend="falls"),
    )
    number = sum(map(states_direction, statements))
    found = tuple(judged(each, values, {"curve": curve}, number) for each in statements)
    exhibit = ExhibitFound(
        number="Figure 1", title="", missing="", also="", quantities=(), curves=(curve,),
        statements=found,
    )  # fmt: skip
    yield papers_answer(
        PaperFindings(
            suite="p-2004",
            paper="P (2004)",
            title="",
            year=2004,
            asks="",
            scaled="",
            exhibits=(exhibit,),
            apart=(),
        ),
    )


def _quotient(one: PaperValue, other: PaperValue) -> PaperValue:
    ends: Interval | None = ratio_interval(
        Estimate(one.value, one.ci95), Estimate(other.value, other.ci95)
    )
    return replace(one, value=one.value / other.value, ci95=ends, unit="")


def design(random: Random, effect: float) -> Iterator[Answer]:
    """A run has neither a workload nor prices, so that there is nothing to compare."""
    yield design_answer(DesignFindings())


def speed(random: Random, effect: float) -> Iterator[Answer]:
    """All kernels of the question on speed; an effect lets rates grow with the cores."""
    cells = [
        one
        if one.cell.placement.ppn * one.cell.placement.threads == 1
        else msgspec.structs.replace(one, metrics=_scaled(one.metrics, effect))
        for one in equal_cells()
    ]
    yield from answers(cells, 1, seed=int(random.integers(1 << 30)))


def _scaled(metrics: Mapping[str, MetricSummary], effect: float) -> dict[str, MetricSummary]:
    return {
        name: msgspec.structs.replace(
            one, median=one.median * (effect if one.better == "more" else 1.0 / effect)
        )
        for name, one in metrics.items()
    }


EQUAL: Mapping[str, Callable[[Random, float], Iterator[Answer]]] = {
    "papers": papers,
    "speed": speed,
    "network": network,
    "steadiness": steadiness,
    "placement": placement,
    "design": design,
}


def directions(*sentences: str) -> list[str]:
    """The words of direction, except in general sentences."""
    return directions_in(
        *(one for one in sentences if not any(re.search(each, one) for each in GENERAL))
    )


def directions_of(answer: Answer) -> list[str]:
    """The words of direction in an answer, except in general sentences."""
    notes = [row.note for row in answer.evidence]
    lists = (answer.advice, answer.limits, answer.caveats, answer.urgent)
    return directions(answer.verdict, *notes, *chain.from_iterable(lists))
