"""benchmarks/gpu.py: its limits, jobs, peers' outputs, and verdicts on planted runs."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from assay.kernels import find_kernel
from assay.records.schema import Job, MeasurementRecord
from kernel_runs import faulty, measure

FOLDER = Path(__file__).parents[2] / "benchmarks"
MODULES = ("common", "gpu_analysis", "gpu_build", "gpu_on_device", "gpu_parts")
BABELSTREAM = """
Number of elements: 1000000
Precision: double
Array size: 8.0 MB
Function    MB/s        Min (sec)   Max         Average
Copy        32000.000   0.00050     0.00090     0.00064
Mul         32000.000   0.00050     0.00090     0.00050
Dot         32000.000   0.00050     0.00090     0.00040
"""
CLPEAK = """
    Global memory bandwidth (GBPS)
      float   : 1.50
      float2  : 2.55
    Transfer bandwidth (GBPS)
      enqueueWriteBuffer              : 2.11
      enqueueReadBuffer               : 1.49
      enqueueWriteBuffer non-blocking : 9.99
    Kernel launch latency : 12.50 us
"""
NCCL = """
#       size         count      type   redop    root     time   algbw   busbw #wrong
   268435456      67108864     float     sum      -1   1200.5  223.60  391.30      0
# Avg bus bandwidth    : 391.3
"""


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The modules of benchmarks/; their imports are removed afterwards."""
    before = {name: sys.modules.pop(name, None) for name in MODULES}
    monkeypatch.syspath_prepend(str(FOLDER))
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    for name, module in before.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


def test_on_the_device_only_the_standard_library_is_imported() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import gpu, gpu_on_device; "
        "own = {'gpu', 'gpu_parts', 'gpu_on_device', 'gpu_build'}; "
        "print(sorted({n.partition('.')[0] for n in sys.modules} - sys.stdlib_module_names - own))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert set(json.loads(done.stdout.replace("'", '"'))) <= {"__main__"}


def test_limits_add_up_to_eight_minutes(beside: Any) -> None:
    parts = beside.gpu_parts
    limits = [parts.BUILD_SECONDS, parts.PROBE_SECONDS, *(part.seconds for part in parts.PARTS)]
    assert sum(limits) <= parts.ALL_SECONDS == 480.0
    stated = (FOLDER / "README.md").read_text()
    for part in parts.PARTS:
        assert f"| {part.name} | {part.seconds:.0f} |" in stated


def test_jobs_are_those_that_a_launch_reads(beside: Any) -> None:
    for sizes in beside.gpu_parts.SIZES.values():
        for part in beside.gpu_parts.PARTS:
            given = part.measurements(sizes)
            job = json.dumps(beside.gpu_on_device.job_of(part.name, 3, given)).encode()
            orders = msgspec.json.decode(job, type=Job, strict=True).measurements
            for order in orders:
                kernel = find_kernel(order.kernel)
                allowed = {p.name: p.choices for p in kernel.parameters}
                for name, value in order.parameters.items():
                    assert not allowed[name] or value in allowed[name], (order, name)
            assert {pair.measurement for pair in part.pairs} <= given.keys()
            for pair in part.pairs:
                name, chosen = given[pair.measurement]
                kernel = find_kernel(name)
                series = {metric.series or "time" for metric in kernel.metrics}
                assert pair.series in series
                usual = {p.name: p.default for p in kernel.parameters}
                assert not pair.work or pair.work in kernel.work({**usual, **chosen}, 2, 1)


def test_outputs_of_peers_are_read_in_si_units(beside: Any) -> None:
    parts = beside.gpu_parts
    copied = parts.read_babelstream(BABELSTREAM)
    assert copied == pytest.approx({"copy": 2.5e10, "mul": 3.2e10, "dot": 4e10})
    assert parts.read_clpeak(CLPEAK) == pytest.approx(
        {"read": 1.5e9, "write_buffer": 2.11e9, "read_buffer": 1.49e9, "launch": 1.25e-5}
    )
    assert parts.read_nccl(NCCL) == {"bus": 391.3e9}
    assert parts.read_nvbandwidth("SUM host_to_device_memcpy_ce 55.61\n") == {
        "host_to_device_memcpy_ce": 55.61e9
    }
    assert parts.read_products("fp64 8192 0.0181\n") == {"fp64": 0.0181}
    for read in (parts.read_babelstream, parts.read_clpeak, parts.read_nccl, parts.read_products):
        assert read("killed\n") == {}


