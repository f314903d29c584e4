"""A pytest plugin: a test that may be repeated states why, and repeated tests are counted."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(not mark.kwargs.get("reason") for mark in item.iter_markers("flaky")):
            raise pytest.UsageError(f"{item.nodeid}: flaky without a reason")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    again = sorted({report.nodeid for report in terminalreporter.stats.get("rerun", [])})
    number = {0: "No test was", 1: "1 test was"}.get(len(again), f"{len(again)} tests were")
    terminalreporter.write_line(f"{number} tried again{':' if again else '.'}")
    for nodeid in again:
        terminalreporter.write_line(f"  {nodeid}")
