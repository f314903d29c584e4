"""docs/kernels.md equals the catalogue."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.cli.machine.kernels import kernels as command
from assay.kernels import kernels
from assay.kernels.catalogue import Kernel, Metric, Parameter
from assay.report.catalogue import catalogue_markdown

PAGE = Path(__file__).parents[2] / "docs" / "kernels.md"


def test_the_page_equals_the_catalogue(capsys):
    command(markdown=True)
    page = capsys.readouterr().out
    assert page == catalogue_markdown(kernels())
    assert page == PAGE.read_text(encoding="utf-8"), "renew it: make docs"


@pytest.mark.parametrize("kernel", kernels(), ids=lambda kernel: kernel.name)
def test_every_kernel_s_work_has_its_formula_and_source(kernel):
    defaults = {parameter.name: parameter.default for parameter in kernel.parameters}
    work = kernel.work(defaults, kernel.min_ranks, 1)
    assert set(kernel.formulas) == set(work), "each quantity of the work needs its formula in words"
    assert kernel.source


def test_an_entry_is_described_completely():
    planted = Kernel(
        name="planted.kernel",
        title="A planted kernel",
        parameters=(Parameter("op", "a", "one | other", choices=("a", "b")),
                    Parameter("bytes", 8, "a size", unit="B", low=0, high=1024)),
        metrics=(Metric("time", "s", "less", "a time"), Metric("rate", "B/s", "more", "a rate")),
        work=lambda parameters, ranks, threads: {},
        source="Nobody (1999)",
        min_ranks=2,
        max_ranks=2,
        headline="rate",
        notes="A note.",
        work_units={"bytes": "B"},
        formulas={"bytes": "8 n"},
    )  # fmt: skip
    page = catalogue_markdown((planted,))
    for line in (
        "- [`planted.kernel`](#plantedkernel): A planted kernel",
        "A planted kernel. Ranks: 2; one thread per rank.",
        "A note.",
        r"| `op` | a | a \| b | one \| other |",
        "| `bytes` | 8 B | 0 to 1,024 | a size |",
        "| `time` | s | less | a time |",
        "| **`rate`** | B/s | more | a rate |",
        "| bytes | B | 8 n |",
        "Source: Nobody (1999).",
    ):
        assert line in page.splitlines(), line
