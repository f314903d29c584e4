"""``assay profile``, ``watch`` and ``run`` with the launchers that users type.

A library is preloaded into the whole command: into launchers, shells and Python, too, which have
nothing of MPI.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from launched import (
    EMBEDDED,
    FORTRAN,
    MPICH,
    OPEN_MPI,
    assay,
    calls,
    compiled,
    findings,
    launchers,
    need,
    need_mpi4py,
    places,
    profiled,
)
from mpi_counts import PROFILE
from mpi_libraries import WHEEL_OPEN_MPI, MpiLibrary
from slurm_lab import running_slurm

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("patient_ranks")]

RANKS = 2
# Of launched.c, of each rank.
RING = {"Sendrecv": 20, "Allreduce": 5}
ON_ALL = {name: RANKS * number for name, number in RING.items()}


def _script(folder: Path, *lines: str) -> str:
    script = folder / "job.sh"
    script.write_text("\n".join(("#!/bin/sh", *lines)) + "\n")
    script.chmod(0o755)
    return "./job.sh"


@pytest.mark.parametrize("library", launchers())
def test_a_program_is_profiled_under_its_launcher(tmp_path: Path, library: MpiLibrary) -> None:
    """Also its static functions are named, and its messages without data are counted."""
    need(library)
    program = compiled(library, tmp_path)
    own = "name=ours, latency=1.5 us, bandwidth=25 GB/s"  # needs a trace
    found = profiled(tmp_path, [*library.run, "-n", str(RANKS), program], "--network", own)
    assert (found["size"], found["absent"], found["others"]) == (RANKS, [], [])
    assert calls(found) == ON_ALL
    assert found["sent"] == [
        {"sender": rank, "receiver": 1 - rank, "messages": 20, "bytes": 40} for rank in range(RANKS)
    ]
    (place,) = {one.partition(" ")[0] for one in places(found, "Allreduce")}
    assert place == "total"
    assert {one.partition(" ")[0] for one in places(found, "Sendrecv")} == {"exchange"}
    assert found["trace"]["messages"] == RANKS * 20
    (ours,) = (one for one in found["trace"]["network"]["predictions"] if one["own"])
    assert (ours["interconnect"], ours["latency"], ours["bandwidth"]) == ("ours", 1.5e-6, 25e9)
    assert found["programs"] == [program]


@pytest.mark.long
@pytest.mark.parametrize("language", ["C++", *FORTRAN])
@pytest.mark.parametrize("library", [MPICH, OPEN_MPI], ids=lambda one: str(one.name))
def test_functions_have_the_names_of_the_source(
    tmp_path: Path, library: MpiLibrary, language: str
) -> None:
    need(library)
    program = compiled(library, tmp_path, language)
    found = profiled(tmp_path, [*library.run, "-n", str(RANKS), program])
    if language == "C++":
        known = {
            "Allreduce": (5, "solver::Grid<double>::total(double)"),
            "Barrier": (5, "solver::(anonymous namespace)::synchronise()"),
        }
    else:
        known = {"Sendrecv": (10, "halo::exchange"), "Allreduce": (10, "total")}
    assert calls(found) == {name: RANKS * number for name, (number, _) in known.items()}
    for function, (_, name) in known.items():
        (place,) = places(found, function)
        assert place.startswith(f"{name} (")


@pytest.mark.parametrize(
    "flags", [pytest.param(("-no-pie",), id="fixed address"),
              pytest.param(("-no-pie", "-g"), id="with lines", marks=pytest.mark.long)],
)  # fmt: skip
def test_executables_at_a_fixed_address_have_names(tmp_path: Path, flags: tuple[str, ...]) -> None:
    program = compiled(EMBEDDED, tmp_path, "C", *flags)
    found = profiled(tmp_path, [*EMBEDDED.run, "-n", "1", program])
    (place,) = places(found, "Allreduce")
    assert place.startswith("total (")
    lines = (PROFILE / "launched.c").read_text().splitlines()
    line = 1 + next(i for i, text in enumerate(lines) if "MPI_Allreduce" in text)
    assert (f"launched.c:{line}" in place) == ("-g" in flags)


@pytest.mark.long
def test_a_program_found_on_path_has_names(tmp_path: Path) -> None:
    compiled(EMBEDDED, tmp_path)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    words = [*EMBEDDED.run, "-n", "1", "launched"]
    found = profiled(tmp_path, words, variables={"PATH": path})
    assert {one.partition(" ")[0] for one in places(found, "Allreduce")} == {"total"}


@pytest.mark.parametrize(
    "launch", [pytest.param(("-n", "2"), marks=pytest.mark.long), ()], ids=["mpirun", "alone"]
)
def test_python_calls_are_named_by_their_lines(tmp_path: Path, launch: tuple[str, ...]) -> None:
    """Python loads MPI after it has begun; without a launcher nothing says which MPI."""
    need(OPEN_MPI)
    source = Path(__file__).parents[2] / "native" / "tests" / "profile" / "launched.py"
    (tmp_path / "app.py").write_text(source.read_text())
    lines = source.read_text().splitlines()
    program = [need_mpi4py(), "app.py"]
    found = profiled(tmp_path, [*OPEN_MPI.run, *launch, *program] if launch else program)
    ranks = 2 if launch else 1
    assert (found["size"], calls(found)["Sendrecv"]) == (ranks, 10 * ranks)
    line = 1 + next(i for i, text in enumerate(lines) if "WORLD.Sendrecv" in text)
    assert places(found, "Sendrecv") == {f"exchange (app.py:{line})"}
    line = 1 + next(i for i, text in enumerate(lines) if "WORLD.allreduce" in text)
    assert f"total (app.py:{line})" in places(found, "Bcast")
    assert found["mpi"].startswith("Open MPI")


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ("-x", "PATH", "-n", "2", "./launched"),
        ("-x", "LD_PRELOAD", "-x", "ANY=1", "-n", "2", "./launched"),
        ("-x", "LD_PRELOAD=libm.so.6", "-n", "2", "./launched"),
        ("-n", "1", "-x", "ANY=1", "./launched", ":", "-n", "1", "./launched", "other"),
        ("-n", "2", "./job.sh", "./launched"),
        ("-n", "2", "env", "LD_PRELOAD=libm.so.6", "./launched"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("library", [OPEN_MPI, WHEEL_OPEN_MPI], ids=lambda one: str(one.name))
def test_options_and_wrappers_of_open_mpi(
    tmp_path: Path, library: MpiLibrary, words: tuple[str, ...]
) -> None:
    need(library)
    compiled(library, tmp_path)
    _script(tmp_path, "env true", 'exec "$@"')
    found = profiled(tmp_path, [*library.run, *words])
    assert (found["size"], found["others"], calls(found)) == (RANKS, [], ON_ALL)


@pytest.mark.long
def test_a_variable_that_excludes_x_is_added_to(tmp_path: Path) -> None:
    need(OPEN_MPI)
    program = compiled(OPEN_MPI, tmp_path)
    variables = {"OMPI_MCA_mca_base_env_list": "ANY=1"}
    found = profiled(tmp_path, [*OPEN_MPI.run, "-n", "2", program], variables=variables)
    assert calls(found) == ON_ALL


@pytest.mark.long
def test_what_mpich_sets_for_its_ranks_is_kept(tmp_path: Path) -> None:
    program = compiled(EMBEDDED, tmp_path)
    words = ["-genv", "LD_PRELOAD", "libm.so.6", "-n", "2", program]
    assert calls(profiled(tmp_path, [*EMBEDDED.run, *words])) == ON_ALL


@pytest.mark.long
@pytest.mark.parametrize("library", [OPEN_MPI, MPICH], ids=lambda one: str(one.name))
def test_a_script_may_use_any_mpi(tmp_path: Path, library: MpiLibrary) -> None:
    """Nothing says before which one; -x in a script excludes variables for Open MPI's launcher."""
    need(library)
    program = compiled(library, tmp_path)
    more = "-x PATH" if library is OPEN_MPI else ""
    script = _script(tmp_path, " ".join([*library.run, more, "-n", "2", program]))
    found = profiled(tmp_path, [script])
    assert (found["size"], calls(found)) == (RANKS, ON_ALL)


