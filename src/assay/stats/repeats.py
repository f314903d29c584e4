"""What was measured again and again: each cell's results in order of time, however they are stored.

The unit is a measurement, one launch's median of the kernel's headline metric: samples of one
launch are more alike than launches are, and count as one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from assay.errors import AssayError
from assay.hostnames import compress_hosts, natural
from assay.kernels import known_kernel
from assay.kernels.catalogue import Kernel, Metric
from assay.plans.model import Cell
from assay.plans.sessions import session_of
from assay.records.model import Measurement, RunData
from assay.records.schema import RankRecord
from assay.records.tables import COVARIATE
from assay.stats.cells import LeftOut, find_series, metrics_of, steady, work_of
from assay.stats.intervals import Floats
from assay.stats.levels import Ints

if TYPE_CHECKING:
    import polars as pl

    from assay.records.store import Choice, Store


@dataclass(frozen=True)
class Repeats:
    """One cell's results in order of time; all arrays have one entry a measurement unless said.

    ``values``: the measurement's median of ``metric``, in ``unit``. ``utc``: seconds. ``launch`` is
    unique within its ``run``. ``hosts``: where it ran, in bracket notation ("n1", "n[1-4]"), empty
    where that isn't known. ``covariates``: by name, nan where the machine didn't tell
    (docs/formats.md, "Covariates"). ``samples``: all steady samples in ``unit``, one measurement
    after another, and ``sizes`` how many each has; both empty where they were not read.
    ``session``: of its run, from 0, -1 where the run was not measured in sessions. ``cores``: the
    CPUs that its ranks sat on ("cpu[0-3]", or "n1:cpu[0-3],n2:cpu0" where its hosts differ), of
    ranks that may move those where they began. ``beside``: what other launches measured on its
    hosts at the same time, as kernels' names, empty for nothing. Each of the last three is empty
    as a whole where nothing is known of it.
    """

    cell: Cell
    metric: str
    unit: str
    better: Literal["more", "less"]
    values: Floats
    utc: Floats
    run: tuple[str, ...]
    launch: tuple[str, ...]
    hosts: tuple[str, ...]
    covariates: Mapping[str, Floats] = field(default_factory=dict)
    samples: Floats = field(default_factory=lambda: np.empty(0))
    sizes: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    session: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    cores: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.values.size)

    @property
    def cost(self) -> Floats:
        """The values as times (s per unit of work), so that slower is always up."""
        return as_cost(self.values, self.better)

    @property
    def sample_costs(self) -> Floats:
        """The samples as times, as ``cost``."""
        return as_cost(self.samples, self.better)

    def session_numbers(self) -> Ints:
        """``session``, whether it is known or not."""
        return self.session if self.session.size else np.full(len(self), -1, dtype=np.int64)

    def take(self, which: npt.ArrayLike) -> Repeats:
        """Those measurements alone: a mask, or indices in the order wanted."""
        chosen = np.arange(len(self))[np.asarray(which)]
        samples, sizes = self.samples, self.sizes
        if sizes.size:
            ends = np.cumsum(sizes)
            parts = [samples[ends[i] - sizes[i] : ends[i]] for i in chosen]
            samples, sizes = np.concatenate([np.empty(0), *parts]), sizes[chosen]
        places = chosen.tolist()

        def of(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(map(names.__getitem__, places)) if names else ()

        return replace(
            self,
            values=self.values[chosen],
            utc=self.utc[chosen],
            run=of(self.run),
            launch=of(self.launch),
            hosts=of(self.hosts),
            covariates={name: each[chosen] for name, each in self.covariates.items()},
            samples=samples,
            sizes=sizes,
            session=self.session[chosen] if self.session.size else self.session,
            cores=of(self.cores),
            beside=of(self.beside),
        )


def as_cost(values: Floats, better: Literal["more", "less"]) -> Floats:
    """Values of a metric as times (s per unit of work): a rate's inverse, a time as it is."""
    return values if better == "less" else 1.0 / values


