"""The report in a real browser: it draws, it complains of nothing, it works in both themes."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from assay.report import build_report, write_report
from assay.stats.cells import summarise_cells
from linpack_builder import whole
from report_builder import make_run, quick_cells
from variation_builder import normal, npb, run_of, tailed, two_speeds

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in _NAMES if (path := shutil.which(name))), None)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="There is no Chromium on this machine."),
]

# Runs in the page once the figures are drawn; what it finds is read from the dumped document.
PROBE = """
<script>
window.assayErrors = [];
addEventListener("error", (event) => window.assayErrors.push(event.message));
addEventListener("unhandledrejection", (event) => window.assayErrors.push(String(event.reason)));
addEventListener("securitypolicyviolation", (e) => window.assayErrors.push(e.violatedDirective));
for (const level of ["error", "warn"]) {
  console[level] = (...words) => window.assayErrors.push(words.join(" "));
}
</script>
"""
REPORT = """
<script>
(async () => {
  await window.assayReady;
  const found = {};
  const cut = (svg, text) => {
    const all = svg.getBoundingClientRect(), part = text.getBoundingClientRect();
    return part.left < all.left - 1 || part.right > all.right + 1
      || part.top < all.top - 1 || part.bottom > all.bottom + 1;
  };
  for (const figure of document.querySelectorAll("[data-figure]")) {
    found[figure.dataset.figure] = {
      marks: figure.querySelectorAll(
        ".live .mark-rect path, .live .mark-symbol path, .live .mark-line path").length,
      live: !figure.querySelector(".live").hidden,
      fill: getComputedStyle(figure.querySelector(".live text")).fill,
      wide: figure.querySelector(".live svg").getBoundingClientRect().width
        <= figure.getBoundingClientRect().width + 1,
      cut: [...figure.querySelectorAll(".live .role-legend text")]
        .filter((text) => cut(figure.querySelector(".live svg"), text))
        .map((text) => text.textContent),
      lines: new Set([...figure.querySelectorAll(".live .role-legend-label text")]
        .map((text) => Math.round(text.getBoundingClientRect().top))).size,
    };
  }
  const column = document.querySelector("#table-cells thead button");
  column.click(); column.click();
  const first = document.querySelector("#table-cells tbody tr td").textContent;
  document.getElementById("theme").click();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const other = getComputedStyle(document.querySelector(".live text")).fill;
  const overflow = document.documentElement.scrollWidth > innerWidth;
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = JSON.stringify(
    { errors: window.assayErrors, figures: found, first, other, overflow });
  document.body.append(out);
})();
</script>
"""


class Probe(HTMLParser):
    """The text of the element that the probe wrote."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = ""
        self._inside = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self._inside = self._inside or ("id", "probe") in attrs

    def handle_endtag(self, tag):
        self._inside = self._inside and tag != "pre"

    def handle_data(self, data):
        self.text += data if self._inside else ""


def look(page, profile, *, dark: bool, width: int = 1200) -> dict:
    import json

    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},2000",
            "--virtual-time-budget=15000", f"--blink-settings=preferredColorScheme={int(not dark)}",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--no-first-run", f"--user-data-dir={profile}", "--dump-dom", page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )  # fmt: skip
    found = Probe(done.stdout).text
    assert found, done.stderr[-2000:]
    return json.loads(found)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return probed(quick_cells(), tmp_path_factory.mktemp("page"))


def probed(cells, folder, run=None):
    (path,) = write_report(build_report(run or make_run(cells), cells), folder)
    text = path.read_text(encoding="utf-8")
    text = text.replace("<body>", "<body>" + PROBE, 1)
    head, end, _ = text.rpartition("</body>")
    path.write_text(head + REPORT + end + "</html>", encoding="utf-8")
    return path


def assert_whole(found: dict) -> None:
    """All figures are drawn, no wider than their place, and no legend is cut off."""
    for name, figure in found["figures"].items():
        assert figure["live"] and figure["wide"], name
        assert figure["cut"] == [], name
    assert not found["overflow"]


