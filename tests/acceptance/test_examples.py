"""Each contract that the command prints is valid, can be planned, and names cells that exist."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from assay.acceptance.example import EXAMPLES, example_contract
from assay.acceptance.reading.contracts import read_contract
from assay.cli.app import main
from assay.kernels import find_kernel, kernels
from assay.model.placement import Placement
from assay.reference.papers.loading import figure_by_id

PAGES = Path(__file__).parents[2] / "docs" / "contracts"


def called(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["accept", *words])
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


@pytest.mark.parametrize("name", ["", *EXAMPLES])
def test_an_example_can_be_planned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    status, text, _ = called(capsys, "--example", *filter(None, [name]))
    assert (status, text) == (0, example_contract(name))
    file = tmp_path / "contract.toml"
    file.write_text(text)
    agreed = read_contract(file)
    status, out, _ = called(capsys, str(file), "--plan", "--json")
    assert status == 0
    names = [each["name"] for each in json.loads(out)["commitments"]]
    assert names == [each.name for each in (*agreed.commitments, *agreed.variations)]


@pytest.mark.parametrize("name", ["", *EXAMPLES])
def test_an_example_names_cells_that_exist(tmp_path: Path, name: str) -> None:
    file = tmp_path / "contract.toml"
    file.write_text(example_contract(name))
    agreed = read_contract(file)
    placed = {*Placement.__struct_fields__, "ranks"}
    for each in (*agreed.commitments, *agreed.variations):
        kernel, *words = each.cells.split()
        assert any(fnmatchcase(known.name, kernel) for known in kernels())
        parameters = {each.name: each for each in find_kernel(kernel).parameters}
        for word in words:
            key, _, value = word.partition("=")
            assert key in placed or key in parameters, word
            choices = getattr(parameters.get(key), "choices", None)
            assert not choices or value in map(str, choices), word


def test_every_example_has_a_page_that_the_list_names() -> None:
    listed = (PAGES / "README.md").read_text()
    for name in EXAMPLES:
        assert f"[{name}.md]({name}.md)" in listed
        assert (
            f"assay accept --example {name} > contract.toml" in (PAGES / f"{name}.md").read_text()
        )


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_page_has_the_planned_launches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Each number of launches of the plan stands in the page's table."""
    file = tmp_path / "contract.toml"
    file.write_text(example_contract(name))
    _, out, _ = called(capsys, str(file), "--plan", "--json")
    numbers = {str(each["launches"]) for each in json.loads(out)["commitments"]}
    table = [line for line in (PAGES / f"{name}.md").read_text().splitlines() if "|" in line]
    cells = {cell.strip().split()[0] for line in table for cell in line.split("|") if cell.strip()}
    assert numbers <= cells


def test_published_numbers_are_the_papers() -> None:
    """The numbers of the examples that are said to be published."""
    processor, network = example_contract("processor"), example_contract("network")
    for text, name, written in (
        (processor, "seth.dgemm.two", "5.208 Gflop/s"),
        (processor, "seth.stream.two", "964 MB/s"),
        (processor, "seth.linpack.rate", "480.7 Gflop/s"),
        (network, "seth.pingpong.latency", "3.7 us"),
        (network, "seth.pingpong.bandwidth", "230 MB/s"),
        (network, "seth.barrier", "5.3 us"),
    ):
        assert f'"{written}"' in text
        assert figure_by_id(name).value == written.partition(" ")[0]
    throughput = example_contract("throughput")
    for kernel in ("bt", "lu", "cg"):
        rate = 64 * float(figure_by_id(f"t3e-900.npb.{kernel}.64").value) / 1e3
        assert f'reference = "{rate:.4f} Gop/s"' in throughput
        cov = figure_by_id(f"seaborg.npb.{kernel}.256.cov").value
        assert f'variation = "{cov}%"' in throughput


def test_a_wrong_name_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = called(capsys, "--example", "netwrk")
    assert status == 2
    assert "There is no example 'netwrk'" in err and "Did you mean 'network'?" in err
