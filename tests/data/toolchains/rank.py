#!/usr/bin/env python3
"""Replaces a rank of assay-kernels; $HOW selects its behaviour."""

import json
import os
import signal
import sys
import time
from pathlib import Path

how = os.environ.get("HOW", "complete")
rank = int(os.environ["RANK"])
assert sys.argv[1] == "--job" and sys.argv[3] == "--out"
job = json.loads(Path(sys.argv[2]).read_text())


def write(**record):
    if rank == 0:
        with Path(sys.argv[4]).open("a") as stream:
            stream.write(json.dumps(record) + "\n")


def measured(name):
    write(
        record="measurement",
        measurement=name,
        kernel="k",
        status="ok",
        start=0,
        wall=0,
        parameters={},
    )


def say(text):
    if rank == 0:
        print(text, file=sys.stderr, flush=True)


def end(*_):
    write(record="end", measurements=1, reason="signal")
    sys.exit(0)


if how == "silent":
    sys.exit(9)
write(
    record="start",
    schema=1,
    program="p",
    version="v",
    job=job["job"],
    ranks=1,
    utc=0,
    clock={"source": "s", "overhead": 1e-8, "resolution": 1e-9},
)
write(record="begin", measurement="a-0", kernel="k")
measured("a-0")
write(record="begin", measurement="b-0", kernel="k")
if how == "hangs":
    signal.signal(signal.SIGTERM, end)
    while True:
        time.sleep(0.05)
if how == "stubborn":
    # A daemon of the launch: in another session, orphaned, ignoring polite signals.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(300)
        os._exit(0)
    time.sleep(300)
if how == "segv":
    say("x" * 9000)
    say("assay-kernels: b-0: SIGSEGV on rank 0")
    os.kill(os.getpid(), signal.SIGSEGV)
if how == "quits":
    say("assay-kernels: memory ran out")
    sys.exit(7)
measured("b-0")
if how == "no end":
    sys.exit(0)
write(record="end", measurements=5 if how == "wrong count" else 2, reason="complete")
if how == "env":
    say(json.dumps({k: v for k, v in os.environ.items() if "THREADS" in k or k.startswith("OMP")}))
    say(f"stdin: {sys.stdin.read()!r}")
sys.exit({"unverified": 4, "late": 11}.get(how, 0))
