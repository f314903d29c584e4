"""Messages for mistakes: what was expected, with an example of that option."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from campaign_lab import InProcessLab
from unforeseen import UNFORESEEN


@pytest.fixture
def lab(tmp_path: Path) -> InProcessLab:
    return InProcessLab(tmp_path)


FAKE = ("--fake", "scenario.toml")


@pytest.mark.parametrize(
    ("words", "says", "not_"),
    [
        (
            ["run", "plan.toml", *FAKE, "--budget", "nonsense"],
            ["'nonsense' is not a quantity", "--budget", "90 s"],
            ["which is unknown here"],
        ),
        (
            ["measure", "network.pingpong", "bytes=64KX", *FAKE],
            ["unknown unit 'KX'", "64 KiB"],
            ["flop"],
        ),
        (
            ["run", "plan.toml", *FAKE, "--budget", "3 fortnights"],
            ["unknown unit 'fortnights'", "3 days"],
            ["flop", "GiB"],
        ),
        (["measure", "npb.gc", *FAKE], ["'npb.gc'", "Did you mean 'npb.cg'?"], []),
        (["measure"], ["KERNEL is missing", "assay measure npb.cg class=A"], ["--kernel"]),
        (
            ["measure", "npb.cg", "--ppn", "64", *FAKE],
            ["64", "--oversubscribe"],
            ["with oversubscribe", "oversubscribe = true"],
        ),
        (
            ["lab", "down", "a", "b"],
            ["'b' is too much", "Such as: assay lab down"],
            ["Unused Tokens"],
        ),
        (["run", "--nodes"], ["--nodes needs a value", "--nodes 8"], []),
        (["report", "--runs", "r[/x]", "nothing"], ["r[/x]", "no run 'nothing'"], []),
        (["runs", "--runs", "r[/x]"], ["There are no runs in r[/x]."], []),
    ],
)
def test_a_mistake_is_answered_with_the_expected_form(
    lab: InProcessLab, words: list[str], says: list[str], not_: list[str]
) -> None:
    (lab.path / "scenario.toml").write_text("schema = 1\ncores = 4\n")
    done = lab.call(words)
    said = done.stderr + done.stdout
    assert done.returncode == (0 if "There are no runs" in said else 2)
    for part in says:
        assert part in said
    for part in not_:
        assert part not in said


@pytest.mark.parametrize(
    "level", ["ppn=1e400", "threads=nan", "ppn=-inf", f"ppn={'9' * 5000}", f"ppn={'(' * 3000}"]
)
def test_invalid_numbers_give_one_sentence(lab: InProcessLab, level: str) -> None:
    for words in (["run", "plan.toml", level], ["measure", "npb.ep", f"--{level}"]):
        done = lab.call([*words, *FAKE])
        assert done.returncode == 2
        assert done.stderr.startswith("assay: ")
        assert len(done.stderr) < 1000
        assert UNFORESEEN not in done.stderr


def test_an_unexpected_error_gives_a_sentence_with_a_file(
    lab: InProcessLab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import tempfile

    from assay.campaign.commands import listing

    def fail(*_: object, **__: object) -> int:
        raise ZeroDivisionError("a planted one\x1b[2J")

    monkeypatch.setattr(listing, "show", fail)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = lab.call(["runs"])
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and UNFORESEEN in done.stderr
    (file,) = tmp_path.glob("assay-error-*.txt")
    assert str(file) in done.stderr
    assert "ZeroDivisionError: a planted one" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    done = lab.call(["runs"])
    assert "ZeroDivisionError: a planted one\ufffd" in done.stderr and UNFORESEEN in done.stderr
    monkeypatch.setattr(listing, "show", lambda *_, **__: (_ for _ in ()).throw(MemoryError()))
    assert "not enough memory" in lab.call(["runs"]).stderr


def test_invalid_utf8_names_and_an_ascii_terminal(tmp_path: Path) -> None:
    """assay can't choose the bytes of a name or the encoding of a terminal."""
    InProcessLab(tmp_path)
    folder = os.fsencode(tmp_path) + b"/r\xff"
    command = [sys.executable.encode(), b"-m", b"assay"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    plan = [b"run", b"plan.toml", b"--fake", b"scenario.toml", b"--runs", folder, b"--no-report"]
    for words in (plan, [b"runs", b"--runs", folder, b"--json"]):
        done = subprocess.run(
            [*command, *words], cwd=tmp_path, env=environment, capture_output=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr and done.stdout


def limit_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))


@pytest.mark.parametrize(
    "words", [["report"], ["runs", "--clean"], ["doctor", "--cluster"]], ids=" ".join
)
def test_too_little_memory_is_reported_immediately(tmp_path: Path, words: list[str]) -> None:
    """Numerical libraries would abort, or wait for memory forever."""
    done = subprocess.run(
        [sys.executable, "-m", "assay", *words],
        cwd=tmp_path,
        preexec_fn=limit_memory,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "limited to 200 MiB" in done.stderr and "ulimit -v unlimited" in done.stderr


FRUGAL = """
import sys
from assay.cli.app import main
from assay.cli.limits import _WITHOUT_LIBRARIES
for command in _WITHOUT_LIBRARIES:
    try:
        main([command])
    except SystemExit as end:
        assert end.code in (0, 1, 3), command
    assert not {"numpy", "polars", "scipy"} & sys.modules.keys(), command
"""


def test_some_commands_need_little_memory(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FRUGAL],
        cwd=tmp_path,
        env={**os.environ, "ASSAY_CHECKS": str(tmp_path / "checks")},
        preexec_fn=limit_memory,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "no such folder of checks" in done.stdout
    assert "There are no runs in " in done.stdout and "network.barrier" in done.stdout
