"""Runs whose names can be searched for: every private name contains ``zq``, or is in ``NUMBERS``.

Hosts, a user, paths, a system, an account, a partition, addresses and a job id stand in every
place of a run that a report or an export may show.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path

import msgspec

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.creation import create_run
from assay.records.directory import RunDirectory
from assay.records.reading import read_run
from assay.records.summary import summarise_run
from assay.records.tables import TABLES_SCHEMA, write_tables
from assay.system.survey import HostSurvey
from records_builder import make_launch, make_plan, make_record, make_stream
from report_builder import SYSTEM

HOSTS = ("zqhost7", "zqhost8", "zqhost12")
DOMAIN = "zqdomain.example"
HOME = "/home/zquser/my zqfolder"
NUMBERS = ("10.77.88.99", "fe80::77aa:1", "aa:bb:cc:77:88:99", "481516")
STDERR = (
    f"ssh: zquser@ZQHOST7.{DOMAIN}: no route to {NUMBERS[0]} ({NUMBERS[1]}, {NUMBERS[2]})\n"
    f"/home/zquser/zqcode/main.c:12: error; HOME={HOME}; -I/home/zquser/include\n"
    f"slurmstepd: error: JOB {NUMBERS[3]} ON zqhost12-ib0 CANCELLED, account zqaccount, "
    f"see slurm-{NUMBERS[3]}.out; nodes zqhost[7-8,12]"
)
PING = Cell("network.pingpong", {"bytes": 8}, Placement(nodes=2, ppn=1), "fake")
FILE = Cell(
    "storage.file",
    {"directory": "/scratch/zquser/zqfast", "op": "write", "file_size": 1 << 20},
    Placement(ppn=1),
    "fake",
)
LOST = Cell("network.barrier", {}, Placement(nodes=2, ppn=2), "fake")


def store_named(
    root: Path, system: str = "zqsite", hosts: tuple[str, ...] = HOSTS, suite: str = "test"
) -> RunDirectory:
    """A sealed run under ``root``, with failed launches and several sets of hosts."""
    facts = msgspec.structs.replace(
        SYSTEM,
        os=msgspec.structs.replace(SYSTEM.os, hostname=f"{hosts[0]}.{DOMAIN}"),
        tuning={"OMPI_MCA_path": "/opt/zqsite/mpi", "SLURM_JOB_USER": "zquser"},
    )
    run = create_run(
        root,
        plan=msgspec.structs.replace(make_plan([PING, FILE, LOST], max_launches=8), name=suite),
        system_name=system,
        system=facts.to_dict(),
        toolchains={"fake": {"cxx": "g++", "mpi_prefix": "/opt/zqsite/mpi", "host": hosts[0]}},
        command=["assay", "run", "--account=zqaccount", "--partition", "zqpart", "--runs", HOME],
    )
    for replicate in range(1, 8):
        name = run.new_launch()
        records = [
            make_record(cell, replicate, [1e-3 * (1 + replicate / 100)] * 20)
            for cell in (PING, FILE)
        ]
        stream = make_stream(name, records, host=hosts[replicate % 2])
        (run.raw / f"{name}.jsonl").write_bytes(stream)
        command = ["mpirun", "--host", ",".join(hosts), f"{HOME}/bin/kernels", "zquser@zqhost8"]
        run.append_launch(make_launch(name, command=command))
    for outcome, lost in (("crash", ()), ("lost", hosts[1:])):
        name = run.new_launch()
        (run.raw / f"{name}.jsonl").write_bytes(make_stream(name, [], host=hosts[2]))
        run.append_launch(
            make_launch(
                name,
                outcome=outcome,
                exit=1,
                lost=lost,
                stderr=STDERR,
                error=f"The launch on {hosts[2]} ended: see {HOME}/log and {STDERR}",
                left=(f"{LOST.id}-1",),
            )
        )
    run.append_nodes(
        HostSurvey(
            host=host,
            hostname=host,
            utc=1000.0,
            identity="1",
            cores=2 + (host == hosts[-1]),
            memory=2 << 30,
            toolchains={"fake": f"/opt/zqsite/mpi on {host}"},
        )
        for host in hosts
    )
    (run.path / "jobs.jsonl").write_text(
        '{"event": "submitted", "number": 1, "utc": 1000.0, "job": "481516", "name": "zqjob"}\n'
    )
    data = read_run(run.path)
    write_tables(data)
    run.seal(summarise_run(data, launches=9, tables=TABLES_SCHEMA))
    return run


def shown(content: bytes) -> str:
    """A text with everything that is encoded in base64 within it, to any depth."""
    text = content.decode("utf-8")
    pattern = r"base64,([A-Za-z0-9+/]{8,}={0,2})"
    inner = [shown(base64.b64decode(encoded)) for encoded in re.findall(pattern, text)]
    return "\n".join([re.sub(pattern, "base64", text), *inner])


def leaks(text: str) -> list[str]:
    """The private names in a text, each with what surrounds it."""
    pattern = "|".join(["zq", *map(re.escape, NUMBERS)])
    return [
        text[max(match.start() - 40, 0) : match.end() + 40]
        for match in re.finditer(pattern, text, re.IGNORECASE)
    ]
