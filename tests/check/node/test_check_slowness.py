"""Slowness fails a node by two checks, each confirmed, with real measurements."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import check_baselines
from assay.check.components import ALONE
from assay.check.state.file_names import file_name, host_name
from assay.check.state.node_file import read_node_file

pytestmark = pytest.mark.alone
#: The command on a machine that counts as quiet: tests of the decision cover busy ones.
COMMAND = """
import sys
import assay.check.decision.decide as decide
import assay.check.decision.judgement as judgement
decide.is_quiet = judgement.is_quiet = lambda quiet: True
from assay.cli.app import main
main(["check", "--json", "--deadline", "30"])
"""


def check(folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND],
        capture_output=True,
        text=True,
        env={**os.environ, "ASSAY_CHECKS": str(folder)},
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["status"] == done.returncode
    return found


def change(
    folder: Path,
    values: Callable[[dict[str, Any]], dict[str, Any]],
    components: Sequence[str] = ("product",),
) -> None:
    """Give the baselines of components other values."""
    (path,) = (folder / "baselines").glob("*.json")
    content = json.loads(path.read_text())
    for name in components:
        usual = content["components"][name]
        usual.update(values(usual))
    path.write_text(json.dumps(content))


def make_slow(folder: Path) -> None:
    """The fleet is twenty times as fast."""
    change(
        folder,
        lambda usual: {key: usual[key] - math.log(20.0) for key in ("level", "learned_level")},
    )


def make_steady(folder: Path) -> None:
    """Sessions on several days were the same."""
    steady = check_baselines.component(0.0)
    values = {"sessions": steady.sessions, "movement": steady.movement, "moving": steady.moving}
    change(folder, lambda _: msgspec.to_builtins(values), ALONE)
    # Two checks on a busy machine may scatter by a factor.
    tables = {name: getattr(steady, name) for name in ("fleet", "within", "between")}
    change(folder, lambda _: {**tables, "gap": 0.0, "valley": 0.0, "wander": 0.0})


def test_slowness_is_undecided_with_a_baseline_of_minutes(node_folder: Path) -> None:
    """Nor in the second check, in which a node fails by a baseline of days."""
    make_slow(node_folder)
    for _ in range(2):
        found = check(node_folder)
        assert (found["outcome"], found["status"], found["findings"]) == ("undecided", 3, [])
        assert "too few sessions to decide (1 of 8, days 1 of 3)" in found["line"]
        assert "product" in [each["about"] for each in found["suspected"]]


def test_a_slow_node_fails_in_its_second_check(node_folder: Path) -> None:
    """The fleet is said to be twenty times as fast in DGEMM, and as steady for days."""
    make_slow(node_folder)
    make_steady(node_folder)
    first = check(node_folder)
    assert (first["outcome"], first["findings"]) == ("healthy", [])
    assert "product" in [each["about"] for each in first["suspected"]]
    # An immediate second measurement agreed.
    assert sum(each["component"] == "product" for each in first["readings"]) >= 2
    second = check(node_folder)
    assert second["outcome"] == "unhealthy"
    (product,) = [each for each in second["findings"] if each["about"] == "product"]
    assert product["deviation"] < -0.5
    assert product["text"].startswith("DGEMM ")
    assert second["line"].startswith("unhealthy: ")
    records = read_node_file(node_folder / "nodes" / file_name(host_name())).records
    assert ["product" in each.slow for each in records] == [True, True]
    assert [each.outcome for each in records] == ["healthy", "unhealthy"]


@pytest.mark.long
def test_slowness_without_records_never_fails_a_node(node_folder: Path) -> None:
    """The folder of the nodes' files is lost, and with it what the first of two checks found."""
    make_slow(node_folder)
    make_steady(node_folder)
    (node_folder / "nodes" / file_name(host_name())).unlink()
    (node_folder / "nodes").rmdir()
    for _ in range(2):
        assert check(node_folder)["outcome"] == "healthy"
