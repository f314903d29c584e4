"""What a site says of histories follows from the runs alone, and only what can change is judged."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.report.site import judging
from assay.report.site.judging import HistoryRun, present_cells, settled_runs
from assay.subjects.history.findings import judged_cells
from assay.subjects.history.series import HistorySeries, Machines
from many_runs import ManyRuns
from sites import built, pages_of

SPACING = 6 * 3600.0


def series(values: np.ndarray, number: int = 0) -> HistorySeries:
    n = values.size
    return HistorySeries(
        system="alpha", cell=Cell("network.barrier", {}, Placement(ppn=2 + number), "fake"),
        metric="time", unit="s", better="less", runs=tuple(f"r{i}" for i in range(n)),
        utc=1.7e9 + SPACING * np.arange(n), values=values, scatter=np.full(n, np.nan),
        counts=np.full(n, 3), hosts=("n1",) * n,
    )  # fmt: skip


def runs_of(number: int) -> dict[str, HistoryRun]:
    return {f"r{i}": HistoryRun(1.7e9 + SPACING * i, (i, i, i)) for i in range(number)}


def present(rows: np.ndarray, known: judging.SiteJudgement | None = None) -> judging.PresentCells:
    cells = [series(row, number) for number, row in enumerate(rows)]
    return present_cells(cells, runs_of(rows.shape[1]), Machines([]), known)


@pytest.fixture
def asked(monkeypatch) -> list[int]:
    """The number of cells of each judgement."""
    found: list[int] = []

    def counting(series, *args, **more):
        found.append(len(series))
        return judged_cells(series, *args, **more)

    monkeypatch.setattr(judging, "judged_cells", counting)
    monkeypatch.setattr("assay.stats.changes.parallel.MOST_PROCESSES", 1)
    return found


def steady(cells: int, runs: int) -> np.ndarray:
    draw = np.random.default_rng(5)
    return 1e-3 * np.exp(0.01 * draw.standard_normal((cells, runs)))


def test_few_runs_are_all_judged_and_many_in_steps():
    assert [settled_runs(n) for n in (1, 20, 31)] == [1, 20, 31]
    assert [settled_runs(n) for n in (1000, 1023, 1024, 10_000)] == [992, 992, 1024, 9728]
    assert all(n - settled_runs(n) <= n / 16 for n in range(1, 5000))


def test_only_cells_that_deviate_are_judged_again(asked):
    rows = steady(6, 67)
    rows[3, 64:] *= 1.3  # 64 runs are judged together
    first = present(rows[:, :64])
    assert asked == [6] and first.current
    asked.clear()
    one = present(rows[:, :65], first.judgement)
    assert asked == [] and not one.current
    two = present(rows[:, :67], one.judgement)
    assert asked == [1]
    assert [cell.state for cell in two.cells] == ["steady"] * 6
    assert two.cells[3].suspect is not None
    asked.clear()
    assert present(rows, two.judgement).cells == two.cells
    assert asked == []


def test_a_single_deviation_is_suspected_without_a_judgement(asked):
    rows = steady(3, 65)
    rows[1, 64] *= 1.5
    first = present(rows[:, :64])
    asked.clear()
    found = present(rows, first.judgement)
    assert asked == []
    assert [cell.suspect is not None for cell in found.cells] == [False, True, False]


def test_a_lasting_change_is_found_before_the_next_step_of_all_cells():
    rows = steady(5, 127)
    rows[2, 112:] *= 1.2
    known = None
    for count in range(96, 128):
        known = present(rows[:, :count], known.judgement if known else None)
    assert known is not None
    assert [cell.state for cell in known.cells] == [
        "steady", "steady", "regression", "steady", "steady"
    ]  # fmt: skip
    assert known.cells[2].events[0].run == "r112"


@pytest.mark.parametrize("seed", range(2))
def test_judgements_in_steps_equal_one_at_once(seed):
    """Also where cells wander, have few runs, or begin late."""
    draw = random.Random(seed)
    rows = steady(5, 140)
    rows[1] *= 1.0 + 0.05 * (np.arange(140) > 70)
    rows[2, 130:] *= 1.2
    rows[3] *= np.exp(np.cumsum(0.01 * np.random.default_rng(seed).standard_normal(140)))
    known = None
    count = draw.randrange(1, 30)
    while count <= 140:
        known = present(rows[:, :count], known.judgement if known else None)
        kept = msgspec.msgpack.decode(
            msgspec.msgpack.encode(known.judgement), type=judging.SiteJudgement
        )
        known = known._replace(judgement=kept)
        alone = present(rows[:, :count])
        assert known.cells == alone.cells
        assert known.judgement == alone.judgement
        count += draw.choice((1, 2, 5, 20))


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """70 runs of a machine with a change near the end, and their site."""
    root = tmp_path_factory.mktemp("judging")

    def factor(cell: int, run: int) -> float:
        return 1.2 if cell == 0 and run > 66 else 1.0

    ManyRuns(root / "stores" / "a", "alpha", cells=4, factor=factor).write(70)
    built(root / "stores", root / "site")
    return root


def same_as_new(root: Path) -> None:
    built(root / "stores", root / "site")
    shutil.rmtree(root / "whole", ignore_errors=True)
    built(root / "stores", root / "whole")
    assert pages_of(root / "site") == pages_of(root / "whole")


def test_a_site_equals_a_new_one_after_every_change_of_runs(finished, tmp_path):
    root = tmp_path
    shutil.copytree(finished / "stores", root / "stores", copy_function=shutil.copy2)
    shutil.copytree(finished / "site", root / "site", copy_function=shutil.copy2)
    store = root / "stores" / "a"
    same_as_new(root)
    names = sorted(path.name for path in store.iterdir())
    shutil.rmtree(store / names[69])  # the newest
    same_as_new(root)
    shutil.rmtree(store / names[3])  # an old one
    same_as_new(root)
    for name in (names[10], names[67]):  # sealed again, with other results
        more = ManyRuns(root / "more" / name, "alpha", cells=4, seed=9, factor=lambda c, r: 1.1)
        more.skip(names.index(name))
        (new,) = more.write(1)
        assert new.name == name
        shutil.rmtree(store / name)
        shutil.copytree(new, store / name)
        same_as_new(root)
    (store / names[20] / "measurements.parquet").write_bytes(b"damaged")
    (store / names[20] / "seal.json").touch()
    same_as_new(root)


@pytest.mark.parametrize("damage", ["bit", "cut", "foreign"])
def test_damaged_and_foreign_caches_are_computed_again(finished, tmp_path, damage):
    root = tmp_path
    shutil.copytree(finished / "stores", root / "stores", copy_function=shutil.copy2)
    shutil.copytree(finished / "site", root / "site", copy_function=shutil.copy2)
    cache = root / "site/.assay-site/alpha.values"
    content = bytearray(cache.read_bytes())
    if damage == "bit":
        content[len(content) // 2] ^= 1
    elif damage == "cut":
        del content[-100:]
    else:
        other = ManyRuns(root / "other" / "a", "alpha", cells=4, seed=3)
        other.write(70)
        built(root / "other", root / "others")
        content[:] = (root / "others/.assay-site/alpha.values").read_bytes()
    cache.write_bytes(content)
    shutil.rmtree(
        root / "stores" / "a" / sorted(p.name for p in cache.parents[2].glob("stores/a/*"))[5]
    )
    same_as_new(root)
