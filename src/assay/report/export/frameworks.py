"""Results in the formats of benchmarking frameworks: ReFrame's run report, Ramble's results.

Sources: ReFrame's ``schemas/runreport.json``, by which ReFrame validates a report that it reads,
and ``frontend/reporting/``, which reads more fields (``uuid``, ``job_nodelist``); performance
variables are ``SYSTEM:PARTITION:NAME`` with value, reference, lower and upper threshold and unit;
``core/settings.py`` and ``core/logging.py`` for the format of performance logs. Ramble's
``results.latest.json``, which ``ramble results upload`` and ``ramble results report`` read:
``experiment_result.py``, ``workspace.py`` and ``experimental/uploader.py``.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Sequence

import msgspec

from assay.report.export.model import ResultRow
from assay.report.export.rows import iso_date
from assay.version import VERSION

_WORKSPACE = "assay"
_KEYS = ("n_nodes", "processes_per_node", "n_ranks", "n_threads")
# assay has no partitions; ReFrame requires a name for one.
_PARTITION = "default"
_DATA_VERSION = "4.0"
# For digests of the names of runs, RFC 9562, 6.6.
_NAMESPACE = uuid.NAMESPACE_OID
# Fields of a performance log: for a test, and for each of its variables.
_LOGGED = (
    *("result", "job_completion_time", "name", "system", "partition", "environ"),
    *("num_tasks", "num_tasks_per_node", "num_cpus_per_task"),
)
_ENDS = ("value", "unit", "ref", "lower_thres", "upper_thres")


def reframe_json(rows: Iterable[ResultRow]) -> bytes:
    """The results as a run report of ReFrame: a run per run, a test case per cell.

    Values are medians. References and thresholds are null, since assay sets no targets. The session
    begins with the first run and ends with the start of the last run. Its ``uuid`` is a digest of
    the runs' names, so that the same export has the same ``uuid``.
    """
    runs = []
    cases = 0
    failures = 0
    by_run = _by_run(rows)
    session = str(uuid.uuid5(_NAMESPACE, "\n".join("/".join(run) for run in by_run)))
    firsts = [next(iter(cells.values()))[0] for cells in by_run.values()]
    began = min((row.utc for row in firsts), default=0.0)
    ended = max((row.utc for row in firsts), default=0.0)
    for index, cells in enumerate(by_run.values()):
        listed = [
            {**_case(of_cell), "uuid": f"{session}:{index}:{place}", "run_index": index}
            for place, of_cell in enumerate(cells.values())
        ]
        failed = sum(case["result"] == "fail" for case in listed)
        cases += len(listed)
        failures += failed
        runs.append(
            {
                "run_index": index,
                "num_cases": len(listed),
                "num_failures": failed,
                "num_aborted": 0,
                "num_skipped": 0,
                "testcases": listed,
            }
        )
    report = {
        "session_info": {
            "data_version": _DATA_VERSION,
            "version": f"assay {VERSION}",
            "num_cases": cases,
            "num_failures": failures,
            "num_aborted": 0,
            "num_skipped": 0,
            "hostname": ",".join(firsts[0].hosts) if firsts else "",
            "uuid": session,
            "time_start": iso_date(began),
            "time_start_unix": began,
            "time_end": iso_date(ended),
            "time_end_unix": ended,
            "time_elapsed": ended - began,
        },
        "runs": runs,
        "restored_cases": [],
    }
    return _encoded(report)


def reframe_perflog(rows: Iterable[ResultRow]) -> bytes:
    """The results as performance logs of ReFrame 4, in its default format: fields separated by
    vertical bars.

    A heading precedes the cells that have the same metrics. Cells without results have no line.
    """
    lines: list[str] = []
    heading = ""
    for cells in _by_run(rows).values():
        for of_cell in cells.values():
            metrics = [row for row in of_cell if row.metric is not None]
            if not metrics:
                continue
            fields = [*_LOGGED, *(f"{row.metric}_{end}" for row in metrics for end in _ENDS)]
            if "|".join(fields) != heading:
                heading = "|".join(fields)
                lines.append(heading)
            case = _case(of_cell)
            values = ["null" if case[field] is None else case[field] for field in _LOGGED]
            for row in metrics:
                values += [row.median, row.unit, None, None, None]
            lines.append("|".join(_logged(value) for value in values))
    return "".join(f"{line}\n" for line in lines).encode()


def _logged(value: object) -> str:
    """A field of a log, with bars and line ends replaced, since they separate fields and lines."""
    return re.sub(r"[|\r\n]", "_", repr(value) if isinstance(value, float) else str(value))


def case_name(row: ResultRow) -> str:
    """The test's name in ReFrame's form: ``memory.stream %op=triad %nodes=1 %ppn=2``.

    The name has every setting in which cells of a run differ.
    """
    settings = {**row.parameters, **_placement(row)}
    return " ".join([row.kernel, *(f"%{name}={value}" for name, value in settings.items())])


def _placement(row: ResultRow) -> dict[str, object]:
    fields = ("nodes", "ppn", "threads", "order", "binding", "adapter", "node_set", "smt")
    found = {name: value for name in fields if (value := getattr(row, name)) is not None}
    return found | ({"devices": row.devices} if row.devices else {})


def _case(rows: Sequence[ResultRow]) -> dict[str, object]:
    first = rows[0]
    system = _key(first.system)
    return {
        "name": case_name(first),
        "unique_name": f"{first.kernel}_{first.cell}",
        "system": system,
        "partition": _PARTITION,
        "environ": first.toolchain,
        "num_tasks": first.ranks,
        "num_tasks_per_node": first.ppn,
        "num_cpus_per_task": first.threads,
        "job_nodelist": ",".join(first.hosts),
        "filename": "",  # a cell has none
        "fixture": False,
        "time_total": None,
        "job_completion_time": first.date,
        "job_completion_time_unix": first.utc,
        "result": "pass" if first.status == "ok" and first.verified is not False else "fail",
        "fail_phase": _phase(first),
        "fail_reason": first.error,
        "perfvalues": {
            f"{system}:{_PARTITION}:{row.metric}": [row.median, None, None, None, row.unit]
            for row in rows
            if row.metric is not None
        },
        "extras": {
            "imported": first.imported,
            "cell": first.cell,
            "run": first.run,
            "intervals": {
                row.metric: [row.low, row.high] for row in rows if row.metric is not None
            },
            "launches": {row.metric: row.n for row in rows if row.metric is not None},
            "caveats": first.caveats,
        },
    }


def _phase(row: ResultRow) -> str | None:
    """ReFrame's name of the phase that failed: the run, or the check of the results."""
    if row.status != "ok":
        return "run"
    return "sanity" if row.verified is False else None


