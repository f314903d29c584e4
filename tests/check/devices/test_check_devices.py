"""Checks of a node with two devices: a CUDA on the processor, with planted faults."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from assay.check.components import OF_DEVICES
from checked_devices import on_devices
from checked_node import assay_check
from devices import needs_opencl

pytestmark = pytest.mark.slow


def check(folder: Path, libraries: Path, fault: str, *words: str) -> dict[str, Any]:
    done = on_devices(folder, libraries, fault, "--json", *(words or ("--deadline", "60")))
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["status"] == done.returncode
    assert len(found["line"]) <= 100
    return found


def test_devices_are_measured_and_exported(
    device_folder: Path, fake_cuda: Path, tmp_path: Path
) -> None:
    files = (
        "--deadline",
        "60",
        "--textfile",
        str(tmp_path / "a.prom"),
        "--junit",
        str(tmp_path / "a.xml"),
    )
    found = check(device_folder, fake_cuda, "devices:2", *files)
    assert found["outcome"] == "healthy"
    measured = [each for each in found["readings"] if each["component"] in OF_DEVICES]
    assert {each["component"] for each in measured} == set(OF_DEVICES)
    assert all(each["cpus"] == [0, 1] and len(each["values"]) == 2 for each in measured)
    assert all(each["verified"] and not each["failed"] for each in measured)
    text = (tmp_path / "a.prom").read_text()
    for device in "01":
        assert re.search(rf'^assay_check_device_fma_flops{{device="{device}"}} \d', text, re.M)
    cases = {case.get("name") for case in ElementTree.parse(tmp_path / "a.xml").iter("testcase")}
    assert {"device triad", "device flops", "device link"} <= cases


def test_facts_alone_measure_no_device(device_folder: Path, fake_cuda: Path) -> None:
    found = check(device_folder, fake_cuda, "asleep", "--facts")
    assert found["readings"] == [] and "isn't ready" not in found["line"]


def test_a_slow_device_fails_the_node_in_its_second_check(
    device_folder: Path, fake_cuda: Path
) -> None:
    first = check(device_folder, fake_cuda, "devices:2,slow:1")
    assert (first["outcome"], first["findings"]) == ("healthy", [])
    assert "device_triad" in [each["about"] for each in first["suspected"]]
    second = check(device_folder, fake_cuda, "devices:2,slow:1")
    assert second["outcome"] == "unhealthy", (second["suspected"], second["readings"])
    assert re.match(r"unhealthy: device 1 (triad|flops) ", second["line"])
    (triad,) = [each for each in second["findings"] if each["about"] == "device_triad"]
    assert triad["deviation"] < -0.5 and triad["text"].endswith("; check device 1")
    # The link was as fast as ever.
    assert "device_link" not in [each["about"] for each in second["findings"]]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("devices:2,drop:1,at:spoil", "Device 1 (Fake device 1): "),
        ("devices:2,hang:1,at:spoil", "Device 1 (Fake device 1) doesn't answer within"),
        ("devices:1", "Only 1 of 2 devices are there"),
        pytest.param("devices:2,memory", "CUDA_ERROR_OUT_OF_MEMORY", marks=pytest.mark.long),
        pytest.param("old", "the driver finds no device", marks=pytest.mark.long),
    ],
)
def test_a_lost_device_fails_the_node_at_once(
    device_folder: Path, fake_cuda: Path, fault: str, said: str
) -> None:
    found = check(device_folder, fake_cuda, fault, "--deadline", "30")
    assert found["outcome"] == "unhealthy", (found["line"], found["readings"])
    assert found["line"].startswith("unhealthy: device triad: no value, 2 of 2 times (")
    failed = {each["failed"] for each in found["readings"] if each["component"] in OF_DEVICES}
    assert len(failed) == 1 and said in failed.pop()
    assert {each["about"] for each in found["findings"]} == set(OF_DEVICES)


@pytest.mark.long
def test_a_driver_that_never_starts_leaves_the_node_undecided(
    device_folder: Path, fake_cuda: Path
) -> None:
    done = on_devices(device_folder, fake_cuda, "asleep", "--deadline", "12")
    assert done.returncode == 3
    assert re.fullmatch(
        r"undecided: devices aren't measured: The driver isn't ready after \d\.\d s\n", done.stdout
    )


@pytest.mark.long
def test_other_devices_than_those_of_the_fleet_are_named(
    device_folder: Path, fake_cuda: Path
) -> None:
    (path,) = (device_folder / "baselines").glob("*.json")
    content = json.loads(path.read_text())
    content["devices"]["names"] = ["Another device", "Another device"]
    path.write_text(json.dumps(content))
    found = check(device_folder, fake_cuda, "devices:2")
    assert found["outcome"] == "healthy"
    assert any("the fleet has no Fake device 0" in each for each in found["warnings"])
    assert not {each["component"] for each in found["readings"]} & set(OF_DEVICES)


@pytest.mark.long
@needs_opencl
def test_devices_of_opencl_are_recorded_learned_and_checked(tmp_path: Path) -> None:
    """For real, by the commands that a user types, with OpenCL's driver for processors."""
    folder, scratch = tmp_path / "checks", tmp_path / "scratch"
    scratch.mkdir()
    done = assay_check(folder, "--record", "--backend", "opencl", "--scratch", str(scratch))
    assert done.returncode == 0 and "9 components in 3 rounds" in done.stdout, done.stderr
    done = assay_check(folder, "--learn")
    assert done.returncode == 0 and "device triad: " in done.stdout, done.stderr
    done = assay_check(folder, "--json", "--deadline", "60")
    assert done.returncode in (0, 3), done.stdout  # a busy machine isn't decided
    readings = json.loads(done.stdout)["readings"]
    measured = [each for each in readings if each["component"] in OF_DEVICES]
    assert {each["component"] for each in measured} == set(OF_DEVICES)
    assert all(each["verified"] and each["values"] for each in measured)
