"""assay simulate: without SimGrid the closed form; wrong input is one sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.cli.app import main
from assay.simulation.example import EXAMPLE
from assay.trace.events import Trace
from simulated_clusters import BASE, needs_simgrid, simgrid_path
from simulated_mpi import Net, Script, simulate
from traces import ETHERNET, FAST


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "cluster.toml"
    path.write_text(BASE, encoding="utf-8")
    return str(path)


def run(capsys, *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["simulate", *words])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), " ".join(out.split()), " ".join(err.split())


def without(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = SimpleNamespace(which=lambda name: None)
    monkeypatch.setattr("assay.simulation.simgrid.shutil", nothing)


def test_without_simgrid_the_closed_form_and_how_to_get_it(capsys, file, monkeypatch) -> None:
    without(monkeypatch)
    words = ("npb.ep.S", "--on", file, "--ranks", "4", "--rate", "100 Mop/s")
    status, out, _ = run(capsys, *words)
    assert status == 0
    assert "by the closed form; not simulated, because SimGrid was not found" in out
    assert "apt install libsimgrid-dev" in out
    _, out, _ = run(capsys, *words, "--json")
    found = json.loads(out)
    # 2^25 numbers by four ranks, and two steps of an allreduce of 96 B by two nodes.
    assert found["closed_form"] == pytest.approx(2**25 / 4e8 + 2 * (20e-6 + 96 * 2 / 1e8), rel=1e-6)
    assert (found["simulated"], found["simulator"]) == (None, None)


def _exchange(rank: Script) -> None:
    for _ in range(20):
        rank.compute(0.1)
        if rank.rank == 0:
            rank.send(1, 1000)
            rank.recv(1, 1000)
        else:
            rank.recv(0, 1000)
            rank.send(0, 1000)


def _without_cpu(trace: Trace, share: float) -> Trace:
    ranks = tuple(replace(rank, cpu_wait=share * rank.wall) for rank in trace.ranks)
    return replace(trace, ranks=ranks)


def test_the_doubt_about_a_trace_is_stated(capsys, file, monkeypatch, tmp_path) -> None:
    """The verdict has the reason that the report on the trace gives, and the advice the remedy."""
    without(monkeypatch)
    trace = simulate(2, _exchange, Net(ETHERNET, FAST))

    def said(trace: Trace) -> str:
        monkeypatch.setattr("assay.report.simulation.source.read_trace", lambda folder: trace)
        status, out, _ = run(capsys, str(tmp_path), "--on", file)
        assert status == 0 and "by the closed form" in out
        return out

    reason = "ranks had no CPU for 50.0% of their time"
    assert f"; doubtful, because {reason}." in said(_without_cpu(trace, 0.5))
    _, out, _ = run(capsys, str(tmp_path), "--on", file, "--json")
    found = json.loads(out)
    assert found["doubt"] == reason
    assert found["remedies"] == [f"Give each rank a CPU of its own and profile again: {reason}."]
    assert "doubtful" not in said(_without_cpu(trace, 0.01))


@needs_simgrid
@pytest.mark.parametrize("kernel", ["ep", "cg", "lu"])
def test_an_npb_kernel_is_simulated(capsys, file, kernel) -> None:
    named = ("--simgrid", str(simgrid_path())) if simgrid_path() else ()
    status, out, _ = run(
        capsys, f"npb.{kernel}.S", "--on", file, "--ranks", "4", "--rate", "100 Mop/s", "--json",
        *named,
    )  # fmt: skip
    found = json.loads(out)
    assert status == 0
    assert found["simulator"].startswith("SimGrid")
    assert found["simulated"] > found["computing"]
    # The waiting in LU's pipeline is in no closed form.
    assert found["simulated"] == pytest.approx(found["closed_form"], rel=0.6)


def test_the_example_is_printed(capsys, tmp_path, monkeypatch) -> None:
    without(monkeypatch)
    with pytest.raises(SystemExit):
        main(["simulate", "--example"])
    text = capsys.readouterr().out
    assert text == EXAMPLE
    path = tmp_path / "seth.toml"
    path.write_text(text, encoding="utf-8")
    status, out, _ = run(
        capsys, "npb.cg.S", "--on", str(path), "--ranks", "60", "--rate", "300 Mop/s"
    )
    assert status == 0
    assert "60 ranks" in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "The cluster is missing"),
        (("--on", "FILE"), "The program is missing"),
        (("npb.cx.S", "--on", "FILE", "--ranks", "4", "--rate", "1 Gop/s"), "no NPB kernel 'cx'"),
        (("npb.cg.Q", "--on", "FILE", "--ranks", "4", "--rate", "1 Gop/s"), "no class 'Q'"),
        (("npb.cg", "--on", "FILE", "--ranks", "4", "--rate", "1 Gop/s"), "no class ''"),
        (("npb.cg.S", "--on", "FILE"), "--ranks is missing"),
        (("linpack.x", "--on", "FILE", "--ranks", "4"), "has no valid order"),
        (("linpack.2000", "--on", "FILE", "--ranks", "4"), "--rate is missing"),
        (
            ("linpack.2000", "--on", "FILE", "--ranks", "4", "--rate", "1 Gflop/s"),
            "without SimGrid",
        ),
        (("npb.cg.S", "--on", "FILE", "--ranks", "4"), "--rate is missing"),
        (("npb.cg.S", "--on", "FILE", "--ranks", "4", "--rate", "0 op/s"), "can't be 0 op/s"),
        (("npb.cg.S", "--on", "FILE", "--ranks", "64", "--rate", "1 Gop/s"), "need 32 nodes"),
        (("npb.cg.S", "--on", "FILE", "--ranks", "0", "--rate", "1 Gop/s"), "--ranks can't be 0"),
        (("nothing-of-that-name", "--on", "FILE"), "is not npb.KERNEL.CLASS, linpack.ORDER, "),
        (("--on", "FILE", "--ranks", "2", "--", "true"), "requires SimGrid"),
        (("npb.cg.S", "--on", "missing.toml", "--ranks", "4", "--rate", "1 op/s"), "be read"),
    ],
)
def test_wrong_input_is_one_sentence(capsys, file, monkeypatch, words, sentence) -> None:
    without(monkeypatch)
    status, _, err = run(capsys, *(file if word == "FILE" else word for word in words))
    assert status == 2
    assert sentence in err


@needs_simgrid
def test_a_program_of_another_mpi_is_refused(capsys, file) -> None:
    named = ("--simgrid", str(simgrid_path())) if simgrid_path() else ()
    status, _, err = run(capsys, "--on", file, "--ranks", "2", *named, "--", "true")
    assert status == 2
    assert "is not compiled for SimGrid" in err
