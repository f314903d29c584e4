"""A browser for tests of pages: one Chromium per test session, driven over pipes.

The protocol is Chrome's DevTools protocol with ``--remote-debugging-pipe``: messages in JSON, each
ended by a zero byte, to file descriptor 3 of the browser and from its file descriptor 4.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in _NAMES if (path := shutil.which(name))), None)
# A page that takes this long doesn't work; a slow machine draws the largest within some seconds.
_PATIENCE = 120

# Runs before each page's own scripts.
_PROBE = """
window.assayErrors = [];
addEventListener("error", (event) => window.assayErrors.push(event.message));
addEventListener("unhandledrejection", (event) => window.assayErrors.push(String(event.reason)));
addEventListener("securitypolicyviolation", (e) => window.assayErrors.push(e.violatedDirective));
for (const level of ["error", "warn"]) {
  console[level] = (...words) => window.assayErrors.push(words.join(" "));
}
"""

# Scripts at the end of a page create this promise, before the page is loaded.
_DRAWN = """
if (document.readyState !== "complete") {
  await new Promise((done) => addEventListener("load", done));
}
await window.assayReady;
"""

# Events of the window come before the next frame but one.
_DRAWN_ANEW = """
for (let i = 0; i < 2; i++) await new Promise((done) => requestAnimationFrame(done));
await window.assayReady;
"""

# What `look` finds in a report.
_REPORT = """
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
const overflow = document.documentElement.scrollWidth > innerWidth;
const column = document.querySelector("#table-cells thead button");
column.click(); column.click();
const first = document.querySelector("#table-cells tbody tr td").textContent;
document.getElementById("theme").click();
await window.assayReady;
const other = getComputedStyle(document.querySelector(".live text")).fill;
return { errors: window.assayErrors, figures: found, first, other, overflow };
"""


class Browser:
    """A headless Chromium with one page at a time."""

    def __init__(self, folder: Path) -> None:
        assert CHROMIUM is not None
        self.folder = folder
        self._last = 0
        self._unread = b""
        far_in, self._to = map(_high, os.pipe())
        self._from, far_out = map(_high, os.pipe())
        self._process = subprocess.Popen(
            [
                CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                f"--user-data-dir={folder / 'profile'}", "--remote-debugging-pipe", "about:blank",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(3, 4),
            preexec_fn=lambda: (os.dup2(far_in, 3), os.dup2(far_out, 4)),
        )  # fmt: skip
        os.close(far_in)
        os.close(far_out)
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session: str = attached["sessionId"]
        self._in_page("Page.enable")
        self._in_page("Page.addScriptToEvaluateOnNewDocument", source=_PROBE)

    def open(self, page: Path, *, width: int = 1200, dark: bool = False) -> None:
        """Open a page in a window of a width in px, and wait until its figures are drawn."""
        self._in_page("Emulation.setScriptExecutionDisabled", value=False)
        self._shade(dark)
        self._resize(width)
        self._in_page("Page.navigate", url=page.as_uri())
        self.ask(_DRAWN)

    def open_text(self, page: str, **more: Any) -> None:
        """Open the text of a page."""
        path = self.folder / "page.html"
        path.write_text(page, encoding="utf-8")
        self.open(path, **more)

    def resize(self, width: int) -> None:
        """Change the width of the window, and wait until the figures are drawn in it."""
        self._resize(width)
        self.ask(_DRAWN_ANEW)

    def shade(self, *, dark: bool) -> None:
        """Change the preferred colours, and wait until the figures are drawn in them."""
        self._shade(dark)
        self.ask(_DRAWN_ANEW)

    def ask(self, script: str) -> Any:
        """What the body of an asynchronous function returns in the page."""
        found = self._in_page(
            "Runtime.evaluate",
            expression=f"(async () => {{ {script} }})()", awaitPromise=True, returnByValue=True,
        )  # fmt: skip
        wrong = found.get("exceptionDetails")
        assert wrong is None, wrong["exception"].get("description", wrong)
        return found["result"].get("value")

    def errors(self) -> list[str]:
        """What the page complained of; it is forgotten."""
        found: list[str] = self.ask("return window.assayErrors.splice(0)")
        return found

    def printed(self, paper: tuple[float, float] = (8.27, 11.69)) -> bytes:
        """The page as PDF, as a browser prints it on paper of a size in inches, by default A4."""
        options = {
            "preferCSSPageSize": True, "paperWidth": paper[0], "paperHeight": paper[1],
        }  # fmt: skip
        return base64.b64decode(self._in_page("Page.printToPDF", **options)["data"])

    def paper(self, *, width: int) -> None:
        """Lay the open page out on paper of a width in px, without its script; until ``open``."""
        self._in_page("Emulation.setScriptExecutionDisabled", value=True)
        self._in_page("Emulation.setEmulatedMedia", media="print")
        self._resize(width)

    def close(self) -> None:
        """End the browser."""
        self._call("Browser.close", {})
        self._process.wait(_PATIENCE)
        os.close(self._to)
        os.close(self._from)

    def _shade(self, dark: bool) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._in_page("Emulation.setEmulatedMedia", media="", features=[scheme])

    def _resize(self, width: int) -> None:
        size = {"width": width, "height": 2000, "deviceScaleFactor": 1, "mobile": False}
        self._in_page("Emulation.setDeviceMetricsOverride", **size)

    def _in_page(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._call(method, parameters, self._session)

    def _call(
        self, method: str, parameters: dict[str, Any], session: str | None = None
    ) -> dict[str, Any]:
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        left = json.dumps(message).encode() + b"\0"
        while left:
            left = left[os.write(self._to, left) :]
        number = self._last
        answer = self._read(lambda each: each.get("id") == number)
        assert "error" not in answer, (method, answer["error"])
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next message that is wanted; others are passed over."""
        end = time.monotonic() + _PATIENCE
        while True:
            text, found, rest = self._unread.partition(b"\0")
            if found:
                self._unread = rest
                message: dict[str, Any] = json.loads(text)
                if wanted(message):
                    return message
                continue
            ready, _, _ = select.select([self._from], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"The browser did not answer within {_PATIENCE} s."
            more = os.read(self._from, 1 << 20)
            assert more, f"The browser ended with status {self._process.wait()}."
            self._unread += more


def _high(fd: int) -> int:
    """The descriptor under a number above those of the browser's ends, which dup2 overwrites."""
    found = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return found


def opened(folder: Path) -> Iterator[Browser]:
    """A browser until the generator is closed; without one on this machine the test is skipped."""
    if CHROMIUM is None:
        pytest.skip("There is no Chromium on this machine.")
    found = Browser(folder)
    yield found
    found.close()


def look(browser: Browser, page: Path, *, dark: bool, width: int = 1200) -> dict[str, Any]:
    """What is in a report's figures, its sorted table and its other theme."""
    browser.open(page, dark=dark, width=width)
    found: dict[str, Any] = browser.ask(_REPORT)
    return found
