"""The judgement of what `gpu.py --on-device` wrote: kernels beside peers, by pairs of runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from common import Comparison, PeerError, Row, compare, finish, show
from gpu_on_device import RECORD
from gpu_parts import PARTS, Pair, Part

from assay.kernels import find_kernel
from assay.records.schema import MeasurementRecord, StreamRecord
from assay.reference.accelerators import identify

#: How far the ratio of a pair's rates may be from 1.
WITHIN = 0.02
_LEAST_PAIRS = 6  # for a 95% interval of a median by order statistics


def analyse(out: Path) -> int:
    """Print the comparison; the status is 1 if a goal was missed or a result was wrong."""
    record = read(out)
    print(
        f"{record['backend']}: {record['device']['device_name']}, {record['machine']['processor']}"
    )
    for name, part in record["parts"].items():
        print(f"{name}: {part['seconds']:.1f} of at most {part['limit']:.0f} s")
    comparison = Comparison(skipped=list(record["skipped"]))
    wrong = [*wrong_results(out), *impossible(out, record["device"])]
    comparison.skipped += wrong
    for part in PARTS:
        for pair in part.pairs:
            row = row_of(out, part, pair, record["parts"].get(part.name, {}).get("load"))
            if row is not None:
                comparison.rows.append(row)
    comparison.peers = [
        {"name": p["program"], "sha256": p["sha256"], "source": p["name"]} for p in record["peers"]
    ]
    finish(comparison)
    print_alone(out)
    return 1 if wrong or any(row.met is False for row in comparison.rows) else 0


def read(out: Path) -> dict[str, Any]:
    """The record of the session. Raises PeerError without one."""
    path = out / RECORD
    if not path.exists():
        raise PeerError(f"{out} has no {RECORD}: `gpu.py --on-device` writes it.")
    record: dict[str, Any] = json.loads(path.read_text())
    return record


def measurements(out: Path, name: str) -> dict[str, MeasurementRecord]:
    """The measurements of a launch, by name; empty without a complete stream."""
    path = out / "streams" / f"{name}.jsonl"
    lines = path.read_bytes().splitlines() if path.exists() else []
    records = [msgspec.json.decode(line, type=StreamRecord) for line in lines]
    return {r.measurement: r for r in records if isinstance(r, MeasurementRecord)}


def wrong_results(out: Path) -> Iterator[str]:
    """A sentence for each measurement that failed or was not verified."""
    for path in sorted((out / "streams").glob("*.jsonl")):
        for name, record in measurements(out, path.stem).items():
            if record.status == "failed":
                yield f"{path.stem}, {name}: failed: {record.error}"
            elif record.verified is False:
                yield f"{path.stem}, {name}: the result is wrong: {record.verification}"


def impossible(out: Path, device: dict[str, Any]) -> Iterator[str]:
    """A sentence for each bandwidth of memory beyond what the device's vendor states."""
    model = identify(device["device_name"], device["device_units"], device["device_memory"])
    if model is None:
        print(f"limits: no published bandwidth is known of {device['device_name']}")
        return
    print(f"limits: {show(model.bandwidth, 'B/s')} of memory: {model.name}, {model.source}")
    for path in sorted((out / "streams").glob("*.jsonl")):
        for name, record in measurements(out, path.stem).items():
            if record.kernel == "gpu.stream" and record.verified:
                rate = work_of(record, "bytes") / mean_of(record, "device_time")
                if rate > model.bandwidth:
                    yield f"{path.stem}, {name}: {show(rate, 'B/s')} is beyond the limit"


def work_of(record: MeasurementRecord, quantity: str) -> float:
    """The work of one operation, by the catalogue."""
    ranks = max(len(record.rank_medians), 1)
    return find_kernel(record.kernel).work(record.parameters, ranks, 1)[quantity]


def mean_of(record: MeasurementRecord, metric: str) -> float:
    """The mean of an operation's time in s, without the warm-up."""
    series = next(s for s in record.series if s.metric == metric)
    return float(np.mean(series.values[record.warmup or 0 :]))


def value_of(record: MeasurementRecord, pair: Pair) -> float:
    """What is compared: a time in s, or a rate in its quantity per second."""
    seconds = mean_of(record, pair.series)
    if not pair.work:
        return seconds
    return work_of(record, pair.work) / seconds


def row_of(out: Path, part: Part, pair: Pair, load: float | None) -> Row | None:
    """A line of the table; None if nothing was compared."""
    assert part.peer is not None
    ours, theirs = [], []
    for number in range(part.rounds):
        record = measurements(out, f"{part.name}-{number}").get(pair.measurement)
        printed = out / "peers" / f"{part.name}-{number}.txt"
        if record is None or not record.verified or not printed.exists():
            continue
        values = part.peer.read(printed.read_text())
        if pair.peer_value in values:
            ours.append(value_of(record, pair))
            theirs.append(values[pair.peer_value])
    if not ours:
        return None
    row = compare(
        "gpu",
        pair.what,
        "B/s" if pair.work else "s",
        "more" if pair.work else "less",
        ours,
        theirs,
        part.peer.name,
        goal=f"within {WITHIN:.0%}" if pair.goal else "",
        load=load,
        note=pair.note,
        details={"part": part.name, "rounds": len(ours)},
    )
    if pair.goal:
        row.met = judged(row)
        if row.met is None:
            row.note = f"undecided after {len(ours)} pairs: the interval reaches beyond a limit"
    return row


def judged(row: Row) -> bool | None:
    """Whether the paired ratio is within the limits; None if its interval can't tell."""
    low, high = 1 - WITHIN, 1 + WITHIN
    if row.paired_interval is None or len(row.assay_values) < _LEAST_PAIRS:
        return None
    if low <= row.paired_interval[0] and row.paired_interval[1] <= high:
        return True
    if row.paired_interval[1] < low or row.paired_interval[0] > high:
        return False
    return None


def print_alone(out: Path) -> None:
    """The measurements that no peer stands beside."""
    for part in PARTS:
        compared = (out / "peers" / f"{part.name}-0.txt").exists()
        beside = {pair.measurement for pair in part.pairs} if compared else set()
        for name, record in measurements(out, f"{part.name}-0").items():
            if name not in beside and record.verified:
                host, device = (1e6 * mean_of(record, m) for m in ("time", "device_time"))
                print(f"{record.kernel}, {name}: {host:.4g} µs, by the device {device:.4g} µs")
