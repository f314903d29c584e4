"""How well Rmax and N½ of the TOP500's systems are predicted (models/linpack/listed).

    python benchmarks/top500_prediction.py TOP500_SYSTEMS.parquet [--processes 2] [--write]

Needs scikit-learn. Cross-validation in folds: all systems of a family (near twins; their names
without clock, counts and model numbers, ``listed.families``) are in one fold. Compared are

- plain boosting: scikit-learn's, on what the list states as columns
- closed form: the terms of HPL (models/linpack/time.py), with typical figures of the networks
- listed: boosting on the same facts, the terms of HPL and the words of the names. It is what assay
  ships
- listed and closed form: their combination in the logarithm, weights fitted on the other folds
- design: ``listed`` without names of parts, for systems with a stated order, as ``assay design``
  uses it

Prints the median absolute relative error, the coverage of 90% intervals, whose widths are
calibrated on other folds than the tested systems, and the differences to plain boosting with 95%
intervals (bootstrap of families, paired). ``--write`` also fits to all systems but Seth, Helix and
related ones, and writes the coefficients that assay ships. The file has the columns list, site,
computer, year, cores, rmax_gflops, rpeak_gflops, nmax, nhalf, manufacturer, processor,
processor_mhz, interconnect, interconnect_family, accelerator.
"""

from __future__ import annotations

import argparse
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from assay.models.linpack import cluster
from assay.models.linpack.listed import prediction
from assay.models.linpack.listed.columns import fit_orders, known_order
from assay.models.linpack.listed.names import UNKNOWN, ListedSystem
from assay.models.linpack.listed.prediction import group_of, width_of
from assay.models.linpack.time import FILL
from listed.fitting import (
    Known,
    as_text,
    family_weights,
    fit,
    folds,
    held_out,
    interval_widths,
    known,
)

TARGET = Path(prediction.__file__).with_name("coefficients.json.gz")
SOURCE = "TOP500 lists of June 1993 to June 2021; benchmarks/top500_prediction.py"
ERAS = ((1993, 2021), (1993, 1999), (2000, 2005), (2006, 2011), (2012, 2021))
# N½ below this is not plausible.
LEAST_HALF = 50
# The closed form's figures that lists don't state: DGEMM as a share of peak, processors of a node.
DGEMM, SOCKETS = 0.85, 2
DRAWS = 1000
# Seth, Helix and related systems: their results are predicted as examples.
KIN, KIN_NETWORKS = re.compile(r"hpc2n|massey"), ("sci", "gigabit")
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def read(path: Path) -> tuple[Known, pl.DataFrame]:
    """The systems, and the table that describes them."""
    table = pl.read_parquet(path)
    systems = [
        ListedSystem(
            cores=row["cores"],
            peak=row["rpeak_gflops"] * 1e9,
            year=row["year"],
            computer=row["computer"],
            order=row["nmax"],
            manufacturer=row["manufacturer"] or "",
            processor=row["processor"] or "",
            interconnect=f"{row['interconnect'] or ''} {row['interconnect_family'] or ''}".strip(),
            accelerator=row["accelerator"] or "",
        )
        for row in table.iter_rows(named=True)
    ]
    half = table["nhalf"].cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
    half[half < LEAST_HALF] = np.nan
    return known(systems, table["rmax_gflops"].to_numpy() * 1e9, half), table


