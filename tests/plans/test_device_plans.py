"""Plans for machines with devices: ranks that use one each, and kernels that need several."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from assay.campaign.budget.announcement import first_launches
from assay.errors import AssayError
from assay.model.plan import Plan, PlanContext, UsableDevices
from assay.plans.suites import find_suite, load_plan

EIGHT_CORES = 8


def context(
    devices: int | None, cores: int = EIGHT_CORES, backend: str = "cuda", name: str = ""
) -> PlanContext:
    found = None if devices is None else UsableDevices(backend, devices, name)
    return PlanContext(cores, find_devices=lambda: found)


def suite(devices: int | None, cores: int = EIGHT_CORES) -> Plan:
    return load_plan(find_suite("gpu"), context(devices, cores))


def ranks(plan: Plan, kernel: str) -> set[int]:
    return {cell.placement.ppn for cell in plan.cells if cell.kernel == kernel}


def test_the_suite_measures_one_device_and_all_of_a_node():
    assert ranks(suite(4), "gpu.stream") == ranks(suite(4), "gpu.transfer") == {1, 4}
    assert ranks(suite(1), "gpu.stream") == {1}


def test_each_device_of_several_is_measured_by_itself():
    plan = suite(4)
    numbers = {cell.parameters["device"] for cell in plan.cells if cell.kernel == "gpu.stream"}
    assert numbers == {-1, 0, 1, 2, 3}
    assert {cell.parameters["device"] for cell in suite(1).cells} == {-1}


def test_before_its_job_runs_a_plan_expects_one_device():
    assert {cell.placement.ppn for cell in suite(None).cells if cell.kernel == "gpu.stream"} == {1}


def test_without_devices_the_suite_is_refused_with_the_reason():
    with pytest.raises(AssayError, match="Nothing of this plan") as refused:
        suite(0)
    assert "no device that CUDA, HIP or OpenCL finds" in str(refused.value.detail)


def test_more_devices_than_cores_leave_out_their_cells_with_a_note():
    plan = suite(4, cores=2)
    assert ranks(plan, "gpu.stream") == {1}
    assert any("ppn = 4 needs 4 cores, but a node has 2" in note for note in plan.notes)


@pytest.mark.parametrize(
    ("ppn", "devices", "refused"), [(3, 2, True), (2, 2, False), (3, None, False)]
)
def test_ranks_have_a_device_each(tmp_path: Path, ppn: int, devices: int | None, refused: bool):
    path = tmp_path / "plan.toml"
    path.write_text(f'schema = 1\n[[measure]]\nkernel = "gpu.launch"\nppn = {ppn}\n')
    if not refused:
        assert len(load_plan(path, context(devices)).cells) == 1
        return
    with pytest.raises(AssayError, match="ppn = 3 needs 3 devices, but a node has 2"):
        load_plan(path, context(devices))


def test_devices_are_counted_only_for_their_kernels():
    def find() -> UsableDevices:
        raise AssertionError("the quick suite measures no device")

    assert load_plan(find_suite("quick"), PlanContext(2, find_devices=find)).cells


def test_the_stated_time_includes_what_devices_need_to_start() -> None:
    """A text takes OpenCL's compiler up to a second; the stated time was that of the samples."""
    plan = load_plan(find_suite("gpu"), context(1, backend="opencl"))
    stated = first_launches(plan)
    assert stated.seconds >= 1.0 * len(plan.cells) and not stated.exceeds
    # What doesn't fit is refused before anything is launched.
    rule = msgspec.structs.replace(plan.replication, budget=10.0)
    short = first_launches(msgspec.structs.replace(plan, replication=rule))
    assert short.exceeds and "left out" in short.sentence
    assert 0 < len(short.left_out) < len(plan.cells)
    cuda = load_plan(find_suite("gpu"), context(1, backend="cuda"))
    assert 0.5 * len(cuda.cells) <= first_launches(cuda).seconds < stated.seconds
    # Devices of a scenario start at once.
    assert not load_plan(find_suite("gpu"), context(1, backend="")).expected


def types(plan: Plan) -> set[object]:
    return {cell.parameters["type"] for cell in plan.cells if cell.kernel == "gpu.gemm"}


def test_types_that_a_device_does_not_multiply_are_left_out_with_a_note():
    by_opencl = load_plan(find_suite("gpu"), context(1, backend="opencl"))
    assert types(by_opencl) == {"fp64", "fp32", "fp16", "int8"}
    assert not [c for c in by_opencl.cells if c.parameters.get("mode") == "graph"]
    assert any("no graphs of launches" in note for note in by_opencl.notes)
    a100 = load_plan(find_suite("gpu"), context(1, name="NVIDIA A100-SXM4-40GB"))
    assert "fp8" not in types(a100) and {"tf32", "bf16"} < types(a100)
    assert any("no peak of fp8 for NVIDIA A100 SXM4 40 GB" in note for note in a100.notes)
    other = load_plan(find_suite("gpu"), context(1, name="NVIDIA RTX 6000"))
    assert "fp8" in types(other)


def test_one_device_has_no_peers():
    plan = suite(1)
    assert not [c for c in plan.cells if c.kernel in ("gpu.peer", "gpu.collective", "gpu.all")]
    notes = [note for note in plan.notes if "needs at least 2" in note]
    assert {note.split(":")[0] for note in notes} == {
        "Left out gpu.peer",
        "Left out gpu.collective",
        "Left out gpu.all",
    }
    assert {c.placement.ppn for c in suite(4).cells if c.kernel == "gpu.collective"} == {4}
