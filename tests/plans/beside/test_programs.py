"""Executables of a folder: found by name and content, refused with a sentence each."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.plans.beside.programs import find_programs
from site_programs import npb_program, script


def test_programs_are_found_by_name_and_content(tmp_path: Path) -> None:
    cg = npb_program(tmp_path / "bin", "cg", "A", 1.0)
    script(tmp_path / "hpl" / "xhpl", "HPLinpack 2.3  --  High-Performance Linpack benchmark\n")
    script(tmp_path / "hpcg" / "xhpcg", "HPCG result is VALID with a GFLOP/s rating of=1\n")
    script(tmp_path / "stream_c.exe", "STREAM version $Revision: 5.10 $\n")
    script(tmp_path / "osu" / "pt2pt" / "osu_latency", "# OSU MPI Latency Test v7.3\n")
    script(tmp_path / "bin" / "dc.A.x", "NAS Parallel Benchmarks\n")  # assay has no DC
    (tmp_path / "bin" / "mg.A.x").write_text("NAS Parallel Benchmarks")  # not executable
    programs, refused = find_programs(tmp_path)
    assert refused == []
    found = {(p.tool, p.benchmark, p.size, p.version, p.parallel) for p in programs}
    assert found == {
        ("npb", "cg", "A", "3.4", "serial"),
        ("hpl", "hpl", "", "2.3", "serial"),
        ("hpcg", "hpcg", "", "", "serial"),
        ("stream", "stream", "", "5.10", "serial"),
        ("osu", "latency", "", "7.3", "serial"),
    }
    (of_cg,) = (p for p in programs if p.benchmark == "cg")
    assert of_cg.path == cg.absolute()
    assert of_cg.sha256 == hashlib.sha256(cg.read_bytes()).hexdigest()
    assert of_cg.ranks is None


@pytest.mark.parametrize(
    ("help_text", "takes_size"),
    [
        # As in OSU 5.3: strings of an executable end with a zero byte.
        ("  -x ITER       number of warmup iterations\n  -i ITER       iterations\n", False),
        ("\0  -m [MIN:]MAX  set the message size\n\0  -x ITER       warmup iterations\n", True),
        ("  -m, --message-size [MIN:]MAX\n  -x, --warmup ITER\n", True),
        ("", True),
    ],
)
def test_programs_of_osu_without_an_option_for_the_size_are_known(
    tmp_path: Path, help_text: str, takes_size: bool
) -> None:
    script(tmp_path / "osu_latency", f"# OSU MPI Latency Test v5.3\n{help_text}")
    ((program,), _) = find_programs(tmp_path)
    assert program.takes_size == takes_size


def test_a_number_at_the_end_of_the_name_is_that_of_ranks(tmp_path: Path) -> None:
    npb_program(tmp_path, "lu", "B", 1.0).rename(tmp_path / "lu.B.16")
    ((program,), _) = find_programs(tmp_path)
    assert (program.benchmark, program.size, program.ranks) == ("lu", "B", 16)


def test_the_same_benchmark_twice_is_named_once(tmp_path: Path) -> None:
    npb_program(tmp_path, "cg", "A", 1.0)
    npb_program(tmp_path / "bin", "cg", "A", 1.0)  # equal
    npb_program(tmp_path / "vec", "cg", "A", 2.0)  # another
    programs, refused = find_programs(tmp_path)
    assert [program.path for program in programs] == [tmp_path / "cg.A.x"]
    assert refused == [
        f"{tmp_path}/vec/cg.A.x is left out: {tmp_path}/cg.A.x is the same benchmark."
    ]


def test_other_programs_of_that_name_and_scripts_of_libtool_are_refused(tmp_path: Path) -> None:
    npb_program(tmp_path, "ep", "S", 1.0)
    script(tmp_path / "cg.S.x", "hello\n")
    script(tmp_path / "osu_bw", "# OSU MPI Bandwidth\n# a wrapper script of libtool\n")
    _, refused = find_programs(tmp_path)
    assert refused == [
        "cg.S.x is left out: it does not look like NPB.",
        "osu_bw is left out: it is a script of libtool; name the folder it is installed to.",
    ]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_launcher_is_that_of_mpi_where_fortrans_bindings_are_elsewhere(tmp_path: Path) -> None:
    bindings, mpi = tmp_path / "fortran" / "lib", tmp_path / "mpi" / "lib"
    for folder, name in ((bindings, "libmpichfort"), (mpi, "libmpi")):
        folder.mkdir(parents=True)
        (folder / "f.c").write_text(f"int {name}(void) {{ return 0; }}\n")
        assert os.system(f"cc -shared -fPIC -o {folder}/{name}.so {folder}/f.c") == 0
    (tmp_path / "cg.c").write_text(
        "int libmpichfort(void), libmpi(void);\n"
        'const char* s = "NAS Parallel Benchmarks";\n'
        "int main() { return libmpichfort() + libmpi(); }\n"
    )
    linked = f"-L{bindings} -lmpichfort -L{mpi} -lmpi -Wl,-rpath,{bindings}:{mpi}"
    (tmp_path / "bin").mkdir()
    assert os.system(f"cc -o {tmp_path}/bin/cg.S.x {tmp_path}/cg.c {linked}") == 0
    launcher = script(tmp_path / "mpi" / "bin" / "mpirun", "HYDRA build details:\nVersion: 4.0\n")
    ((program,), refused) = find_programs(tmp_path / "bin")
    assert (program.mpi, program.mpirun, refused) == ("mpich", str(launcher), [])


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_missing_library_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int f(void) { return 0; }\n")
    (tmp_path / "b.c").write_text(
        'int f(void); const char* s = "NAS Parallel Benchmarks"; int main() { return f(); }\n'
    )
    library = tmp_path / "libnowhere.so"
    assert os.system(f"cc -shared -fPIC -o {library} {tmp_path}/a.c") == 0
    assert os.system(f"cc -o {tmp_path}/is.S.x {tmp_path}/b.c {library}") == 0
    library.unlink()
    with pytest.raises(AssayError, match=r"is\.S\.x can't be run: its library .*libnowhere\.so"):
        find_programs(tmp_path)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_launcher_is_that_of_the_linked_mpi_among_several(tmp_path: Path) -> None:
    """As on Debian with both: mpirun is MPICH's, and Open MPI's has a name of its own."""
    (tmp_path / "lib").mkdir()
    library = tmp_path / "lib" / "libmpi.so.40"
    (tmp_path / "a.c").write_text("int f(void) { return 0; }\n")
    (tmp_path / "b.c").write_text(
        'int f(void); const char* s = "NAS Parallel Benchmarks"; int main() { return f(); }\n'
    )
    named = f"-Wl,-soname,{library.name}"
    assert os.system(f"cc -shared -fPIC {named} -o {library} {tmp_path}/a.c") == 0
    found_in = f"-Wl,-rpath,{library.parent}"
    assert os.system(f"cc -o {tmp_path}/is.S.x {tmp_path}/b.c {library} {found_in}") == 0
    said = "HYDRA build details:\n    Version:                      4.0.2\n"
    script(tmp_path / "bin" / "mpirun", said)
    own = script(tmp_path / "bin" / "mpirun.openmpi", "mpirun.openmpi (OpenRTE) 4.1.4\n")
    ((program,), refused) = find_programs(tmp_path)
    assert refused == []
    assert (program.mpi, program.mpirun) == ("openmpi", str(own))


def test_folders_that_do_not_help_are_one_sentence_each(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for folder, says in (
        (tmp_path / "none", "There is no such folder"),
        (script(tmp_path / "file", "x"), "This is not a folder"),
        (empty, "There is no executable of NPB, HPL, HPCG, STREAM or OSU"),
    ):
        with pytest.raises(AssayError, match=says) as caught:
            find_programs(folder)
        assert str(folder) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_an_unreadable_folder_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0)
    with pytest.raises(AssayError, match="Can't be read: Permission denied"):
        find_programs(tmp_path)
    tmp_path.chmod(0o755)


def test_a_link_to_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "cg.S.x").symlink_to(tmp_path / "cg.S.x")
    with pytest.raises(AssayError, match="There is no executable"):
        find_programs(tmp_path)
