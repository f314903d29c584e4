"""What a launcher is told of the libraries to preload, by its command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.campaign.commands.preloading import Preload

LIBRARY = "/cache/libassay-trace.so"
PRELOAD = Preload((Path(LIBRARY),), "Open MPI 9")
ADDED = ["-x", "LD_PRELOAD", "-x", "DIR"]


@pytest.fixture
def mpirun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = tmp_path / "mpirun"
    launcher.write_text("#!/bin/sh\necho 'mpirun (Open MPI) 4.1.4'\n")
    launcher.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


@pytest.mark.usefixtures("mpirun")
@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["mpirun", "-n", "2", "./a"], ["mpirun", *ADDED, "-n", "2", "./a"]),
        (["time", "mpirun", "./a"], ["time", "mpirun", *ADDED, "./a"]),
        (["mpirun", "./a", ":", "./b"], ["mpirun", *ADDED, "./a", ":", *ADDED, "./b"]),
        (["mpirun", "-x", "DIR=/mine", "./a"],
         ["mpirun", "-x", "LD_PRELOAD", "-x", "DIR=/mine", "./a"]),
        (["mpirun", "-x", "LD_PRELOAD=a.so b.so", "./a"],
         ["mpirun", "-x", "DIR", "-x", f"LD_PRELOAD={LIBRARY} a.so b.so", "./a"]),
        (["mpiexec.none", "-genv", "LD_PRELOAD", "a.so", "./a"],
         ["mpiexec.none", "-genv", "LD_PRELOAD", f"{LIBRARY} a.so", "./a"]),
        (["srun", "--export=NONE", "./a"], ["srun", "--export=LD_PRELOAD,DIR", "./a"]),
        (["srun", "--export=PATH,HOME", "./a"],
         ["srun", "--export=PATH,HOME,LD_PRELOAD,DIR", "./a"]),
        (["srun", "--export=ALL,A=1", "./a"], ["srun", "--export=ALL,A=1", "./a"]),
        (["./job.sh", "mpi"], ["./job.sh", "mpi"]),
    ],
    ids=lambda words: " ".join(words),
)  # fmt: skip
def test_launchers_hand_the_libraries_on(command: list[str], told: list[str]) -> None:
    assert PRELOAD.told(command, ["DIR"], {}) == told
    assert PRELOAD.told(command, ["DIR"], {}) == told  # the command itself stays as it is


@pytest.mark.usefixtures("mpirun")
def test_a_list_of_the_user_excludes_options() -> None:
    inherited = {"OMPI_MCA_mca_base_env_list": "A=1", "LD_PRELOAD": "a.so"}
    command = ["mpirun", "./a"]
    assert PRELOAD.told(command, ["DIR"], inherited) == command
    assert PRELOAD.variables({"DIR": "/kept"}, command, inherited) == {
        "LD_PRELOAD": f"{LIBRARY} a.so",
        "DIR": "/kept",
        "OMPI_MCA_mca_base_env_list": f"A=1;LD_PRELOAD={LIBRARY} a.so;DIR=/kept",
    }
