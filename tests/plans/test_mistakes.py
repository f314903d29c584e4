"""Mistakes in plans: file, line, reason, and the nearest word."""

from __future__ import annotations

import pytest

from assay.errors import AssayError
from assay.model.plan import PlanContext
from assay.plans.suites import load_plan
from plan_files import TWO, measure, write

LONG = "9" * 5000  # more digits than Python reads as an integer
HEAD = 'schema = 1\n[[measure]]\nkernel = "memory.stream"\n'


@pytest.mark.parametrize(
    ("text", "line", "complaint", "fix"),
    [
        ('schema = 1\n[[measure]]\nkernel = "memory.steam"', 3, "no kernel", "'memory.stream'"),
        (HEAD + 'opp = "copy"', 4, "no parameter 'opp'", "'op'"),
        (HEAD + "thread = 2", 4, "no parameter 'thread'", "'threads'"),
        (HEAD + 'op = ["copy",\n  "tried"]', 5, "'op' can't be 'tried'", "'triad'"),
        (HEAD + "op = 3", 4, "'op' must be a word", ""),
        (HEAD + "op = true", 4, "must be a number, a word", ""),
        (HEAD + "op = []", 4, "empty list", ""),
        (HEAD + "elements = -1", 4, "at least 0", ""),
        (HEAD + "elements = 1.5", 4, "whole number", ""),
        (HEAD + "elements = inf", 4, "can't be inf", ""),
        (HEAD + 'elements = "64 KiB"', 4, "a single number", ""),
        (HEAD + 'elements = "2 * coors"', 4, "uses 'coors'", "'cores'"),
        (HEAD + 'ppn = "al"', 4, "uses 'al'", ""),
        (HEAD + "ppn = 0", 4, "at least 1", ""),
        (HEAD + "ppn = 3", 4, "needs 3 cores", "oversubscribe"),
        (HEAD + "nodes = 2", 4, "nodes = 2, but there is 1 node", ""),
        (HEAD + 'order = "cylic"', 4, "'order' can't be 'cylic'", "'cyclic'"),
        (HEAD + 'toolchain = "embeded"', 4, "no toolchain 'embeded'", "'embedded'"),
        (HEAD + 'where = "ppn >"', 4, "ends too early", ""),
        (HEAD + 'where = "pnp > 1"', 4, "uses 'pnp'", "'ppn'"),
        (HEAD + "where = 3", 4, "must be a text", ""),
        (HEAD + "elements = { from = 1 }", 4, "has no 'to'", ""),
        (HEAD + "elements = { from = 1, to = 2 }", 4, "no way to step", "powers of 2"),
        (HEAD + "elements = { from = 1, to = 2, step = 1, times = 2 }", 4, "several ways", ""),
        (HEAD + "elements = { from = 1, to = 2, stap = 1 }", 4, "key 'stap'", "'step'"),
        (HEAD + 'elements = { from = 1, to = 9, steps = "squares" }', 4, "can't step", "powers"),
        (HEAD + "elements = { from = 9, to = 1, step = 1 }", 4, "empty", ""),
        (HEAD + "elements = { from = 1, to = 9, step = 0 }", 4, "above 0", ""),
        (HEAD + "elements = { from = 1, to = 9, times = 1 }", 4, "above 1", ""),
        (HEAD + "elements = { from = 1, to = 9, times = inf }", 4, "can't be inf", ""),
        (HEAD + f'elements = {{ from = 1, to = 9, steps = "powers of {LONG}" }}', 4, "step", ""),
        (HEAD + "elements = { from = 0, to = 1e9, step = 1 }", 4, "more than 10000", ""),
        (HEAD + "op = { from = 1, to = 2, step = 1 }", 4, "must be a word", ""),
        ("schema = 1\n[[measure]]\nppn = 1", 2, "names no kernel", ""),
        ("schema = 1\n[[measure]]\nkernel = 7", 3, "must be a string", ""),
        ('schema = 1\n[[measures]]\nkernel = "npb.ep"', 2, "key 'measures'", "'measure'"),
        ("schema = 1\ntitle = 'x'", None, "measures nothing", ""),
        ("schema = 2", 1, "schema 2, and this assay reads 1", ""),
        ("title = 'x'", None, "state its schema", "schema = 1"),
        ("schema = 1\ntitle = [[measure", 2, "not valid TOML", ""),
        ("schema = 1\n[replication]\nprecison = 1", 3, "key 'precison'", "'precision'"),
        ("schema = 1\n[replication]\nprecision = 1", 3, "between 0 and 1", ""),
        ('schema = 1\n[replication]\nbudget = "90 B"', 3, "'budget'", ""),
        ("schema = 1\n[replication]\nmin_launches = 40", 3, "more than max_launches", ""),
        ("schema = 1\n[replication]\nmin_samples = 2.5", 3, "whole number", ""),
        ("schema = 1\n[factors]\nop = 'copy'", 3, "key 'op' in [factors]", "ppn"),
    ],
)
def test_mistakes_are_reported_with_line_and_fix(tmp_path, text, line, complaint, fix):
    if "[[measure" not in text and "measures nothing" not in complaint:
        text += '\n[[measure]]\nkernel = "npb.ep"'
    path = write(tmp_path, text)
    with pytest.raises(AssayError) as caught:
        load_plan(path, TWO)
    assert complaint in caught.value.what
    assert caught.value.where == (f"{path}:{line}" if line else str(path))
    assert fix in caught.value.fix


@pytest.mark.long
def test_a_plan_that_is_too_large(tmp_path):
    lines = 'kernel = "network.pingpong"\nbytes = { from = 1, to = 9999, step = 1 }\n'
    lines += 'order = ["block", "cyclic", "reversed"]\nbinding = ["compact", "spread", "none"]\n'
    lines += "nodes = [1, 2, 3, 4]\nppn = 2"
    with pytest.raises(AssayError, match="more than 100000 cells"):
        measure(tmp_path, lines, PlanContext(2, 4))
