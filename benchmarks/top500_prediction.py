"""How well Rmax and N½ of the TOP500's systems are predicted (models/linpack/listed).

    .venv/bin/python benchmarks/top500_prediction.py TOP500_SYSTEMS.parquet [--repeats 3] [--write]

Cross-validation in ten folds, repeated with other folds: all systems of a computer (its name in
lower case, letters and digits only) are in one fold, so that no twin is looked up. Prints the
median absolute relative error overall and by the year of the list, and the coverage of 90%
intervals, whose widths are calibrated on other folds than the tested systems. ``--write`` fits to
all systems and writes the coefficients that assay ships. The file has the columns list, computer,
year, cores, rmax_gflops, rpeak_gflops, nmax, nhalf, manufacturer, processor, interconnect,
interconnect_family, accelerator.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from assay.models.linpack.listed import prediction
from assay.models.linpack.listed.columns import fit_orders, flags, number_table, vocabulary
from assay.models.linpack.listed.fitting import (
    LEAST_COMPUTERS,
    Known,
    as_text,
    fit,
    folds,
    held_out,
    interval_widths,
    known,
)
from assay.models.linpack.listed.names import ListedSystem, computer_key
from assay.models.linpack.listed.prediction import Listed, group_of, width_of

TARGET = Path(prediction.__file__).with_name("coefficients.json.gz")
ERAS = ((1993, 2021), (1993, 1999), (2000, 2005), (2006, 2011), (2012, 2021))
FOLDS = 10
# N½ below this is not plausible.
LEAST_HALF = 50
Floats = npt.NDArray[np.float64]


def read(path: Path) -> tuple[Known, npt.NDArray[np.int64]]:
    """The systems, and the year of each one's list."""
    rows = pl.read_parquet(path).to_dicts()
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
        for row in rows
    ]
    half = np.array([row["nhalf"] or np.nan for row in rows], dtype=float)
    half[half < LEAST_HALF] = np.nan
    rmax = np.array([row["rmax_gflops"] for row in rows]) * 1e9
    lists = np.array([int(row["list"][:4]) for row in rows])
    return known(systems, rmax, half), lists


def covered(data: Known, error: Floats, fold: npt.NDArray[np.int64]) -> Floats:
    """1 if the interval holds, 0 if not, NaN if nothing is known."""
    inside = np.full(len(error), np.nan)
    for number in np.unique(fold):
        own = fold == number
        widths = interval_widths(data, np.where(own, np.nan, error))
        for row in np.where(own & ~np.isnan(error))[0]:
            group = group_of(data.systems[row], data.names[row])
            inside[row] = abs(error[row]) <= width_of(widths, group)
    return inside


def pooled(data: Known, fold: npt.NDArray[np.int64], families: bool) -> Floats:
    """log efficiency without trees: least absolute error (by reweighting) on the numbers and their
    squares, and with ``families`` an effect of each family, shrunk to 0 (ridge).
    """
    keys = [computer_key(system.computer) for system in data.systems]
    x = number_table(data.systems, data.names, fit_orders(data.systems))
    x = x[:, [not np.isnan(column).all() for column in x.T]]
    missing = np.isnan(x)
    x = np.where(missing, np.nanmean(x, axis=0), x)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    parts = [np.ones((len(x), 1)), x, x**2, missing[:, missing.any(axis=0)]]
    if families:
        words = [w for w in vocabulary(data.names, keys, LEAST_COMPUTERS) if "=" in w]
        parts.append(flags(data.names, words))
    table = np.hstack(parts)
    penalty = np.diag([0.0] + [3.0] * (table.shape[1] - 1))
    found = np.zeros(len(x))
    for number in np.unique(fold):
        own, y = table[fold != number], data.efficiency[fold != number]
        weight = np.ones(len(own))
        for _ in range(8):
            weighted = own * weight[:, None]
            effects = np.linalg.solve(weighted.T @ own + penalty, weighted.T @ y)
            weight = 1 / np.maximum(np.abs(y - own @ effects), 0.02)
            weight /= weight.mean()
        found[fold == number] = table[fold == number] @ effects
    return found


def line(name: str, values: Floats, lists: npt.NDArray[np.int64], how: str) -> None:
    cells = []
    for first, last in ERAS:
        own = values[(lists >= first) & (lists <= last) & ~np.isnan(values)]
        value = np.median(np.abs(own)) if how == "median" else own.mean()
        cells.append(f"{value:>10.1%}" if own.size else f"{'':>10}")
    print(f"{name:<30}{''.join(cells)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("systems", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--errors", type=Path, help="file for log errors of all systems (.npz)")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    data, lists = read(options.systems)
    print(f"{len(lists)} systems of {data.computers.max() + 1} computers")
    print(f"{'':<30}" + "".join(f"{f'{a}-{b}':>10}" for a, b in ERAS))
    first = folds(data, FOLDS, 0)
    for name, families in (("Rmax without trees: sizes", False), ("  and families", True)):
        error = pooled(data, first, families) - data.efficiency
        line(name, np.expm1(error), lists, "median")
    errors = []
    for seed in range(options.repeats):
        fold = folds(data, FOLDS, seed)
        rate, half = held_out(data, fold, seed)
        error, error_half = rate - data.efficiency, half - np.log(data.half)
        errors.append((error, error_half))
        line(f"Rmax, median error ({seed + 1})", np.expm1(error), lists, "median")
        line("  90% intervals that hold", covered(data, error, fold), lists, "mean")
        line("N½, median error", np.expm1(error_half), lists, "median")
        line("  90% intervals that hold", covered(data, error_half, fold), lists, "mean")
    if options.errors:
        np.savez(options.errors, rate=[e for e, _ in errors], half=[e for _, e in errors])
    if options.write:
        rows = np.arange(len(lists))
        model = fit(data, rows, 0)
        widths = (interval_widths(data, errors[0][0]), interval_widths(data, errors[0][1]))
        shipped = Listed(model.rule, model.words, model.rate, model.half, model.half_line, *widths)
        TARGET.write_bytes(as_text(shipped))
        print(f"{TARGET.name}: {TARGET.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
