"""Placement searches on the fake machine, for several tests."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import prepared_assay
from campaign_lab import Lab

PLAN = """
schema = 1
title = "Where it runs best"
seed = 5
portable = true
[replication]
precision = "5%"
budget = "100000 s"
max_launches = 12
min_samples = 1
[search]
within = "2%"
probability = "95%"
[[measure]]
kernel = "npb.cg"
class = "A"
ppn = [1, 16]
[[measure]]
search = true
kernel = "npb.cg"
class = "A"
ppn = { from = 1, to = 16, steps = "powers of 2" }
threads = { from = 1, to = "all", steps = "powers of 2" }
"""


# Best with 4 ranks × 2 threads: a quadratic surface in the logarithms.
SCENARIO = """
schema = 1
seed = 3
cores = 16
delay = "{delay}"
[[kernel]]
time = "0.1 * 1.15 ** ((log2(ppn) - 2) ** 2 + (log2(threads) - 1) ** 2)"
max_batch = 1
noise = {{ sigma = 0.005, launch_sigma = 0.005 }}
{failures}
"""


class SearchLab(Lab):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        (path / "plan.toml").write_text(PLAN)

    def scenario(self, delay: str = "0 s", failures: str = "") -> None:
        text = SCENARIO.format(delay=delay, failures=failures)
        (self.path / "scenario.toml").write_text(text)


@pytest.fixture
def lab(tmp_path: Path) -> SearchLab:
    return SearchLab(tmp_path)


def placement_section(text: str) -> dict[str, object]:
    sections = {section["id"]: section for section in json.loads(text)["sections"]}
    found: dict[str, object] = sections["placement"]
    return found


def run_app(lab: SearchLab, *words: str):
    """Run the suite with a command, on the fake machine's cores but with real processes."""

    driver = Path(__file__).with_name("assay_on_a_quiet_machine.py")
    command = [sys.executable, str(driver), "run", "placement", *words]
    flags = ["--runs", str(lab.runs), "--no-report", "--json", "--here"]
    return prepared_assay.run(
        [*command, *flags], cwd=lab.path, capture_output=True, text=True, timeout=120
    )
