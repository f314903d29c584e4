"""assay design: the example, formats, findings, a measured machine as a node."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from assay.cli.app import main
from assay.design.example import EXAMPLE
from assay.design.figures import UNCERTAINTY
from assay.design.parts.reading import read_parts
from design_specs import BOTH, FULL, write_files
from profiles import header, write_profile


def run(capsys, *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["design", *words])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_the_example_is_printed_and_can_be_designed(tmp_path, capsys):
    status, text, _ = run(capsys, "--example")
    assert (status, text) == (0, EXAMPLE)
    path = tmp_path / "cluster.toml"
    path.write_text(text, encoding="utf-8")
    status, out, _ = run(capsys, str(path), "--verbose")
    assert status == 0
    assert "within 2%" in " ".join(out.split())
    assert "Recommendations" in out


def test_json_has_the_findings(tmp_path, capsys):
    status, out, _ = run(capsys, str(write_files(tmp_path)), "--json")
    found = json.loads(out)
    assert status == 0
    assert found["considered"] == 160
    best = found["best"][0]
    assert best["score"] == 1.0
    assert sum(line["number"] * line["price"] for line in best["bill"]) == pytest.approx(
        best["price"]
    )
    assert best["price"] <= 40_000
    rate = best["rates"][0]
    assert rate["interval"][0] < rate["rate"] < rate["interval"][1]
    assert math.isclose(sum(rate["shares"].values()), 1.0)
    assert found["inputs"] == sorted(found["inputs"], key=lambda one: -one["gain"])


def test_the_same_specification_gives_the_same_design(tmp_path, capsys):
    path = str(write_files(tmp_path))
    first, second = (json.loads(run(capsys, path, "--json")[1]) for _ in range(2))
    assert {**first, "utc": 0} == {**second, "utc": 0}


@pytest.mark.parametrize("suffix", ["html", "md", "json"])
def test_a_report_is_written(tmp_path, capsys, suffix):
    output = tmp_path / f"report.{suffix}"
    status, _, _ = run(capsys, str(write_files(tmp_path)), "-o", str(output))
    text = output.read_text(encoding="utf-8")
    assert status == 0
    assert "large" in text
    assert "within 2% of the best" in text


def test_wrong_input_is_one_sentence(tmp_path, capsys):
    status, _, err = run(capsys)
    assert status == 2
    assert "No specification is named" in err
    path = write_files(tmp_path)
    path.write_text("[limits]\n", encoding="utf-8")
    status, _, err = run(capsys, str(path))
    assert status == 2
    assert "The specification names no catalogue of parts" in err


def test_a_stored_run_is_a_node(tmp_path, capsys, monkeypatch):
    from assay.cli.app import main as assay

    monkeypatch.chdir(tmp_path)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'schema = 1\ntitle = "A node"\n[[measure]]\nkernel = "compute.dgemm"\nn = [500]\n'
        "threads = [1, 2]\n"
        '[[measure]]\nkernel = "memory.stream"\nop = "triad"\nelements = 1000000\nppn = [1, 2]\n'
        '[[measure]]\nkernel = "npb.ep"\nclass = "S"\nppn = [1, 2]\n',
        encoding="utf-8",
    )
    machine = tmp_path / "machine.toml"
    machine.write_text(
        "schema = 1\nseed = 1\nnodes = 1\ncores = 2\n[[kernel]]\ntime = 0.01\n", encoding="utf-8"
    )
    with pytest.raises(SystemExit) as ended:
        assay(["run", str(plan), "--fake", str(machine), "--runs", str(tmp_path / "runs")])
    assert ended.value.code == 0
    capsys.readouterr()
    (stored,) = (tmp_path / "runs").iterdir()
    status, out, _ = run(capsys, "--from", str(stored))
    assert status == 0
    node = tmp_path / "node.toml"
    price = 'price = 5000\npower = { value = "400 W", kind = "assumed" }\nunits = 1\n'
    text = out.replace("[node.rates]", price + "[node.rates]")  # a fake node's memory is unknown
    node.write_text(text.replace("# memory", "memory"), encoding="utf-8")
    (read,) = read_parts(node, UNCERTAINTY).parts["node"].values()
    # The whole node: two threads or two ranks, in 10 ms.
    assert read.dgemm.value == pytest.approx(2 * 500**3 / 0.01, rel=0.1)
    assert read.dgemm.kind == "measured"
    assert "npb.ep.S" in read.rates
    assert read.dgemm.interval[0] <= read.dgemm.value <= read.dgemm.interval[1]


def test_runs_of_several_vendors_are_nodes_with_rates_of_applications(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two runs of one kind of machine: both nodes have a name, and their application a rate."""
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'schema = 1\ntitle = "A node"\n[[measure]]\nkernel = "compute.dgemm"\nn = [500]\n'
        '[[measure]]\nkernel = "memory.stream"\nop = "triad"\nelements = 1000000\n'
        '[[measure]]\nkernel = "app"\ncommand = ["mpirun -n {ranks} ./bin/model in.dat", '
        '"./bin/model other.dat"]\n',
        encoding="utf-8",
    )
    texts = []
    for vendor, seconds in (("a", 0.02), ("b", 0.04)):
        machine = tmp_path / f"{vendor}.toml"
        machine.write_text(
            f"schema = 1\nseed = 1\nnodes = 1\ncores = 2\n[[kernel]]\ntime = {seconds}\n",
            encoding="utf-8",
        )
        runs = tmp_path / vendor
        with pytest.raises(SystemExit) as ended:
            main(["run", str(plan), "--fake", str(machine), "--runs", str(runs)])
        assert ended.value.code == 0
        texts += ["--from", str(next(runs.iterdir()))]
    capsys.readouterr()
    status, out, _ = run(capsys, *texts)
    assert status == 0
    filled = out.replace("# memory", "memory").replace(
        "# units = 1", 'price = 5000\npower = "400 W"\nunits = 1'
    )
    node = tmp_path / "nodes.toml"
    node.write_text(filled, encoding="utf-8")
    first, second = read_parts(node, UNCERTAINTY).parts["node"].values()
    assert first.name != second.name
    assert first.dgemm.value != second.dgemm.value
    for one, seconds in ((first, 0.02), (second, 0.04)):
        assert {*one.rates} == {"app.model", "app.model-2"}
        rate = one.rates["app.model"]
        assert rate.value == pytest.approx(1 / seconds, rel=0.1)
        assert rate.interval[0] <= rate.value <= rate.interval[1]


