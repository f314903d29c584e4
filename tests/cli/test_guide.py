"""The ten-minute guide, from its first command to its last, in a folder that is empty at first.

The commands share the folder, as a reader's do. Those that measure kernels take a fake machine; a
real suite is measured in tests/test_end_to_end.py. tests/cli/test_examples.py has the cluster.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from examples import ROOT, blocks, command_of, executed, words_of

MACHINE = """
schema = 1
seed = 5
cores = 4
devices = 1
launch_time = "1 ms"
[[kernel]]
time = 0.001
noise = { sigma = 0.02, launch_sigma = 0.01 }
"""
PROGRAM = "#!/bin/sh\necho took 0.01 s\n"
FAKE = ["--fake", "machine.toml"]
# What readers see or do outside the terminal.
REPLACED = {"--open": "--json"}
# By the findings on this machine; and no run was interrupted.
STATUS = {"assay doctor": (0, 1), "assay run --resume": (2,)}


def commands() -> list[str]:
    """Those of the section on a first machine, in order."""
    text = (ROOT / "docs" / "guide.md").read_text()
    end = text[: text.index("## A first cluster")].count("\n")
    mine = [block for block in blocks() if block.page == "docs/guide.md" and block.line < end]
    return [found for block in mine for line in block.commands if (found := command_of(line))]


@pytest.mark.long
def test_the_guide_works_from_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "machine.toml").write_text(MACHINE)
    (tmp_path / "a.out").write_text(PROGRAM)
    (tmp_path / "a.out").chmod(0o755)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "mpirun").write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    (programs / "mpirun").chmod(0o755)
    listed = commands()
    assert len(listed) > 15
    for command in listed:
        words = [REPLACED.get(word, word) for word in words_of(command)]
        if words[0] in ("run", "measure") and "--app" not in words and words[1:] != ["--resume"]:
            words += [*FAKE, "--launches", "1"]
        done = executed(tmp_path, *words, statuses=STATUS.get(command, (0,)))
        assert done.stdout or done.stderr, command
        assert "Traceback" not in done.stderr
