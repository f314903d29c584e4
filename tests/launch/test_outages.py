"""A job's hosts while the scheduler's controller is away, or has lost the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.campaign.machine.survey import survey_hosts
from assay.config import ClusterConfig
from assay.errors import AssayError
from assay.launch import outages
from assay.launch.outages import ask_hosts, silent_hosts

# srun(1) of Slurm 22.05 with --jobid, while slurmctld is away and after it has lost its state.
AWAY = (
    "srun: error: Unable to confirm allocation for job 12: "
    "Unable to contact slurm controller (connect failure)"
)
LOST = (
    "srun: error: Unable to confirm allocation for job 12: Invalid job id specified\n"
    "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 12"
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "_PAUSE", 0.05)
    monkeypatch.setattr(outages, "_SLOWEST", 0.05)


def shell(path: Path, said: str, failures: int) -> str:
    """A remote shell that fails with these words, this many times on each host."""
    script = path / "remote-shell"
    script.write_text(
        f'#!/bin/sh\ncount={path}/$1.count\necho x >>"$count"\n'
        f'if [ "$(wc -l <"$count")" -le {failures} ]; then\n'
        f"cat >&2 <<'E'\n{said}\nE\nexit 1; fi\n"
        'shift; exec sh -c "$*"\n'
    )
    script.chmod(0o700)
    return str(script)


def test_an_outage_is_waited_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    remote = shell(tmp_path, AWAY, 3)
    replies = ask_hosts(remote, ["n1", "n2"], "echo here", patience=5.0)
    assert [(host, reply.out) for host, reply in replies.items()] == [
        ("n1", "here\n"),
        ("n2", "here\n"),
    ]
    said = capsys.readouterr().err
    assert said.count("The scheduler does not answer, and the nodes are reached through it") == 1
    assert AWAY in said


def test_an_outage_does_not_lose_hosts(tmp_path: Path) -> None:
    assert silent_hosts(shell(tmp_path, AWAY, 2), ["n1"], patience=5.0) == ()


def test_an_endless_outage_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "OUTAGE", 0.3)
    with pytest.raises(AssayError, match="has given no answer for 300 ms") as error:
        ask_hosts(shell(tmp_path, AWAY, 1000), ["n1"], "true", patience=5.0)
    assert "assay run --resume" in error.value.fix


def test_a_lost_job_is_named_and_the_remote_shell_is_not(tmp_path: Path) -> None:
    cluster = ClusterConfig(("n1", "n2"), shell(tmp_path, LOST, 1000))
    with pytest.raises(AssayError) as error:
        survey_hosts(cluster, tmp_path, None)
    assert error.value.what.startswith("The scheduler no longer knows this job")
    assert "Invalid job id specified" in error.value.what
    assert "without a password" not in str(error.value)


def test_a_host_that_refuses_is_no_outage(tmp_path: Path) -> None:
    """ssh says "Connection refused", too."""
    remote = shell(tmp_path, "ssh: connect to host n1 port 22: Connection refused", 1000)
    assert silent_hosts(remote, ["n1"], patience=5.0) == ("n1",)
