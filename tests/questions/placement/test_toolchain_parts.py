"""Parts of toolchains: compilers, MPIs and BLAS as factors, from manifests."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.config import load_config
from assay.errors import AssayError
from assay.model.plan import PlanContext
from assay.plans.suites import find_suite, load_plan
from assay.plans.words import read_words
from assay.questions.placement.toolchains.toolchain_parts import parts_of


def facts(cxx: str = "g++", mpi: str = "mpich", flags: str = "-O3", **more: object) -> dict:
    versions = {"g++": "g++ (Debian 12.2.0-14) 12.2.0", "clang++": "Debian clang version 14.0.6"}
    own = {"mpich": "5.0.2", "openmpi": "5.0.11"}
    return {
        "cxx": cxx,
        "cxx_version": versions.get(Path(cxx).name, ""),
        "flags": flags,
        "mpi_flavour": mpi,
        "mpi_version": own[mpi],
        "mpicxx": f"/opt/{mpi}/bin/mpicxx",
        **more,
    }


def test_compilers_and_mpis_are_two_factors() -> None:
    crossed = {
        f"{cxx} {mpi}": facts(cxx, mpi)
        for cxx in ("g++", "clang++")
        for mpi in ("mpich", "openmpi")
    }
    assert parts_of(crossed) == {
        "g++ mpich": {"compiler": "g++ 12.2.0", "MPI": "MPICH 5.0.2"},
        "g++ openmpi": {"compiler": "g++ 12.2.0", "MPI": "Open MPI 5.0.11"},
        "clang++ mpich": {"compiler": "clang++ 14.0.6", "MPI": "MPICH 5.0.2"},
        "clang++ openmpi": {"compiler": "clang++ 14.0.6", "MPI": "Open MPI 5.0.11"},
    }


def test_flags_are_shown_if_they_differ() -> None:
    found = parts_of({"a": facts(flags="-O1"), "b": facts(flags="-O3")})
    assert found == {"a": {"compiler": "g++ 12.2.0 -O1"}, "b": {"compiler": "g++ 12.2.0 -O3"}}


def test_parts_that_vary_together_are_one_factor() -> None:
    found = parts_of({"a": facts("g++", "mpich"), "b": facts("clang++", "openmpi")})
    assert found["a"] == {"compiler and MPI": "g++ 12.2.0, MPICH 5.0.2"}
    assert found["b"] == {"compiler and MPI": "clang++ 14.0.6, Open MPI 5.0.11"}
    three = {"a": facts(), "b": facts("clang++"), "c": facts(mpi="openmpi")}
    assert set(parts_of(three)["a"]) == {"compiler", "MPI"}


def test_equal_toolchains_with_two_names_are_one_level() -> None:
    found = parts_of({"embedded": facts(), "mine": facts("/usr/bin/g++"), "o1": facts(flags="-O1")})
    assert found["embedded"] == found["mine"] == {"compiler": "g++ 12.2.0 -O3"}


def test_toolchains_with_equal_parts_are_distinguished_by_name() -> None:
    shared = {"a": facts(), "b": facts(environment={"UCX_TLS": "sm"})}
    assert parts_of(shared) == {"a": {"toolchain": "a"}, "b": {"toolchain": "b"}}
    assert parts_of({"fake": {}, "other": {}}) == {
        "fake": {"toolchain": "fake"},
        "other": {"toolchain": "other"},
    }
    assert parts_of({"only": facts()}) == {"only": {}}


def test_blas_counts_where_it_is_used() -> None:
    two = {
        name: facts(blas={"name": name, "version": "1.0", "libraries": [f"/{name}.so"]})
        for name in ("OpenBLAS", "MKL")
    }
    assert parts_of(two) == {"OpenBLAS": {}, "MKL": {}}
    assert parts_of(two, blas=True)["MKL"] == {"BLAS": "MKL 1.0"}


# ---- crossing them ---------------------------------------------------------------------------

CROSSED = """
[toolchains.site]
cxx = "g++-13"
[compilers.gcc]
cxx = "g++"
flags = "-O2"
environment = { A = "1" }
[compilers.clang]
cxx = "clang++"
[mpis.mpich]
[mpis.ompi]
mpi_prefix = "/opt/ompi"
launch_flags = ["--mca", "btl", "self"]
environment = { B = "2" }
"""


def config(tmp_path: Path, text: str):
    path = tmp_path / "assay.toml"
    path.write_text(text)
    return load_config(path)


def test_every_compiler_is_crossed_with_every_mpi(tmp_path: Path) -> None:
    found = config(tmp_path, CROSSED)
    crossed = ("gcc-mpich", "gcc-ompi", "clang-mpich", "clang-ompi")
    assert tuple(found.toolchains) == ("site", *crossed)
    assert found.crossed == crossed
    both = found.toolchains["gcc-ompi"]
    assert (both.cxx, both.flags, both.mpi_prefix) == ("g++", "-O2", "/opt/ompi")
    assert both.launch_flags == ("--mca", "btl", "self")
    assert both.environment == {"A": "1", "B": "2"}
    assert found.toolchains["clang-mpich"].mpi_prefix is None


def test_one_kind_alone_keeps_its_names(tmp_path: Path) -> None:
    assert config(tmp_path, '[compilers.o1]\nflags = "-O1"\n').crossed == ("o1",)
    assert config(tmp_path, "[mpis.mpich]\n").crossed == ("mpich",)
    assert config(tmp_path, "").crossed == ()


def test_two_toolchains_of_a_name_are_refused(tmp_path: Path) -> None:
    text = '[toolchains.gcc-a]\n[compilers.gcc]\ncxx = "g++"\n[mpis.a]\n'
    with pytest.raises(AssayError, match="two toolchains 'gcc-a'") as refused:
        config(tmp_path, text)
    assert refused.value.where.endswith("assay.toml:1")
    with pytest.raises(AssayError, match="cxy"):
        config(tmp_path, '[compilers.gcc]\ncxy = "g++"\n')


def suite(context: PlanContext, *words: str):
    return load_plan(find_suite("toolchains"), context, 1, read_words(words))


def test_the_suite_crosses_all_toolchains_with_ranks() -> None:
    plan = suite(PlanContext(cores=8, toolchains=("embedded", "site")))
    assert {cell.toolchain for cell in plan.cells} == {"embedded", "site"}
    assert {cell.placement.ppn for cell in plan.cells} == {1, 4, 8}
    assert {cell.parameters["class"] for cell in plan.cells} == {"W"}
    assert len({cell.kernel for cell in plan.cells}) == 8
    small = suite(PlanContext(cores=2, toolchains=("a", "b")), "class=S")
    assert len(small.cells) == 8 * 2 * 2


def test_the_suite_compares_what_the_config_crosses() -> None:
    context = PlanContext(
        cores=2, toolchains=("embedded", "path", "g", "c"), crossed=("g", "c", "broken")
    )
    assert {cell.toolchain for cell in suite(context).cells} == {"g", "c"}


def test_with_one_toolchain_there_is_nothing_to_compare() -> None:
    context = PlanContext(cores=2, unusable={"clang-mpich": "There is no 'clang++'."})
    with pytest.raises(AssayError, match="nothing to compare") as refused:
        suite(context)
    assert "'embedded'" in refused.value.what
    assert "[compilers.NAME]" in refused.value.fix
    assert "There is no 'clang++'." in (refused.value.detail or "")
    alone = suite(context, "toolchain=default", "class=S")
    assert {cell.toolchain for cell in alone.cells} == {"embedded"}


def test_unusable_toolchains_are_reported() -> None:
    context = PlanContext(cores=2, toolchains=("a", "b"), unusable={"c": "It has no compiler."})
    assert "Left out the toolchain 'c': It has no compiler." in suite(context, "class=S").notes
