"""The mix of jobs of a machine as a workload of a design: ``[[jobs]]`` of a specification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.arrays import Floats
from assay.decoding import UNREADABLE
from assay.design.figures import read_share
from assay.design.parts.model import Node
from assay.design.program import slowdown
from assay.design.saturation import BusyShares, JobMix, busy_shares
from assay.errors import AssayError, nearest
from assay.toml import TomlDocument
from assay.usage.accounts.reading import read_accounts
from assay.usage.analysis.labels import sizes_of_label
from assay.usage.analysis.model import LEVELS
from assay.usage.workload.estimates import LEAST_REQUEST
from assay.usage.workload.from_log import load_of

JOBS = "jobs."  # prefix of the names of these workloads
# Number of jobs drawn from a summary, and maximum number of jobs used from a log (the last ones).
_SUMMARY_JOBS, _LOG_JOBS = 4000, 20_000
_SEED = 20050401


class WrittenJobs(msgspec.Struct, frozen=True):
    """A ``[[jobs]]`` table of a file."""

    name: str
    accounts: str
    #: Node of the catalogue on which the jobs ran.
    node: str
    memory: str | float = 0.5


@dataclass(frozen=True)
class DesignJobs:
    """A mix of jobs."""

    #: Number of jobs.
    jobs: int
    #: Number of processors of the largest job.
    largest: int
    #: Whether only distributions of the jobs are known.
    summary: bool
    #: Memory-bound share of the run times.
    memory: float
    #: ``dgemm``, ``bandwidth``: rates of a core where the jobs ran (flop/s, B/s).
    dgemm: float
    bandwidth: float
    #: Share of a machine's processors that the jobs keep busy.
    busy: BusyShares

    def slower(self, cores: Floats, dgemm: Floats, bandwidth: Floats) -> Floats:
        """Run time on a core of a node, relative to the run time where the jobs ran.

        ``cores`` and rates describe the node.
        """
        return slowdown(self, cores=cores, dgemm=dgemm, bandwidth=bandwidth)


def read_jobs(
    document: TomlDocument, table: object, nodes: Mapping[str, Node], least: int, most: int
) -> Mapping[str, DesignJobs]:
    """The mixes of jobs by workload name, ``jobs.NAME``.

    ``least``, ``most``: range of the designs' numbers of nodes. Raises AssayError with file, line
    and fix, also if the accounts can't be read or the model of the scheduler can't be built.
    """
    found: dict[str, DesignJobs] = {}
    for index, one in enumerate(document.read(["jobs"], table, list[WrittenJobs])):
        path: list[str | int] = ["jobs", index]
        if JOBS + one.name in found or not one.name:
            raise document.error(
                [*path, "name"], f"There are two mixes of jobs '{one.name}'.", "Rename one of them."
            )
        if one.node not in nodes:
            raise document.error(
                [*path, "node"], f"No catalogue has '{one.node}'.", nearest(one.node, nodes)
            )
        share = read_share(document, [*path, "memory"], one.memory)
        if share > 1.0:
            raise document.error(
                [*path, "memory"], "'memory' must be a share.", "Write 0% to 100%."
            )
        try:
            mix, summary = read_mix(document.path.parent / one.accounts)
        except AssayError as error:
            raise document.error([*path, "accounts"], error.what, error.fix) from None
        node = nodes[one.node]
        cores = [each.cores for each in nodes.values()]
        found[JOBS + one.name] = DesignJobs(
            jobs=len(mix.run),
            largest=mix.largest,
            summary=summary,
            memory=share,
            dgemm=node.dgemm.value / node.cores,
            bandwidth=node.bandwidth.value / node.cores,
            busy=busy_shares(mix, least * min(cores), most * max(cores)),
        )
    return found


def read_mix(path: Path) -> tuple[JobMix, bool]:
    """The jobs of a file of accounts, or of the JSON of ``assay usage`` (True). Raises AssayError.

    From a log, jobs with a size and a run time are used; from a long log, the last 20,000. The JSON
    has only distributions: sizes are drawn from its classes, and run times from their distribution,
    scaled so that each class has its share of the use.
    """
    data = read_summary(path)
    if data is not None:
        return _drawn(data, path), True
    accounts = read_accounts([path])
    load = load_of(accounts.jobs, accounts.machine).workload
    useful = np.flatnonzero(load.run > 0.0)[-_LOG_JOBS:]
    if not useful.size:
        raise AssayError(
            "No job of the accounts has a run time above 0.",
            where=str(path),
            fix="Name accounts of jobs that ran.",
        )
    return JobMix(load.processors[useful], load.run[useful], load.limit[useful]), False


def read_summary(path: Path) -> Mapping[str, Any] | None:
    """The findings of ``assay usage --json``; None for another file."""
    try:
        with path.open("rb") as file:
            if file.read(1) != b"{":
                return None
            file.seek(0)
            data = msgspec.json.decode(file.read())
    except (OSError, *UNREADABLE):
        return None
    keys = {"sizes", "run", "utilisation"}
    return data if isinstance(data, dict) and keys <= data.keys() else None


def _drawn(data: Mapping[str, Any], path: Path) -> JobMix:
    try:
        quantiles = np.array(data["run"]["quantiles"], dtype=np.float64)
        classes = [
            (sizes_of_label(part["name"]), int(part["jobs"]), float(part["use"]))
            for part in data["sizes"]
        ]
    except (KeyError, TypeError, ValueError):
        classes, quantiles = [], np.empty(0)
    classes = [one for one in classes if one[0] and one[1] > 0 and one[2] > 0.0]
    usable = quantiles.size == len(LEVELS) and bool(np.all(quantiles >= 0.0))
    if not classes or not usable:
        raise AssayError(
            "The findings have no sizes and run times of jobs.",
            where=str(path),
            fix="Write them with `assay usage LOG --json`, from a log with both.",
        )
    return _of_classes(classes, quantiles)


def _of_classes(
    classes: Sequence[tuple[tuple[int, int] | None, int, float]], quantiles: Floats
) -> JobMix:
    generator = np.random.default_rng(_SEED)
    total = sum(jobs for _, jobs, _ in classes)
    kind = np.repeat(np.arange(len(classes)), [
        max(round(jobs * _SUMMARY_JOBS / total), 1) for _, jobs, _ in classes
    ])  # fmt: skip
    kind = generator.permutation(kind)
    run = np.interp(generator.random(kind.size), LEVELS, quantiles)
    run = np.maximum(run, 1.0)
    processors = np.ones(kind.size, dtype=np.int64)
    for number, (bounds, jobs, use) in enumerate(classes):
        mine = kind == number
        assert bounds is not None
        processors[mine] = generator.integers(bounds[0], bounds[1] + 1, size=int(mine.sum()))
        wanted = use / jobs  # processor × s per job
        run[mine] *= wanted / float(np.mean(processors[mine] * run[mine]))
    return JobMix(processors, run, np.maximum(run, LEAST_REQUEST))
