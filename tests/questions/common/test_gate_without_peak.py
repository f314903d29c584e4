"""Limits that hold without a known peak: arithmetic, and messages beside collectives."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import msgspec
import pytest

from assay.cli.app import main
from assay.questions.common.gate import (
    beyond_arithmetic,
    beyond_memory,
    slower_than_collectives,
)
from assay.report.build import build
from report_builder import SYSTEM, make_cell, make_run, make_summary


def unknown(run):
    """The run on a processor of which nothing is known."""
    plain = msgspec.structs.replace(SYSTEM, processor=type(SYSTEM.processor)())
    manifest = msgspec.structs.replace(run.manifest, system=msgspec.to_builtins(plain))
    return dataclasses.replace(run, manifest=manifest, measurements=[])


@pytest.mark.parametrize(
    ("rate", "threads", "impossible"),
    [
        # Nothing is known: 10 GHz × 32 operations per cycle and core.
        (3.1e11, 1, False),
        (3.3e11, 1, True),
        (3.3e11, 2, False),
        (5.7e22, 1, True),
    ],
)
def test_a_rate_beyond_any_core(rate: float, threads: int, impossible: bool) -> None:
    cells = [make_summary(make_cell("compute.dgemm", n=2000, threads=threads), rate, spread=1e-6)]
    run = unknown(make_run(cells))
    assert bool(beyond_arithmetic(run, cells)) == impossible
    speed = next(each for each in build(run, cells).sections if each.id == "speed")
    assert bool(speed.impossible) == impossible
    if impossible:
        assert "widest of any family known" in speed.impossible[0].sentence
        assert speed.confidence in ("low", None)
        assert "Gflop/s" not in speed.verdict and "Yflop/s" not in speed.verdict


def test_the_family_and_the_measured_clock_make_the_limit_lower() -> None:
    # 2.6 GHz were measured: 32 × 2.6 × 2 = 166.4 Gflop/s.
    for rate, impossible in ((166e9, False), (167e9, True)):
        cells = [make_summary(make_cell("compute.dgemm", n=2000), rate, spread=1e-6)]
        found = beyond_arithmetic(make_run(cells), cells)
        assert bool(found) == impossible
        assert all("widest of its family" in each.sentence for each in found.values())


def test_a_family_with_narrow_vectors() -> None:
    """Zen 2 has two pipes of 256 bits: 16 operations per cycle, half of the widest known."""
    cells = [make_summary(make_cell("compute.dgemm", n=2000), 100e9, spread=1e-6)]
    run = make_run(cells)
    assert not beyond_arithmetic(run, cells)
    zen = msgspec.structs.replace(SYSTEM.processor, vendor="AuthenticAMD", family=23, model=0x31)
    plain = msgspec.to_builtins(msgspec.structs.replace(SYSTEM, processor=zen))
    run = dataclasses.replace(run, manifest=msgspec.structs.replace(run.manifest, system=plain))
    assert beyond_arithmetic(run, cells)


@pytest.mark.parametrize(("latency", "impossible"), [(5e-3, True), (12e-6, False), (0.4e-6, False)])
def test_a_latency_beside_an_allreduce_over_the_same_ranks(
    latency: float, impossible: bool
) -> None:
    message = make_summary(make_cell("network.pingpong", ppn=2, bytes=8), latency)
    whole = make_summary(make_cell("network.collective", ppn=2, op="allreduce", bytes=8), 1.3e-6)
    assert bool(slower_than_collectives([message, whole])) == impossible
    # Other ranks, one-to-all operations and longer messages say nothing.
    for other in (
        make_summary(make_cell("network.collective", ppn=4, op="allreduce", bytes=8), 1.3e-6),
        make_summary(make_cell("network.collective", ppn=2, op="bcast", bytes=8), 1.3e-6),
    ):
        assert not slower_than_collectives([message, other])
    long = make_summary(make_cell("network.pingpong", ppn=2, bytes=1 << 22), latency)
    assert not slower_than_collectives([long, whole])
    report = build(make_run([message, whole]), [message, whole])
    network = next(each for each in report.sections if each.id == "network")
    assert bool(network.impossible) == impossible
    if impossible:
        assert "over the same ranks" in network.impossible[0].sentence
        assert network.confidence == "low" and "5.00 ms" not in network.verdict


HPL = """\
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4       10000   192     1     1               0.01             {rate}
HPL_pdgesv() start time Sat Nov 28 12:00:00 2026

HPL_pdgesv() end time   Sat Nov 28 12:00:01 2026

--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.06e-03 ...... PASSED
================================================================================
"""


@pytest.mark.parametrize(("rate", "impossible"), [("5.7000e+13", True), ("5.7000e+01", False)])
def test_an_imported_rate_beyond_any_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rate: str, impossible: bool
) -> None:
    (tmp_path / "hpl.out").write_text(HPL.format(rate=rate))
    for words in (
        ("import", tmp_path / "hpl.out", "--runs", tmp_path / "runs"),
        ("report", next(iter((tmp_path / "runs").glob("*")), ""), "-o", tmp_path / "a.json"),
    ):
        if words[0] == "report":
            words = ("report", next((tmp_path / "runs").iterdir()), *words[2:])
        with pytest.raises(SystemExit) as left:
            main([*map(str, words)])
        assert not left.value.code, capsys.readouterr()
    out = " ".join(capsys.readouterr().out.split())
    section = json.loads((tmp_path / "a.json").read_text())["sections"][0]
    assert bool(section["impossible"]) == impossible
    assert ("more than any machine" in out) == impossible


@pytest.mark.parametrize(("order", "impossible"), [(40_000, False), (60_000, True)])
def test_matrices_larger_than_the_memory(order: int, impossible: bool) -> None:
    """Three matrices of order 40,000 need 36 GiB in all; the planted node has 48 GiB then."""
    memory = msgspec.structs.replace(SYSTEM.memory, total=48 << 30)
    system = msgspec.to_builtins(msgspec.structs.replace(SYSTEM, memory=memory))
    cells = [make_summary(make_cell("compute.dgemm", n=order), 70e9, spread=1e-6)]
    run = make_run(cells, system=system)
    assert bool(beyond_memory(run, cells)) == impossible
    speed = next(each for each in build(run, cells).sections if each.id == "speed")
    assert bool(speed.impossible) == impossible
    if impossible:
        assert "exceed the node's memory (48 GiB)" in speed.impossible[0].sentence
        assert speed.confidence in ("low", None)


def test_the_memory_of_an_imported_run_is_unknown() -> None:
    cells = [make_summary(make_cell("compute.dgemm", n=60_000), 70e9, spread=1e-6)]
    run = make_run(cells)
    assert beyond_memory(run, cells)
    plain = msgspec.structs.replace(run.manifest, system={"name": "elsewhere"})
    assert not beyond_memory(dataclasses.replace(run, manifest=plain), cells)
