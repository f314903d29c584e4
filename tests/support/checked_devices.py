"""This machine as a node with two devices of a CUDA that runs on the processor."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import assay.check.measuring.meter as meter
from assay.check.components import CORE, OF_DEVICES
from assay.check.measuring.device_meter import DeviceMeter
from assay.check.measuring.program import program_digest
from check_baselines import component, normal_table
from checked_node import assay_check
from devices import build_fake_cuda

#: Variables that the measuring program gets in these tests; a check passes none of them on.
PASSED = ("LD_LIBRARY_PATH", "FAKE_CUDA", "TMPDIR")
#: The command where the program finds the library, and no other process counts: tests of the
#: decision cover busy machines.
COMMAND = f"""
import os, sys
import assay.check.decision.decide as decide
import assay.check.decision.judgement as judgement
import assay.check.measuring.meter as meter
decide.is_quiet = judgement.is_quiet = lambda quiet: not quiet.users
plain = meter._environment
meter._environment = lambda: plain() | {{name: os.environ[name] for name in {PASSED!r}}}
from assay.cli.app import main
main(sys.argv[1:])
"""


_STEADY = (
    *("sessions", "movement", "moving", "fleet", "within", "between", "check_scatter"),
    *("gap", "valley", "wander"),
)


def on_devices(
    folder: Path, libraries: Path, fault: str, *words: str
) -> subprocess.CompletedProcess[str]:
    """``assay check`` with these words, where the devices have a planted fault."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND, "check", *words],
        capture_output=True,
        text=True,
        env=os.environ
        | {
            "ASSAY_CHECKS": str(folder),
            "LD_LIBRARY_PATH": str(libraries),
            "FAKE_CUDA": fault,
            "TMPDIR": str(libraries),
        },
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="session")
def fake_cuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the library."""
    return build_fake_cuda(tmp_path_factory.mktemp("cuda"))


@pytest.fixture(scope="session")
def learned_devices(learned_folder: Path, fake_cuda: Path) -> Path:
    """A folder of checks with a baseline of two devices and of cores. Sessions on several days were
    the same. Tests copy it (``device_folder``).
    """
    folder = learned_folder.parent / "with-devices" / "checks"
    shutil.copytree(learned_folder, folder)
    (program,) = (folder / "program").glob("assay-check-*")
    values = (str(fake_cuda), "devices:2", str(fake_cuda))
    passed = dict(zip(PASSED, values, strict=True))
    plain = meter._environment
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meter, "_environment", lambda: plain() | passed)
        with DeviceMeter(
            program, digest=program_digest(program), backend="cuda", deadline=120.0
        ) as devices:
            found = msgspec.to_builtins(devices.measure(OF_DEVICES))
    assert devices.devices is not None and not any(each["failed"] for each in found.values())
    _add_to_records(folder, found, msgspec.to_builtins(devices.devices))
    done = assay_check(folder, "--learn")
    assert done.returncode == 0, done.stderr
    _make_steady(folder)
    return folder


@pytest.fixture
def device_folder(learned_devices: Path) -> Iterator[Path]:
    """A copy of it for one test."""
    place = Path(tempfile.mkdtemp(prefix="devices-", dir=learned_devices.parents[1]))
    place.chmod(0o755)
    folder = place / "checks"
    shutil.copytree(learned_devices, folder)
    yield folder
    shutil.rmtree(place)


def _add_to_records(folder: Path, readings: dict[str, object], devices: object) -> None:
    (path,) = (folder / "learning").glob("*.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        record["devices"] = devices
        for found in record["rounds"]:
            found |= readings
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    for baseline in (folder / "baselines").iterdir():
        baseline.unlink()  # or there would be nothing new to learn


def _make_steady(folder: Path) -> None:
    """Rates on a busy machine vary by a factor; only what is much slower is found."""
    (path,) = (folder / "baselines").glob("*.json")
    content = json.loads(path.read_text())
    kept = {}
    for name in (CORE, *OF_DEVICES):
        scatter = 4.0 if name == CORE else 0.3
        wide = normal_table(scatter)
        steady = component(0.0, fleet=wide, within=wide, check_scatter=scatter)
        values = msgspec.to_builtins({each: getattr(steady, each) for each in _STEADY})
        kept[name] = content["components"][name] | values
    content |= {"components": kept, "core_gap": None}
    path.write_text(json.dumps(content))
