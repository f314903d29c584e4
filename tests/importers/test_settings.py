"""A printed setting that changes the meaning of a number is part of the cell.

Each case is an output and a line to add to it, or to replace: with and without that line the two
outputs are of different measurements, so none of their results share a cell.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import prepared_assay
from assay.importers.importing import cell_of
from importing_probe import OUTPUTS, probe

OSU = """# OSU MPI-CUDA Bandwidth Test v7.3
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)
1                       2.50
4194304             12000.00
"""
OSU_MULTI = """# OSU MPI Multiple Bandwidth / Message Rate Test v5.9
# [ pairs: 1 ] [ window size: 64 ]
# Size                  MB/s        Messages/s
1                       5.20        5200000.00
"""
OSU_ONE_SIDED = """# OSU MPI_Put latency Test v5.9
# Window creation: MPI_Win_create
# Synchronization: MPI_Win_flush
# Size          Latency (us)
1                       1.50
"""
IMB = """#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part
# Calling sequence was:
# IMB-MPI1 -npmin 2 PingPong
# MPI_Datatype                   :   MPI_BYTE
# Benchmarking PingPong
# #processes = 2
# ( 2 additional processes waiting in MPI_Barrier)
       #bytes #repetitions      t[usec]   Mbytes/sec
            1         1000         1.15         0.87
"""
HPL = """HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018
SWAP   : Mix (threshold = 64)
L1     : transposed form
U      : transposed form
EQUIL  : yes
ALIGN  : 8 double precision words
T/V                N    NB     P     Q               Time                 Gflops
WR11C2R4       29184   192     2     2              98.35             1.6852e+02
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   1.95020243e-03 ...... PASSED
"""
STREAM = (OUTPUTS / "stream-5.10.out").read_text("utf-8")
BABEL = """BabelStream
Version: 5.0
Implementation: CUDA
Running all 100 times in Classic order
Precision: double
Array size: 268.4 MB (=0.3 GB)
Total size: 805.3 MB (=0.8 GB)
Using CUDA device A100
Driver: 12000
Memory: DEFAULT
Reduction kernel config: 432 groups of (fixed) size 1024
Function    MBytes/sec  Min (sec)   Max         Average
Copy        1340000.1   0.00040     0.00041     0.00040
"""
NPB = (OUTPUTS / "npb-3.3-mpi.out").read_text("utf-8")
IOR = """IOR-3.3.0: MPI Coordinated Test of Parallel I/O
Command line        : ior -a POSIX -w -r -t 1m -b 1g -o /scratch/x
Options:
api                 : POSIX
access              : single-shared-file
ordering in a file  : sequential
ordering inter file : no tasks offsets
nodes               : 2
tasks               : 4
xfersize            : 1 MiB
blocksize           : 1 GiB
Results:
access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
write     1200.50    1048576    1024.00    0.001      3.40       0.002      3.41       0
"""
MDTEST = """mdtest-3.4.0+dev was launched with 4 total task(s) on 2 node(s)
Command line used: /opt/mdtest '-n' '100' '-d' '/scratch/t' '-i' '3'
4 tasks, 400 files/directories
SUMMARY rate: (of 3 iterations)
   Operation                      Max            Min           Mean        Std Dev
   File creation             :      21000.5      20000.1      20500.0       400.0
"""
IOZONE = """\tIozone: Performance Test of File I/O
\t        Version $Revision: 3.489 $
\tRecord Size 64 kB
\tFile size set to 524288 kB
\tCommand line used: iozone -t 4 -i 0 -r 64k -s 512m
\tOutput is in kBytes/sec
\tChildren see throughput for  4 initial writers \t=  812345.50 kB/sec
"""
LIKWID = """LIKWID MICRO BENCHMARK
Test: triad
Using 1 work groups
Using 4 threads
Allocate: Process running on hwthread 0 (Domain S0) - Vector length 62500000/500000000 Offset 0
Size (Byte):            2000000000
Time:                   1.5 sec
MFlops/s:               4000.00
MByte/s:                64000.00
"""
NETPIPE = """Send and receive buffers are 16384 and 131072 bytes
Now starting the main loop
  0:       1 bytes   4564 times -->      0.89 Mbps in       8.57 usec
"""
MPPTEST = """set default
      top 'Comm Perf for MPI (n1)',
 'type = blocking'
