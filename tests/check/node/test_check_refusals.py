"""Bad input and faulty folders: one sentence each, and never an unhealthy node."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.check.baseline.file import read_baseline
from assay.check.model import CheckRecord
from assay.check.state.file_names import file_name, host_name
from assay.check.state.header import MAGIC, NodeHeader
from assay.check.state.node_file import open_node_file, read_node_file
from checked_node import assay_check, decided

# What other tests do to this machine, such as mounts, would be found by these checks.
pytestmark = pytest.mark.alone


def baseline_in(folder: Path) -> Path:
    (path,) = (folder / "baselines").glob("*.json")
    return path


def program_in(folder: Path) -> Path:
    (path,) = (folder / "program").glob("assay-check-*")
    return path


def rewrite(folder: Path, **changes: object) -> None:
    path = baseline_in(folder)
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def undecided(folder: Path, *words: str) -> str:
    """The printed line of a check that must not decide, and its words on standard error."""
    done = assay_check(folder, *words)
    assert done.returncode == 3, done.stdout
    (line,) = done.stdout.splitlines()
    assert line.startswith("undecided: ")
    assert len(line) <= 100
    assert "Traceback" not in done.stderr
    assert "unexpected error" not in done.stderr
    return line + "\n" + done.stderr


def damage_baseline(folder: Path) -> None:
    baseline_in(folder).write_bytes(baseline_in(folder).read_bytes()[:-100])


def damage_facts(folder: Path) -> None:
    rewrite(folder, facts={"nodes": "many"})


def open_to_others(folder: Path) -> None:
    baseline_in(folder).chmod(0o666)


def open_folder_to_others(folder: Path) -> None:
    baseline_in(folder).parent.chmod(0o777)


def of_another_kind(folder: Path) -> None:
    rewrite(folder, kind="ibm-power10-2s-96c-192g")


def only_another_kind(folder: Path) -> None:
    rewrite(folder, kind="ibm-power10-2s-96c-192g")
    baseline_in(folder).rename(folder / "baselines" / "ibm-power10-2s-96c-192g.json")


def later_schema(folder: Path) -> None:
    rewrite(folder, schema="assay-check-baseline-2")


def lose_program(folder: Path) -> None:
    program_in(folder).unlink()


def change_program(folder: Path) -> None:
    with program_in(folder).open("ab") as file:
        file.write(b"\0")


def lose_baseline(folder: Path) -> None:
    baseline_in(folder).unlink()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (damage_baseline, "baseline is damaged"),
        (damage_facts, "facts can't be read"),
        (open_to_others, "may be written by all users"),
        (open_folder_to_others, "may be written by all users"),
        (of_another_kind, "'ibm-power10"),
        (only_another_kind, "no baseline of"),
        (later_schema, "assay-check-baseline-2"),
        (lose_program, "can't be read"),
        (change_program, "digest"),
        (lose_baseline, "no baseline yet; run assay check --record"),
    ],
)
def test_a_faulty_folder_is_undecided(
    node_folder: Path, fault: Callable[[Path], None], said: str
) -> None:
    fault(node_folder)
    text = undecided(node_folder)
    assert said in text
    assert len(text.splitlines()) <= 3


def test_another_scratch_than_the_learned_one_is_undecided(
    node_folder: Path, tmp_path: Path
) -> None:
    """A misspelt folder, or another disk, says nothing about the node."""
    for scratch in (node_folder / "mispelt", tmp_path):
        text = undecided(node_folder, "--scratch", str(scratch))
        assert "scratch folder isn't the one" in text
        assert f"Correct it to {node_folder.parents[1]}" in text


def test_a_partner_without_learned_messages_is_told(node_folder: Path) -> None:
    done = assay_check(node_folder, "--partner", "no-such-node")
    assert done.returncode in (0, 3)
    assert "Messages aren't measured" in done.stderr


def test_the_learned_scratch_is_the_default(node_folder: Path) -> None:
    done = decided(node_folder, "--facts", "--json")
    facts = {each["name"]: each for each in json.loads(done.stdout)["facts"]}
    assert facts["scratch.free"]["look_at"].endswith(str(node_folder.parents[1] / "scratch"))


def test_a_scratch_that_no_node_was_learned_with_is_undecided(node_folder: Path) -> None:
    facts = json.loads(baseline_in(node_folder).read_bytes())["facts"]
    without = {name: each for name, each in facts["facts"].items() if "scratch" not in name}
    assert len(without) < len(facts["facts"])
    rewrite(node_folder, facts={**facts, "facts": without})
    text = undecided(node_folder, "--scratch", str(node_folder.parents[1] / "scratch"))
    assert "or leave it out" in text


def test_a_missing_folder_is_undecided(tmp_path: Path) -> None:
    assert "no such folder of checks" in undecided(tmp_path / "none")


def test_a_hung_program_ends_at_the_deadline(node_folder: Path) -> None:
    """The program that the baseline names waits forever; nothing of it is left."""
    nap = f"9{os.getpid()}.25"
    content = f"#!/bin/sh\nsetsid sleep {nap} &\nsleep {nap}\n".encode()
    digest = hashlib.sha256(content).hexdigest()
    program = node_folder / "program" / f"assay-check-{digest[:12]}"
    program.write_bytes(content)
    program.chmod(0o755)
    rewrite(node_folder, program=digest)
    began = time.monotonic()
    text = undecided(node_folder, "--deadline", "6")
    assert "hung" in text
    assert time.monotonic() - began < 60
    words = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(nap.encode() in each for each in words)


UNREAD = """
import sys
import msgspec
import assay.check.node.comparing as comparing
judge = comparing.judge_facts
def judge_without_facts(*words, **named):
    found = judge(*words, **named)
    read = msgspec.structs.replace(found.read, facts=found.read.facts[:3])
    return msgspec.structs.replace(found, read=read, failed=[])
