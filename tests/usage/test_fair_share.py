"""Fair shares of ``sshare`` against the use of a log."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.subjects.usage.findings import find
from assay.subjects.usage.tables import tables
from assay.usage.analysis.query import UsageQuery
from sacct_jobs import SacctJob, planted_jobs, sacct_text
from usage_logs import SLURM_SHARES, read_text

# phys has 3 of 5 parts with root's own user, of which opt has half; chem has 1.
TARGETS = {"phys": 0.3, "opt": 0.3, "chem": 0.2}
USED = ("phys", "phys", "opt", "rest")
JOBS = [SacctJob(**{**vars(job), "account": USED[n % 4]}) for n, job in enumerate(planted_jobs(80))]


def test_targets_are_products_over_the_levels(tmp_path: Path) -> None:
    accounts = read_text(tmp_path, sacct_text(JOBS), SLURM_SHARES)
    targets = {(each.account, each.user): each.target for each in accounts.machine.fair_shares}
    assert targets == pytest.approx(
        {
            ("root", "root"): 0.2, ("phys", ""): 0.6, ("phys", "ann"): 0.3, ("opt", ""): 0.3,
            ("chem", ""): 0.2, ("chem", "bob"): 0.2,
        }
    )  # fmt: skip
    assert accounts.problems.found() == []


def test_use_against_targets(tmp_path: Path) -> None:
    found = find(read_text(tmp_path, sacct_text(JOBS), SLURM_SHARES), UsageQuery(identify=True))
    whole = sum(job.run * job.cpus for job in JOBS)
    assert {row.account: row.target for row in found.fair_shares} == pytest.approx(TARGETS)
    for row in found.fair_shares:
        use = sum(job.run * job.cpus for job in JOBS if job.account == row.account)
        assert (row.use, row.share_of_use) == (use, pytest.approx(use / whole))
        assert row.ratio == pytest.approx(use / whole / TARGETS[row.account])
    assert "usage-fair-shares" in {table.id for table in tables(found)}
    assert not any("Fair shares" in each for each in found.unknown)


def test_names_are_hidden_and_targets_may_be_absent(tmp_path: Path) -> None:
    found = find(read_text(tmp_path, sacct_text(JOBS), SLURM_SHARES), UsageQuery())
    assert not {"phys", "opt", "chem"} & {row.account for row in found.fair_shares}
    alone = find(read_text(tmp_path, sacct_text(JOBS)), UsageQuery())
    assert alone.fair_shares == []
    assert any("sshare" in each for each in alone.unknown)


@pytest.mark.parametrize("ending", ["", "|"])
def test_several_answers_and_other_text(tmp_path: Path, ending: str) -> None:
    """``--parsable`` ends lines with a separator; a later answer repeats the header."""
    text = "".join(f"{line}{ending}\n" for line in SLURM_SHARES.splitlines())
    accounts = read_text(tmp_path, sacct_text(JOBS), f"$ sshare -a\n{text}")
    assert len(accounts.machine.fair_shares) == 6