def plain(data: Known, table: pl.DataFrame, fold: Ints) -> Floats:
    """log of efficiency by boosting of plain columns, for each system without its family."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    cores, peak, order = (
        np.log(table[name].cast(pl.Float64).fill_null(np.nan).to_numpy())
        for name in ("cores", "rpeak_gflops", "nmax")
    )
    kinds = [table[name].fill_null("").to_list() for name in ("manufacturer", "accelerator")]
    kinds += [[name.network for name in data.names], [name.processor for name in data.names]]
    numbers = [cores, peak, peak - cores, order]
    numbers += [table[n].cast(pl.Float64).fill_null(np.nan) for n in ("year", "processor_mhz")]
    x = np.column_stack([*numbers, *(np.unique(k, return_inverse=True)[1] for k in kinds)])
    found = np.zeros(len(x))
    threadpool_limits(1)  # threads that wait for each other are slow where others compute
    for number in np.unique(fold):
        model = HistGradientBoostingRegressor(
            loss="absolute_error",
            max_iter=500,
            learning_rate=0.05,
            max_leaf_nodes=24,
            min_samples_leaf=10,
            l2_regularization=5.0,
            categorical_features=list(range(len(numbers), x.shape[1])),
            random_state=0,
        ).fit(x[fold != number], data.efficiency[fold != number])
        found[fold == number] = model.predict(x[fold == number])
    return found


def closed_form(data: Known) -> Floats:
    """log of efficiency by the terms of HPL, for nodes of two processors."""
    rule = fit_orders(data.systems)
    peak, cores = (np.array([getattr(s, n) for s in data.systems]) for n in ("peak", "cores"))
    order = np.array([known_order(s) or rule.order(s) for s in data.systems])
    per_chip = np.array([names.cores_per_chip or 1 for names in data.names])
    nodes = np.maximum(np.round(cores / per_chip / SOCKETS), 1.0)
    rate = np.array([names.rate for names in data.names])
    clusters = cluster.LinpackCluster(
        nodes=nodes,
        processes=np.full(1, float(SOCKETS)),
        dgemm=DGEMM * peak / nodes,
        bandwidth=0.1 * peak / nodes,  # a tenth of a byte per flop
        memory=8.0 * order**2 / (FILL * nodes),
        link=rate,
        latency=np.array([names.latency for names in data.names]),
        bisection=rate * np.maximum(nodes / 2, 1.0),
        slower=np.ones(1),
    )
    return np.asarray(np.log(cluster.closed_form(clusters).rate / peak))


def stacked(data: Known, fold: Ints, parts: list[Floats]) -> tuple[Floats, Floats]:
    """The combination of held-out predictions, and the weights (constant first), mean of folds.

    The weights have the least absolute error on the other folds, found by reweighting.
    """
    table, y = np.column_stack([np.ones(len(fold)), *parts]), data.efficiency
    found, weights = np.zeros(len(fold)), []
    for number in np.unique(fold):
        own, target = table[fold != number], y[fold != number]
        weight = np.ones(len(own))
        for _ in range(20):
            effects = np.linalg.lstsq(own * weight[:, None], target * weight, rcond=None)[0]
            weight = 1 / np.sqrt(np.maximum(np.abs(target - own @ effects), 0.01))
        found[fold == number] = table[fold == number] @ effects
        weights.append(effects)
    return found, np.mean(weights, axis=0)


def covered(data: Known, error: Floats, fold: Ints) -> Floats:
    """1 if the interval holds, 0 if not, NaN if nothing is known."""
    inside = np.full(len(error), np.nan)
    for number in np.unique(fold):
        own = fold == number
        widths = interval_widths(data, np.where(own, np.nan, error))
        for row in np.where(own & ~np.isnan(error))[0]:
            group = group_of(data.systems[row], data.names[row])
            inside[row] = abs(error[row]) <= width_of(widths, group)
    return inside


def line(name: str, values: Floats, lists: Ints, how: str) -> None:
    cells = []
    for first, last in ERAS:
        own = values[(lists >= first) & (lists <= last) & ~np.isnan(values)]
        value = np.median(np.abs(np.expm1(own))) if how == "median" else own.mean()
        cells.append(f" {value:.1%} |" if own.size else " |")
    print(f"| {name} |{''.join(cells)}", flush=True)


def difference(one: Floats, other: Floats, rows: Bools, families: Ints) -> str:
    """Median error of ``one`` minus that of ``other``, percentage points."""
    random = np.random.default_rng(1)
    sizes = [np.abs(np.expm1(error[rows])) for error in (one, other)]
    _, own = np.unique(families[rows], return_inverse=True)
    by_family = np.split(np.argsort(own, kind="stable"), np.bincount(own).cumsum()[:-1])
    found = []
    for _ in range(DRAWS):
        drawn = random.integers(0, len(by_family), len(by_family))
        picked = np.concatenate([by_family[number] for number in drawn])
        found.append(np.median(sizes[0][picked]) - np.median(sizes[1][picked]))
    low, high = 100 * np.quantile(found, [0.025, 0.975])
    return f"{100 * (np.median(sizes[0]) - np.median(sizes[1])):+.1f} [{low:+.1f}, {high:+.1f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("systems", type=Path)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--errors", type=Path, help="file for predictions of all systems (.npz)")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    data, table = read(options.systems)
    lists = table["list"].str.slice(0, 4).cast(pl.Int64).to_numpy()
    families = data.families
    fold = folds(data, options.folds, options.seed)
    with ProcessPoolExecutor(options.processes) as pool:
        found = held_out(data, fold, options.seed, pool.map)
    simple, closed = plain(data, table, fold), closed_form(data)
    both, weights = stacked(data, fold, [found.rate, closed])
    truth = data.efficiency
    errors = {
        "plain boosting": simple - truth,
        "closed form": closed - truth,
        "listed": found.rate - truth,
        "listed and closed form": both - truth,
        "design": np.where(data.ordered, found.unnamed - truth, np.nan),
    }
    half = found.half - np.log(data.half)
    if options.errors:
        np.savez(options.errors, half=half, fold=fold, **errors)
    print(f"{len(lists)} systems, {families.max() + 1} families, {options.folds} folds,", end=" ")
    print(f"seed {options.seed}\n")
    print("| |" + "".join(f" {a}–{b} |" for a, b in ERAS))
    print("| --- |" + " --- |" * len(ERAS))
    for name, error in errors.items():
        line(f"{name}, median error", error, lists, "median")
    for name in ("listed", "design"):
        line(f"{name}, 90% intervals hold", covered(data, errors[name], fold), lists, "mean")
    line("N½, median error", half, lists, "median")
    line("N½, 90% intervals hold", covered(data, half, fold), lists, "mean")
    print("\nweights (constant, listed, closed form):", *(f"{w:+.3f}" for w in weights))
    print("\nDifference of median errors, percentage points [95%]:\n")
    every, recent = np.ones(len(lists), dtype=bool), lists >= 2012
    pairs = (("listed", "plain boosting"), ("listed and closed form", "listed"))
    for one, other in pairs:
        for when, rows in (("all lists", every), ("since 2012", recent)):
            found_text = difference(errors[one], errors[other], rows, families)
            print(f"- {one} − {other}, {when}: {found_text}")
    accelerated = recent & np.array([names.accelerator != UNKNOWN for names in data.names])
    size = np.abs(np.expm1(errors["design"][accelerated & data.ordered]))
    print(f"- design, with accelerators since 2012: {np.median(size):.1%} of {size.size} systems")
    weight = family_weights(families)
    print(f"- weights of systems: {weight.min():.2f} to {weight.max():.2f}")
    if options.write:
        write(data, table, found.rate - truth, errors["design"], half)


def write(data: Known, table: pl.DataFrame, rate: Floats, unnamed: Floats, half: Floats) -> None:
    """Fit to all systems but those that are predicted as examples."""
    kin = [
        bool(KIN.search(site)) or (name.processor == "athlon" and name.network in KIN_NETWORKS)
        for site, name in zip(table["site"].str.to_lowercase(), data.names, strict=True)
    ]
    model = fit(data, np.where(~np.array(kin))[0], 0)
    for own, error in (
        (model.rate_widths, rate),
        (model.unnamed_widths, unnamed),
        (model.half_widths, half),
    ):
        assert isinstance(own, dict)
        own.update(interval_widths(data, error))
    TARGET.write_bytes(as_text(model, SOURCE))
    print(f"\n{TARGET.name}: {TARGET.stat().st_size / 1000:.0f} kB, without {sum(kin)} systems")


if __name__ == "__main__":
    main()
