"""JSON of speedscope (speedscope.app), a viewer in the browser: one profile per thread.

After its schema (https://www.speedscope.app/file-format-schema.json): profiles of the type
"sampled" with stacks as indices of shared frames, and the CPU time of each sample in seconds. A
name that ends in .gz is compressed.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from assay.trace.samples.exports.model import (
    SampleExport,
    place_label,
    thread_label,
    write_text,
)
from assay.trace.samples.model import ProgramSamples, ThreadSamples
from assay.trace.samples.names import printable_name

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def _write(samples: ProgramSamples, path: Path) -> None:
    frames = []
    for place in samples.places:
        frame: dict[str, object] = {"name": place_label(place)}
        if place.file:
            frame["file"] = printable_name(place.file)
        if place.line:
            frame["line"] = place.line
        frames.append(frame)
    threads = [thread for thread in samples.threads if len(thread.times)]
    document = {
        "$schema": _SCHEMA,
        "exporter": "assay",
        "activeProfileIndex": 0,
        "shared": {"frames": frames},
        "profiles": [_profile(samples, thread) for thread in threads],
    }
    write_text(path, json.dumps(document, separators=(",", ":")))


def _profile(samples: ProgramSamples, thread: ThreadSamples) -> dict[str, object]:
    # Equal samples in a row become one with their time together.
    begins = np.flatnonzero(np.diff(thread.stacks, prepend=-1))
    numbers = np.diff(np.append(begins, len(thread.stacks)))
    return {
        "type": "sampled",
        "name": thread_label(thread),
        "unit": "seconds",
        "startValue": 0,
        "endValue": len(thread.stacks) * samples.period,
        "samples": [list(samples.stacks[stack]) for stack in thread.stacks[begins].tolist()],
        "weights": (numbers * samples.period).tolist(),
    }


EXPORT = SampleExport("speedscope", "app.speedscope.json", _write)