def repeats_of(run: RunData) -> list[Repeats]:
    """One for each cell of a run that has a result, in the plan's order, with samples.

    Measurements that failed, were refuted or interrupted, and those without a usable value of the
    kernel's headline metric, are left out.
    """
    found: dict[str, list[Measurement]] = {cell.id: [] for cell in run.manifest.plan.cells}
    for measurement in run.measurements:
        found.setdefault(measurement.cell.id, []).append(measurement)
    made = (_of_measurements(run, each) for each in found.values() if each)
    return [repeats for repeats in made if repeats is not None]


def joined(parts: Iterable[Repeats]) -> list[Repeats]:
    """Results of the same cells, from several runs or members of a group, as one for each cell.

    Covariates that some lack are nan there. Samples are kept only where all have them.
    """
    by_cell: dict[tuple[str, str], list[Repeats]] = {}
    for part in parts:
        by_cell.setdefault((part.cell.id, part.metric), []).append(part)
    return [_join(each) for each in by_cell.values()]


def repeats_in(store: Store, choice: Choice | None = None) -> list[Repeats]:
    """One for each cell measured in the sealed runs of a store, from their tables; no samples.

    In the order in which the cells were first measured. The values are the tables' ``median``, as a
    rate where the headline metric is one; where it is of another series than the first, they come
    from the tables of samples.
    """
    from assay.records.store import ALL

    chosen = ALL if choice is None else choice
    table = _rows(store.measurements(chosen))
    if table.height == 0:
        return []
    cells = _cells(store, chosen, table)
    elsewhere = _other_series(store, chosen, cells)
    made = []
    for (name,), rows in table.group_by("cell", maintain_order=True):
        cell = cells.get(str(name))
        repeats = _of_rows(cell, rows, elsewhere.get(str(name))) if cell is not None else None
        if repeats is not None:
            made.append(repeats)
    return made


def _of_measurements(run: RunData, measurements: Sequence[Measurement]) -> Repeats | None:
    """One cell's measurements of one run; None where none has a usable result."""
    cell = measurements[0].cell
    kernel = known_kernel(cell.kernel)
    metric: Metric | None = None
    kept: list[tuple[Measurement, Floats]] = []
    for measurement in sorted(measurements, key=lambda m: m.utc):
        record = measurement.record
        if record.status != "ok" or record.verified is False or not record.series:
            continue
        metric = metric or _headline(kernel, metrics_of(kernel, [record]))
        values = _samples(measurement, kernel, metric)
        if values is not None:
            kept.append((measurement, values))
    if metric is None or not kept:
        return None
    names = dict.fromkeys(name for m, _ in kept for name in m.record.covariates)
    # All measurements of a launch share its ranks.
    ranks = {id(m.ranks): m.ranks for m, _ in kept}
    hosts = {key: _hosts(rank.host for rank in each) for key, each in ranks.items()}
    cores = {key: _cores(each) for key, each in ranks.items()}
    rule = run.manifest.plan.replication
    session = [session_of(m.replicate, rule) for m, _ in kept] if rule.repeated else []
    return Repeats(
        cell=cell,
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        values=np.array([_median(values, metric) for _, values in kept]),
        utc=np.array([m.utc for m, _ in kept]),
        run=(run.manifest.run,) * len(kept),
        launch=tuple(m.launch for m, _ in kept),
        hosts=tuple(hosts[id(m.ranks)] for m, _ in kept),
        covariates={
            name: np.array([_number(m.record.covariates.get(name)) for m, _ in kept])
            for name in names
        },
        samples=np.concatenate([values for _, values in kept]),
        sizes=np.array([values.size for _, values in kept], dtype=np.int64),
        session=np.array(session, dtype=np.int64),
        cores=tuple(cores[id(m.ranks)] for m, _ in kept) if any(cores.values()) else (),
    )


def _headline(kernel: Kernel | None, metrics: Sequence[Metric]) -> Metric:
    found = kernel.metric(kernel.headline) if kernel is not None else None
    return found or metrics[0]


def _samples(measurement: Measurement, kernel: Kernel | None, metric: Metric) -> Floats | None:
    """The steady samples of a metric in its unit; None where they can't be told."""
    record = measurement.record
    series = find_series(record, metric.series)
    if series is None:
        return None
    try:
        values = steady(record, series)
        if metric.quantity is not None and kernel is not None:
            if values.min() <= 0.0:
                return None
            return work_of(kernel, metric.quantity, measurement.cell, record.parameters) / values
    except (AssayError, LeftOut):
        return None
    return values