@pytest.mark.long
def test_the_launcher_of_another_mpi_starts_programs_of_one_rank(tmp_path: Path) -> None:
    """As without assay; the report says so."""
    need(MPICH)
    need(OPEN_MPI)
    program = compiled(MPICH, tmp_path)
    found = profiled(tmp_path, [*OPEN_MPI.run, "-n", "2", program])
    assert (found["size"], [one["size"] for one in found["others"]]) == (1, [1])
    assert calls(found) == RING


@pytest.mark.long
def test_a_program_with_another_mpi_runs_without_a_profile(tmp_path: Path) -> None:
    """Its calls are passed on as they are: handles of the two differ in size."""
    need(OPEN_MPI)
    python = need_mpi4py()
    program = Path(__file__).parents[2] / "native" / "tests" / "profile" / "launched.py"
    words = ["profile", "--folder", "kept", "--", *EMBEDDED.run, "-n", "1", python, program]
    done = assay(tmp_path, *words, status=2)
    assert "uses another MPI" in done.stderr
    assert "No process of the program wrote a profile (it ended normally)" in done.stderr


@pytest.mark.parametrize(
    "library",
    [
        pytest.param(EMBEDDED, id="wheel MPICH"),
        # That of Debian's MPICH 4.0.2 can't spawn.
        pytest.param(OPEN_MPI, id="Debian Open MPI", marks=pytest.mark.long),
        pytest.param(WHEEL_OPEN_MPI, id="wheel Open MPI", marks=pytest.mark.long),
    ],
)
def test_spawned_programs_have_files_of_their_own(tmp_path: Path, library: MpiLibrary) -> None:
    need(library)
    program = compiled(library, tmp_path)
    command = [*library.run, "-n", str(RANKS), program, "spawn", "2"]
    found = profiled(tmp_path, command, "--trace")
    assert (found["size"], found["number"], found["absent"]) == (RANKS, 1, [])
    known = calls(found)
    assert {name: known[name] for name in RING} == ON_ALL
    assert known["Comm_spawn"] == 2 * RANKS
    others = [
        (one["number"], one["size"], one["absent"], one["spawned"]) for one in found["others"]
    ]
    assert others == [(2, 3, 0, True), (3, 3, 0, True)]
    text = " ".join(assay(tmp_path, "profile", "--read", "kept", "--program", "3").stdout.split())
    assert "The command ran 3 MPI programs. This report covers only program 3 (./launched)." in text
    assert f"program 1 (./launched spawn 2) with {RANKS} ranks" in text


