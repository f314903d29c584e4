"""The environment of the tests: no site's variables, and repeated tests are reported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from site_free import forget_the_site

SUPPORT = Path(__file__).parents[1] / "support"
FLAKY = """
import pytest
tries = []

@pytest.mark.flaky(reruns=1{reason})
def test_second():
    tries.append(1)
    assert len(tries) == 2

def test_first():
    pass
"""


def run_pytest(folder: Path, reason: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_tries.py").write_text(FLAKY.format(reason=reason))
    command = [sys.executable, "-m", "pytest", "-p", "second_tries", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, "-c", "/dev/null", "--rootdir", ".", "test_tries.py"],
        cwd=folder,
        env={"PYTHONPATH": str(SUPPORT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_repeated_tests_are_counted_and_named(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, ', reason="it counts"')
    assert done.returncode == 0, done.stdout
    assert "1 test was tried again:\n  test_tries.py::test_second\n" in done.stdout


@pytest.mark.slow
def test_a_repetition_needs_a_reason(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "test_tries.py::test_second: flaky without a reason" in done.stdout + done.stderr


def test_a_sites_variables_are_removed() -> None:
    kept = {"PATH": "/usr/bin", "HOME": "/root", "ASSAY_TEST_OPENMPI": "/o", "LANG": "C"}
    site = {
        **{
            "SLURM_JOB_ID": "5",
            "SLURM_CONF": "/etc/slurm.conf",
            "PMIX_RANK": "0",
            "PBS_JOBID": "1",
        },
        **{"OMPI_MCA_btl": "tcp", "I_MPI_ROOT": "/i", "MODULEPATH": "/m", "LOADEDMODULES": "gcc"},
        **{"LMOD_CMD": "/l", "EBROOTOPENBLAS": "/b", "OPENBLAS_ROOT": "/b", "MKLROOT": "/k"},
        **{"CPATH": "/b/include", "LIBRARY_PATH": "/b/lib", "CXX": "icpx", "OMP_NUM_THREADS": "1"},
        **{"ASSAY_CONFIG": "/site.toml", "XDG_CONFIG_HOME": "/root/.config"},
    }
    environment = {**kept, **site}
    forget_the_site(environment)
    settings = Path(environment.pop("XDG_CONFIG_HOME"))
    assert environment == kept
    # A browser may have made the folder; assay's settings are never in it.
    assert not (settings / "assay").exists()
