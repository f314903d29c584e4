"""The recommended placement against the best of all: here and on a virtual cluster.

    .venv/bin/python benchmarks/placement.py --classes S,W [--hosts 2,4] [--limit 1800]
    .venv/bin/python benchmarks/placement.py --controls

Every placement of every benchmark is measured in each of six launches. The search then gets only
the results that it requests, block by block, and its recommendation is compared with the best by
all results: the same launches on both sides, so that other load on the machine affects both alike.
A goal is met if the recommended placement is the best, or its time's 95% interval overlaps that of
the best. Failed benchmarks are named. Hosts of the virtual cluster are network namespaces that
share this machine's cores: it needs root, creates them and removes them.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from common import ASSAY, Comparison, PeerError, Row, build, compare, finish, load, parser, say
from placement_controls import in_folder
from termination import end_in_order

from assay.kernels.naming import cell_name, layout_text
from assay.lab import network
from assay.lab.store import FOLDER_VARIABLE
from assay.model.cell import Cell
from assay.models.placement.candidates import PlacementSearch, placement_searches
from assay.questions.placement.best.outcomes import failures
from assay.records.directory import list_runs
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.stats.cells.summarise import launch_value, summarise_cells
from assay.stats.core.model import MetricSummary

KERNELS = ("cg", "ep", "mg", "ft", "lu", "is")
LAUNCHES = 6
# Seconds of one measurement, beyond the one sample that it always takes.
CELL_BUDGET = 0.2
HOSTS = (2, 4)
LIMIT = 3600.0

PLAN = """schema = 1
title = "All placements"
seed = 6
portable = true
oversubscribe = true
[replication]
precision = "1%"
budget = "{limit} s"
min_launches = {launches}
max_launches = {launches}
min_samples = 1
max_samples = 5
cell_budget = "{budget} s"
"""
MEASURE = """[[measure]]
search = {search}
kernel = [{kernels}]
class = [{classes}]
nodes = {nodes}
ppn = [1, 2]
"""
LAB = """schema = 1
cores = 2
[topology]
kind = "single"
hosts = {hosts}
[[adapter]]
rate = "{rate}"
"""


@dataclasses.dataclass(frozen=True)
class Judged:
    """The result of a search on measurements of all its candidates.

    ``chosen``, ``best``: cells; ``times``: of all candidates by cell id. ``costs``: of each launch,
    in s, by cell id. ``asked``: launches that the search requested, of ``taken``.
    """

    search: PlacementSearch
    chosen: Cell
    best: Cell
    times: Mapping[str, MetricSummary]
    costs: Mapping[str, Mapping[int, float]]
    asked: int
    taken: int

    @property
    def right(self) -> bool:
        """Whether the choice is the best of all, or their 95% intervals overlap."""
        chosen, best = self.times[self.chosen.id], self.times[self.best.id]
        if self.chosen.id == self.best.id:
            return True
        if chosen.ci95 is None or best.ci95 is None:
            return False
        return chosen.ci95[0] <= best.ci95[1]


def write_plan(
    folder: Path, kernels: Sequence[str], classes: Sequence[str], nodes: Sequence[int], limit: float
) -> Path:
    """A plan in which all candidates are measured whatever the search requests."""
    words = {
        "kernels": ", ".join(f'"npb.{name}"' for name in kernels),
        "classes": ", ".join(f'"{size}"' for size in classes),
        "nodes": list(nodes),
    }
    path = folder / "plan.toml"
    head = PLAN.format(limit=limit, launches=LAUNCHES, budget=CELL_BUDGET)
    path.write_text(head + "".join(MEASURE.format(search=s, **words) for s in ("false", "true")))
    return path


def measured(plan: Path, limit: float, *words: str) -> RunData:
    """Measure all candidates. Raises PeerError if assay fails, or hasn't finished after ``limit``
    s.
    """
    runs = plan.parent / "runs"
    command = [*ASSAY, "run", str(plan), "--no-report", "--here", "--runs", str(runs), *words]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    try:
        _, said = process.communicate(timeout=1.5 * limit)
    except subprocess.TimeoutExpired:
        process.terminate()  # it ends its launches first
        process.communicate(timeout=60.0)
        raise PeerError(f"It wasn't done after {1.5 * limit:.0f} s.") from None
    if process.returncode not in (0, 1):
        raise PeerError(said.strip() or f"assay ended with {process.returncode}")
    (run,) = list_runs(runs)
    return read_run(run.path)


def replayed(
    search: PlacementSearch, costs: Mapping[str, Mapping[int, float]]
) -> tuple[Cell | None, int]:
    """The search's choice from the results that it requests, and the number of requested launches.

    It gets the launches of a cell one after the other until none is left. Cells without costs have
    failed.
    """
    given: dict[str, dict[int, float]] = {name: {} for name in search.ids}
    out = [name for name in search.ids if not costs.get(name)]
    finding = search.find(given, out)
    for block in range(100):
        names = [search.cells[place].id for place in finding.ask]
        names = [name for name in names if len(given[name]) < len(costs[name])]
        if not names:
            break
        for name in names:
            given[name][block] = costs[name][sorted(costs[name])[len(given[name])]]
        finding = search.find(given, out)
    chosen = None if finding.chosen is None else search.cells[finding.chosen]
    return chosen, sum(map(len, given.values()))


def judge(run: RunData) -> tuple[list[Judged], list[str]]:
    """Every search of a run with all measurements, and a sentence for each failed cell."""
    summaries = {cell.id: cell for cell in summarise_cells(run)}
    broken = failures(run, list(summaries.values()))
    costs: dict[str, dict[int, float]] = {}
    for measurement in run.measurements:
        value = launch_value(measurement)
        if value is not None and measurement.cell.id not in broken:
            costs.setdefault(measurement.cell.id, {})[measurement.replicate] = value
    taken = []
    for search in placement_searches(run.manifest.plan):
        times = {name: summaries[name].metrics["time"] for name in search.ids if name in costs}
        chosen, asked = replayed(search, costs)
        if chosen is None:
            continue
        best = min(times, key=lambda name: times[name].median)
        all_made = sum(len(costs[name]) for name in times)
        cells = {cell.id: cell for cell in search.cells}
        taken.append(Judged(search, chosen, cells[best], times, costs, asked, all_made))
    sentences = [
        f"{cell_name(summaries[name].cell)} on {summaries[name].cell.placement.nodes} × "
        f"{summaries[name].cell.placement.ppn} ranks: {why}"
        for name, why in broken.items()
    ]
    return taken, sentences


def row_of(found: Judged, where: str, now: float) -> Row:
    """A line of the table: the recommended placement's launches against the best's."""
    ours, theirs = (list(found.costs[cell.id].values()) for cell in (found.chosen, found.best))
    count = min(len(ours), len(theirs))
    nodes = found.chosen.placement.nodes
    on = f", {nodes} hosts" if nodes > 1 else ""
    row = compare(
        "placement",
        f"{cell_name(found.chosen)}{where}{on}: {layout_text(found.chosen.placement)}",
        "s",
        "less",
        ours[:count],
        theirs[:count],
        f"best of {len(found.times)}, {layout_text(found.best.placement)}",
        goal="best, or intervals meet",
        load=now,
        details={
            "asked": found.asked,
            "made": found.taken,
            "medians": {
                layout_text(cell.placement): found.times[cell.id].median
                for cell in found.search.cells
                if cell.id in found.times
            },
        },
    )
    return dataclasses.replace(row, met=found.right)


@contextmanager
def lab(hosts: int, folder: Path, rate: str = "1 Gbit/s") -> Iterator[str]:
    """The name of a virtual cluster, removed at the end."""
    before = os.environ.get(FOLDER_VARIABLE)
    os.environ[FOLDER_VARIABLE] = str(folder / "labs")
    name = f"bench-{os.getpid()}"
    spec = folder / "lab.toml"
    spec.write_text(LAB.format(hosts=hosts, rate=rate))
    try:
        _lab("up", str(spec), "--name", name)
        try:
            yield name
        finally:
            _lab("down", name)
    finally:
        os.environ.pop(FOLDER_VARIABLE)
        if before is not None:
            os.environ[FOLDER_VARIABLE] = before


def _lab(*words: str) -> None:
    done = subprocess.run(
        [*ASSAY, "lab", *words], capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode:
        raise PeerError(f"assay lab {words[0]}: {done.stderr.strip()}")


def compare_placement(
    classes: Sequence[str],
    hosts: Sequence[int] = HOSTS,
    *,
    limit: float = LIMIT,
    quick: bool = False,
    virtual_cluster: bool = True,
    kernels: Sequence[str] = KERNELS,
    controls: bool = True,
) -> Comparison:
    """Rows on this machine and, if possible, on a virtual cluster of the maximum number of hosts.

    ``controls``: with the control experiments for memory contention.
    """
    comparison = compare_controls() if controls and not quick else Comparison()
    kernels = kernels[:1] if quick else kernels
    classes = classes[:1] if quick else classes
    for where, nodes in (("", [1]), (" on a virtual cluster", [1, *hosts])):
        problem = network.why_not() if virtual_cluster else "not asked for."
        if where and problem:
            comparison.skipped.append(f"placements{where}: {problem}")
            continue
        say(f"placements{where or ' on this machine'}: classes {', '.join(classes)}")
        now = load()
        try:
            with tempfile.TemporaryDirectory(prefix="assay-bench-") as place:
                folder = Path(place)
                plan = write_plan(folder, kernels, classes, nodes, limit)
                if where:
                    with lab(max(hosts), folder) as name:
                        run = measured(plan, limit, "--lab", name)
                else:
                    run = measured(plan, limit)
                found, broken = judge(run)
        except PeerError as error:
            comparison.skipped.append(f"placements{where}: {error}")
            continue
        comparison.rows += [row_of(each, where, now) for each in found]
        comparison.skipped += broken
        asked, taken = sum(f.asked for f in found), sum(f.taken for f in found)
        right = sum(f.right for f in found)
        say(f"{right} of {len(found)} right; the search asked for {asked} of {taken} launches")
    return comparison


def compare_controls() -> Comparison:
    """Rows of the control experiments for memory contention."""
    comparison = Comparison()
    try:
        comparison.rows += in_folder(lambda plan: measured(plan, LIMIT))
    except PeerError as error:
        comparison.skipped.append(f"controls of memory contention: {error}")
    return comparison


def main() -> int:
    end_in_order()
    options = parser(__doc__)
    options.add_argument("--controls", action="store_true", help="the control experiments alone")
    options.add_argument("--classes", default="S,W,A", help="problem classes, such as S,W")
    options.add_argument("--hosts", default=",".join(map(str, HOSTS)), help="numbers of hosts")
    options.add_argument("--kernels", default=",".join(KERNELS), help="such as cg,is")
    options.add_argument("--limit", type=float, default=LIMIT, help="seconds for each of the two")
    given = options.parse_args()
    build()
    comparison = (
        compare_controls()
        if given.controls
        else compare_placement(
            given.classes.split(","),
            [int(number) for number in given.hosts.split(",")],
            limit=given.limit,
            quick=given.quick,
            kernels=given.kernels.split(","),
        )
    )
    finish(comparison)
    return 0 if all(row.met is not False for row in comparison.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
