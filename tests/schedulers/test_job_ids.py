"""Ids of jobs are those of the scheduler's grammar before they become arguments of commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.schedulers.batch import Batch
from assay.schedulers.commands import CommandResult
from assay.schedulers.flux import FluxScheduler
from assay.schedulers.lsf import LsfScheduler
from assay.schedulers.model import JobRequest
from assay.schedulers.pbs import ClassicPbsScheduler, PbsScheduler
from assay.schedulers.slurm import SlurmScheduler

VALID = {
    SlurmScheduler: ("123", "123_4", "123_[1-3]", "123_[1-3,7%2]", "123+0"),
    PbsScheduler: ("123.server", "123[].server", "123[7].server.site.org", "123"),
    ClassicPbsScheduler: ("123.server", "123[].server", "123[7].server", "123"),
    LsfScheduler: ("123", "123[4]"),
    FluxScheduler: (
        "ƒ2oVrBsPEV",
        "f2oVrBsPEV",
        "1234567",
        "0x1a2b",
        "0000.0000.0a2b.3c4d",
        "f2,f3",
    ),
}
NEVER = (
    *("", "-1", "--user=root", "-u", "root", "all", "123 456", "123\n456", "123;id", "$(id)", "*"),
    *(
        "123/../4",
        "123_",
        "123_[",
        "[1-3]",
        "_4",
        "١٢٣",
        "123 ",
        " 123",
        "\x1b[2J",
        "%1",
        "12 -u 0",
    ),
    "9" * 500,
)


@pytest.mark.parametrize("kind", VALID)
def test_every_notation_and_nothing_else(kind: type[Batch]) -> None:
    scheduler = kind()
    assert scheduler.checked([*VALID[kind], VALID[kind][0]]) == list(VALID[kind])
    asked: list[list[str]] = []
    scheduler.run = lambda command, **_: asked.append(command) or CommandResult(0, "", "")
    for job in NEVER:
        for use in (scheduler.status, scheduler.names, scheduler.accounting, scheduler.cancel):
            with pytest.raises(AssayError, match="is not an id of a job"):
                use([job])
            with pytest.raises(AssayError):
                use([VALID[kind][0], job])
    assert asked == []


@pytest.mark.parametrize(
    ("kind", "said"),
    [(SlurmScheduler, "--user=root\n"), (PbsScheduler, "-Wforce\n"), (LsfScheduler, "Job <-u> is")],
)
def test_an_id_in_the_output_of_a_submission(
    kind: type[Batch], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.schedulers import commands

    monkeypatch.setattr(commands, "run", lambda *_, **__: CommandResult(0, said, ""))
    request = JobRequest("assay-a-1", ("true",), tmp_path, 1, 60.0, tmp_path / "1.out")
    with pytest.raises(AssayError, match="its id can't be read"):
        kind().submit(request, tmp_path)


def test_the_end_of_options_where_the_command_knows_it() -> None:
    assert SlurmScheduler().cancel_command("7") == ["scancel", "-Q", "--", "7"]
    assert FluxScheduler().cancel_command("f7")[-2:] == ["--", "f7"]
