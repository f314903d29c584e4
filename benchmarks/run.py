"""All comparisons in one run: results/MACHINE.json and results/tables.md.

    .venv/bin/python benchmarks/run.py --osu-latency PATH --npb-bin DIR --npb-mpirun PATH \\
        --likwid-bench PATH --fio PATH --reframe PATH [--quick]

Programs that are neither named nor found are left out and reported. With --only, the other parts of
the result file do not change. With --quick nothing is written.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clock import compare_clock
from common import (
    Comparison,
    PeerError,
    build,
    embedded_mpirun,
    finish,
    load,
    machine,
    machine_name,
    parser,
    part,
    table,
)
from dgemm import compare_dgemm
from linpack import compare_linpack
from linpack import joined as joined_linpack
from messages import compare_messages
from npb import GOALS, LINE_TIME, compare_npb, joined
from npb_even import compare_even
from onesided import compare_one_sided
from overhead import compare_overhead
from pingpong import compare_pingpong
from placement import compare_placement
from storage import compare_storage
from stream import compare_stream
from sweeps import compare_sweeps

HERE = Path(__file__).parent
BEGIN, END = "<!-- table begins -->", "<!-- table ends -->"


def section(found: dict[str, Any]) -> str:
    """A result file as Markdown."""
    facts, parts = found["machine"], found["parts"].values()
    memory = f", {facts['memory'] / 2**30:.0f} GiB" if facts["memory"] else ""
    virtual = ", virtual" if facts["virtual"] else ""
    rows = [row for part in parts for row in part["rows"]]
    loads = [row["load"] for row in rows if row["load"] is not None]
    dates = sorted({part["date"] for part in parts})
    versions = {name: version for part in parts for name, version in part["versions"].items()}
    lines = [
        f"### {facts['processor']}, {facts['cores']} cores{memory}{virtual}",
        "",
        f"{' to '.join(dict.fromkeys((dates[0], dates[-1])))}, load average just before a line: "
        f"{min(loads):.2f} to {max(loads):.2f} (the line before it included).",
        "Versions: " + ", ".join(f"{name} {version}" for name, version in versions.items()) + ".",
        "Flags: " + "; ".join(f"{name}: {flags}" for name, flags in found["flags"].items()) + ".",
        *_peers(found),
        "",
        table(rows),
    ]
    notes = [f"- {row['what']}: {row['note']}" for row in rows if row["note"]]
    notes += [f"- Left out: {sentence}" for part in parts for sentence in part["skipped"]]
    return "\n".join([*lines, "", *notes] if notes else lines)


def _peers(found: dict[str, Any]) -> list[str]:
    """A sentence on the executables beside assay; none for files from before they were recorded."""
    peers = [peer for part in found["parts"].values() for peer in part.get("peers", [])]
    if not peers:
        return []
    sources = dict.fromkeys(peer["source"] for peer in peers)
    settings = dict.fromkeys(peer["huge_pages"] for peer in peers)
    digests = dict.fromkeys(f"{peer['name']} {peer['sha256'][:12]}" for peer in peers)
    return [
        f"Peers by SHA-256: {', '.join(digests)}; source: {', '.join(sources)}; transparent huge "
        f"pages: {', '.join(settings)}."
    ]


def write_tables() -> None:
    """The tables of all result files, between the markers of results/tables.md."""
    page = HERE / "results" / "tables.md"
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    results = [json.loads(path.read_text()) for path in sorted((HERE / "results").glob("*.json"))]
    # Other scripts keep their results in this folder, too.
    tables = [section(found) for found in results if "machine" in found]
    page.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(tables) + f"\n\n{END}{after}")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--osu-latency", metavar="PATH", default=shutil.which("osu_latency"))
    options.add_argument("--npb-bin", metavar="DIR", type=Path)
    options.add_argument("--npb-mpirun", metavar="PATH", default=embedded_mpirun())
    options.add_argument("--likwid-bench", metavar="PATH", default="likwid-bench")
    options.add_argument("--osu", metavar="DIR", type=Path, help="folder of osu_bw, osu_bcast, …")
    options.add_argument("--reprompi", metavar="PATH", type=Path, help="its mpibenchmark")
    options.add_argument("--imb", metavar="PATH", type=Path, help="IMB-MPI1")
    options.add_argument(
        "--virtual-cluster",
        action="store_true",
        help="sweeps, linpack and placements between hosts, too; needs root",
    )
    options.add_argument("--fio", metavar="PATH", default=shutil.which("fio"))
    options.add_argument("--hpl", metavar="PATH", type=Path, help="HPL's executable")
    options.add_argument("--classes", default="S,W,A", help="problem classes of placements")
    options.add_argument("--reframe", metavar="PATH", default=shutil.which("reframe"))
    options.add_argument(
        "--peer-flags",
        action="append",
        default=[],
        metavar="NAME=FLAGS",
        help="how a peer was built, for the record, such as 'NPB=gfortran -O3'",
    )
    options.add_argument(
        "--only",
        nargs="+",
        default=[],
        help="stream, dgemm, linpack, npb-a, npb-b (classes A and B), npb-even, pingpong, "
        "messages, onesided, clock, sweeps, storage, overhead, placement",
    )
    options.add_argument("--npb-vec-bin", metavar="DIR", type=Path, help="built with VERSION=VEC")
    options.add_argument(
        "--npb-names", nargs="+", default=[], choices=GOALS, help="the others' lines are kept"
    )
    options.add_argument(
        "--npb-ranks", metavar="N", type=int, help="the lines of other numbers of ranks are kept"
    )
    options.add_argument(
        "--npb-line-time",
        metavar="SECONDS",
        type=float,
        default=LINE_TIME,
        help=f"for the rounds of a line of the NPB, at least three [default: {LINE_TIME:g}]",
    )
    options.add_argument(
        "--linpack-orders",
        nargs="+",
        default=[],
        type=int,
        metavar="N",
        help="only these beside HPL, within the node; the other lines are kept",
    )
    options.add_argument(
        "--peer-source",
        action="append",
        default=[],
        metavar="NAME=SOURCE",
        help="where a peer's source is from, for the record, such as 'NPB=NPB3.4.2.tar.gz'",
    )
    options.add_argument("--table", action="store_true", help="only rewrite results/tables.md")
    given = options.parse_args()
    if given.table:
        write_tables()
        return
    quick = given.quick
    sources = dict(words.split("=", 1) for words in given.peer_source)

    def npb(size: str) -> Comparison:
        return compare_npb(
            given.npb_bin,
            given.npb_mpirun,
            [size],
            quick=quick,
            vec=given.npb_vec_bin,
            source=sources.get("NPB", "not given"),
            names=given.npb_names or tuple(GOALS),
            only_ranks=given.npb_ranks,
            line_time=given.npb_line_time,
        )

    scripts: dict[str, Callable[[], Comparison]] = {
        "stream": lambda: compare_stream(given.likwid_bench, quick=quick),
        "dgemm": lambda: compare_dgemm(quick=quick),
        "linpack": lambda: compare_linpack(
            given.hpl,
            embedded_mpirun(),
            quick=quick,
            virtual_cluster=given.virtual_cluster,
            source=sources.get("HPL", "not given"),
            orders=given.linpack_orders,
        ),
        "npb-a": lambda: npb("A"),
        "npb-even": lambda: compare_even(quick=quick),
        "npb-b": lambda: npb("B"),
        "pingpong": lambda: compare_pingpong(given.osu_latency, embedded_mpirun(), quick=quick),
        "messages": lambda: compare_messages(given.osu, given.imb, embedded_mpirun(), quick=quick),
        "onesided": lambda: compare_one_sided(given.osu, embedded_mpirun(), quick=quick),
        "clock": lambda: compare_clock(given.reprompi, given.imb, embedded_mpirun(), quick=quick),
        "sweeps": lambda: compare_sweeps(
            given.osu, embedded_mpirun(), quick=quick, virtual_cluster=given.virtual_cluster
        ),
        "storage": lambda: compare_storage(given.fio, Path.cwd(), quick=quick),
        "overhead": lambda: compare_overhead(given.reframe, quick=quick),
        "placement": lambda: compare_placement(
            given.classes.split(","), quick=quick, virtual_cluster=given.virtual_cluster
        ),
    }
    build()
    path = HERE / "results" / f"{machine_name(machine())}.json"
    found = json.loads(path.read_text()) if path.exists() else {"parts": {}, "flags": {}}
    flags = {"assay": "-O3 -march=native"} | dict(w.split("=", 1) for w in given.peer_flags)
    found = {
        "schema": 1,
        "machine": machine(),
        "flags": found["flags"] | flags,
        "parts": found["parts"],
    }
    for name in given.only or scripts:
        before = load()
        try:
            comparison = scripts[name]()
        except PeerError as error:
            comparison = Comparison(skipped=[f"{name}: {error}"])
        finish(comparison)
        partly = name in ("npb-a", "npb-b") and (given.npb_names or given.npb_ranks)
        if partly and name in found["parts"]:
            comparison = joined(found["parts"][name], comparison, name[-1].upper())
        if name == "linpack" and given.linpack_orders and name in found["parts"]:
            comparison = joined_linpack(found["parts"][name], comparison)
        found["parts"][name] = part(comparison, before)
        if not quick:
            found["parts"] = {
                each: found["parts"][each] for each in scripts if each in found["parts"]
            }
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
            write_tables()


if __name__ == "__main__":
    main()
