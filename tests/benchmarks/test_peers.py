"""The programs beside assay: their records, what is refused, and which variant is compared."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
MODULES = ("common", "direct", "peers", "places", "npb", "linpack")

VERIFIED = """
 Version         =            3.4.2
 Verification    =               SUCCESSFUL
 Mop/s total     =                  1234.50
"""


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The modules of benchmarks/; their imports are removed afterwards."""
    before = {name: sys.modules.pop(name, None) for name in MODULES}
    monkeypatch.syspath_prepend(str(FOLDER))
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    for name, module in before.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


def program(folder: Path, name: str, *lines: str) -> Path:
    """A shell script in place of a peer."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


def launcher(folder: Path) -> str:
    """In place of mpirun: ``-n RANKS PROGRAM``."""
    return str(program(folder, "mpirun", "shift 2", 'exec "$@"'))


def printing(*lines: str) -> list[str]:
    return [*lines, f"cat <<'END'{VERIFIED}END"]


def test_a_peer_is_recorded_by_its_content_source_and_huge_pages(
    beside: Any, tmp_path: Path
) -> None:
    path = program(tmp_path, "cg.A.x", "true")
    found = beside.peers.peer_of(path, "NPB3.4.2.tar.gz", beside.peers.HUGE_PAGES)
    assert found.name == "cg.A.x"
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.source == "NPB3.4.2.tar.gz"
    assert found.settings == {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    assert found.huge_pages in {"always", "madvise", "never", "unknown"}
    with pytest.raises(beside.common.PeerError, match="No such file"):
        beside.peers.peer_of(tmp_path / "missing", "")


@pytest.mark.parametrize(
    ("text", "setting"),
    [("always [madvise] never\n", "madvise"), ("[never]", "never"), ("", "unknown")],
)
def test_the_setting_of_huge_pages(beside: Any, tmp_path: Path, text: str, setting: str) -> None:
    (tmp_path / "enabled").write_text(text)
    assert beside.peers.huge_page_setting(tmp_path / "enabled") == setting
    assert beside.peers.huge_page_setting(tmp_path / "missing") == "unknown"


@pytest.mark.parametrize("word", ["write_checkpoint", "CHECK_POINT", "libdmtcp.so", "ckpt_restore"])
def test_checkpointing_code_is_refused(beside: Any, tmp_path: Path, word: str) -> None:
    path = tmp_path / "ft.A.x"
    path.write_bytes(b"\x7fELF\0" + word.encode() + b"\0rest")
    with pytest.raises(beside.common.PeerError, match="holds checkpointing code"):
        beside.peers.peer_of(path, "")
    path.write_bytes(b"\x7fELF\0points to check: Verification\0")
    assert beside.peers.peer_of(path, "").name == "ft.A.x"


def test_an_executable_that_writes_files_is_refused(beside: Any, tmp_path: Path) -> None:
    """In its own folder, new or changed, or where it runs; others count."""
    mpirun = launcher(tmp_path / "bin")
    home = tmp_path / "npb"
    quiet = program(home, "ep.S.x", *printing())
    assert beside.npb.reference(mpirun, quiet, 2) == pytest.approx(1234.5e6)
    for action in ('echo 1 > "$(dirname "$0")/state.bin"', "echo 1 > results.txt"):
        writer = program(home, "cg.S.x", *printing(action))
        with pytest.raises(beside.common.PeerError, match="writes files"):
            beside.npb.reference(mpirun, writer, 2)
        (home / "state.bin").unlink(missing_ok=True)
    (home / "state.bin").write_text("old")
    os.utime(home / "state.bin", (1, 1))
    writer = program(home, "cg.S.x", *printing('echo 2 > "$(dirname "$0")/state.bin"'))
    with pytest.raises(beside.common.PeerError, match=r"writes files \(state.bin\)"):
        beside.npb.reference(mpirun, writer, 2)


def test_the_fastest_of_all_variants_is_compared(beside: Any, tmp_path: Path) -> None:
    """As built, with VERSION=VEC, and each with huge pages."""
    mpirun = launcher(tmp_path / "bin")
    rate = 'echo " Mop/s total = ${GLIBC_TUNABLES:+2}%s"; echo " Verification = SUCCESSFUL"'
    for folder, digits in (("plain", "100"), ("vec", "300")):
        program(tmp_path / folder, "bt.A.x", rate % digits)
    folders = {"standard": tmp_path / "plain", "VERSION=VEC": tmp_path / "vec"}
    variants = beside.npb.variants_of("bt", "A", folders)
    assert [each.name for each in variants] == [
        "standard", "standard, huge pages", "VERSION=VEC", "VERSION=VEC, huge pages",
    ]  # fmt: skip
    rates = {
        each.name: beside.npb.reference(mpirun, each.program, 1, each.settings) for each in variants
    }
    assert list(rates.values()) == [100e6, 2100e6, 300e6, 2300e6]
    assert beside.npb.best_variant(rates, variants) is variants[3]
    assert beside.npb.best_variant({**rates, "standard": 9e9}, variants) is variants[0]
    assert beside.npb.variants_of("sp", "A", folders) == []


def test_hpl_is_tuned_over_at_least_twelve_settings(beside: Any) -> None:
    """Its input asks for all combinations of block, factorisation and broadcast."""
    linpack = beside.linpack
    settings = linpack.HplSettings(depths=(1,))
    combinations = len(settings.blocks) * len(settings.factorisations) * len(settings.broadcasts)
    assert combinations >= 12
    lines = linpack.Problem(8000, 192, 1, 2).hpl_input(settings).splitlines()
    assert len(lines) == 31
    assert lines[6:8] == ["4 # of NBs", "96 128 192 256 NBs"]
    assert lines[13].startswith("3 # of PFACTs") and lines[14].startswith("0 1 2 PFACTs")
    assert lines[21].startswith("3 # of BCASTs") and lines[22].startswith("0 1 3 BCASTs")
    assert lines[23].startswith("1 # of DEPTHs") and lines[24].startswith("1 DEPTHs")


def test_the_best_of_hpls_settings_is_found_in_its_output(beside: Any) -> None:
    linpack = beside.linpack
    text = """\
WR10C2L4        8000    96     1     2               4.10              8.329e+01
PASSED
WR13R2R4        8000   256     1     2               3.90              8.756e+01
PASSED
WR11R2C4        8000   192     1     2               4.00              8.537e+01
PASSED
WR11R2C4        4000   192     1     2               1.00              9.900e+01
PASSED
"""
    rates = linpack.hpl_rates(text, 8000)
    assert len(rates) == 3
    best = linpack.best_settings(rates)
    assert best == linpack.HplSettings((256,), (2,), (3,), (0, 1))
    assert best.named == "NB = 256, PFACT = 2, BCAST = 3"
    assert max(rates.values()) == pytest.approx(87.56e9)
    with pytest.raises(beside.common.PeerError, match="did not pass"):
        linpack.hpl_rates(text.replace("PASSED", "", 3), 8000)
    with pytest.raises(beside.common.PeerError, match="did not pass"):
        linpack.hpl_rates(text + "1 tests FAILED\n", 8000)
    with pytest.raises(beside.common.PeerError, match="did not pass"):
        linpack.hpl_rates("", 8000)