def test_a_page_shows_costs_lots_renting_and_storage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `assay design SPEC --html` writes it, with everything that a specification can state."""
    path = write_files(tmp_path, FULL, BOTH)
    output = tmp_path / "page.html"
    status, out, _ = run(capsys, str(path), "-o", str(output), "--verbose")
    assert status == 0
    page = output.read_text(encoding="utf-8")
    for title in (
        "Costs of the best cluster in 5 years",
        "Storage that all nodes share",
        "The budget in two lots",
        "Renting instead of buying",
        "What programs need of the network",
    ):
        assert title in page
        assert title in out
    assert "to buy and" in " ".join(out.split())


def test_a_program_whose_ranks_had_no_cpu_is_printed_as_doubtful(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Above its computing time, which is then that of the machine it was profiled on."""
    for share, doubtful in ((0.52, True), (0.01, False)):
        ranks = {str(rank): [header(rank, cpu_wait=10.0 * share)] for rank in range(2)}
        folder = write_profile(tmp_path / f"{share}.profile", ranks)
        with pytest.raises(SystemExit, match="0"):
            main(["design", "--program", str(folder)])
        printed = capsys.readouterr().out
        assert ("# Doubtful: ranks had no CPU for 52.0% of their time.\n" in printed) == doubtful
        assert 'computing = "10 s"' in printed
