"""The example sites of docs/sites.md are read, and give the job scripts that they describe."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from assay.campaign.jobs.submission import JobOptions
from assay.cli.app import app
from assay.config import Config, load_config
from assay.schedulers.model import JobRequest
from assay.schedulers.pbs import PbsScheduler
from assay.schedulers.slurm import SlurmScheduler
from schedulers_syntax import read

SITES = Path(__file__).parents[2] / "docs" / "sites"


@pytest.fixture(autouse=True)
def no_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_SITE", "restored")
    monkeypatch.delenv("ASSAY_SITE")


def request(config: Config, partition: str | None, tasks: int = 1) -> JobRequest:
    options = JobOptions(partition=partition).applied(config.scheduler)
    path = Path("/scratch/run")
    walltime = min(options.longest, 6 * 3600.0)
    return JobRequest("assay-1", ("true",), path, 2, walltime, path / "1.out", tasks, options)


@pytest.mark.parametrize(
    ("partition", "expected"),
    [
        (None, {("--partition", "batch"), ("--constraint", "genoa"), ("--time", "6:00:00")}),
        ("large", {("--partition", "large"), ("--qos", "large"), ("--account", "benchmarks")}),
        ("debug", {("--partition", "debug"), ("--time", "0:30:00")}),
    ],
)
def test_the_slurm_sites_partitions(partition: str | None, expected: set[tuple[str, str]]) -> None:
    config = load_config(SITES / "slurm.toml", "seth")
    text = SlurmScheduler().script(request(config, partition))
    text = text.replace("#SBATCH --no-kill\n", "")
    assert expected <= set(read("slurm", text)[0])


def test_the_slurm_site_has_two_systems() -> None:
    seth = load_config(SITES / "slurm.toml", "seth")
    baldr = load_config(SITES / "slurm.toml", "baldr")
    assert (seth.system.name, baldr.system.name) == ("seth", "baldr")
    assert list(seth.toolchains) == ["gnu", "cray", "foss", "spack", "image"]
    assert list(baldr.toolchains) == ["gnu"]
    assert baldr.scheduler is not None and baldr.scheduler.longest == 12 * 3600
    assert (len(seth.expect), len(baldr.expect)) == (3, 0)
    assert seth.containers["ubuntu"].image == str(SITES / "ubuntu-24.04-openmpi.sif")
    assert not JobOptions(partition="debug").applied(seth.scheduler).arrays


def test_the_pbs_site_builds_for_its_nodes() -> None:
    config = load_config(SITES / "pbs.toml")
    script = PbsScheduler().script(request(config, "express", tasks=9))
    directives = read("pbs", script)[0]
    assert {("-q", "express"), ("-J", "0-8%4"), ("-l", "select=2:ncpus=48")} <= set(directives)
    assert "module load python/3.11 || exit 1" in script
    assert "=native" not in (config.toolchains["site"].flags or "")


@pytest.mark.parametrize("name", ["gitlab-ci.yml", "nightly.cron"])
def test_the_command_line_accepts_the_nightly_commands(name: str) -> None:
    commands = re.findall(r"assay (?:run|history) [^>|\n]*", (SITES / name).read_text())
    assert len(commands) == 2
    for command in commands:
        app.parse_args(shlex.split(command)[1:], print_error=False, exit_on_error=False)
