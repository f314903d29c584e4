"""Plans for tests, from a few lines of TOML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.model.placement import Value
from assay.model.plan import Plan, PlanContext
from assay.plans.suites import load_plan

TWO = PlanContext(cores=2)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    return path


def load(tmp_path: Path, text: str, context: PlanContext = TWO, **options: Any) -> Plan:
    return load_plan(write(tmp_path, text), context, **options)


def measure(tmp_path: Path, lines: str, context: PlanContext = TWO, head: str = "") -> Plan:
    return load(tmp_path, f"schema = 1\n{head}[[measure]]\n{lines}\n", context)


def levels(plan: Plan, name: str) -> list[Value]:
    return [cell.parameters[name] for cell in plan.cells]


def classes(plan: Plan, kernel: str = "npb.is") -> set[Value]:
    return {c.parameters["class"] for c in plan.cells if c.kernel == kernel}