comparing.judge_facts = judge_without_facts
from assay.cli.app import main
main(["check", "--facts", "--folder", sys.argv[1]])
"""


def test_a_node_whose_facts_cannot_be_read_is_not_healthy(node_folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNREAD, str(node_folder)], capture_output=True, text=True
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "facts could be read in time" in done.stdout


class TestFileOfTheNode:
    def test_links_are_refused(self, node_folder: Path) -> None:
        path = node_folder / "nodes" / file_name(host_name())
        path.rename(node_folder / "elsewhere")
        path.symlink_to(node_folder / "elsewhere")
        before = (node_folder / "elsewhere").read_bytes()
        assert "isn't a regular file" in undecided(node_folder, "--facts").replace(
            "is not", "isn't"
        )
        assert (node_folder / "elsewhere").read_bytes() == before

    def test_what_others_can_write_is_refused(self, node_folder: Path) -> None:
        (node_folder / "nodes" / file_name(host_name())).chmod(0o666)
        assert "can be written by other users" in undecided(node_folder, "--facts")

    def test_the_file_of_another_node_is_refused(self, node_folder: Path) -> None:
        with open_node_file(node_folder, "n0099") as file:
            assert file.write(NodeHeader(host="n0099")) == ""
            file.path.rename(node_folder / "nodes" / file_name(host_name()))
        assert "'n0099'" in undecided(node_folder, "--facts")

    @pytest.mark.parametrize("content", [b"", b"short", MAGIC * 512, bytes(4096), b"\xff" * 9000])
    def test_a_damaged_file_begins_again_and_says_so_once(
        self, node_folder: Path, content: bytes
    ) -> None:
        path = node_folder / "nodes" / file_name(host_name())
        path.write_bytes(content)
        first = assay_check(node_folder, "--facts")
        second = decided(node_folder, "--facts")
        assert (first.returncode in (0, 3), second.returncode) == (True, 0)
        assert ("damaged" in first.stderr) == (content != b"")
        assert "damaged" not in second.stderr
        content_now = read_node_file(path)
        assert content_now.header is not None
        assert content_now.header.checks == len(content_now.records) >= 2
        assert path.stat().st_size == 4096

    @pytest.mark.long
    @pytest.mark.parametrize("state", [b"\xc1", b"\x92\x01\x80", os.urandom(200), b"\x93" * 900])
    def test_any_bytes_of_a_decision_are_survived(self, node_folder: Path, state: bytes) -> None:
        with open_node_file(node_folder, host_name()) as file:
            header = NodeHeader(host=host_name(), state=state, counters=state[:256])
            assert file.write(header) == ""
        assert assay_check(node_folder).returncode in (0, 3)

    def test_records_of_the_future_are_survived(self, node_folder: Path) -> None:
        """The clock was wrong, and jumped back."""
        with open_node_file(node_folder, host_name()) as file:
            record = CheckRecord(utc=4e9, outcome="healthy", seconds=1.0, values={"stream": 1.0})
            assert file.write(NodeHeader(host=host_name(), since=4e9), record) == ""
        assert assay_check(node_folder).returncode in (0, 3)
        records = read_node_file(node_folder / "nodes" / file_name(host_name())).records
        assert [each.utc > 3.9e9 for each in records] == [True, False]


def test_the_config_names_folder_and_deadline(node_folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "assay.toml"
    environment = {"PATH": os.environ["PATH"]}
    words = ("--config", str(config))

    def check(section: str, *more: str) -> tuple[int, str]:
        config.write_text(f'[check]\nfolder = "{node_folder}"\n{section}\n')
        done = assay_check(Path(), *words, *more, environment=environment)
        return done.returncode, done.stdout + done.stderr

    assert check("", "--facts")[0] == 0
    code, text = check('deadline = "0.6 s"')
    assert (code, "deadline of 0.6 s" in text) == (3, True), text
    assert check('deadline = "0.6 s"', "--facts", "--deadline", "8")[0] == 0
    for wrong in (
        r'scratch = "a\u0000b"',
        "deadline = 8",
        'deadline = "1 h"',
        "false_drains = 2.0",
        "folders = 1",
    ):
        code, text = check(wrong, "--facts")
        assert code == 2
        assert "assay.toml:3" in text, text


def test_learning_again_counts_versions(node_folder: Path) -> None:
    path = baseline_in(node_folder)
    kind = path.name.removesuffix(".json")
    before = read_baseline(path, kind)
    learning = next((node_folder / "learning").glob("*.jsonl"))
    later = {**json.loads(learning.read_text().splitlines()[-1]), "utc": time.time() + 1}
    with learning.open("ab") as file:
        file.write(b'{"schema":"assay-check-learning-1","host":\n{"schema":"other"}\n')
        file.write(json.dumps(later).encode() + b"\n")
    done = assay_check(node_folder, "--learn")
    assert done.returncode == 0, done.stderr
    assert "1 damaged line" in done.stdout
    assert "1 line of another schema" in done.stdout
    after = read_baseline(path, kind)
    assert (before.version, after.version) == (1, 2)
    assert (after.program, after.checks) == (before.program, before.checks + 1)
    assert oct(path.stat().st_mode & 0o777) == "0o644"


def test_a_hook_names_this_command_and_the_folder(node_folder: Path) -> None:
    done = assay_check(node_folder, "--print-hook", "slurm-prolog", "--deadline", "5")
    assert done.returncode == 0, done.stderr
    assert str(node_folder) in done.stdout
    assert "deadline=5" in done.stdout


def test_a_report_of_this_fleet(node_folder: Path, tmp_path: Path) -> None:
    assert decided(node_folder, "--facts").returncode == 0
    done = assay_check(node_folder, "--report", str(tmp_path / "checks.json"))
    assert done.returncode == 0, done.stderr
    assert host_name() in (tmp_path / "checks.json").read_text()
