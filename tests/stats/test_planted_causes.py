"""Causes created on this machine are what the report names, and no others."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from assay.config import Config
from assay.kernels.toolchains import select_toolchain
from assay.lab import network
from assay.stats.attribution.attribution import LEAST
from kernel_runs import plain

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.flaky(
        reruns=2, reason="it measures this machine, whose CPUs other programs may take meanwhile"
    ),
]


def experiments() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "causes.py"
    spec = importlib.util.spec_from_file_location("causes_made", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(path.parent)  # it imports its neighbours, as when it is run
        spec.loader.exec_module(module)
    return module


EXPERIMENTS = experiments()
# Share of the time above which a cause that was not created is present nevertheless.
REAL = 0.02


@pytest.mark.long
@pytest.mark.parametrize("name", EXPERIMENTS.NAMES)
def test_the_created_cause_is_named_first(name: str, tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("Ranks and what disturbs them need two CPUs.")
    if os.geteuid() != 0:
        pytest.skip("Only root may give the ranks a higher priority than what else runs here.")
    if name == "retransmits" and (reason := network.why_not()):
        pytest.skip(reason)
    controller = {"memory": "memory", "quota": "cpu"}.get(name)
    if controller and EXPERIMENTS.parent_of_groups(controller) is None:
        pytest.skip(f"No control group with a limit of {controller} can be made here.")
    with contextlib.closing(EXPERIMENTS.experiments([name])) as planted:
        experiment = next(planted)
        toolchain = select_toolchain(None, Config())
        outcome = EXPERIMENTS.execute_campaign(experiment, toolchain, plain(), tmp_path, LEAST)
    cell = outcome.causes.cells[0]
    said = f"slowdown {outcome.slowdown:.2f}: {cell.attribution}"
    assert outcome.named[:1] == [experiment.cause], said
    # Other load here may compete, too: then undisturbed launches had to wait as well.
    others = [share for share in cell.named[1:] if share.cause in EXPERIMENTS.NAMES]
    assert all((share.quick or 0.0) > REAL for share in others), said
    assert cell.named[0].share > 0.2, said
