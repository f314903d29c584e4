"""What docs/stability.md promises is what the code has: schema versions, exit statuses, names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import assay
from assay.acceptance.archive.layout import ARCHIVE_SCHEMA
from assay.acceptance.contract import CONTRACT_SCHEMA
from assay.check.baseline import model as baseline
from assay.check.learning import records
from assay.check.result import RESULT_SCHEMA, STATUS
from assay.check.state import header
from assay.cli import app
from assay.errors import INTERRUPTED, AssayError
from assay.lab.spec import SPEC_SCHEMA
from assay.launch.fake.scenario import SCENARIO_SCHEMA
from assay.plans.suites import PLAN_SCHEMA
from assay.questions.common.findings import FINDINGS_SCHEMA
from assay.records.chain.previous import PREVIOUS_SCHEMA
from assay.records.model import MANIFEST_SCHEMA
from assay.records.request import REQUEST_SCHEMA
from assay.records.schema import JOB_SCHEMA, STREAM_SCHEMA
from assay.records.tables import TABLES_SCHEMA
from assay.report.acceptance.verify import VERIFIED_SCHEMA
from assay.report.export.model import EXPORT_SCHEMA
from assay.report.model import REPORT_SCHEMA
from assay.simulation import cluster
from assay.system.model import SYSTEM_SCHEMA
from assay.trace.launches import WHY_SCHEMA
from assay.trace.model import PROFILE_VERSION
from assay.trace.trace_files import MAGICS
from assay.watch import heartbeat, model


def number_in(schema: str) -> int:
    """The version at the end of a schema's name."""
    return int(schema.rpartition("-")[2])


PAGE = (Path(__file__).parents[2] / "docs" / "stability.md").read_text("utf-8")
VERSIONS = {
    "plan": PLAN_SCHEMA,
    "run request": REQUEST_SCHEMA,
    "scenario of `--fake`": SCENARIO_SCHEMA,
    "description of a cluster to simulate": cluster.SCHEMA,
    "contract of `assay accept`": CONTRACT_SCHEMA,
    "archive of `assay accept`": ARCHIVE_SCHEMA,
    "`assay accept --verify --json`": VERIFIED_SCHEMA,
    "`previous.json` of a run": PREVIOUS_SCHEMA,
    "specification of a lab": SPEC_SCHEMA,
    "job file": JOB_SCHEMA,
    "record stream": STREAM_SCHEMA,
    "manifest of a run": MANIFEST_SCHEMA,
    "tables of a run": TABLES_SCHEMA,
    "JSON report": REPORT_SCHEMA,
    "findings": FINDINGS_SCHEMA,
    "export": EXPORT_SCHEMA,
    "profile": PROFILE_VERSION,
    "trace": max(MAGICS),
    "launches of `assay why`": WHY_SCHEMA,
    "`assay system --json`": SYSTEM_SCHEMA,
    "heartbeat files": heartbeat.VERSION,
    "baseline of `assay check`": number_in(baseline.SCHEMA),
    "node's file of checks": header.SCHEMA,
    "`assay check --json`": RESULT_SCHEMA,
    "learning checks": number_in(records.SCHEMA),
    "log and summary of `assay watch`": model.SCHEMA,
}


def listed() -> dict[str, int]:
    """The page's versions by what has them; two pairs stand in each row of the table."""
    section = PAGE.split("## Schema versions")[1]
    pairs = re.findall(r"\| ([^|]+?) \| (\d+)[^|]*(?=\|)", section)
    return {name: int(number) for name, number in pairs}


@pytest.mark.parametrize("what", VERSIONS)
def test_the_page_states_the_version(what):
    assert listed()[what] == VERSIONS[what]


def test_no_version_is_listed_without_a_check():
    # The seal's version stands in the code that writes it, not in a constant.
    assert listed().keys() == {*VERSIONS, "seal of a run"}


def test_the_page_states_the_exit_statuses():
    section = PAGE.split("## Exit statuses")[1].split("##")[0]
    statuses = [int(number) for number in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)]
    others = [AssayError("").status, STATUS["undecided"], INTERRUPTED, app._BROKEN_PIPE]
    assert statuses == [0, 1, *others]


def test_the_promised_names_exist():
    promised = re.findall(r"`assay\.(open_\w+)`|`(StoredRun)`", PAGE)
    names = {first or second for first, second in promised}
    assert names | {"__version__"} == set(assay.__all__)
