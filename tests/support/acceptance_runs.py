"""Stored runs with planted launches, and contracts, for tests of acceptances."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.acceptance.contract import Contract
from assay.acceptance.reading.contracts import contract_of
from assay.cli.app import main
from assay.model.cell import Cell
from assay.records.directory import RunDirectory
from assay.records.files import write_atomically
from assay.toml import parse_toml
from records_builder import make_launch, make_plan, make_record, make_run, make_stream

BEGIN, SPACING = 1.79e9, 60.0


def filed_run(
    root: Path,
    times: Sequence[tuple[Cell, np.ndarray]],
    *,
    utc: float = BEGIN,
    host: str = "box",
) -> RunDirectory:
    """A run whose launches measured the cells with these times (s)."""
    run = make_run(root, make_plan([cell for cell, _ in times]))
    manifest = msgspec.structs.replace(run.manifest(), utc=utc)
    write_atomically(run.path / "manifest.json", msgspec.json.encode(manifest))
    for launch in range(max(each.size for _, each in times)):
        name = run.new_launch()
        records = [
            make_record(cell, launch, [float(each[launch])] * 3)
            for cell, each in times
            if launch < each.size
        ]
        begun = utc + SPACING * launch
        stream = make_stream(name, records, utc=begun, host=host)
        (run.raw / f"{name}.jsonl").write_bytes(stream)
        run.append_launch(make_launch(name, utc=begun))
    return run


def contract(text: str, name: str = "contract.toml") -> Contract:
    """A contract with these lines after its first two."""
    return contract_of(parse_toml(f'schema = 1\ntitle = "Test"\n{text}', Path(name)))


def normal_times(seed: int, median: float, count: int = 30, cov: float = 0.005) -> np.ndarray:
    """Normal times (s) whose sample median is exactly ``median``."""
    drawn = np.random.default_rng(seed).standard_normal(count)
    return median * (1.0 + cov * (drawn - np.median(drawn)))


def accepted(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """``assay accept`` with these words: exit status and both outputs."""
    with pytest.raises(SystemExit) as ended:
        main(["accept", *words])
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err
