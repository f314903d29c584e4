"""The facts of this machine, with limits that are really set, and what reading them imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from assay.check.facts.fleet import compare_facts, failing, learn_facts
from assay.check.facts.kind import kind_of
from assay.check.facts.reading import read_facts
from cpu_quota import cpu_quota
from small_process import called


def test_this_machine_fits_itself():
    first = called(read_facts, seconds=20, scratch="/tmp")
    assert first.unread == {}
    names = [fact.name for fact in first.facts]
    assert len(names) == len(set(names))
    values = {fact.name: fact.value for fact in first.facts}
    assert values["cpu.online"] == os.cpu_count()
    assert isinstance(values["memory.total"], float)
    assert values["scratch.answers"] is True
    assert kind_of(first.facts)
    learned = learn_facts({f"n{number}": [first.facts] for number in range(20)})
    assert (
        failing(compare_facts(called(read_facts, seconds=20, scratch="/tmp").facts, learned)) == []
    )
    # A check without scratch, or in a fleet that was learned without it.
    assert failing(compare_facts(called(read_facts, seconds=20).facts, learned)) == []


def test_reading_imports_nothing_heavy():
    script = """
import json, sys
from pathlib import Path
from assay.check.facts.judging import judge_facts
from assay.check.facts.fleet import learn_facts
from assay.check.facts.reading import read_facts
read = read_facts(seconds=20)
judge_facts(learn_facts({"a": [read.facts]}), seconds=20)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    heavy = {"numpy", "scipy", "polars", "rich", "jinja2", "psutil", "cyclopts", "tomllib"}
    loaded = set(json.loads(done.stdout))
    assert "msgspec" in loaded
    assert loaded & (heavy | {"subprocess", "asyncio", "unittest", "difflib"}) == set()


@pytest.mark.skipif(os.getuid() != 0, reason="another user's process needs root")
def test_a_check_by_an_ordinary_user_fits_a_fleet_that_root_learned():
    """And the other way round. The process changes its user after all imports."""
    script = """
import json, os
from assay.check.facts.fleet import compare_facts, failing, learn_facts
from assay.check.facts.reading import read_facts
by_root = read_facts(seconds=20, scratch="/tmp").facts
os.setgroups([])
os.setgid(12345)
os.setuid(12345)
by_user = read_facts(seconds=20, scratch="/tmp").facts
found = [
    [finding.text for finding in failing(compare_facts(facts, learn_facts({"a": [other]})))]
    for facts, other in ((by_user, by_root), (by_root, by_user))
]
print(json.dumps([found, len(by_root), len(by_user)]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    found, by_root, by_user = json.loads(done.stdout)
    assert found == [[], []]
    assert by_root >= by_user > 40


@pytest.mark.skipif(os.getuid() != 0, reason="control groups need root")
def test_a_cpu_quota_of_this_process():
    """80% of the CPUs, in a control group of the version that this machine has."""
    cpus = os.cpu_count() or 1
    script = """
import json, os, sys
from assay.check.facts.fleet import compare_facts, learn_facts
from assay.check.facts.reading import read_facts
groups = ["processor", "limits"]
usual = read_facts(seconds=20, groups=groups).facts
learned = learn_facts({"a": [usual]})
with open(sys.argv[1], "w") as file:
    file.write(str(os.getpid()))
now = read_facts(seconds=20, groups=groups).facts
print(json.dumps([finding.text for finding in compare_facts(now, learned)]))
"""
    with cpu_quota(0.8 * cpus) as group:
        command = [sys.executable, "-c", script, f"{group.folder}/cgroup.procs"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        f"CPU quota {0.8 * cpus:.3g} of {cpus} CPUs; check control groups"
    ]
