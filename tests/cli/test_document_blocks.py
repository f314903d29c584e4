"""Every example in every document works: each fenced block is executed, read or compared.

Lines that call assay are examples of `test_examples.py`. All other blocks are in `CHECKS`, by page
and first line, or in `NOT_EXECUTED`, with the reason; a new block that is in neither fails.
"""

from __future__ import annotations

import gzip
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import prepared_assay
from acceptance_runs import filed_run, normal_times
from assay.config import load_config
from assay.kernels import find_kernel
from assay.lab.spec import load_spec
from assay.plans.fitted_order import read_matrix
from assay.questions.papers.loading import read_exhibits
from campaign_lab import InProcessLab
from design_specs import PARTS, TENDER_PARTS
from examples import ROOT, Block, blocks, command_of, examples
from records_builder import make_cell
from usage_logs import SWF

# Blocks that can't be executed, and why. Names are those of `Block.name`.
NOT_EXECUTED = {
    "README.md: make run      # set up, measure this machine, write its report": (
        "it sets up the environment that these tests run in"
    ),
    "docs/guide.md: make run": "it sets up the environment that these tests run in",
    "docs/references.md: ASSAY_TEST_PAPERS=~/papers pytest tests/reference/test_papers.py": (
        "it needs the papers, which are not part of the repository"
    ),
    "docs/architecture.md: plan (TOML)                 job (JSON)"
    "               records (JSON Lines)": "a diagram",
    "docs/architecture.md: native/": "a tree of folders",
    "docs/sites.md: root# mkdir -p /opt/assay/builds": "it writes to a folder of the system",
    "docs/lab.md: o   o   o   o": "a diagram",
    "docs/accept.md: network.barrier · 32 ranks: 10.01 µs [9.99, 10.03], 30 launches": (
        "output of a simulated machine; tests/acceptance/test_measure.py measures such contracts"
    ),
    "docs/check.md: undecided: DGEMM 11% slow; too few sessions to decide (1 of 8, days 1 of 3)": (
        "output; tests/check/node/test_check_slowness.py has the same words"
    ),
    "docs/formats/archive.md: tar -xzf lot1.tar.gz": (
        "tests/acceptance/test_bundle_command.py executes these commands on an archive of its own"
    ),
    "docs/check.md: $ assay check": "the output depends on the node and its fleet",
    "docs/check.md: root# export ASSAY_CHECKS=/shared/assay/checks": (
        "it needs a scheduler's nodes; tests/check executes the commands on one node"
    ),
    "docs/formats/check.md: DIR/baselines/KIND.json"
    "           what is usual on the nodes of a kind; written by --learn": "a tree of folders",
    "docs/simulate.md: How long would the program take on this cluster?": (
        "the output of the command above it, which takes a minute and needs SimGrid"
    ),
    "docs/lab.md: oooo                    oooo": "a diagram",
    "docs/export.md: n042       memory bandwidth      -18% [-20, -16]  2026-06-05"
    "  suspect a DIMM: failed, missing, or running at a lower rate": (
        "lines of a cluster; tests/report/test_lines.py makes such lines"
    ),
    "docs/lab.md: [row1]--o-----o-----o": "a diagram",
    "docs/lab.md: |     |     |": "a diagram",
    "docs/lab.md: [spine1]   [spine2]": "a diagram",
}


def folder_of(tmp_path: Path, block: Block, name: str) -> Path:
    (tmp_path / name).write_text(block.text)
    return tmp_path / name


def assay(
    folder: Path, *words: str, status: int = 0, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", *words],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100"},
    )
    assert done.returncode == status, (words, done.stdout[-1000:], done.stderr[-2000:])
    return done


def config(block: Block, path: Path) -> None:
    file = folder_of(path, block, "assay.toml")
    assert load_config(file).path == file
    # The command reads it, too, and knows its scheduler and toolchains.
    assay(
        path, "run", "quick", "--here", "--fake", machine(path), "--config", str(file), "--dry-run"
    )