@pytest.mark.parametrize(("dark", "width"), [(False, 1200), (True, 400)])
def test_every_figure_is_drawn_and_nothing_is_amiss(page, tmp_path, dark, width):
    found = look(page, tmp_path, dark=dark, width=width)
    assert found["errors"] == []
    figures = found["figures"]
    assert list(figures) == [
        *("stream", "dgemm", "npb-ep", "npb-cg", "npb-speedup", "latency", "bandwidth")
    ]
    assert_whole(found)
    # One bar a cell; DGEMM has nine points and a ring; ping-pong a point a size.
    least = {"stream": 8, "dgemm": 10, "npb-ep": 2, "npb-cg": 2, "latency": 24, "bandwidth": 23}
    least["npb-speedup"] = 4
    assert {name: figures[name]["marks"] >= n for name, n in least.items()} == dict.fromkeys(
        least, True
    )
    brightness = sum(map(int, re.findall(r"\d+", figures["stream"]["fill"])[:3]))
    assert (brightness > 384) == dark
    assert (sum(map(int, re.findall(r"\d+", found["other"])[:3])) > 384) != dark
    assert found["first"] == "npb.ep"  # sorted by kernel, descending


def test_linpacks_figures_are_drawn_too(tmp_path):
    found = look(probed(whole(), tmp_path), tmp_path / "profile", dark=True, width=500)
    assert found["errors"] == []
    figures = {n: f for n, f in found["figures"].items() if n.startswith("linpack")}
    # Ten orders and a ring; two counts; five phases of ten orders; a line a rank of the lists.
    least = {"linpack": 11, "linpack-ranks": 2, "linpack-phases": 50, "linpack-top500": 4}
    assert {name: figures[name]["marks"] >= n for name, n in least.items()} == dict.fromkeys(
        least, True
    )
    assert_whole(found)


@pytest.mark.parametrize(("dark", "width"), [(False, 1200), (True, 400)])
def test_variations_figures_are_drawn_too(tmp_path, dark, width):
    run = run_of(
        [
            (npb("ep"), normal(1, 60, 0.004)),
            (npb("lu"), tailed(2, 60, 0.005, 0.1, 0.3)),
            (npb("ft", nodes=2, adapter="eth0"), two_speeds(3, 60, 0.01, 0.3, 1.4)),
            (npb("ft", nodes=2, adapter="eth0,eth1"), normal(4, 60, 0.03)),
        ]
    )
    page = probed(summarise_cells(run), tmp_path, run)
    found = look(page, tmp_path / "profile", dark=dark, width=width)
    assert found["errors"] == []
    figures = {n: f for n, f in found["figures"].items() if n.startswith("variation")}
    # Five bins and sixty runs at least; 240 runs; four curves; four cells and 12 published; levels.
    least = {f"variation-histogram-{k}": 65 for k in (1, 2, 3, 4)} | {
        "variation-sequence": 240,
        "variation-tails": 4,
        "variation-cov": 16,
        "variation-factors": 2,
    }
    assert {name: figures[name]["marks"] >= n for name, n in least.items()} == dict.fromkeys(
        least, True
    )
    assert_whole(found)


def test_legends_have_the_lines_they_need(tmp_path):
    adapters = ("eth0", "eth0,eth1")
    cells = [npb(name, nodes=2, adapter=way) for name in ("ft", "lu") for way in adapters]
    run = run_of([(cell, normal(at, 30, 0.01)) for at, cell in enumerate(cells)])
    page = probed(summarise_cells(run), tmp_path, run)
    found = look(page, tmp_path / "profile", dark=False, width=500)
    assert_whole(found)
    assert found["figures"]["variation-sequence"]["lines"] > 1
    (tmp_path / "wide").mkdir()
    found = look(page, tmp_path / "wide", dark=False, width=1600)
    assert_whole(found)
    assert found["figures"]["variation-sequence"]["lines"] == 1