def test_a_program_is_ended_at_its_limit_with_its_children(beside: Any) -> None:
    device = beside.gpu_on_device
    limit = device.Limit.of(0.3)
    status, text = device.executed(["sh", "-c", "sleep 60 & echo begun; wait"], limit, {})
    assert (status, text) == (124, "begun\n")
    assert device.executed(["true"], limit, {})[0] == 124  # nothing is left
    assert device.Limit.of(100.0, limit).ends == limit.ends


class TestVerdicts:
    """Planted runs: assay's records beside what a peer is made to print."""

    @pytest.fixture(scope="class")
    @staticmethod
    def record() -> MeasurementRecord:
        orders = ("memory.stream", {"op": "copy", "elements": 1000})
        [found] = measure(faulty(), orders)
        series = [msgspec.structs.replace(found.series[0], values=[1e-3] * 4, metric="time")]
        series.append(msgspec.structs.replace(series[0], metric="device_time"))
        given = {"op": "copy", "type": "double", "elements": 1 << 20, "backend": "opencl"}
        facts = {"device_name": "NVIDIA H100 80GB HBM3", "device_units": 132}
        facts["device_memory"] = 80 << 30
        return msgspec.structs.replace(
            found, measurement="copy", kernel="gpu.stream", parameters=given, facts=facts,
            series=series, warmup=0,
        )  # fmt: skip

    def plant(
        self, out: Path, record: MeasurementRecord, *ratios: float, seconds: float = 1e-3
    ) -> Path:
        """A session whose peer has these ratios of assay's bandwidth, round by round."""
        (out / "streams").mkdir(parents=True)
        (out / "peers").mkdir()
        series = [msgspec.structs.replace(each, values=[seconds] * 4) for each in record.series]
        record = msgspec.structs.replace(record, series=series)
        for number, ratio in enumerate(ratios):
            name = f"stream-{number}"
            (out / "streams" / f"{name}.jsonl").write_bytes(msgspec.json.encode(record) + b"\n")
            (out / "peers" / f"{name}.txt").write_text(
                "Number of elements: 1048576\nPrecision: double\nArray size: 8.4 MB\n"
                f"Copy 1.0 1.0 1.0 {seconds * ratio:.9f}\n"
            )
        content = {
            "backend": "cuda", "device": record.facts, "machine": {"processor": "any"},
            "parts": {"stream": {"seconds": 1.0, "limit": 90.0, "load": 0.0}},
            "peers": [], "skipped": [],
        }  # fmt: skip
        (out / "on-device.json").write_text(json.dumps(content))
        return out

    @pytest.mark.parametrize(
        ("ratios", "met"),
        [
            ([1.0, 1.001, 0.999, 1.002, 1.0, 0.998, 1.001], True),
            ([1.05, 1.06, 1.05, 1.04, 1.05, 1.05, 1.06], False),
            ([0.9, 0.91, 0.9, 0.9, 0.92, 0.9, 0.9], False),
            ([1.0, 1.1, 1.0, 0.9, 1.0, 0.95, 1.05], None),
            ([1.0, 1.0, 1.0], None),
        ],
    )
    def test_pairs_decide(
        self,
        beside: Any,
        tmp_path: Path,
        record: MeasurementRecord,
        ratios: list[float],
        met: bool | None,
    ) -> None:
        out = self.plant(tmp_path / "out", record, *ratios)
        stream = beside.gpu_parts.PARTS[0]
        row = beside.gpu_analysis.row_of(out, stream, stream.pairs[0], 0.0)
        assert row.met is met
        assert row.assay_values == pytest.approx([2 * 8 * 2**20 / 1e-3] * len(ratios))
        assert beside.gpu_analysis.analyse(out) == (1 if met is False else 0)

    def test_wrong_and_impossible_results_fail(
        self,
        beside: Any,
        tmp_path: Path,
        record: MeasurementRecord,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        wrong = msgspec.structs.replace(record, verified=False)
        assert beside.gpu_analysis.analyse(self.plant(tmp_path / "wrong", wrong, 1.0)) == 1
        assert "stream-0, copy: the result is wrong" in capsys.readouterr().out
        fast = self.plant(tmp_path / "fast", record, 1.0, seconds=1e-6)  # 17 TB/s
        assert beside.gpu_analysis.analyse(fast) == 1
        assert "is beyond the limit" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.slow
def test_a_session_without_a_device_says_so(tmp_path: Path) -> None:
    """With a kernel program that is built already, and no library of HIP."""
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, str(FOLDER / "gpu.py"), "--on-device", str(out), "--backend", "hip",
         "--kernels", str(faulty())],
        capture_output=True, text=True, check=False, env={**os.environ},
    )  # fmt: skip
    assert done.returncode == 1
    said = json.loads((out / "on-device.json").read_text())["skipped"]
    assert said and "HIP: libamdhip64.so is missing" in said[0]
