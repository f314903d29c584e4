"""A separate process that draws figures: the drawing engine needs hundreds of megabytes, and aborts
its process if memory is short.

The process ends with the report. The engine is the JavaScript engine V8, in vl-convert. The process
reads Vega-Lite specifications as lines of JSON from its standard input and writes an SVG document
for each, as a line of JSON.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from assay.charts import drawing_engine
from assay.errors import AssayError


def svgs(specs: Iterable[dict[str, Any]]) -> list[str]:
    """SVG documents for these specifications. Raises AssayError if there is not enough memory."""
    with _engine() as engine:
        return [_answer(engine, "svg", spec) for spec in specs]


def pdfs(documents: Iterable[str]) -> list[bytes]:
    """SVG documents as PDF, with their fonts. Raises AssayError as ``svgs`` does."""
    with _engine() as engine:
        return [base64.b64decode(_answer(engine, "pdf", each)) for each in documents]


def bundle(snippet: str) -> str:
    """A script with Vega's libraries and ``snippet``. Raises AssayError as ``svgs`` does."""
    with _engine() as engine:
        return _answer(engine, "bundle", snippet)


@contextmanager
def _engine() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-I", drawing_engine.__file__, *filter(os.path.isabs, sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _answer(engine: subprocess.Popen[str], what: str, spec: object) -> str:
    assert engine.stdin is not None and engine.stdout is not None
    try:
        engine.stdin.write(json.dumps({"what": what, "spec": spec}) + "\n")
        engine.stdin.flush()
        line = engine.stdout.readline()
    except BrokenPipeError:
        line = ""
    if not line:
        raise AssayError(
            "Figures can't be drawn: the drawing process ended, usually because of too little "
            "memory.",
            fix="Free some memory, or raise its limit (`ulimit -v unlimited`).",
        )
    answer = json.loads(line)
    if "error" in answer:
        raise ValueError(answer["error"])
    return str(answer["text"])