def machine(path: Path, more: str = "") -> str:
    (path / "machine.toml").write_text(f"schema = 1\nseed = 1\ncores = 4\nnodes = 4\n{more}")
    return "machine.toml"


def plan(block: Block, path: Path) -> None:
    folder_of(path, block, "plan.toml")
    (path / "my.toml").write_text('schema = 1\n[[measure]]\nkernel = "network.barrier"\nppn = 2\n')
    scenario = machine(path, '[toolchain.embedded]\ncxx = "g++"\n[toolchain.site]\ncxx = "g++"\n')
    done = assay(path, "run", "plan.toml", "--fake", scenario, "--dry-run", "--json")
    assert '"cells"' in done.stdout


def scenario(block: Block, path: Path) -> None:
    folder_of(path, block, "scenario.toml")
    words = ["--fake", "scenario.toml", "--whole", "--launches", "1", "--no-report"]
    for suite in ("quick", "network"):
        done = assay(path, "run", suite, *words)
        assert "Left out, because" not in done.stderr


def cluster(block: Block, path: Path) -> None:
    folder_of(path, block, "seth.toml")
    assay(path, "simulate", "npb.cg.S", "--on", "seth.toml", "--ranks", "4", "--rate", "300 Mop/s")


def lab(block: Block, path: Path) -> None:
    assert load_spec(folder_of(path, block, "lab.toml")).hosts == 8


def design(block: Block, path: Path) -> None:
    file = folder_of(path, block, "cluster.toml")
    storage = TENDER_PARTS.replace("small store", "storage of 24 NVMe")
    storage = storage.replace("300 MB/s", "20 GB/s").replace("1_000_000", "600_000_000")
    (path / "offers.toml").write_text(PARTS.replace("[room]", storage + "[room]"))
    (path / "accounts.swf.gz").write_bytes(gzip.compress(SWF.encode()))
    # Few draws are enough to see that all of it is understood.
    file.write_text(block.text.replace("draws = 1000", "draws = 100"))
    assay(path, "design", "cluster.toml", "--json")


def model(block: Block, path: Path) -> None:
    folder_of(path, block, "site.toml")
    (path / "machine.swf").write_text(SWF)
    assay(path, "usage", "machine.swf", "--model", "site.toml", "--json")


def eight_nodes(block: Block, path: Path) -> None:
    """The plan states what the page says of it: 14 launches for nodes, and 20 or more otherwise."""
    file = folder_of(path, block, "contract.toml").name
    planned = json.loads(assay(path, "accept", file, "--plan", "--json").stdout)
    nodes, *others = [each["launches"] for each in planned["commitments"]]
    assert nodes == 14 and len(others) == 2 and min(others) >= 20


def contract(block: Block, path: Path) -> None:
    """Its plan is decidable, and a node at half of the promise costs at most the cap."""
    file = folder_of(path, block, "contract.toml").name
    planned = json.loads(assay(path, "accept", file, "--plan", "--json").stdout)
    commitment, variation = planned["commitments"]
    assert (planned["title"], planned["launches"]) == ("Cluster of 400 nodes, lot 1", 40)
    assert (commitment["name"], commitment["per"]) == ("Memory bandwidth", "node")
    assert commitment["launches"] <= 40
    assert variation["name"] == "Variation of memory.stream op=triad"
    cell = make_cell("memory.stream", op="triad", elements=10_000_000)
    promised = find_kernel(cell.kernel).work(cell.parameters, 2, 1)["bytes"] / 380e9
    for host in range(1, 10):
        filed_run(path / "runs", [(cell, normal_times(host, 2.0 * promised))], host=f"n{host:03}")
    runs = [word for run in (path / "runs").iterdir() for word in ("--run", run.name)]
    found = json.loads(assay(path, "accept", file, *runs, "--json", status=1).stdout)
    assert found["outcome"] == "rejected"
    assert found["penalty"]["value"] == 200_000


