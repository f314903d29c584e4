"""The page of a service report filters its tables in a browser, without a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.report import write_report
from assay.report.subject import build_subject
from assay.subjects.usage.findings import find
from assay.subjects.usage.subject import SUBJECT
from assay.usage.analysis.query import UsageQuery
from browser import Browser
from sacct_jobs import planted_jobs, sacct_text
from usage_logs import read_text

pytestmark = pytest.mark.slow
JOBS = planted_jobs()
_CHOOSE = """
const form = document.querySelector("form.filters");
for (const [name, value] of Object.entries(%s)) form.elements[name].value = value;
form.dispatchEvent(new Event("change"));
const table = document.getElementById("table-%s");
const texts = (row) => [...row.cells].map((cell) => cell.textContent);
return {
  rows: [...table.tBodies[0].rows].filter((row) => row.getClientRects().length).map(texts),
  foot: texts(table.tFoot.rows[0]),
  offered: Object.fromEntries([...form.elements].map(
    (list) => [list.name, [...list.options].map((each) => each.value)])),
  wide: document.documentElement.scrollWidth > innerWidth,
  errors: window.assayErrors,
};
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    found = find(read_text(folder, sacct_text(JOBS)), UsageQuery(identify=True))
    (path,) = write_report(build_subject(SUBJECT, found), folder / "usage.html", ["html"])
    return path


@pytest.mark.parametrize("width", [1280, 360])
def test_rows_and_totals_are_those_of_the_chosen_jobs(
    browser: Browser, page: Path, width: int
) -> None:
    browser.open(page, width=width)
    chosen = '{user: "u3", cluster: "beta", month: ""}'
    seen = browser.ask(_CHOOSE % (chosen, "usage-accounts"))
    assert seen["errors"] == [] and not seen["wide"]
    assert seen["offered"]["user"] == ["", *(f"u{n}" for n in range(7))]
    assert seen["offered"]["cluster"] == ["", "alpha", "beta"]
    assert seen["offered"]["month"] == ["", "2026-01", "2026-02", "2026-03"]
    mine = [job for job in JOBS if (job.user, job.cluster) == ("u3", "beta")]
    assert {(row[1], row[3]) for row in seen["rows"]} == {("beta", "u3")}
    assert len(seen["rows"]) == len({(job.month, job.account) for job in mine})
    foot = seen["foot"]
    assert foot[0].startswith(f"{len(seen['rows'])} of ")
    assert foot[4] == str(len(mine))
    held = sum(job.run * job.cpus for job in mine)
    assert foot[5] == f"{held / 3600:,.0f} h"
    cpu = sum(job.computed for job in mine) / held
    assert float(foot[6].rstrip("%")) == pytest.approx(100 * cpu, abs=0.06)
    kilowatt_hours = sum(job.energy for job in mine) / 3.6e6
    assert float(foot[9].removesuffix(" kWh")) == pytest.approx(kilowatt_hours, rel=0.01)
    # A further choice narrows it; "all" shows all rows again.
    chosen = '{month: "2026-02"}'
    seen = browser.ask(_CHOOSE % (chosen, "usage-accounts"))
    february = [job for job in mine if job.month == "2026-02"]
    assert seen["foot"][4] == str(len(february))
    seen = browser.ask(_CHOOSE % ('{user: "", cluster: "", month: ""}', "usage-accounts"))
    assert seen["foot"][4] == str(len(JOBS))


def test_a_table_without_the_column_says_so(browser: Browser, page: Path) -> None:
    browser.open(page)
    seen = browser.ask(_CHOOSE % ('{user: "u3", month: "2026-02"}', "usage-months"))
    assert [row[0] for row in seen["rows"]] == ["2026-02"]
    assert seen["foot"][0] == "1 of 3 rows (not by User)"


def test_a_page_without_such_tables_has_no_filter(browser: Browser, tmp_path: Path) -> None:
    found = find(
        read_text(tmp_path, sacct_text(JOBS[:1], ["JobID", "State", "Start", "End"])), UsageQuery()
    )
    (path,) = write_report(build_subject(SUBJECT, found), tmp_path / "usage.html", ["html"])
    browser.open(path)
    assert browser.ask("return document.querySelectorAll('form.filters:not([hidden])').length") == 0