def _median(values: Floats, metric: Metric) -> float:
    """The median as ``launch_value`` and the tables have it: of a rate, work over median time."""
    if metric.quantity is None:
        return float(np.median(values))
    return float(1.0 / np.median(1.0 / values))


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _hosts(names: Iterable[str]) -> str:
    return compress_hosts(sorted(set(names), key=natural))


def _cores(ranks: Sequence[RankRecord]) -> str:
    """The CPUs of all ranks' threads, host by host where hosts have different ones."""
    of_host: dict[str, set[str]] = {}
    for rank in ranks:
        of_host.setdefault(rank.host, set()).update(f"cpu{cpu}" for cpu in rank.cpus)
    sets = list(of_host.values())
    if all(each == sets[0] for each in sets[1:]):
        return compress_hosts(sorted(sets[0], key=natural)) if sets else ""
    return compress_hosts(
        f"{host}:{cpu}"
        for host in sorted(of_host, key=natural)
        for cpu in sorted(of_host[host], key=natural)
    )


def _join(parts: Sequence[Repeats]) -> Repeats:
    first = parts[0]
    if len(parts) == 1:
        return first
    utc = np.concatenate([part.utc for part in parts])
    names = dict.fromkeys(name for part in parts for name in part.covariates)
    whole = all(part.sizes.size for part in parts)

    def told(of: Callable[[Repeats], tuple[str, ...]]) -> tuple[str, ...]:
        """What some parts tell of each result, empty in the others."""
        if not any(map(of, parts)):
            return ()
        return tuple(name for part in parts for name in of(part) or ("",) * len(part))

    together = replace(
        first,
        values=np.concatenate([part.values for part in parts]),
        utc=utc,
        run=tuple(name for part in parts for name in part.run),
        launch=tuple(name for part in parts for name in part.launch),
        hosts=tuple(name for part in parts for name in part.hosts),
        covariates={
            name: np.concatenate(
                [part.covariates.get(name, np.full(len(part), np.nan)) for part in parts]
            )
            for name in names
        },
        samples=np.concatenate([part.samples for part in parts]) if whole else np.empty(0),
        sizes=np.concatenate([p.sizes for p in parts]) if whole else np.empty(0, dtype=np.int64),
        session=np.concatenate([part.session_numbers() for part in parts]),
        cores=told(lambda part: part.cores),
        beside=told(lambda part: part.beside),
    )
    return together.take(np.argsort(utc, kind="stable"))


def _rows(table: pl.LazyFrame) -> pl.DataFrame:
    """The rows that count, in order of time, with the columns that are needed."""
    import polars as pl

    names = table.collect_schema().names()
    wanted = ["cell", "kernel", "run", "launch", "measurement", "session", "utc", "median"]
    wanted += ["hosts", "parameters", *(n for n in names if n.startswith(COVARIATE))]
    return (
        table.filter(
            (pl.col("status") == "ok")
            & pl.col("median").is_finite()
            & pl.col("verified").fill_null(True)
        )
        .select(wanted)
        .sort("utc", maintain_order=True)
        .collect()
        # A run of one session is told from others by pauses, as runs without any are.
        .with_columns(
            pl.when(pl.col("session").max().over("run") > 0).then("session").otherwise(-1)
        )
    )


def _cells(store: Store, choice: Choice, table: pl.DataFrame) -> dict[str, Cell]:
    """The cells by id, from the manifests of as few runs as hold them all, newest first.

    A table's columns don't tell all that a cell is made of.
    """
    import polars as pl

    missing = set(table["cell"].unique())
    held: dict[str, set[str]] = {
        str(run): set(names)
        for run, names in table.group_by("run").agg(pl.col("cell").unique()).iter_rows()
    }
    found: dict[str, Cell] = {}
    for run, _ in reversed(list(store.complete(choice))):
        if not missing:
            break
        if missing.isdisjoint(held.get(run.name, ())):
            continue
        try:
            plan = run.manifest().plan
        except AssayError:
            continue
        found |= {cell.id: cell for cell in plan.cells if cell.id in missing}
        missing -= found.keys()
    return found


