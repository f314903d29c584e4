"""JSON of the Firefox Profiler (profiler.firefox.com): stacks by thread and time.

After "Processed profile format", version 27, which the profiler upgrades: tables of structs of
arrays per thread (strings, resources, functions, frames, stacks with prefixes, samples). Times are
ms since the first sample of the program; each sample weighs its CPU time. Activities are the
categories. A name that ends in .gz is compressed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from assay.trace.samples.exports.model import (
    SampleExport,
    place_label,
    thread_label,
    write_text,
)
from assay.trace.samples.model import Place, ProgramSamples, ThreadSamples
from assay.trace.samples.names import printable_name

_VERSION = 27
_NATIVE = 1  # type of a resource: a library
_CATEGORIES = [
    {"name": "Computing", "color": "blue", "subcategories": ["Other"]},
    {"name": "MPI", "color": "orange", "subcategories": ["Other"]},
    {"name": "Waiting for threads", "color": "grey", "subcategories": ["Other"]},
]


def _write(samples: ProgramSamples, path: Path) -> None:
    firsts = [float(one.times.min()) for one in samples.threads if len(one.times)]
    origin = min(firsts, default=0.0)
    document = {
        "meta": {
            "interval": samples.period * 1e3,
            "startTime": 0,
            "processType": 0,
            "product": "assay",
            "stackwalk": 1,
            "version": 24,
            "preprocessedProfileVersion": _VERSION,
            "categories": _CATEGORIES,
            "markerSchema": [],
            "symbolicated": True,
        },
        "libs": [],
        "threads": [_thread(samples, one, origin) for one in samples.threads if len(one.times)],
    }
    write_text(path, json.dumps(document, separators=(",", ":")))


class _Tables:
    """The tables of one thread; rows are made where a stack first needs them."""

    def __init__(self, samples: ProgramSamples) -> None:
        self.samples = samples
        self.strings: dict[str, int] = {}
        self.resources: dict[str, int] = {}
        self.functions: dict[tuple[str, str, str], int] = {}
        self.frames: dict[int, int] = {}
        self.stacks: dict[tuple[int | None, int, int], int] = {}

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def frame(self, place: int) -> int:
        if place not in self.frames:
            one = self.samples.places[place]
            module = printable_name(one.module)
            self.string(module)
            self.resources.setdefault(module, len(self.resources))
            key = (place_label(one), module, printable_name(one.file))
            self.string(key[0])
            if key[2]:
                self.string(key[2])
            self.functions.setdefault(key, len(self.functions))
            self.frames[place] = len(self.frames)
        return self.frames[place]

    def stack(self, stack: int, category: int) -> int | None:
        """The row of a stack; None without places. A category belongs to all rows of a sample."""
        row = None
        for place in self.samples.stacks[stack]:
            key = (row, self.frame(place), category)
            row = self.stacks.setdefault(key, len(self.stacks))
        return row


def _thread(samples: ProgramSamples, thread: ThreadSamples, origin: float) -> dict[str, Any]:
    tables = _Tables(samples)
    order = np.argsort(thread.times, kind="stable")
    rows = zip(thread.stacks[order].tolist(), thread.activities[order].tolist(), strict=True)
    stacks = [tables.stack(stack, kind) for stack, kind in rows]
    number = len(stacks)
    places = [samples.places[place] for place in tables.frames]
    functions = list(tables.functions)
    prefixes = list(tables.stacks)
    return {
        "processType": "default",
        "processName": printable_name(f"rank {thread.rank} ({thread.host})"),
        "processStartupTime": 0,
        "processShutdownTime": None,
        "registerTime": 0,
        "unregisterTime": None,
        "pausedRanges": [],
        "name": thread_label(thread),
        "isMainThread": thread.thread == 0,
        "pid": thread.process or thread.rank,
        "tid": thread.rank * 65536 + thread.thread,
        "samples": {
            "stack": stacks,
            "time": ((thread.times[order] - origin) * 1e3).tolist(),
            "weight": [samples.period * 1e3] * number,
            "weightType": "tracing-ms",
            "length": number,
        },
        "markers": {"data": [], "name": [], "startTime": [], "endTime": [], "phase": [],
                    "category": [], "length": 0},
        "stackTable": {
            "frame": [frame for _, frame, _ in prefixes],
            "prefix": [prefix for prefix, _, _ in prefixes],
            "category": [category for _, _, category in prefixes],
            "subcategory": [0] * len(prefixes),
            "length": len(prefixes),
        },
        "frameTable": {
            "address": [place.address or -1 for place in places],
            "inlineDepth": [int(place.inlined) for place in places],
            "category": [None] * len(places),
            "subcategory": [None] * len(places),
            "func": [tables.functions[_key(place)] for place in places],
            "nativeSymbol": [None] * len(places),
            "innerWindowID": [None] * len(places),
            "implementation": [None] * len(places),
            "line": [place.line or None for place in places],
            "column": [None] * len(places),
            "length": len(places),
        },
        "funcTable": {
            "isJS": [False] * len(functions),
            "relevantForJS": [False] * len(functions),
            "name": [tables.strings[name] for name, _, _ in functions],
            "resource": [tables.resources[module] for _, module, _ in functions],
            "fileName": [tables.strings[file] if file else None for _, _, file in functions],
            "lineNumber": [None] * len(functions),
            "columnNumber": [None] * len(functions),
            "length": len(functions),
        },
        "nativeSymbols": {"libIndex": [], "address": [], "name": [], "functionSize": [],
                          "length": 0},
        "resourceTable": {
            "lib": [None] * len(tables.resources),
            "name": [tables.strings[name] for name in tables.resources],
            "host": [None] * len(tables.resources),
            "type": [_NATIVE] * len(tables.resources),
            "length": len(tables.resources),
        },
        "stringArray": list(tables.strings),
    }  # fmt: skip


def _key(place: Place) -> tuple[str, str, str]:
    return place_label(place), printable_name(place.module), printable_name(place.file)


EXPORT = SampleExport("Firefox Profiler", "app.firefox.json.gz", _write)
