"""The public interface in Python, and the notebook that shows it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import assay
import prepared_assay
from assay.errors import AssayError
from report_pages import drawing_cache

__all__ = ["drawing_cache"]  # a fixture

DOCS = Path(__file__).parents[2] / "docs"
# STREAM at 1 GB/s per rank, all else a millisecond.
MACHINE = """
schema = 1
cores = 4
[[kernel]]
match = "memory.stream"
time = "elements * 24 / 1e9"
resolved = { elements = 1000000 }
[[kernel]]
match = "*"
time = "1 ms"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a run of the suite quick on a fake machine."""
    folder = tmp_path_factory.mktemp("api")
    (folder / "machine.toml").write_text(MACHINE)
    words = ("run", "quick", "--fake", "machine.toml", "--no-report", "--budget", "20 s")
    more = ("--launches", "6", "--fail-on", "never", "--seed", "1")
    prepared_assay.run(
        [sys.executable, "-m", "assay", *words, *more], cwd=folder, check=True, capture_output=True
    )
    return folder


@pytest.fixture(scope="module")
def run(folder):
    return assay.open_run("quick", folder / "runs")


def test_a_run_is_found_by_path_part_and_age(folder, run):
    assert assay.open_run(runs=folder / "runs").path == run.path
    assert assay.open_run(run.path).name == run.name
    assert [each.path for each in assay.open_runs(folder / "runs")] == [run.path]
    assert run.complete and "quick" in repr(run)
    with pytest.raises(AssayError, match="There is no run 'other'"):
        assay.open_run("other", folder / "runs")


def test_cells_are_a_frame_with_the_planted_numbers(run):
    triad = run.cells.filter(
        pl.col("kernel") == "memory.stream", pl.col("op") == "triad", pl.col("headline")
    ).sort("ranks")
    assert triad["ranks"].to_list() == [1, 4]
    assert triad["unit"].unique().to_list() == ["B/s"]
    assert triad["median"].to_list() == pytest.approx([1e9, 4e9], rel=0.01)
    assert run.cells["n"].dtype == pl.Int64 and run.cells["bytes"].null_count() > 0
    # One parameter with the name of a fixed column has an underscore: DGEMM's n.
    orders = run.cells.filter(pl.col("kernel") == "compute.dgemm")["n_"].unique().to_list()
    assert sorted(orders)[-1] == 2000


def test_answers_findings_and_figures_are_the_reports(run):
    assert list(run.answers) == ["speed", "network", "steadiness", "placement", "design"]
    assert run.answers["speed"].verdict == run.report.sections[0].verdict
    assert run.findings["speed"] is run.report.sections[0].findings
    stream = run.figures["stream"]
    assert stream.svg().startswith("<svg") and stream._repr_svg_().startswith("<svg")
    assert stream.data["median"].max() == pytest.approx(4e9, rel=0.01)
    assert stream.units["median"] == "B/s"
    assert len(list(stream)) == stream.data.height == len(stream.vega_lite["data"]["values"])


def test_samples_are_all_samples(run):
    counted = dict(run.cells.group_by("cell").agg(pl.col("samples").max()).iter_rows())
    assert run.samples.height >= sum(counted.values())
    assert {"measurement", "metric", "unit", "rank", "time", "value"} <= set(run.samples.columns)


def test_importing_it_loads_nothing_heavy():
    code = "import assay, sys; print(sorted({'polars', 'numpy', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="no attribute 'anything'"):
        assay.anything  # noqa: B018


def test_the_document_names_everything_public():
    from assay.api import RunFigure, StoredRun

    text = (DOCS / "python.md").read_text("utf-8")
    for name in assay.__all__:
        assert name in text or name == "__version__", name
    for prefix, kind in (("run.", StoredRun), ("", RunFigure)):
        for name in vars(kind):
            if not name.startswith("_"):
                assert re.search(rf"`{re.escape(prefix)}\.?{name}", text), name


def test_the_notebooks_cells_run(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("COLUMNS", raising=False)
    notebook = json.loads((DOCS / "notebooks" / "stored_runs.ipynb").read_text("utf-8"))
    assert notebook["nbformat"] == 4
    names: dict[str, object] = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 6
    for cell in cells:
        assert cell["outputs"] == []
        exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    assert names["speedup"] == pytest.approx(4.0, rel=0.01)
    assert "sustain" in capsys.readouterr().out