#p0	p1	dist	len	ave time (us)	rate
0	1	1	1024	4.500000	2.2755e+08
"""
HPCG = (OUTPUTS / "hpcg-3.1.txt").read_text("utf-8")
REFRAME = (
    "2021-12-01T10:00:00|reframe 3.9.2|Stream on fritz:compute using gnu|jobid=1|num_tasks=4"
    "|copy=2.5|ref=0 (l=null, u=null)|MB/s\n"
)
REFRAME_4 = """result|job_completion_time|name|environ|num_gpus|copy_value|copy_unit
pass|2024-02-21T22:51:16|stream|gnu|4|22116.6|MB/s
"""
FIO = (OUTPUTS / "fio-3.json").read_text("utf-8")
GOOGLE = (OUTPUTS / "google_benchmark.json").read_text("utf-8")
IOR_JSON = (OUTPUTS / "ior_json-4.0.json").read_text("utf-8")
PHORONIX = (OUTPUTS / "phoronix.xml").read_text("utf-8")
HYPERFINE = (OUTPUTS / "hyperfine.json").read_text("utf-8")

# Output, text to replace, and its replacement.
CASES = {
    "osu buffers": (
        OSU,
        "# Size ",
        "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n# Size ",
    ),
    "osu other note": (OSU, "# Size ", "# Using MPI_T pvars to validate\n# Size "),
    "osu datatype": (OSU, "MPI_CHAR", "MPI_FLOAT"),
    "osu accelerator": (OSU, "MPI-CUDA", "MPI-ROCM"),
    "osu pairs": (OSU_MULTI, "pairs: 1", "pairs: 2"),
    "osu window": (OSU_MULTI, "window size: 64", "window size: 1"),
    "osu window creation": (OSU_ONE_SIDED, "MPI_Win_create", "MPI_Win_allocate"),
    "osu synchronization": (OSU_ONE_SIDED, "MPI_Win_flush", "MPI_Win_lock/unlock"),
    "imb datatype": (IMB, "MPI_BYTE", "MPI_DOUBLE"),
    "imb options": (IMB, "-npmin 2", "-npmin 2 -off_cache -1"),
    "imb waiting": (IMB, "( 2 additional", "( 6 additional"),
    "imb window": (IMB, "# #processes = 2\n", "# #processes = 2\n# window_size = 64\n"),
    "imb mode": (IMB, "# #processes = 2\n", "# #processes = 2\n#    MODE: AGGREGATE\n"),
    "hpl swap": (HPL, "Mix (threshold = 64)", "Binary-exchange"),
    "hpl l1": (HPL, "L1     : transposed", "L1     : no-transposed"),
    "hpl u": (HPL, "U      : transposed", "U      : no-transposed"),
    "hpl equil": (HPL, "EQUIL  : yes", "EQUIL  : no"),
    "hpl align": (HPL, "8 double", "16 double"),
    "stream threads": (STREAM, "Number of Threads counted = 16", "Number of Threads counted = 1"),
    "babelstream order": (BABEL, "Classic order", "Isolated order"),
    "babelstream memory": (BABEL, "Memory: DEFAULT", "Memory: MANAGED"),
    "babelstream precision": (BABEL, "double", "float"),
    "babelstream reduction": (BABEL, "432 groups", "108 groups"),
    "npb compiler": (NPB, "mpif77", "mpiifort"),
    "npb flags": (NPB, "-O3", "-O2 -g"),
    "ior fsync": (IOR, "-t 1m", "-t 1m -e"),
    "ior direct": (IOR, "-t 1m", "-t 1m -B"),
    "ior hints": (IOR, "-t 1m", "-t 1m -O useO_DIRECT=1"),
    "ior memory": (IOR, "nodes   ", "memoryBuffer : GPU\nnodes   "),
    "mdtest unique": (MDTEST, "'-n' '100'", "'-n' '100' '-u'"),
    "mdtest bytes": (MDTEST, "'-n' '100'", "'-n' '100' '-w' '3901'"),
    "iozone direct": (IOZONE, "\tRecord Size", "\tO_DIRECT feature enabled\n\tRecord Size"),
    "iozone flush": (IOZONE, "\tRecord Size", "\tInclude fsync in write timing\n\tRecord Size"),
    "iozone option": (IOZONE, "-r 64k", "-r 64k -B"),
    "likwid domain": (LIKWID, "Domain S0", "Domain S1"),
    "netpipe both": (NETPIPE, "Send and", "Passing data in both directions\nSend and"),
    "netpipe buffers": (NETPIPE, "131072", "262144"),
    "mpptest type": (MPPTEST, "type = blocking", "type = persistent"),
    "hpcg processes": (HPCG, "Distributed Processes=", "Distributed Processes=1"),
    "reframe tasks": (REFRAME, "num_tasks=4", "num_tasks=8"),
    "reframe 4 extra": (REFRAME_4, "gnu|4|", "gnu|2|"),
    "fio option": (FIO, '"direct" : "1"', '"direct" : "0"'),
    "fio new option": (FIO, '"direct" : "1"', '"direct" : "1", "fdatasync" : "1"'),
    "google build": (GOOGLE, '"release"', '"debug"'),
    "hyperfine": (HYPERFINE, '"command": "', '"command": "nice '),
    "ior json": (IOR_JSON, '"Command line": "', '"Command line": "ior -e '),
    "phoronix": (PHORONIX, "Type: Copy", "Type: Other"),
}  # fmt: skip


def cells(text: str, path: Path) -> set[str]:
    found = probe(text, path)
    assert found.results, found.skipped
    assert found.skipped == probe(text, path).skipped
    return {cell_of(result).id for result in found.results}


@pytest.mark.parametrize("name", CASES)
def test_another_setting_is_another_cell(name: str, tmp_path: Path) -> None:
    text, old, new = CASES[name]
    assert old in text
    one, other = cells(text, tmp_path / "one"), cells(text.replace(old, new), tmp_path / "other")
    if name == "phoronix":  # only the entries of one test are others
        assert one != other
    else:
        assert one.isdisjoint(other)
    assert len(one) == len(other)


def test_a_setting_of_one_table_is_not_one_of_the_next(tmp_path: Path) -> None:
    device = OSU.replace(
        "# Size ", "# Send Buffer on DEVICE (D) and Receive Buffer on HOST\n# Size "
    )
    for text in (OSU, NETPIPE, IMB, IOZONE, HPL, MDTEST):
        alone = cells(text, tmp_path / "alone")
        assert alone <= cells(device + text, tmp_path / "both")
    both = NETPIPE.replace("Send and", "Streaming in one direction only\nSend and")
    assert cells(NETPIPE, tmp_path / "x") < cells(both + NETPIPE, tmp_path / "y")
    direct = IOZONE.replace("\tRecord", "\tO_DIRECT feature enabled\n\tRecord", 1)
    assert cells(IOZONE, tmp_path / "x") < cells(direct + IOZONE, tmp_path / "y")


def test_head_without_comment_sign(tmp_path: Path) -> None:
    """osu_ibarrier 5.7.1 prints its head so; editors and mail programs remove "#", too."""
    text = (
        "# OSU MPI Non-blocking Barrier Latency Test v5.7.1\n"
        "       Overall(us)  Compute(us)  Coll. Init(us)  MPI_Test(us)  MPI_Wait(us)"
        "  Pure Comm.(us)    Overlap(%)\n"
        "             10.50         5.20            0.30          0.00          1.10"
        "            4.10         75.61\n"
    )
    found = probe(text, tmp_path / "one")
    assert found.value("osu_ibarrier", "time.overall") == pytest.approx(10.5e-6)
    assert found.value("osu_ibarrier", "overlap") == pytest.approx(0.7561)
    for each in (OSU, OSU_ONE_SIDED, IMB, text):
        bare = "\n".join(line.lstrip("# ") for line in each.splitlines()) + "\n"
        plain, found = probe(each, tmp_path / "a"), probe(bare, tmp_path / "b")
        assert [[s.found[0].value for s in r.series] for r in found.results] == [
            [s.found[0].value for s in r.series] for r in plain.results
        ]


@pytest.mark.parametrize(
    ("line", "variable", "ranks"),
    [
        (REFRAME, 2.5e6, 4),
        (REFRAME.replace("|num_tasks=4", "|user=me|num_tasks=4|extra"), 2.5e6, 4),
        (REFRAME.replace("reframe 3.9.2|", ""), 2.5e6, 4),
        ("reframe 3.12.0|2022-01-01T10:00:00|Stream|num_tasks=4|copy=2.5|ref=1|l=0|u=1|MB/s\n",
         2.5e6, 4),
    ],
)  # fmt: skip
def test_logs_of_reframe_with_other_fields(
    line: str, variable: float, ranks: int, tmp_path: Path
) -> None:
    found = probe(line, tmp_path / "log")
    assert found.value("reframe", "copy", ranks=ranks) == variable
    assert found.skipped == []


def test_a_log_without_a_value_says_what_is_missing(tmp_path: Path) -> None:
    found = probe(
        "2021-12-01T10:00:00|reframe 3.9.2|Stream on a:b using c|jobid=1\n", tmp_path / "x"
    )
    assert "%(check_perf_var)s=%(check_perf_value)s" in found.skipped[0][1]


@pytest.mark.parametrize("separator", [",", ";", "|"])
def test_headers_of_reframe_with_other_fields_and_separators(separator, tmp_path: Path) -> None:
    text = "name|num_tasks|num_gpus|copy_value\nstream|4|2|7.5\n".replace("|", separator)
    assert probe(text, tmp_path / "log").value("reframe", "copy", ranks=4, num_gpus=2) == 7.5


def test_the_command_keeps_buffers_apart(tmp_path: Path) -> None:
    """Two tables, of buffers on the device and on the host, are two cells and no mean of both."""
    head = "# Send Buffer on {} and Receive Buffer on HOST (H)\n# Size "
    for name, where in (("device", "DEVICE (D)"), ("host", "HOST (H)")):
        (tmp_path / name).write_text(OSU.replace("# Size ", head.format(where)))
    words = ("import", "device", "host", "--runs", "runs", "--json")
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", *words], cwd=tmp_path, capture_output=True, text=True,
        timeout=120, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["cells"] == 4