@dataclass(frozen=True)
class _Other:
    """What the tables of measurements lack: a series' name and unit, and its medians."""

    metric: str
    unit: str
    medians: Mapping[tuple[str, str], float]


def _other_series(store: Store, choice: Choice, cells: Mapping[str, Cell]) -> dict[str, _Other]:
    """Of cells whose headline is of another series than ``time``, and of outside programs."""
    import polars as pl

    wanted: dict[str, str | None] = {}
    for name, cell in cells.items():
        kernel = known_kernel(cell.kernel)
        if kernel is None:
            wanted[name] = None
        elif (series := _headline(kernel, kernel.metrics).series) != "time":
            wanted[name] = series
    if not wanted:
        return {}
    rows = store.samples(choice, cells=list(wanted)).filter(pl.col("rank").is_null())
    medians = (
        rows.filter(~pl.col("warmup"))
        .group_by("cell", "metric", "unit", "run", "measurement", maintain_order=True)
        .agg(pl.col("value").median())
        .collect()
    )
    made: dict[str, _Other] = {}
    for (name, metric, unit), part in medians.group_by(
        "cell", "metric", "unit", maintain_order=True
    ):
        expected = wanted[str(name)]
        if str(name) in made or expected not in (None, metric):
            continue
        keys = zip(part["run"], part["measurement"], strict=True)
        made[str(name)] = _Other(
            str(metric), str(unit), dict(zip(keys, part["value"], strict=True))
        )
    return made


def _of_rows(cell: Cell, rows: pl.DataFrame, other: _Other | None) -> Repeats | None:
    """One cell's rows of the tables; None where none has a usable result."""
    import polars as pl

    kernel = known_kernel(cell.kernel)
    values = rows["median"].to_numpy().astype(np.float64)
    if kernel is None:
        if other is None:
            return None
        better: Literal["more", "less"] = "less" if other.unit == "s" else "more"
        metric = Metric(other.metric, other.unit, better, "", series=other.metric)
    else:
        metric = _headline(kernel, kernel.metrics)
        if metric.series != "time":
            if other is None:
                return None
            keys = zip(rows["run"], rows["measurement"], strict=True)
            values = np.array([_number(other.medians.get(key)) for key in keys])
        if metric.quantity is not None:
            work = _work_of_rows(kernel, metric.quantity, cell, rows["parameters"])
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.where(values > 0.0, work / values, np.nan)
    usable = np.isfinite(values)
    if not usable.any():
        return None
    if not usable.all():
        rows, values = rows.filter(pl.Series(usable)), values[usable]
    written = {text: _hosts(text.split(",")) if text else "" for text in rows["hosts"].unique()}
    names = [name for name in rows.columns if name.startswith(COVARIATE)]
    columns = {name: rows[name].fill_null(float("nan")).to_numpy() for name in names}
    return Repeats(
        cell=cell,
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        values=values,
        utc=rows["utc"].to_numpy(),
        run=tuple(rows["run"].to_list()),
        launch=tuple(rows["launch"].to_list()),
        hosts=tuple(written[text] for text in rows["hosts"].to_list()),
        covariates={
            name.removeprefix(COVARIATE): each
            for name, each in columns.items()
            if not np.isnan(each).all()
        },
        session=rows["session"].to_numpy().astype(np.int64),
    )


def _work_of_rows(kernel: Kernel, quantity: str, cell: Cell, parameters: pl.Series) -> Floats:
    """The work of each row, worked out once for each set of parameters; nan where unknown."""
    known: dict[str, float] = {}
    for text in parameters.unique():
        resolved: dict[str, Any] = json.loads(text) if text else {}
        try:
            known[text] = work_of(kernel, quantity, cell, resolved)
        except LeftOut:
            known[text] = float("nan")
    if len(known) == 1:
        return np.full(len(parameters), next(iter(known.values())))
    return np.array([known[text] for text in parameters.to_list()])


def each_host(repeats: Repeats) -> Iterator[tuple[str, Repeats]]:
    """The results by the set of hosts that they ran on, in the order of first use."""
    names = np.array(repeats.hosts)
    for host in dict.fromkeys(repeats.hosts):
        yield host, repeats.take(names == host)
