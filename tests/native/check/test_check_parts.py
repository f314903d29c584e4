"""assay-check: what it reads of the system, and who of two nodes listens."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from native_build import NATIVE

pytestmark = pytest.mark.slow
SUPPORT = Path(__file__).parents[2] / "support"
SOURCES = (
    *("check/quiet.cpp", "check/machine.cpp", "check/connection.cpp", "storage/descriptor.cpp"),
    *("harness/proc_text.cpp", "harness/quota.cpp", "harness/text_file.cpp"),
    "harness/topology.cpp",
)
# user nice system idle iowait irq softirq steal guest guest_nice
STAT = """\
cpu  100 0 0 0 0 0 0 7 0 0
cpu0 10 1 2 1000 500 3 4 5 10 1
cpu1 20 0 0 1000 0 0 0 1 0 0
cpu10 40 0 0 1000 0 0 0 2 0 0
intr 1 2 3
cpu2 99 99 99 99 99 99 99 99 99 99
"""


pytestmark = pytest.mark.long  # under the sanitizers it takes ten seconds to compile


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("check") / "parts"
    command = [
        "c++",
        "-std=c++20",
        "-O1",
        "-pthread",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-restrict",
    ]
    command += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{NATIVE}"]
    command += [str(SUPPORT / "check_parts.cpp"), *(str(NATIVE / each) for each in SOURCES)]
    subprocess.run([*command, "-o", str(path)], check=True)
    return path


def ask(program: Path, *questions: str) -> list[str]:
    text = "".join(f"{question}\n" for question in questions)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_busy_and_stolen_ticks_of_some_cpus(program: Path, tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text(STAT)
    cut = tmp_path / "cut"
    cut.write_text("cpu0 10 1 2\n")
    found = ask(
        program,
        f"ticks {stat} 0",
        f"ticks {stat} 0 1",
        f"ticks {stat} 1 10",
        f"ticks {stat} 2",  # beyond the lines of CPUs, which come first
        f"ticks {cut} 0",
        f"ticks {tmp_path}/missing 0",
    )
    assert found == ["20 5", "40 6", "60 3", "0 0", "0 0", "0 0"]


def test_memory_below_a_limit_of_a_control_group(program: Path) -> None:
    found = ask(
        program, "available 1000 400", "available max 400", "available 1000 2000", "available"
    )
    assert found == ["600.000000", "all", "0.000000", "all"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("n1", "n2"),
        ("n1.cluster", "n2"),  # each knows the other by either name
        ("n1", "n2.cluster"),
        ("n1.east", "n1.west"),
        ("a-n9", "b-n1"),
    ],
)
def test_one_of_two_nodes_listens(program: Path, one: str, other: str) -> None:
    assert ask(program, f"listens {one} {other}", f"listens {other} {one}") == ["1", "0"]


def test_one_hardware_thread_of_each_core_measures(program: Path) -> None:
    def lead(cpu: int) -> str:
        folder = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
        return f"{(folder / 'thread_siblings_list').read_text()}"

    cores, caches, of_core = map(int, ask(program, "machine")[0].split())
    assert cores == len({lead(cpu) for cpu in os.sched_getaffinity(0)})
    assert 0 < of_core <= caches
