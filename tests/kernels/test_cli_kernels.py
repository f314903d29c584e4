"""``assay kernels``: the whole catalogue, as text and as JSON."""

from __future__ import annotations

import json

import pytest

from assay.cli.machine.kernels import kernels as command
from assay.errors import AssayError
from assay.kernels import find_kernel, kernels


def run(capsys, *arguments, **options):
    assert command(*arguments, **options) is None
    return capsys.readouterr().out


def test_the_list_names_every_kernel(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    text = run(capsys)
    for kernel in kernels():
        assert kernel.name in text


@pytest.mark.parametrize("name", [kernel.name for kernel in kernels()])
def test_one_kernel_is_described_completely(capsys, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "1000")  # so that nothing wraps
    kernel = find_kernel(name)
    text = run(capsys, name)
    for parameter in kernel.parameters:
        assert parameter.name in text and parameter.meaning in text
        assert str(parameter.default) in text
    for metric in kernel.metrics:
        assert metric.name in text and metric.unit in text and metric.meaning in text
    assert kernel.source in text


def test_json_is_the_catalogue(capsys):
    found = json.loads(run(capsys, json=True))
    assert [entry["name"] for entry in found] == [kernel.name for kernel in kernels()]
    one = json.loads(run(capsys, "network.pingpong", json=True))
    assert one == next(entry for entry in found if entry["name"] == "network.pingpong")
    assert one["headline"] == "latency"
    assert one["ranks"] == {"min": 2, "max": None}
    size = next(entry for entry in one["parameters"] if entry["name"] == "bytes")
    assert (size["default"], size["unit"], size["low"], size["high"]) == (8, "B", 0, 2**33)
    assert one["work"] == {"bytes": {"unit": "B", "value": 8.0}}


def test_work_is_that_of_the_defaults_and_missing_is_null(capsys):
    dgemm = json.loads(run(capsys, "compute.dgemm", json=True))
    assert dgemm["work"]["flops"] == {"unit": "flop", "value": 2 * 2000.0**3}
    stream = json.loads(run(capsys, "memory.stream", json=True))
    assert stream["work"]["bytes"]["value"] is None  # the machine chooses the elements
    alone = json.loads(run(capsys, "npb.ep", json=True))
    assert alone["work"]["messages"]["value"] == 0  # a single rank: known to be none


def test_an_unknown_kernel_names_the_nearest():
    with pytest.raises(AssayError, match=r"Did you mean 'npb\.cg'"):
        command("npb.cgg")