def acceptance_plan(block: Block, path: Path) -> None:
    """The page shows lines of the plan of the example that the command prints."""
    (path / "contract.toml").write_text(assay(path, "accept", "--example").stdout)
    printed = assay(path, "accept", "contract.toml", "--plan").stdout.splitlines()
    shown = block.text.splitlines()
    assert [line for line in printed if line in shown] == shown


def exhibits(block: Block, path: Path) -> None:
    (exhibit,) = read_exhibits(block.text).exhibit
    assert [quantity.name for quantity in exhibit.quantity] == ["stream one", "stream gain"]


def python(block: Block, path: Path) -> None:
    lab = InProcessLab(path)
    lab.run("plan.toml")
    done = subprocess.run(
        [sys.executable, "-c", block.text],
        cwd=path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests" / "support")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def source(block: Block, file: str, but: str = "…") -> None:
    """A block that shows a part of a file: each of its lines is there, in this order."""
    text = (ROOT / file).read_text()
    begin = 0
    for line in block.text.splitlines():
        words = line.split("//")[0].partition(but)[0].strip()
        found = text.find(words, begin)
        assert found >= 0, f"{file} has no '{words}' there"
        begin = found


def matrix(block: Block, path: Path) -> None:
    wanted = [[0.0, 2.5e9, 0.0], [2.5e9, 0.0, 1000.0], [0.0, 1000.0, 0.0]]
    assert read_matrix(folder_of(path, block, "matrix.txt")).tolist() == wanted


def piped(block: Block, path: Path) -> None:
    """The command at the end of a pipe; the others are examples."""
    _, _, command = block.commands[-1].partition(" | ")
    output = (ROOT / "tests" / "data" / "importers" / "osu-3.1.out").read_text()
    assay(path, *command.split()[1:], stdin=output)


def imported(block: Block, path: Path) -> None:
    """The output that the page shows is what the command prints of such a file."""
    shutil.copy(ROOT / "tests" / "data" / "importers" / "hpl-2.3.out", path / "HPL.out")
    done = assay(path, "import", "HPL.out")
    shown = block.text.split()
    for word in ("HPL.out:", "lines", "numbers", "stored:"):
        assert word in shown and word in (done.stdout + done.stderr).split()


def watched(block: Block, path: Path) -> None:
    """Alarms are printed in the form that the page shows."""
    text = (ROOT / "src" / "assay" / "watch").rglob("*.py")
    known = "".join(file.read_text() for file in text)
    for words in ("since step", "competition for the CPU", "back in their normal"):
        assert words in block.text and words in known


def crontab(block: Block, path: Path) -> None:
    """The command of the last line, after its five fields of time, on a folder without faults."""
    command = block.text.splitlines()[-1].split(maxsplit=5)[5]
    words = shlex.split(command.replace("/shared/assay", str(failing_run(path))))
    assert assay(path, *words[1:]).stdout == ""


def mailed(block: Block, path: Path) -> None:
    """The mail has a line about the cells that failed."""
    (path / "bin").mkdir()
    programs = {
        "mail": f'#!/bin/sh\ncat > {path}/mail\nprintf "%s\\n" "$@" >> {path}/mail\n',
        "assay": f'#!/bin/sh\nexec {sys.executable} -m assay "$@"\n',
    }
    for name, text in programs.items():
        (path / "bin" / name).write_text(text)
        (path / "bin" / name).chmod(0o755)
    script = folder_of(path, block, "script.sh")
    script.write_text(block.text.replace("/shared/assay", str(failing_run(path))))
    environment = {**os.environ, "PATH": f"{path / 'bin'}:{os.environ['PATH']}"}
    prepared_assay.run(["sh", str(script), "n042"], check=True, env=environment, timeout=300)
    line, *words = (path / "mail").read_text().splitlines()
    assert "network.barrier" in line and "a planted failure" in line
    assert words == ["-s", "nodes down: n042", "operators@example.org"]


def failing_run(path: Path) -> Path:
    """A folder with a run whose cell fails."""
    scenario = machine(path, '[[failure]]\nkind = "crash"\nmatch = "*"\ntimes = 100\n')
    (path / "plan.toml").write_text(
        'schema = 1\n[[measure]]\nkernel = "network.barrier"\nppn = 2\n'
    )
    words = ("--fake", scenario, "--runs", "stored", "--launches", "1")
    assay(path, "run", "plan.toml", *words, status=1)
    return path / "stored"


CHECKS: dict[str, Callable[[Block, Path], None]] = {
    "CONTRIBUTING.md: class Barrier : public Kernel {": lambda block, path: source(
        block, "native/network/barrier.cpp"
    ),
    "CONTRIBUTING.md: Kernel(": lambda block, path: source(block, "src/assay/kernels/network.py"),
    "README.md: [toolchains.site]": config,
    "docs/accept.md: Commitment ": acceptance_plan,
    "docs/accept.md: schema = 1": eight_nodes,
    "docs/export.md: MAILTO=operators@example.org": crontab,
    "docs/export.md: #!/bin/sh": mailed,
    "docs/formats/cluster.md: schema = 1": cluster,
    "docs/formats/config.md: [system]": config,
    "docs/check.md: [check]": config,
    "docs/formats/config.md: schema = 1": lab,
    "docs/formats/contract.md: schema = 1": contract,
    'docs/formats/design.md: title = "A cluster for two groups"'
    "      # default: the file's name": design,
    'docs/formats/exhibits.md: paper = "edmundsson-2004"'
    "          # the file in reference/papers": exhibits,
    "docs/formats/plans.md: schema = 1": plan,
    "docs/formats/plans.md: # a square matrix: one line per sending rank, one column per receiving "
    "rank": matrix,
    "docs/formats/plans.md: # or triples: from, to, bytes; missing pairs are 0, repeated ones are "
    "added": matrix,
    "docs/formats/scenario.md: schema = 1": scenario,
    "docs/guide.md: [cluster]": config,
    "docs/guide.md: [system]": config,
    "docs/importing.md: assay import HPL.out": piped,
    "docs/importing.md: HPL.out: 52 lines": imported,
    "docs/methods/machine.md: from assay.models.linpack.listed.names import ListedSystem": python,
    "docs/methods/scheduler.md: [policy]": model,
    "docs/python.md: import assay": python,
    'docs/scheduler.md: name = "site"': model,
    "docs/watch.md: assay 14:02:51: step 412: steps take longer since step 408": watched,
}


def check_of(block: Block) -> Callable[[Block, Path], None] | None:
    found = [check for name, check in CHECKS.items() if block.name.startswith(name)]
    return found[0] if found else None


def shell(block: Block) -> bool:
    """Whether each line of a block is an example, which `test_examples.py` executes."""
    known = set(examples())
    lines = block.commands
    return bool(lines) and all(command_of(line) in known for line in lines)


def test_every_block_is_executed_or_listed() -> None:
    found = blocks()
    assert len(found) > 60
    unknown = [
        f"{block.page}:{block.line}: {block.name}"
        for block in found
        if block.name not in NOT_EXECUTED and check_of(block) is None and not shell(block)
    ]
    assert unknown == [], "add a check, or list it with the reason why it can't be executed"


def test_the_lists_name_blocks_that_exist() -> None:
    names = {block.name for block in blocks()}
    assert NOT_EXECUTED.keys() <= names
    unused = [name for name in CHECKS if not any(n.startswith(name) for n in names)]
    assert unused == []
    assert all(reason for reason in NOT_EXECUTED.values())


CHECKED = [block for block in blocks() if check_of(block) is not None]


@pytest.mark.parametrize("block", CHECKED, ids=lambda block: f"{block.page}:{block.line}")
def test_a_block_works(block: Block, tmp_path: Path) -> None:
    check = check_of(block)
    assert check is not None
    check(block, tmp_path)
