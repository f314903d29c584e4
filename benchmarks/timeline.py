"""The timeline of 10^7 calls: time to write, size of the file, frames per second in Chromium.

    .venv/bin/python benchmarks/timeline.py [--calls 1e7] [--ranks 64] [--keep FILE]

The trace is that of an irregular stencil: each iteration two receives, two sends, a Waitall and an
Allreduce; each computing time has a random part, so that nothing repeats to the nanosecond. The
page is drawn once per animation frame by headless Chromium without a graphics processor. The frame
rate is that of requestAnimationFrame, which is at most 60 per second.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import http.server
import json
import os
import resource
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from assay.report.timeline.annotate import annotate
from assay.report.timeline.write import write_timeline
from assay.trace.events import Communicator, Events, RankTrace, Trace
from assay.trace.matching import match
from assay.trace.model import ProfiledRun, SourcePlace

FUNCTIONS = ("Irecv", "Isend", "Waitall", "Allreduce")
PLACES = (("halo", 41), ("halo", 44), ("halo", 48), ("norm", 73))
CODES = np.array([0, 0, 1, 1, 2, 3])  # the calls of an iteration

SCRIPT = (Path(__file__).parent / "timeline_frames.js").read_text(encoding="utf-8")


def irregular_stencil(ranks: int, calls: int) -> Trace:
    """About ``calls`` calls of all ranks."""
    random = np.random.default_rng(1)
    iterations = max(calls // (ranks * len(CODES)), 1)
    begin = np.empty((iterations, len(CODES), ranks))
    end = np.empty_like(begin)
    now = random.uniform(0, 1e-4, ranks)
    place = np.arange(ranks)
    for step in range(iterations):
        noise = random.gamma(4.0, 2e-5, ranks) * (1.5 + np.sin(step / iterations * 40 + place / 9))
        now = now + 2e-4 + noise
        if step % 200 == 100:
            now[step // 200 % ranks] += 5e-3
        for call in range(4):
            begin[step, call] = now
            now = now + random.uniform(2e-7, 1.5e-6, ranks)
            end[step, call] = now
            now = now + 1e-7
        begin[step, 4] = now
        arrived = np.maximum(np.roll(end[step, 2], 1), np.roll(end[step, 3], -1))
        now = np.maximum(now, arrived + random.uniform(5e-6, 3e-5, ranks)) + 1e-6
        end[step, 4] = now
        now = now + random.gamma(4.0, 5e-6, ranks)
        begin[step, 5] = now
        now = now.max() + random.uniform(5e-6, 2e-5, ranks)
        end[step, 5] = now
    return Trace(
        run=ProfiledRun(1, "", ["mpirun", "-n", str(ranks), "./stencil"], "", 0.0, 0.0, 0, "", ""),
        ranks=tuple(
            RankTrace(
                rank, f"node{rank // 16 + 1:02d}", 0.0, float(now.max()), True,
                _events(rank, ranks, begin[:, :, rank].ravel(), end[:, :, rank].ravel()),
            )
            for rank in range(ranks)
        ),
        functions=FUNCTIONS,
        communicators=(Communicator(0, tuple(range(ranks)), None),),
        sites=tuple(SourcePlace("stencil", 0, name, "stencil.c", line) for name, line in PLACES),
        clock_error=1e-6,
    )  # fmt: skip


def _events(rank: int, ranks: int, begin: np.ndarray, end: np.ndarray) -> Events:
    steps = len(begin) // len(CODES)
    left, right = (rank - 1) % ranks, (rank + 1) % ranks

    def each(values, kind):
        return np.tile(np.array(values, kind), steps)

    request = (np.arange(steps)[:, None] * 4 + np.array([0, 1, 2, 3, -1, -1])).astype(np.int64)
    request[:, 4:] = -1
    return Events(
        begin=begin,
        end=end,
        function=each(CODES, np.uint16),
        site=each(CODES, np.uint32),
        communicator=each([0] * 6, np.uint32),
        peer=each([left, right, right, left, -1, -1], np.int32),
        tag=each([1, 2, 1, 2, -1, -1], np.int32),
        source=each([-1] * 6, np.int32),
        source_tag=each([-1] * 6, np.int32),
        sent=each([0, 0, 8000, 8000, 0, 8], np.int64),
        received=each([8000, 8000, 0, 0, 0, 8], np.int64),
        request=request.ravel(),
        completed_start=np.concatenate(([0], np.cumsum(each([0, 0, 0, 0, 4, 0], np.int64)))),
        completed_request=np.arange(4 * steps, dtype=np.int64),
        count=each([1] * 6, np.uint32),
        thread=each([0] * 6, np.uint16),
    )


def in_browser(page: Path, width: int, height: int) -> dict:
    """What the script reports from a headless Chromium, to a server on the loopback interface."""
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    text = page.read_text(encoding="utf-8")
    text = text.replace("; script-src ", f"; connect-src 'self'; script-src 'sha256-{digest}' ", 1)
    content = text.replace("</body>", f"<script>{SCRIPT}</script></body>").encode()
    found: list[dict] = []
    arrived = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self):
            found.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            arrived.set()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
    with tempfile.TemporaryDirectory() as profile:
        browser = subprocess.Popen(
            [
                chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                f"--window-size={width},{height}", "--disable-background-networking",
                "--disable-component-update", "--disable-sync", f"--user-data-dir={profile}",
                f"http://127.0.0.1:{server.server_port}/",
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        arrived.wait(240)
        browser.terminate()
        browser.wait()
        time.sleep(0.5)
    server.shutdown()
    return found[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=float, default=1e7)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--keep", type=Path, help="keep the page in this file")
    parser.add_argument("--width", type=int, default=1200)
    parser.add_argument("--height", type=int, default=900)
    chosen = parser.parse_args()
    trace = irregular_stencil(chosen.ranks, int(chosen.calls))
    print(f"{len(trace):,} calls of {chosen.ranks} ranks; load {os.getloadavg()[0]:.1f}")
    begin = time.perf_counter()
    notes = annotate(match(trace))
    matched = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        page = chosen.keep or Path(folder) / "timeline.html"
        kept = write_timeline(trace, page, notes)
        written = time.perf_counter()
        size = page.stat().st_size
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"matched and analysed in {matched - begin:.1f} s, written in {written - matched:.1f} s"
            f" (peak memory {memory:.1f} GiB); {size:,} B\n{kept.kept:,} calls in full detail: "
            f"{kept.spans} windows, {100 * kept.share:.1f}% of the time"
        )
        found = in_browser(page, chosen.width, chosen.height)
    print(f"shown {found['decode'] / 1000:.2f} s after the page; {found['arrows']:,} messages")
    print("| scenario | frames per second | slowest 5% | drawing, median | drawing, 95% |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, times in found["scenarios"].items():
        gaps, draws = np.array(times["gaps"]), np.array(times["draws"])
        print(
            f"| {name} | {1000 * len(gaps) / gaps.sum():.0f} | {1000 / np.quantile(gaps, 0.95):.0f}"
            f" | {np.median(draws):.1f} ms | {np.quantile(draws, 0.95):.1f} ms |"
        )


if __name__ == "__main__":
    main()
