"""A binary on a processor it wasn't built for reports that, and uses no missing instruction."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from assay.launch.outcome import judge
from assay.records.schema import EXIT_PROCESSOR
from kernel_runs import faulty, plain
from native_build import NATIVE, TOOLS

pytestmark = pytest.mark.slow

X86 = platform.machine() == "x86_64"
only_x86 = pytest.mark.skipif(not X86, reason="this test knows x86-64's instructions alone")

# A static initialiser, which runs before main(), with an instruction of AMD's XOP (2011 to 2017).
MAIN = r"""
#include <cstdio>
static int take() {
  asm volatile(".byte 0x8f,0xe8,0x78,0xa2,0xc1,0x10" ::: "xmm0");  // vpcmov
  return 1;
}
static const int taken = take();
int main() { std::printf("%d\n", taken); }
"""
XOP = "xop" in Path("/proc/cpuinfo").read_text().split()


def small_program(folder: Path, *, check: bool) -> Path:
    """MAIN with the check of the kernels in front, as native/processor/CMakeLists.txt builds it."""
    (folder / "main.cpp").write_text(MAIN)
    compiler = ["c++", "-std=c++20", f"-I{NATIVE}"]
    objects = []
    for source, flags in (
        (NATIVE / "processor/check.cpp", ["-O1", "-fPIC", "-march=x86-64"]),
        (NATIVE / "processor/built_for.cpp", ["-O2", "-mxop"]),
        (folder / "main.cpp", ["-O2"]),
    ):
        objects.append(str(folder / f"{source.stem}.o"))
        subprocess.run([*compiler, *flags, "-c", str(source), "-o", objects[-1]], check=True)
    kept = objects if check else objects[-1:]
    program = folder / f"program-{check}"
    subprocess.run(["c++", *kept, "-o", str(program)], check=True)
    return program


@only_x86
@pytest.mark.skipif(XOP, reason="this processor has XOP")
def test_it_reports_before_a_static_initialiser_is_killed(tmp_path: Path) -> None:
    unchecked = subprocess.run([small_program(tmp_path, check=False)], capture_output=True)
    assert unchecked.returncode == -4  # SIGILL, without a message
    assert unchecked.stderr == b""
    done = subprocess.run([small_program(tmp_path, check=True)], capture_output=True, text=True)
    assert done.returncode == EXIT_PROCESSOR
    said = re.fullmatch(
        rf"assay-kernels: the processor of host '{re.escape(os.uname().nodename)}' lacks (.+), "
        r"which this program was built for; build it on that host \(assay makes a build for each "
        r"kind of processor\)\n",
        done.stderr,
    )
    assert said, done.stderr
    missing = said[1].split()
    assert "xop" in missing
    assert not set(missing) & set(Path("/proc/cpuinfo").read_text().split())


@pytest.mark.flaky(
    reruns=2, reason="SIGPIPE may end mpirun if ranks exit while it starts them, before its output"
)
@pytest.mark.sanitizable
def test_a_pretended_processor_ends_a_launch_with_one_sentence(tmp_path: Path) -> None:
    job = tmp_path / "job.json"
    job.write_text("{}")
    stream = tmp_path / "stream.jsonl"
    program = [str(faulty()), "--job", str(job), "--out", str(stream)]
    done = subprocess.run(
        [str(TOOLS / "mpirun"), "-n", "2", *program],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "ASSAY_TEST_PROCESSOR_LACKS": "avx512f avx512bw"},
    )
    assert not stream.exists()
    verdict = judge(stream, done.returncode, done.stderr)
    assert verdict.outcome == "crash" and verdict.blamed is None
    assert verdict.error is not None
    assert verdict.error.startswith(
        f"the processor of host '{os.uname().nodename}' lacks avx512f avx512bw, which this program"
    )
    alone = subprocess.run(
        program, capture_output=True, env={**os.environ, "ASSAY_TEST_PROCESSOR_LACKS": "sve2"}
    )
    assert alone.returncode == EXIT_PROCESSOR


def test_the_exit_status_alone_is_distinctive(tmp_path: Path) -> None:
    verdict = judge(tmp_path / "none.jsonl", EXIT_PROCESSOR, "")
    assert verdict.error == "the processor lacks features that it was built for"
    other = judge(tmp_path / "none.jsonl", 1, "assay-kernels: no such job")
    assert other.error == "it never began its stream: exit status 1: assay-kernels: no such job"


def test_a_build_for_this_processor_passes() -> None:
    program = plain()
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# ---- the machine code ------------------------------------------------------------------------


@cache
def functions(program: Path) -> dict[str, list[str]]:
    """The instructions of every function, without addresses."""
    said = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", str(program)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found: dict[str, list[str]] = {}
    code: list[str] = []
    for line in said.splitlines():
        if head := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            code = found.setdefault(head[1], [])
        elif instruction := re.match(r"\s+[0-9a-f]+:\t(.*)$", line):
            code.append(instruction[1])
    return found


def called_from(program: Path, first: str) -> dict[str, list[str]]:
    """A function and all of the program's own functions that it calls, directly or not."""
    known = functions(program)
    waiting, seen = [first], {first: known[first]}
    while waiting:
        for line in known[waiting.pop()]:
            target = re.match(r"(?:call|jmp)\w*\s+[0-9a-f]+ <([^+>]+)>", line)
            if target and "@" not in target[1] and target[1] not in seen:
                seen[target[1]] = known[target[1]]
                waiting.append(target[1])
    return seen


# VEX and EVEX instructions begin with a v; the others are scalar sets beyond the baseline.
BEYOND = re.compile(
    r"^(v(?!err|erw)\w+|andn|bextr|bls[ir]\w*|blsmsk|bzhi|mulx|p(dep|ext)|(sa|sh)[lr]x|rorx|"
    r"[lt]zcnt|popcnt|movbe|adc?x|adox|crc32\w*|pshufb|p?blend\w*|ptest|pmulld|round[sp][sd])\b"
)


def beyond_baseline(code: list[str]) -> list[str]:
    return [line for line in code if BEYOND.match(line) or re.search(r"%([yz]mm|k[1-7]\b)", line)]


CHECK = "_ZN12_GLOBAL__N_115check_processorEiPPcS1_"


@only_x86
@pytest.mark.parametrize("build", ["usual", pytest.param("faulty", marks=pytest.mark.sanitizable)])
def test_the_check_uses_no_instruction_beyond_the_baseline(build: str) -> None:
    program = faulty() if build == "faulty" else plain()
    seen = called_from(program, CHECK)
    assert "assay_lacking" in seen  # so that calls are followed
    assert {name: found for name, code in seen.items() if (found := beyond_baseline(code))} == {}
    # The same search finds such instructions in the program, if the processor has them.
    if "avx2" in Path("/proc/cpuinfo").read_text().split():
        assert any(beyond_baseline(code) for code in functions(program).values())


@only_x86
def test_it_runs_before_everything_else() -> None:
    """.preinit_array holds the check and nothing else."""
    program = plain()
    headers = subprocess.run(
        ["objdump", "-h", str(program)], capture_output=True, text=True, check=True
    ).stdout
    (size,) = re.findall(r"\.preinit_array\s+([0-9a-f]+)", headers)
    assert int(size, 16) == 8