def _key(text: str) -> str:
    """A name without colons, since colons separate the parts of a key."""
    return re.sub(r"[:\s]+", "_", text)


def ramble_json(rows: Iterable[ResultRow]) -> bytes:
    """The results in the format of a Ramble workspace: an experiment per cell of each run.

    Values are medians; for each metric with an interval, figures of merit ``NAME (low)`` and
    ``NAME (high)`` give its ends, and ``NAME (launches)`` the number of launches.
    """
    experiments = [_experiment(cell) for cells in _by_run(rows).values() for cell in cells.values()]
    names = "\n".join(str(each["name"]) for each in experiments)
    workspace = {
        "workspace_name": _WORKSPACE,
        "workspace_hash": str(uuid.uuid5(_NAMESPACE, names)),
    }
    return _encoded({**workspace, "experiments": experiments})


def _experiment(rows: Sequence[ResultRow]) -> dict[str, object]:
    first = rows[0]
    workload = first.suite
    name = f"{first.kernel}.{workload}.{first.run}.{first.cell}"
    variables = {
        "n_nodes": first.nodes,
        "n_ranks": first.ranks,
        "processes_per_node": first.ppn,
        "n_threads": first.threads,
        **_placement(first),
        **first.parameters,
        "toolchain": first.toolchain,
        "system": first.system,
        "imported": first.imported,
        "repeat_index": 0,
        "workspace_name": _WORKSPACE,
    }
    written = {key: str(value) for key, value in variables.items() if value is not None}
    foms = []
    for row in rows:
        if row.metric is not None:
            foms += _foms(row)
    ok = first.status == "ok" and first.verified is not False
    return {
        "name": name,
        "RAMBLE_STATUS": "SUCCESS" if ok else "FAILED",
        "experiment_name": f"{first.run}.{first.cell}",
        "experiment_namespace": name,
        "application_name": first.kernel,
        "workload_name": workload,
        "workload_namespace": f"{first.kernel}.{workload}",
        "simplified_workload_namespace": f"{first.kernel}_{workload}",
        # Ramble writes these as text.
        **{key: written.get(key) for key in _KEYS},
        "context_name": "null",
        "N_REPEATS": 0,
        "TAGS": [],
        "EXPERIMENT_CHAIN": [],
        "RAMBLE_VARIABLES": written,
        "RAMBLE_RAW_VARIABLES": written,
        "CONTEXTS": [{"name": "null", "display_name": "null", "foms": foms}] if foms else [],
    }


def _foms(row: ResultRow) -> list[dict[str, object]]:
    numbers = [(row.metric, row.median, row.unit)]
    if row.low is not None:
        numbers += [(f"{row.metric} (low)", row.low, row.unit)]
        numbers += [(f"{row.metric} (high)", row.high, row.unit)]
    numbers.append((f"{row.metric} (launches)", row.n, ""))
    return [
        {
            "name": name,
            "value": value,
            "units": unit,
            "origin": row.kernel,
            "origin_type": "application",
        }
        for name, value, unit in numbers
    ]


def _by_run(rows: Iterable[ResultRow]) -> dict[tuple[str, str], dict[str, list[ResultRow]]]:
    """The rows of each cell of each run, in their order."""
    found: dict[tuple[str, str], dict[str, list[ResultRow]]] = {}
    for row in rows:
        cells = found.setdefault((row.group or "", row.run), {})
        cells.setdefault(row.cell, []).append(row)
    return found


def _encoded(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"
