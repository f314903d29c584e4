"""Campaigns on fake machines whose kernels take the times that the catalogue expects, or others."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from assay.campaign.budget.time_left import TimeLeft
from assay.campaign.engine.display import Silent
from assay.campaign.engine.execute import state_of
from assay.campaign.engine.loop import Campaign
from assay.campaign.engine.state import CampaignState
from assay.campaign.machine.bench import FakeMachine
from assay.campaign.requests.run_request import plan_here, run_options
from assay.kernels import kernels
from assay.launch.fake.executor import FakeExecutor
from assay.launch.fake.scenario import load_scenario
from assay.model.cell import Cell
from assay.model.plan import Plan
from assay.records.model import RunData
from records_builder import make_run

_MACHINE = """
schema = 1
nodes = {nodes}
cores = 8
seed = 4
launch_time = {launch}
[toolchain.fake]
cxx = "g++"
[toolchain.other]
cxx = "clang++"
{npb}
[[kernel]]
match = "network.*"
time = 5e-5
noise = {{ sigma = 0.02, launch_sigma = 0.01 }}
[[kernel]]
match = "linpack.search"
time = 8
max_batch = 1
[[kernel]]
match = "linpack"
time = "{slower} * (0.1 + 3 * fraction)"
max_batch = 1
[[kernel]]
time = 0.01
noise = {{ sigma = 0.02, launch_sigma = 0.005 }}
"""
_NPB = """
[[kernel]]
match = "{name}"
time = "{slower} * work_operations / {pace} / (ranks * threads) ** 0.9"
max_batch = 1
noise = {{ sigma = 0.01, launch_sigma = 0.01 }}
"""


@dataclass
class Observed(Silent):
    """Keeps what was said, and the time left after each launch: spent seconds, estimate."""

    said: list[str] = field(default_factory=list)
    estimates: list[tuple[float, TimeLeft]] = field(default_factory=list)
    _last: tuple[float, int] | None = None

    def tick(self, state: CampaignState) -> None:
        """Keep the estimate if the state has changed."""
        known = (state.spent, state.keeper.changes)
        if known != self._last:
            self._last = known
            self.estimates.append((state.spent, state.keeper.time_left()))

    def note(self, sentence: str) -> None:
        """Keep what is said."""
        self.said.append(sentence)


@dataclass(frozen=True)
class Simulated:
    """A campaign that has ended; ``total``: simulated seconds of all launches."""

    plan: Plan
    data: RunData
    total: float
    observed: Observed
    over_budget: list[Cell]

    @property
    def measured(self) -> set[str]:
        """The ids of the cells with a measurement."""
        return {m.cell.id for m in self.data.measurements}

    @property
    def ended(self) -> bool:
        """Whether a launch was ended because it took longer than foreseen."""
        return any("was ended after" in sentence for sentence in self.observed.said)


def scenario_text(*, launch: float, slower: float = 1.0, nodes: int = 4) -> str:
    """A scenario whose NPB take ``slower`` times what the catalogue expects."""
    npb = "".join(
        _NPB.format(name=kernel.name, slower=slower, pace=kernel.pace)
        for kernel in kernels()
        if kernel.pace is not None
    )
    return _MACHINE.format(launch=launch, npb=npb, slower=slower, nodes=nodes)


def simulated(
    path: Path, suite: str, *words: str, budget: str, launch: float, slower: float, nodes: int = 4
) -> Simulated:
    """Execute a suite with a budget on a simulated machine."""
    file = path / "machine.toml"
    file.write_text(scenario_text(launch=launch, slower=slower, nodes=nodes))
    options = run_options(suite, words, rule={"budget": budget}, seed=3)
    plan = plan_here(options, FakeMachine(file).context)
    run = make_run(path, plan)
    observed = Observed()
    campaign = Campaign(run, FakeExecutor(load_scenario(file)), observed, state_of)
    data = campaign.execute()
    total = sum(record.wall for record in run.launches())
    return Simulated(plan, data, total, observed, campaign.over_budget)
