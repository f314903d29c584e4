"""Renders report pages in a browser, for several tests."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
from html.parser import HTMLParser

from assay.report import build_report, write_report
from report_builder import make_run

_NAMES = ("chromium", "chromium-browser", "google-chrome")


CHROMIUM = next((path for name in _NAMES if (path := shutil.which(name))), None)


# Runs in the page once the figures are drawn; its result is read from the dumped document.
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
    """What the probe wrote once the page at this path was drawn."""
    import json

    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},2000",
            "--virtual-time-budget=20000", f"--blink-settings=preferredColorScheme={int(not dark)}",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--no-first-run", f"--user-data-dir={profile}", "--dump-dom", page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )  # fmt: skip
    found = Probe(done.stdout).text
    assert found, done.stderr[-2000:]
    return json.loads(found)


def with_probe(page: str, script: str = REPORT) -> str:
    """The page with the probe and a script, whose digests are added to the page's policy."""
    head, end, _ = page.replace("<body>", "<body>" + PROBE, 1).rpartition("</body>")
    page = head + script + end + "</html>"
    for each in (PROBE, script):
        content = each.partition("<script>")[2].rpartition("</script>")[0]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        page = page.replace("; script-src ", f"; script-src 'sha256-{digest}' ", 1)
    return page


def probed(cells, folder, run=None):
    (path,) = write_report(build_report(run or make_run(cells), cells), folder)
    path.write_text(with_probe(path.read_text(encoding="utf-8")), encoding="utf-8")
    return path
