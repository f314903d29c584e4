"""``assay measure`` of every pair: how many pairs were measured, and why not all."""

from __future__ import annotations

import json
from pathlib import Path

from campaign_lab import InProcessLab

MACHINE = """
schema = 1
cores = 16

[transfers]
within = { "8" = 20e-9 }
"""


def measured(folder: Path, *words: str) -> str:
    (folder / "machine.toml").write_text(MACHINE)
    given = ["measure", "memory.core_to_core", *words, "--launches", "2", "--fake", "machine.toml"]
    done = InProcessLab(folder).call(given)
    assert done.returncode in (0, 1), done.stderr
    return str(done.stdout)


def test_the_terminal_says_when_pairs_were_sampled_and_why(tmp_path: Path) -> None:
    """A launch measures whole rounds, in each of which every CPU has one partner: 2 of 15 here."""
    text = measured(tmp_path, "most=20", "--threads", "16")
    assert (
        "32 of 120 pairs measured, at random, 16 per launch: `most` permits 20 pairs per launch"
        in " ".join(text.split())
    )
    assert "pairs measured" not in measured(tmp_path, "--threads", "16")


def test_the_numbers_are_in_the_json_output(tmp_path: Path) -> None:
    cell = json.loads(measured(tmp_path, "most=20", "--threads", "16", "--json"))
    assert cell["sampled"] == {"pairs": 32, "in_all": 120, "per_launch": 16, "most": 20}
    cell = json.loads(measured(tmp_path, "--threads", "4", "--json"))
    assert cell["sampled"] == {"pairs": 6, "in_all": 6, "per_launch": 6, "most": None}
