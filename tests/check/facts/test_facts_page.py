"""The table of facts in the documents, against the facts that the code reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.check.facts.fleet import _WEAK
from assay.check.facts.groups import NAMES, reader
from assay.check.facts.groups.devices import device_facts
from assay.check.facts.reading import read_facts
from assay.system.devices.model import Device
from assay.system.files import Tree
from node_trees import server_files, write_tree
from small_process import called

PAGE = Path(__file__).parents[3] / "docs" / "methods" / "check-facts.md"
# What stands for a part of a name, and what it may be.
_WORDS = {
    "NkB": r"\d+kB",
    "nodeN": r"node\d+",
    "mcN": r"mc\d+",
    "N": r"\d+",
    "A": r"[\w-]+",
    "P": r"/.*",
    "M": r"\w+",
    "SLOT": r"[^*]+",
    "CLASS": r"\w+",
    "ID": r"\w+:\w+",
    "NAME": r"[\w-]+",
}


def rows():
    found = {}
    for line in PAGE.read_text().splitlines():
        match = re.match(r"\| `([^`]+)` \| (.+?) \| (\w[\w ]*) \| (yes|no) \|$", line)
        if match:
            parts = [_WORDS.get(word, re.escape(word)) for word in match[1].split(".")]
            assert match[1] not in found
            found[match[1]] = (re.compile(r"\.".join(parts)), match[3], match[4])
    return found


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    cpu = "/sys/devices/system/cpu"
    more = {
        f"{cpu}/cpu0/cpufreq/energy_performance_preference": "performance",
        f"{cpu}/intel_pstate/min_perf_pct": "40",
        f"{cpu}/intel_pstate/max_perf_pct": "100",
        "/sys/fs/cgroup/memory.max": str(64 << 30),
        "/proc/meminfo": f"{server_files()['/proc/meminfo']}Shmem: 8 kB\n",
    }
    port = "/sys/class/infiniband/mlx5_0/ports/1/counters"
    for name in ("link_error_recovery", "local_link_integrity_errors",
                 "excessive_buffer_overrun_errors"):  # fmt: skip
        more[f"{port}/{name}"] = "0"
    tree = write_tree(tmp_path_factory.mktemp("server"), server_files() | more)
    found = [fact for name in NAMES for fact in reader(name)(tree)]
    here = called(read_facts, Tree(Path("/")), seconds=20, scratch="/tmp", expect_idle=True).facts
    device = Device(
        address="0000:3b:00.0", source="nvml", name="X", memory=1 << 30, firmware="1", xids=[],
        power_limit=700.0, clock_application=1e9, temperature=40.0, ecc=True, ecc_corrected=0,
        ecc_uncorrected=0, retired_pages=0, remapped_rows=0, repair_failed=False, links_up=4,
        mig=False, persistence=True, compute_mode="default", users=[],
    )  # fmt: skip
    return [*found, *here, *device_facts([device])]


def test_each_fact_has_one_row_with_its_rule(facts):
    table = rows()
    assert len(table) > 70
    used = set()
    for fact in facts:
        if fact.name.endswith("*"):
            continue
        fitting = [name for name, (pattern, _, _) in table.items() if pattern.fullmatch(fact.name)]
        assert len(fitting) == 1, (fact.name, fitting)
        used.add(fitting[0])
        _, rule, fails = table[fitting[0]]
        # The facts of this process' job, and those of the first minutes after boot, are shown.
        shown = fact.rule == "shown" and fitting[0] in (
            "limit.cpus", "limit.quota", "clock.synchronised", "pci.CLASS.ID.N.speed",
        )  # fmt: skip
        assert fact.rule == rule or shown, fact
        expected = "no" if rule == "shown" or _WEAK.match(fact.name) else "yes"
        assert fails == expected, fact.name
    missing = set(table) - used
    # Facts of this machine that a copy of files can't have, and that not every machine has.
    assert missing <= {"memory.shared_limit", "clock.synchronised", "clock.estimated_error",
                       "clock.maximum_error"}, missing  # fmt: skip