@pytest.mark.long
def test_each_of_several_programs_is_reported(tmp_path: Path) -> None:
    program = compiled(EMBEDDED, tmp_path)
    command = [*EMBEDDED.run, "-n", str(RANKS), program, "spawn", "2"]
    profiled(tmp_path, command, "--trace")
    for number in (2, 3):
        words = ("profile", "--read", "kept", "--program", str(number), "--json")
        one = findings(assay(tmp_path, *words))
        assert (one["size"], one["number"], calls(one)["Allreduce"]) == (3, number, 3 * 7)
        assert one["trace"]["ranks"] == 3
    refused = assay(tmp_path, "profile", "--read", "kept", "--program", "4", status=2).stderr
    assert "There is no program 4: the command ran 3 MPI programs." in refused
    refused = assay(tmp_path, "profile", "--program", "1", "--", "true", status=2).stderr
    assert "--program is for a kept profile." in refused


def test_several_programs_of_a_script_are_told_apart(tmp_path: Path) -> None:
    """One after the other, and two at once. The largest one is reported."""
    compiled(EMBEDDED, tmp_path)
    run = EMBEDDED.run[0]
    script = _script(
        tmp_path, f"{run} -n 1 ./launched first", f"{run} -n 2 ./launched second &",
        f"{run} -n 2 ./launched third &", "wait",
    )  # fmt: skip
    found = profiled(tmp_path, [script])
    assert calls(found) == ON_ALL
    known = {(tuple(one["commands"]), one["size"], one["absent"]) for one in found["others"]}
    known.add((tuple(found["programs"]), found["size"], len(found["absent"])))
    assert known == {
        (("./launched first",), 1, 0), (("./launched second",), 2, 0),
        (("./launched third",), 2, 0),
    }  # fmt: skip


@pytest.mark.long
def test_a_child_without_exec_writes_nothing(tmp_path: Path) -> None:
    program = compiled(EMBEDDED, tmp_path)
    found = profiled(tmp_path, [*EMBEDDED.run, "-n", "2", program, "fork"], "--trace")
    assert (calls(found), found["others"]) == (ON_ALL, [])


@pytest.mark.parametrize("library", launchers()[1:])
def test_steps_are_watched_under_the_launcher(tmp_path: Path, library: MpiLibrary) -> None:
    need(library)
    command = [*library.run, "-n", "2", compiled(library, tmp_path)]
    profiled(tmp_path, command, "--trace")
    done = assay(tmp_path, "watch", "--steps", "kept", "--json", "--", *command)
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert [one["steps"] for one in found["sources"]] and found["sources"][0]["steps"] >= 4


@pytest.mark.long
@pytest.mark.parametrize("library", launchers()[:2])
def test_placements_of_a_program_are_tried_with_its_launcher(
    tmp_path: Path, library: MpiLibrary
) -> None:
    need(library)
    program = tmp_path / compiled(library, tmp_path)
    app = " ".join([*library.run, "-n", "{ranks}", str(program)])
    words = ("--app", app, "--launches", "1", "--budget", "60 s", "--json", "--no-report")
    done = assay(tmp_path, "run", "placement", *words)
    assert "launched" in done.stdout


@pytest.mark.cluster
@pytest.mark.parametrize("mpi", ["pmi2"])
def test_ranks_that_srun_starts_are_profiled(tmp_path: Path, mpi: str) -> None:
    """Slurm's own process manager; its variables name the step."""
    need(MPICH)
    program = tmp_path / compiled(MPICH, tmp_path)
    with running_slurm(2):
        for export in ((), ("--export=NONE",)):
            words = ["srun", f"--mpi={mpi}", "-n", "2", *export, str(program)]
            found = profiled(tmp_path, words)
            assert (found["size"], found["absent"], calls(found)) == (RANKS, [], ON_ALL)
            (tmp_path / "kept").rename(tmp_path / f"kept-{len(export)}")


def test_a_missing_header_is_named_with_its_packages(tmp_path: Path) -> None:
    """Not a C++ compiler, which is there."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in {
        "mpirun": "echo 'HYDRA build details:'; echo '    Version:    9.9'",
        "mpicxx": 'exec c++ "$@"',
    }.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    words = ["profile", "--", tools / "mpirun", "-n", "1", "./job.sh"]
    _script(tmp_path, "true")
    error = assay(tmp_path, *words, status=2).stderr
    assert "there is no mpi.h" in error
    assert "libopenmpi-dev or libmpich-dev" in error
    assert "A C++20 compiler is needed" not in error
